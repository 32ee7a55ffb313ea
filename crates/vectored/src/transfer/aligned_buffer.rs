//! Memory at an aligned address: [`AlignedBuffer`]. The alignment of direct I/O: [`DirectAlignment`].

use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};

use crate::descriptor::AsDescriptor;
use crate::sys;
use crate::sys::staging::try_zeroed;

/// A buffer of fixed length at an aligned address, for direct I/O.
///
/// [`DirectAlignment::memory_bytes`](crate::files::DirectAlignment) is the alignment that a file needs. The buffer
/// derefs to the aligned part of a `Vec`, which is up to `alignment` bytes longer.
///
/// ```
/// let mut buffer = vectored::files::AlignedBuffer::zeroed(10_000, 4096);
/// buffer[..5].copy_from_slice(b"hello");
/// assert_eq!(buffer.len(), 10_000);
/// assert_eq!(buffer.as_ptr().addr() % 4096, 0);
/// ```
pub struct AlignedBuffer {
    /// The memory never grows, because moved bytes could lose the alignment.
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl AlignedBuffer {
    /// Returns `len` zero bytes at an address that is a multiple of `alignment`.
    ///
    /// # Panics
    ///
    /// If `alignment` is not a power of two, or if the allocation fails.
    #[must_use]
    pub fn zeroed(len: usize, alignment: usize) -> AlignedBuffer {
        assert!(
            alignment.is_power_of_two(),
            "an alignment of {alignment} bytes is not a power of two"
        );
        let Some(buffer) = AlignedBuffer::try_zeroed(len, alignment) else {
            panic!("there is no memory for {len} bytes at a multiple of {alignment}");
        };
        buffer
    }

    pub(crate) const fn empty() -> AlignedBuffer {
        AlignedBuffer {
            memory: Vec::new(),
            start: 0,
            len: 0,
        }
    }

    pub(crate) fn try_zeroed(len: usize, alignment: usize) -> Option<AlignedBuffer> {
        let memory = try_zeroed(len.checked_add(alignment - 1)?)?;
        let start = memory.as_ptr().addr().wrapping_neg() % alignment;
        Some(AlignedBuffer { memory, start, len })
    }
}

impl Default for AlignedBuffer {
    /// Returns an empty buffer without memory.
    fn default() -> AlignedBuffer {
        AlignedBuffer::empty()
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len]
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

impl AsRef<[u8]> for AlignedBuffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for AlignedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlignedBuffer")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

/// The alignment of offsets, lengths and addresses that direct I/O on a file needs ("O_DIRECT" in open(2)). Most file
/// systems return `EINVAL` for a transfer that is not aligned. Other file systems buffer the transfer without an error.
///
/// This type is final: no field will be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DirectAlignment {
    /// Addresses of segments must be multiples of this number of bytes, which is a power of two.
    pub memory_bytes: usize,
    /// Offsets in the file and lengths of segments must be multiples of this number of bytes, which is a power of two.
    pub offset_bytes: usize,
}

impl DirectAlignment {
    /// 4096 bytes for addresses, offsets and lengths: a page, and the largest logical block of common storage.
    pub const CONSERVATIVE: DirectAlignment = DirectAlignment {
        memory_bytes: 4096,
        offset_bytes: 4096,
    };

