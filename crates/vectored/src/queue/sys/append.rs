//! Appends bytes to a vector without growing the vector.

#![allow(unsafe_code)]

use std::ptr::copy_nonoverlapping;

/// Appends a copy of `bytes` if the vector has room. Returns false if the vector has no room, and then changes nothing.
///
/// `Vec::extend_from_slice` checks the room in a function that is not inlined. The call takes 16 more instructions for
/// each short slice.
#[inline(always)]
pub(in crate::queue) fn append_within(buffer: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let length = buffer.len();
    if buffer.capacity() - length < bytes.len() {
        return false;
    }
    // SAFETY: the spare capacity has room for `bytes`. The buffer is borrowed mutably, so `bytes` cannot overlap the
    // buffer. After the copy, the first `length + bytes.len()` bytes are initialized.
    unsafe {
        copy_nonoverlapping(bytes.as_ptr(), buffer.as_mut_ptr().add(length), bytes.len());
        buffer.set_len(length + bytes.len());
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_appended_as_far_as_there_is_room() {
        for room in 0..40 {
            let mut buffer = Vec::with_capacity(room);
            let room = buffer.capacity();
            let mut model = Vec::new();
            for length in [0, 3, 1, 7, 0, 20, 5] {
                let bytes: Vec<u8> = (0..length).collect();
                let fits = model.len() + bytes.len() <= room;
                assert_eq!(append_within(&mut buffer, &bytes), fits);
                if fits {
                    model.extend(bytes);
                }
                assert_eq!(buffer, model);
            }
            assert_eq!(buffer.capacity(), room);
        }
    }
}
