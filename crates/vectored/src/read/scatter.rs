//! A reader that reads small segments through a staging buffer, and large segments in place: [`Scatter`].

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

/// A scattering reader, the counterpart of [`Gather`](crate::Gather). One call reads runs of small segments through a
/// staging buffer, and large segments in place.
///
/// A run is two or more neighbouring segments. Each segment of a run has at most [`CostModel::copy_below_bytes`], for
/// the number of segments of the list. A run takes one entry of the `readv(2)`. The call reads the bytes of the run
/// into the staging buffer. The `Scatter` then copies the bytes to the segments while the bytes are in the CPU's cache.
///
/// The default models were measured on writes, so the models are only estimates for reads.
///
/// The staging buffer starts at a page, so a file that is open with `O_DIRECT` takes aligned lists.
///
/// A `Scatter` holds no bytes between two calls of its methods. No system call asks for more bytes than the list holds.
/// When a method returns, even with an error, all bytes read are in the caller's segments.
///
/// A `Scatter` owns a staging buffer of [`staging_bytes`](CostModel::staging_bytes) and an array of at most
/// [`iov_max`](crate::limits::iov_max) entries. Reuse a `Scatter`: later lists of similar size allocate nothing.
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
    /// The staging buffer is empty until the first use, and then has `staging_bytes` of the model.
    receiver: Receiver,
    /// The number of segments of the last list, and the threshold in bytes for that number.
    last_threshold: (usize, usize),
}

impl Scatter {
    /// Makes a scattering reader with the model of [`TargetKind::Other`]. Allocates nothing yet.
    #[must_use]
    pub const fn new() -> Scatter {
        Scatter::with_model(CostModel::for_target(TargetKind::Other))
    }

    /// Makes a scattering reader with `model`. Allocates nothing yet.
    #[must_use]
    pub const fn with_model(model: CostModel) -> Scatter {
        Scatter {
            model,
            receiver: Receiver::new(),
            // This value is right for every model, because an empty list has no segment to copy.
            last_threshold: (0, 0),
        }
    }

    /// Returns the cost model.
    #[must_use]
    pub fn cost_model(&self) -> &CostModel {
        &self.model
    }

    /// Reads into all of `segments` in order until they are full, and returns the number of bytes.
    ///
    /// The method has all guarantees of the function [`read_exact`](crate::read_exact). A list takes more calls if the
    /// small segments exceed the staging buffer.
    pub fn read_exact(
        &mut self,
        fd: impl AsDescriptor,
        segments: &mut [IoSliceMut<'_>],
    ) -> Result<u64, TransferError> {
        self.resume_read(fd, segments, &mut SegmentCursor::new())
    }

    /// Reads into `segments` from `cursor` on until they are full, and advances the cursor.
    ///
    /// After [`WouldBlock`](io::ErrorKind::WouldBlock), call the method again with the same list and cursor, as
    /// described for the function [`resume_read`](crate::resume_read). The `Scatter` may read other lists between the
    /// two calls.
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
            // After a failed allocation, the buffer stays empty and no run is staged.
            let bytes = self.model.staging_within(Limits::default());
            self.receiver.staging =
                AlignedBuffer::try_zeroed(bytes, STAGING_ALIGNMENT).unwrap_or_default();
        }
        self.receiver
            .receive_all(segments, cursor, policy, at_eof, source)
    }
}

impl fmt::Debug for Scatter {
    /// The output does not contain the bytes of the staging buffer, which may be secret.
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
            // One `Scatter` reads several lists. A byte of one list must not appear in the next list.
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
            // 1,000,000 bytes fill four staging buffers of 256 KiB.
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
