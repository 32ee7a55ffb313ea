//! The loop of reads, which makes calls until the list is full.

use std::io::{self, IoSliceMut};
use std::mem;

use crate::cursor::SegmentCursor;
use crate::error::TransferError;
use crate::interruption::{CallEnd, go_on_after};
use crate::runs::RunPolicy;
use crate::transfer::aligned_buffer::AlignedBuffer;
use crate::transfer::read_plan::{ReadPlan, Run, plan_read, split};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtEof {
    /// The end of the file is the error `UnexpectedEof`.
    Fail,
    Stop,
}

/// The working memory of reads.
#[derive(Default)]
pub(crate) struct Receiver {
    /// The buffer for runs of small segments. If the buffer is empty, no run is planned.
    pub(crate) staging: AlignedBuffer,
    /// This list is empty between calls. Only the memory is reused.
    pub(crate) iovecs: Vec<IoSliceMut<'static>>,
    runs: Vec<Run>,
}

impl Receiver {
    pub(crate) const fn new() -> Receiver {
        Receiver {
            staging: AlignedBuffer::empty(),
            iovecs: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Reads into `segments` from `cursor` on until they are full, and moves the cursor.
    ///
    /// After a short read, the staged bytes are copied to the caller's list, and the cursor moves by the bytes that
    /// were read. The next call is planned from the cursor.
    ///
    /// # Errors
    ///
    /// The first error of `source` other than `EINTR`, `UnexpectedEof` with [`AtEof::Fail`], and `EINTR` if the program
    /// stops the transfer.
    pub(crate) fn receive_all(
        &mut self,
        segments: &mut [IoSliceMut<'_>],
        cursor: &mut SegmentCursor,
        policy: RunPolicy,
        at_eof: AtEof,
        mut source: impl FnMut(&mut [IoSliceMut<'_>]) -> io::Result<usize>,
    ) -> Result<u64, TransferError> {
        let mut transferred = 0;
        while let Some(plan) = plan_read(
            segments,
            *cursor,
            policy,
            self.staging.len(),
            &mut self.runs,
        ) {
            let read = match self.call(segments, plan, &mut source) {
                Ok(read) => read,
                Err(error) => return Err(TransferError::reading(transferred, error)),
            };
            if read == 0 {
                return match at_eof {
                    AtEof::Stop => Ok(transferred),
                    AtEof::Fail => Err(TransferError::reading(transferred, unexpected_eof())),
                };
            }
            assert!(
                read <= plan.bytes,
                "the system call reported {read} bytes of {}",
                plan.bytes
            );
            split(&self.runs, &self.staging, read, segments);
            transferred += read as u64;
            if read == plan.bytes {
                *cursor = plan.end.skip_empty(segments);
            } else {
                cursor.advance_over(segments, read);
            }
            if cursor.segment() < segments.len() {
                go_on_after(CallEnd::Other)
                    .map_err(|error| TransferError::reading(transferred, error))?;
            }
        }
        // If all segments are empty, no call has moved the cursor.
        *cursor = SegmentCursor::at(segments.len(), 0);
        Ok(transferred)
    }

    fn call(
        &mut self,
        segments: &mut [IoSliceMut<'_>],
        plan: ReadPlan,
        source: &mut impl FnMut(&mut [IoSliceMut<'_>]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        if plan.is_list {
            return retry_interrupted(|| source(plan.as_list(segments)));
        }
        let mut iovecs = recycle(mem::take(&mut self.iovecs));
        plan.build(segments, &self.runs, &mut self.staging, &mut iovecs);
        let result = retry_interrupted(|| source(&mut iovecs));
        self.iovecs = recycle(iovecs);
        result
    }
}

/// Makes a call, and retries the call after `EINTR` unless the program stops the transfer. An interrupted call has
/// moved no bytes ("Errors" of read(2)).
pub(crate) fn retry_interrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => go_on_after(CallEnd::Cut)?,
            result => return result,
        }
    }
}

pub(crate) fn unexpected_eof() -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "the file or stream ended before the list was full",
    )
}

/// Empties an array of slices, so that its memory can hold slices with another lifetime.
///
/// `collect` reuses the allocation. `Vec` does not guarantee the reuse.
pub(crate) fn recycle<'a>(mut slices: Vec<IoSliceMut<'_>>) -> Vec<IoSliceMut<'a>> {
    slices.clear();
    slices
        .into_iter()
        .map(|_| IoSliceMut::new(&mut []))
        .collect()
}
