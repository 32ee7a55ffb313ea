//! Reading a list: small segments through a staging buffer, large segments directly.

use std::fmt;
use std::io::{self, IoSliceMut};

use crate::cost::{CostModel, TargetKind};
use crate::cursor::SegmentCursor;
use crate::descriptor::AsDescriptor;
use crate::error::TransferError;
use crate::read::all::source;
use crate::runs::RunPolicy;
use crate::sys::limits::Limits;
use crate::sys::staging::STAGING_ALIGNMENT;
use crate::transfer::aligned_buffer::AlignedBuffer;
use crate::transfer::read_loop::{AtEof, Receiver};

/// A scattering reader, the counterpart of [`Gather`](crate::Gather): in one call it reads runs of small segments
/// through a staging buffer and large segments directly.
///
/// A run is two or more segments in a row, each of up to [`CostModel::copy_below_bytes`] (for the number of segments of
/// the list). A run takes one entry of the `readv(2)`: its bytes are read into the staging buffer, and copied to the
/// segments while the bytes are in the CPU's cache. Every other segment is read in place. The default models were
/// measured on writes: for reads they are only a first guess.
///
/// The staging buffer starts at a page, so a file that is open with `O_DIRECT` takes aligned lists.
///
/// A `Scatter` holds no bytes between two calls of its methods: no system call asks for more than the list, and when a
/// method returns, with or without an error, all bytes read are in the caller's segments.
///
/// A `Scatter` owns its working memory: a staging buffer of [`staging_bytes`](CostModel::staging_bytes) and an array of
/// at most [`iov_max`](crate::limits::iov_max) entries. Keep the `Scatter` and use it again: further lists of similar
/// size allocate nothing.
///
/// # Examples
///
/// ```
/// use std::io::{IoSliceMut, Write};
/// use vectored::Scatter;
///
/// # fn main() -> std::io::Result<()> {
/// let (reader, mut writer) = std::io::pipe()?;
/// writer.write_all(b"GET /index.html and more")?;
///
/// let mut scatter = Scatter::default();
/// let (mut method, mut space, mut path) = ([0; 3], [0; 1], [0; 11]);
/// let mut segments = [&mut method[..], &mut space, &mut path].map(IoSliceMut::new);
/// assert_eq!(scatter.read_exact(&reader, &mut segments)?, 15);
/// assert_eq!((&method, &path), (b"GET", b"/index.html"));
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct Scatter {
    model: CostModel,
    /// The staging buffer is empty until it is first used. Then it has the model's `staging_bytes`.
    receiver: Receiver,
    /// The number of segments of the last list, and the threshold for that number, in bytes.
    last_threshold: (usize, usize),
}

impl Scatter {
    /// A scattering reader that decides by the model of [`TargetKind::Other`]. Allocates nothing yet.
    #[must_use]
    pub const fn new() -> Scatter {
        Scatter::with_model(CostModel::for_target(TargetKind::Other))
    }

    /// A scattering reader that decides by `model`. Allocates nothing yet.
    #[must_use]
    pub const fn with_model(model: CostModel) -> Scatter {
        Scatter {
            model,
            receiver: Receiver::new(),
            // Holds for every model: a list without segments has nothing to copy.
            last_threshold: (0, 0),
        }
    }

    /// The model that decides.
    #[must_use]
    pub fn cost_model(&self) -> &CostModel {
        &self.model
    }

