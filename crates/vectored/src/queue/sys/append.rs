//! Bytes that are appended to a vector with room for them.

#![allow(unsafe_code)]

use std::ptr::copy_nonoverlapping;

/// If the vector has room for `bytes`, appends a copy and returns true. Otherwise changes nothing and returns false.
///
/// `Vec::extend_from_slice` checks the room by a call that is not inlined. The call takes 16 instructions more for each
/// short slice.
#[inline(always)]
pub(in crate::queue) fn append_within(buffer: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let length = buffer.len();
    if buffer.capacity() - length < bytes.len() {
        return false;
    }
    // SAFETY: the spare capacity has that many bytes, and is borrowed mutably, so `bytes` do not lie in it. The first
    // `length + bytes.len()` bytes are initialized then.
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
