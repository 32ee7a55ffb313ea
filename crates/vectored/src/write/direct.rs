//! Writes past the page cache (`O_DIRECT`), with a check of alignment.

use std::io::{self, IoSlice};
use std::ops::Deref;

use crate::descriptor::AsDescriptor;
use crate::error::TransferError;
use crate::sys;
use crate::write::positional::write_all_at;

/// The alignment of offsets, lengths and addresses that direct I/O on a file demands ("O_DIRECT" in open(2)).
///
/// It is final: no field will be added.
///
/// Most file systems answer a transfer that is not aligned with `EINVAL`, which does not say what is wrong; others
/// buffer it silently. [`check`](DirectAlignment::check) finds and names the fault before any call.
///
/// ```
/// use std::io::IoSlice;
/// use vectored::files::{AlignedBuffer, DirectAlignment};
///
/// let alignment = DirectAlignment { memory_bytes: 512, offset_bytes: 4096 };
/// let page = AlignedBuffer::zeroed(4096, alignment.memory_bytes);
/// assert!(alignment.check(&[IoSlice::new(&page)], 8192).is_ok());
///
/// let error = alignment.check(&[IoSlice::new(&page)], 1000).unwrap_err();
/// assert_eq!(error.to_string(), "offset 1000 is not a multiple of 4096 bytes, as O_DIRECT asks");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DirectAlignment {
    /// Addresses of segments must be multiples of this many bytes: a power of two.
    pub memory_bytes: usize,
    /// Offsets in the file, and the length of every segment, must be multiples of this many bytes:
    /// a power of two.
    pub offset_bytes: usize,
}

impl DirectAlignment {
    /// 4096 bytes for all: a page, and the largest logical block of common storage.
    ///
    /// It is enough, except on storage with larger blocks. 512 bytes are often enough.
    pub const CONSERVATIVE: DirectAlignment = DirectAlignment {
        memory_bytes: 4096,
        offset_bytes: 4096,
    };

    /// The alignment that a file demands. Call it once for a file.
    ///
    /// It is `STATX_DIOALIGN` of statx(2) (since Linux 6.1; ext4, f2fs, xfs, block devices and others), or
    /// [`CONSERVATIVE`](DirectAlignment::CONSERVATIVE) if the kernel or the file system does not report it. The descriptor
    /// need not be open with `O_DIRECT`. On Windows it is the sector of the volume, for `FILE_FLAG_NO_BUFFERING`.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](io::ErrorKind::Unsupported) if the file system says that it offers no direct
    /// I/O on this file; otherwise the errors of statx(2).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// let file = std::fs::File::open("/dev/null")?;
    /// let alignment = vectored::files::DirectAlignment::of(&file)?;
    /// assert!(alignment.memory_bytes.is_power_of_two());
    /// # Ok(())
    /// # }
    /// ```
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

    /// Checks a list that is to be written to `offset` ([`IoSlice`]) or read from there
    /// ([`IoSliceMut`](io::IoSliceMut)). Empty segments may lie anywhere.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) with a message that names the first fault and the alignment. An alignment
    /// that is no power of two is a fault (statx(2) says by 0 that a file offers no direct I/O).
    pub fn check<S: Deref<Target = [u8]>>(&self, segments: &[S], offset: u64) -> io::Result<()> {
        for alignment in [self.memory_bytes, self.offset_bytes] {
            if !alignment.is_power_of_two() {
                let why = format!("an alignment of {alignment} bytes is not a power of two");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
            }
        }
        if offset % self.offset_bytes as u64 != 0 {
            return Err(misaligned(&format!("offset {offset}"), self.offset_bytes));
        }
        for (index, segment) in segments.iter().enumerate() {
            let (address, bytes) = (segment.as_ptr().addr(), segment.len());
            if bytes % self.offset_bytes != 0 {
                let what = format!("the length of segment {index}, {bytes},");
                return Err(misaligned(&what, self.offset_bytes));
            }
            if bytes > 0 && address % self.memory_bytes != 0 {
                let what = format!("the address of segment {index}, {address:#x},");
                return Err(misaligned(&what, self.memory_bytes));
            }
        }
        Ok(())
    }
}

fn misaligned(what: &str, alignment: usize) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{what} is not a multiple of {alignment} bytes, as O_DIRECT asks"),
    )
}

