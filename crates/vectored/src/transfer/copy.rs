//! Copying short slices, inline.

/// As `to.copy_from_slice(from)`, without a call to `memcpy` up to 128 bytes.
///
/// The call, and its choice by length behind an indirect jump, cost more than such a copy. Each
/// range of lengths from `N` to `2 N` is covered by two moves of `N` bytes, one from each end, which
/// overlap in the middle.
///
/// # Panics
///
/// If the lengths differ.
#[inline(always)]
pub(crate) fn copy_short(to: &mut [u8], from: &[u8]) {
    assert_eq!(to.len(), from.len());
    match from.len() {
        0 => {}
        1..=3 => {
            // First, middle, last: all of one, two or three bytes.
            let last = from.len() - 1;
            let middle = from.len() / 2;
            to[0] = from[0];
            to[middle] = from[middle];
            to[last] = from[last];
        }
        4..=7 => copy_ends::<4>(to, from),
        8..=15 => copy_ends::<8>(to, from),
        16..=31 => copy_ends::<16>(to, from),
        32..=63 => copy_ends::<32>(to, from),
        64..=128 => copy_ends::<64>(to, from),
        _ => to.copy_from_slice(from),
    }
}

/// Copies the first and the last `N` bytes: everything, for lengths from `N` to `2 * N`.
#[inline(always)]
fn copy_ends<const N: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(first), Some(last)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) {
        if let Some(to) = to.first_chunk_mut::<N>() {
            *to = *first;
        }
        if let Some(to) = to.last_chunk_mut::<N>() {
            *to = *last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_copied_whole_and_nothing_beside_it() {
        for len in 0..=200 {
            let from: Vec<u8> = (1..=len as u8).collect();
            let mut to = vec![0xee; len + 2];
            copy_short(&mut to[1..=len], &from);
            assert_eq!(to[1..=len], from, "length {len}");
            assert_eq!((to[0], to[len + 1]), (0xee, 0xee), "length {len}");
        }
    }
}