    /// Reads into all of `segments` in order until they are full, and returns the number of bytes.
    ///
    /// It keeps every promise of the function [`read_exact`](crate::read_exact). A list whose small segments
    /// exceed the staging buffer takes more calls.
    pub fn read_exact(
        &mut self,
        fd: impl AsDescriptor,
        segments: &mut [IoSliceMut<'_>],
    ) -> Result<u64, TransferError> {
        self.resume_read(fd, segments, &mut SegmentCursor::new())
    }

    /// Reads into `segments` from `cursor` on until they are full, and advances the cursor.
    ///
    /// Like the function [`resume_read`](crate::resume_read): after [`WouldBlock`](io::ErrorKind::WouldBlock), call it
    /// again with the same list and cursor. The `Scatter` may read other lists in the meantime, since it holds no
    /// bytes.
    pub fn resume_read(
        &mut self,
        fd: impl AsDescriptor,
        segments: &mut [IoSliceMut<'_>],
        cursor: &mut SegmentCursor,
    ) -> Result<u64, TransferError> {
        self.read(fd, segments, cursor, None, AtEof::Fail)
    }

    /// Reads into `segments` in order until they are full or the file ends, and returns the number of bytes read.
    pub fn read_up_to_eof(
        &mut self,
        fd: impl AsDescriptor,
        segments: &mut [IoSliceMut<'_>],
    ) -> Result<u64, TransferError> {
        self.read(fd, segments, &mut SegmentCursor::new(), None, AtEof::Stop)
    }

    /// Reads into all of `segments` from byte `offset` of a file on until they are full, and returns the number of
    /// bytes.
    pub fn read_exact_at(
        &mut self,
        fd: impl AsDescriptor,
        segments: &mut [IoSliceMut<'_>],
        offset: u64,
    ) -> Result<u64, TransferError> {
        let cursor = &mut SegmentCursor::new();
        self.read(fd, segments, cursor, Some(offset), AtEof::Fail)
    }

    /// Reads into `segments` from byte `offset` of a file on until they are full or the file ends, and returns the
    /// number of bytes read.
    pub fn read_up_to_eof_at(
        &mut self,
        fd: impl AsDescriptor,
        segments: &mut [IoSliceMut<'_>],
        offset: u64,
    ) -> Result<u64, TransferError> {
        let cursor = &mut SegmentCursor::new();
        self.read(fd, segments, cursor, Some(offset), AtEof::Stop)
    }

    fn read(
        &mut self,
        fd: impl AsDescriptor,
        segments: &mut [IoSliceMut<'_>],
        cursor: &mut SegmentCursor,
        offset: Option<u64>,
        at_eof: AtEof,
    ) -> Result<u64, TransferError> {
        let source = source(fd.as_descriptor(), segments, offset)?;
        let policy = self.policy(segments.len());
        self.receive_all(segments, cursor, policy, at_eof, source)
    }

    fn policy(&mut self, segment_count: usize) -> RunPolicy {
        if self.last_threshold.0 != segment_count {
            let threshold = self.model.copy_below_bytes(segment_count);
            self.last_threshold = (segment_count, threshold);
        }
        RunPolicy::new(self.last_threshold.1, Limits::default())
    }

    pub(crate) fn receive_all(
        &mut self,
        segments: &mut [IoSliceMut<'_>],
        cursor: &mut SegmentCursor,
        policy: RunPolicy,
        at_eof: AtEof,
        source: impl FnMut(&mut [IoSliceMut<'_>]) -> io::Result<usize>,
    ) -> Result<u64, TransferError> {
        if policy.copy_below_bytes > 0 && self.receiver.staging.is_empty() {
            // If the allocation fails, the buffer stays empty and nothing is staged.
            let bytes = self.model.staging_within(Limits::default());
            self.receiver.staging =
                AlignedBuffer::try_zeroed(bytes, STAGING_ALIGNMENT).unwrap_or_default();
        }
        self.receiver
            .receive_all(segments, cursor, policy, at_eof, source)
    }
}

impl fmt::Debug for Scatter {
    /// Leaves out the bytes of the staging buffer, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scatter")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::reads::{ScriptedSource, check_read_against_model};
    use crate::testing::{Answer, any_limits, any_script, any_sizes, payload};
    use proptest::prelude::*;

    fn scatter_with_staging(staging_bytes: usize) -> Scatter {
        Scatter::with_model(CostModel {
            staging_bytes,
            ..CostModel::default()
        })
    }

    fn check(scatter: &mut Scatter, sizes: &[usize], script: &[Answer], policy: RunPolicy) {
        for (is_exact, at_eof) in [(true, AtEof::Fail), (false, AtEof::Stop)] {
            let limits = policy.limits;
            check_read_against_model(sizes, script, limits, is_exact, |list, cursor, source| {
                scatter.receive_all(list, cursor, policy, at_eof, |slices| source.call(slices))
            });
        }
    }

    fn calls_of(sizes: &[usize]) -> usize {
        let mut scatter = Scatter::default();
        let policy = scatter.policy(sizes.len());
        let mut source = ScriptedSource::new(payload(sizes).concat(), &[], policy.limits);
        let mut buffers: Vec<Vec<u8>> = sizes.iter().map(|&size| vec![0; size]).collect();
        let mut segments: Vec<_> = buffers.iter_mut().map(|b| IoSliceMut::new(b)).collect();
        let cursor = &mut SegmentCursor::new();
        scatter
            .receive_all(&mut segments, cursor, policy, AtEof::Fail, |slices| {
                source.call(slices)
            })
            .unwrap();
        assert!(buffers == payload(sizes));
        source.calls
    }

    proptest! {
        #[test]
        fn any_lists_are_filled_from_any_source_in_order_and_counted(
            lists in prop::collection::vec((any_sizes(), any_script()), 1..4),
            copy_below_bytes in prop_oneof![Just(0), 1..70_usize, Just(1000)],
            staging_bytes in prop_oneof![Just(0), 1..300_usize],
            limits in any_limits(),
        ) {
            // One `Scatter` reads several lists: no byte of one list may reach the next.
            let mut scatter = scatter_with_staging(staging_bytes);
            let policy = RunPolicy::new(copy_below_bytes, limits);
            for (sizes, script) in lists {
                check(&mut scatter, &sizes, &script, policy);
            }
        }
    }

    #[test]
    fn small_segments_go_by_the_staging_buffer_and_large_ones_by_iov_max() {
        for (count, size, calls) in [
            (1, 50, 1),
            (1025, 50, 1),
            (3000, 50, 1),
            // 1,000,000 bytes are four buffers of 256 KiB.
            (10_000, 100, 4),
            (1024, 1000, 1),
            (1025, 1000, 2),
            (2048, 1000, 2),
        ] {
            assert_eq!(calls_of(&vec![size; count]), calls, "{count} × {size}");
        }
        let alternating: Vec<usize> = (0..2048).map(|i| i % 2 * 1000).collect();
        assert_eq!((calls_of(&[0; 1024]), calls_of(&alternating)), (0, 1));
    }

    #[test]
    fn the_threshold_is_that_of_the_current_list() {
        let mut scatter = Scatter::default();
        for count in [0, 1, 2, 2, 1000, 3, 0, 3000, 2] {
            let threshold = scatter.model.copy_below_bytes(count);
            assert_eq!(scatter.policy(count).copy_below_bytes, threshold, "{count}");
        }
    }
}