/// Writes all of `segments` at `offset`, if they are aligned for direct I/O.
///
/// Writes like [`write_all_at`], into a file that was opened with `O_DIRECT`. Lists longer than one call stay
/// aligned: a call ends between segments, or, within one of more than
/// [`MAX_CALL_BYTES`](crate::limits::MAX_CALL_BYTES), at a multiple of 4096 bytes.
///
/// # Errors
///
/// The errors of [`write_all_at`], and, before any byte, the errors of [`DirectAlignment::check`]. After a short write (for
/// example on a full disk) the rest may not be aligned: that is `EINVAL`
/// ([`InvalidInput`](io::ErrorKind::InvalidInput)) with
/// [`transferred`](TransferError::transferred) above 0.
///
/// # Examples
///
/// ```
/// use std::io::IoSlice;
/// use vectored::files::{AlignedBuffer, DirectAlignment, write_all_direct_at};
///
/// # fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("vectored-doc-direct-{}", std::process::id()));
/// // Opened with O_DIRECT in earnest; `OpenOptionsExt::custom_flags` does that.
/// let file = std::fs::File::create(&path)?;
/// let alignment = DirectAlignment::CONSERVATIVE;
/// let (mut index, mut page) = (
///     AlignedBuffer::zeroed(4096, alignment.memory_bytes),
///     AlignedBuffer::zeroed(8192, alignment.memory_bytes),
/// );
/// index[0] = 1;
/// page[0] = 2;
/// let segments = [IoSlice::new(&index), IoSlice::new(&page)];
/// assert_eq!(write_all_direct_at(&file, &segments, 0, alignment)?, 12_288);
/// assert_eq!(std::fs::read(&path)?[4096], 2);
/// # std::fs::remove_file(&path)
/// # }
/// ```
pub fn write_all_direct_at(
    fd: impl AsDescriptor,
    segments: &[IoSlice<'_>],
    offset: u64,
    alignment: DirectAlignment,
) -> Result<u64, TransferError> {
    alignment
        .check(segments, offset)
        .map_err(|error| TransferError::new(0, error))?;
    write_all_at(fd, segments, offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::thresholds::CopyThresholds;
    use crate::runs::RunPolicy;
    use crate::sys::codes;
    use crate::sys::limits::Limits;
    use crate::transfer::aligned_buffer::AlignedBuffer;
    use crate::transfer::read_loop::AtEof;
    use crate::{CostModel, Gather, GatherWriter, Scatter, SegmentCursor};
    use proptest::prelude::*;
    use std::io::{IoSliceMut, Write};

    /// The result of a file that takes only entries of whole blocks of 4096 bytes at multiples of it.
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
        // A process of 32 bits may get as much, and Miri aborts if an allocation fails.
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
        for (memory_bytes, offset_bytes) in [(0, 0), (0, 512), (512, 0), (24, 512), (512, 24)] {
            let alignment = DirectAlignment {
                memory_bytes,
                offset_bytes,
            };
            let error = alignment.check::<&[u8]>(&[], 0).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert!(error.to_string().contains("not a power of two"), "{error}");
        }
    }

    #[test]
    fn a_list_that_is_to_be_read_is_checked_as_one_that_is_to_be_written() {
        let alignment = DirectAlignment::CONSERVATIVE;
        let mut page = AlignedBuffer::zeroed(2 * 4096, 4096);
        for (from, to) in [(0, 4096), (1, 4097), (0, 4095), (7, 7)] {
            let error = |result: io::Result<()>| result.err().map(|error| error.to_string());
            let written = error(alignment.check(&[IoSlice::new(&page[from..to])], 0));
            let read = error(alignment.check(&[IoSliceMut::new(&mut page[from..to])], 0));
            assert_eq!(written, read);
            assert_eq!(written.is_some(), from % 4096 != to % 4096 || from == 1);
        }
    }

    #[test]
    fn the_error_names_what_is_not_aligned_and_to_what() {
        let alignment = DirectAlignment {
            memory_bytes: 8,
            offset_bytes: 512,
        };
        let buffer = AlignedBuffer::zeroed(2048, 512);
        let (first, empty) = (&buffer[..512], &buffer[..0]);
        for (segments, offset, words) in [
            (&[first, empty, &buffer[8..1032]][..], 512, None),
            (&[first, &buffer[3..3]], 0, None),
            (&[first], 513, Some(("offset 513", "512 bytes"))),
            (
                &[first, empty, &buffer[8..1031]],
                512,
                Some(("the length of segment 2, 1023,", "512 bytes")),
            ),
            (
                &[first, empty, &buffer[9..521]],
                512,
                Some(("the address of segment 2, 0x", "8 bytes")),
            ),
            (
                &[&buffer[1..513]],
                0,
                Some(("the address of segment 0, 0x", "8 bytes")),
            ),
        ] {
            let error = alignment.check(segments, offset).err();
            assert_eq!(error.is_some(), words.is_some());
            if let (Some(error), Some((what, multiple))) = (error, words) {
                assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
                let message = error.to_string();
                assert!(message.starts_with(what), "{message}");
                assert!(
                    message.contains(&format!("is not a multiple of {multiple}")),
                    "{message}"
                );
            }
        }
    }
}