    /// Returns the alignment that a file needs. Call this function only once for each file.
    ///
    /// The alignment is `STATX_DIOALIGN` of statx(2), since Linux 6.1 on ext4, f2fs, xfs, block devices and others. If
    /// the kernel or the file system does not report the alignment, the result is
    /// [`CONSERVATIVE`](DirectAlignment::CONSERVATIVE). The descriptor may be open without `O_DIRECT`. On Windows, the
    /// alignment is the sector size of the volume, for `FILE_FLAG_NO_BUFFERING`.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](io::ErrorKind::Unsupported) if the file system reports that direct I/O on this file is
    /// impossible. All other errors are errors of statx(2).
    pub fn of(fd: impl AsDescriptor) -> io::Result<DirectAlignment> {
        match sys::files::direct_alignment(fd.as_descriptor())? {
            None => Ok(DirectAlignment::CONSERVATIVE),
            Some((0, _) | (_, 0)) => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "the file system offers no direct I/O on this file: open it without O_DIRECT",
            )),
            Some((memory, offset)) => Ok(DirectAlignment {
                memory_bytes: memory as usize,
                offset_bytes: offset as usize,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::thresholds::CopyThresholds;
    use crate::runs::RunPolicy;
    use crate::sys::codes;
    use crate::sys::limits::Limits;
    use crate::transfer::read_loop::AtEof;
    use crate::{CostModel, Gather, GatherWriter, Scatter, SegmentCursor};
    use proptest::prelude::*;
    use std::io::{IoSlice, IoSliceMut, Write};

    /// The result of a file that takes only blocks of 4096 bytes at addresses that are multiples of 4096.
    fn take_aligned<'s>(slices: impl Iterator<Item = &'s [u8]>) -> io::Result<usize> {
        let mut bytes = 0;
        for slice in slices {
            if !slice.len().is_multiple_of(4096) || !slice.as_ptr().addr().is_multiple_of(4096) {
                return Err(io::Error::from_raw_os_error(codes::EINVAL));
            }
            bytes += slice.len();
        }
        Ok(bytes)
    }

    fn blocks(counts: &[usize]) -> Vec<AlignedBuffer> {
        let block = |count| AlignedBuffer::zeroed(count * 4096, 4096);
        counts.iter().copied().map(block).collect()
    }

    fn any_counts() -> impl Strategy<Value = Vec<usize>> {
        prop::collection::vec(prop_oneof![8 => 0..4_usize, 1 => 4..40_usize], 0..20)
    }

    proptest! {
        #[test]
        fn what_is_staged_of_an_aligned_list_is_aligned(
            counts in any_counts(), threshold in 0..20_000_u32, staging_bytes in 0..50_000_usize
        ) {
            let mut blocks = blocks(&counts);
            let all_bytes: usize = blocks.iter().map(|block| block.len()).sum();
            let model = CostModel {
                copy_thresholds: CopyThresholds::everywhere(threshold),
                staging_bytes,
                ..CostModel::default()
            };
            let mut gather = Gather::with_model(model);
            let segments: Vec<_> = blocks.iter().map(|block| IoSlice::new(block)).collect();
            for _ in 0..2 {
                let cursor = &mut SegmentCursor::new();
                let sink = |slices: &[IoSlice<'_>]| take_aligned(slices.iter().map(|slice| &**slice));
                let sent = gather.send_all(&segments, cursor, || Ok(()), sink);
                prop_assert_eq!(sent.unwrap(), all_bytes as u64);
            }

            let mut scatter = Scatter::with_model(model);
            let policy = RunPolicy::new(threshold as usize, Limits::default());
            let mut segments: Vec<_> =
                blocks.iter_mut().map(|block| IoSliceMut::new(block)).collect();
            let cursor = &mut SegmentCursor::new();
            let source = |slices: &mut [IoSliceMut<'_>]| {
                take_aligned(slices.iter().map(|slice| &**slice))
            };
            let read = scatter.receive_all(&mut segments, cursor, policy, AtEof::Fail, source);
            prop_assert_eq!(read.unwrap(), all_bytes as u64);
        }
    }

    #[test]
    fn a_buffered_writer_stages_at_an_aligned_address() {
        for capacity in [1, 4096, 8192, 100_000] {
            let mut writer = GatherWriter::copying_with_capacity(capacity, Vec::new());
            writer.write_all(b"").unwrap();
            assert!(
                writer.buffer().as_ptr().addr().is_multiple_of(4096),
                "{capacity}"
            );
        }
    }

    #[test]
    fn buffers_are_aligned_and_hold_what_was_put_there_when_moved() {
        for alignment in [1, 2, 64, 512, 4096, 1 << 16] {
            for len in [0, 1, 4096, 10_001] {
                let mut buffer = AlignedBuffer::zeroed(len, alignment);
                assert!(buffer.iter().all(|&byte| byte == 0));
                buffer.fill(7);
                let moved = Box::new(buffer);
                assert!(moved.as_ptr().addr().is_multiple_of(alignment));
                assert_eq!(moved[..], vec![7; len]);
            }
        }
    }

    #[test]
    fn arguments_at_their_limits_do_what_the_docs_say() {
        // On a 32-bit system, `isize::MAX` bytes may be allocated. Miri aborts if an allocation fails.
        let is_tried = usize::BITS == 64 && !cfg!(miri);
        let too_long = if is_tried { isize::MAX as usize } else { usize::MAX };
        for (len, alignment, why) in [
            (10, 0, "not a power of two"),
            (10, 24, "not a power of two"),
            (10, usize::MAX, "not a power of two"),
            (usize::MAX, 1, "no memory"),
            (usize::MAX, 4096, "no memory"),
            (too_long, 1, "no memory"),
            (1, 1 << (usize::BITS - 1), "no memory"),
        ] {
            let made = std::panic::catch_unwind(|| AlignedBuffer::zeroed(len, alignment));
            let panic = made.unwrap_err().downcast::<String>().unwrap();
            assert!(panic.contains(why), "{len}, {alignment}: {panic}");
        }
    }
}
