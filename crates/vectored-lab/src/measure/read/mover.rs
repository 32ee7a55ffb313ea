//! The read techniques, as a program would implement them by hand.

use std::io::{self, IoSliceMut};

use vectored::{CostModel, Scatter};

use crate::measure::sampling::clock::Clock;
use crate::measure::sampling::sampler::Timing;
use crate::measure::sampling::staging::prepare_staging;
use crate::measure::write::mover::{Timed, time_calls, time_each_call};
use crate::model::IovecSetup;
use crate::platform::fd::BorrowedFd;
use crate::platform::plain_calls::{Errno, read, readv, retry_on_intr};
#[cfg(unix)]
use crate::platform::plain_calls::{SeekFrom, seek};
use crate::stats::Latencies;
#[cfg(unix)]
use crate::sys::mapping::Mapping;

/// A technique that reads from a descriptor into a list of segments.
///
/// # Implementer notes
///
/// `call` fills every byte of all segments, in order, and reads no further
/// bytes, or fails. Filling an iovec array or a staging buffer is part of the
/// technique and is timed. Memory that a program would allocate once belongs in
/// `prepare`.
pub trait ReadMover {
    /// Allocates the working memory that `call` needs. A staging buffer starts
    /// `start_bytes` into its allocation, an offset that changes from round to
    /// round. Not timed.
    fn prepare(&mut self, segments: &[&mut [u8]], start_bytes: usize);

    /// Fills all segments once.
    ///
    /// # Errors
    ///
    /// The kernel's error; `UnexpectedEof` if there are too few bytes.
    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()>;

    /// Times `batch.calls` calls, after an untimed call if
    /// `batch.untimed_first`.
    ///
    /// # Errors
    ///
    /// Those of `call`.
    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        segments: &mut [&mut [u8]],
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<Timing> {
        // A default method gives each technique its own copy of the loop, so
        // the call inside it is dispatched statically.
        time_calls(fd, batch, clock, || self.call(fd, segments))
    }

    /// The same with a list of segments for each transfer in flight. Returns
    /// the number of the last call, from 0 on, that filled each list. Synchronous
    /// techniques fill the first list in every call.
    ///
    /// # Errors
    ///
    /// Those of `call`.
    fn sample_lists(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &mut [Vec<&mut [u8]>],
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<(Timing, Vec<u32>)> {
        let timing = self.sample(fd, &mut lists[0], batch, clock)?;
        Ok((timing, vec![batch.all_calls() - 1]))
    }

    /// As [`Mover::latencies`](crate::measure::Mover::latencies), with the
    /// lists of [`ReadMover::sample_lists`].
    ///
    /// # Errors
    ///
    /// Those of `call`.
    fn latencies(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &mut [Vec<&mut [u8]>],
        batch: Timed,
        clock: &dyn Clock,
        latencies: &mut Latencies,
    ) -> io::Result<Vec<u32>> {
        time_each_call(batch, clock, latencies, || self.call(fd, &mut lists[0]))?;
        Ok(vec![batch.all_calls() - 1])
    }
}

/// One `read` a segment.
pub(crate) struct ReadEach;

impl ReadMover for ReadEach {
    fn prepare(&mut self, _segments: &[&mut [u8]], _start_bytes: usize) {}

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        for segment in segments {
            read_exact(fd, segment)?;
        }
        Ok(())
    }
}

/// One `read` into a staging buffer, then a copy to every segment.
#[derive(Default)]
pub(crate) struct ReadThenSplit {
    staging: Vec<u8>,
    start_bytes: usize,
}

impl ReadMover for ReadThenSplit {
    fn prepare(&mut self, segments: &[&mut [u8]], start_bytes: usize) {
        let total_bytes: usize = segments.iter().map(|segment| segment.len()).sum();
        self.start_bytes = prepare_staging(&mut self.staging, start_bytes, total_bytes);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        let staging = &mut self.staging[self.start_bytes..];
        read_exact(fd, staging)?;
        let mut rest = &*staging;
        for segment in segments {
            let (bytes, behind) = rest.split_at(segment.len());
            segment.copy_from_slice(bytes);
            rest = behind;
        }
        Ok(())
    }
}

/// A technique that reads into the segments of an `iovec` array and leaves the
/// array unchanged.
pub(crate) trait Scattering {
    /// See [`ReadMover::prepare`].
    fn prepare(&mut self, _segments: &[&mut [u8]]) {}

    /// See [`ReadMover::call`].
    fn receive(&mut self, fd: BorrowedFd<'_>, iovecs: &mut [IoSliceMut<'_>]) -> io::Result<()>;
}

/// Fills the array, in every call or once per sample, and passes it to a
/// [`Scattering`].
pub(crate) struct WithArray<S> {
    scattering: S,
    iovecs: Vec<IoSliceMut<'static>>,
}

impl<S> WithArray<S> {
    pub fn new(scattering: S) -> Self {
        WithArray {
            scattering,
            iovecs: Vec::new(),
        }
    }
}

impl<S: Scattering> ReadMover for WithArray<S> {
    fn prepare(&mut self, segments: &[&mut [u8]], _start_bytes: usize) {
        self.iovecs.reserve(segments.len());
        self.scattering.prepare(segments);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        let mut iovecs = recycled(std::mem::take(&mut self.iovecs));
        iovecs.extend(segments.iter_mut().map(|segment| IoSliceMut::new(segment)));
        let outcome = self.scattering.receive(fd, &mut iovecs);
        self.iovecs = recycled(iovecs);
        outcome
    }

    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        segments: &mut [&mut [u8]],
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<Timing> {
        match batch.iovec_setup {
            IovecSetup::Timed => time_calls(fd, batch, clock, || self.call(fd, segments)),
            IovecSetup::Once => {
                let mut iovecs: Vec<IoSliceMut<'_>> =
                    segments.iter_mut().map(|s| IoSliceMut::new(s)).collect();
                time_calls(fd, batch, clock, || {
                    self.scattering.receive(fd, &mut iovecs)
                })
            }
        }
    }

    fn latencies(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &mut [Vec<&mut [u8]>],
        batch: Timed,
        clock: &dyn Clock,
        latencies: &mut Latencies,
    ) -> io::Result<Vec<u32>> {
        let segments = &mut lists[0];
        match batch.iovec_setup {
            IovecSetup::Timed => {
                time_each_call(batch, clock, latencies, || self.call(fd, segments))?;
            }
            IovecSetup::Once => {
                let mut iovecs: Vec<IoSliceMut<'_>> =
                    segments.iter_mut().map(|s| IoSliceMut::new(s)).collect();
                time_each_call(batch, clock, latencies, || {
                    self.scattering.receive(fd, &mut iovecs)
                })?;
            }
        }
        Ok(vec![batch.all_calls() - 1])
    }
}

/// One `readv` for the whole array.
#[derive(Default)]
pub(crate) struct Readv {
    iov_max: usize,
    total_bytes: usize,
}

impl Scattering for Readv {
    fn prepare(&mut self, segments: &[&mut [u8]]) {
        self.iov_max = vectored::iov_max();
        self.total_bytes = segments.iter().map(|segment| segment.len()).sum();
    }

    fn receive(&mut self, fd: BorrowedFd<'_>, iovecs: &mut [IoSliceMut<'_>]) -> io::Result<()> {
        if iovecs.len() <= self.iov_max {
            return readv_exact(fd, iovecs, self.total_bytes);
        }
        iovecs.chunks_mut(self.iov_max).try_for_each(|chunk| {
            let bytes = chunk.iter().map(|s| s.len()).sum();
            readv_exact(fd, chunk, bytes)
        })
    }
}

/// The library's choice.
pub(crate) struct Adaptive {
    scatter: Scatter,
}

impl Adaptive {
    pub fn new(model: CostModel) -> Self {
        Adaptive {
            scatter: Scatter::new(model),
        }
    }
}

impl Scattering for Adaptive {
    fn receive(&mut self, fd: BorrowedFd<'_>, iovecs: &mut [IoSliceMut<'_>]) -> io::Result<()> {
        self.scatter.read_exact(fd, iovecs)?;
        Ok(())
    }
}

/// In every call, maps the range that `read` would read, copies it to the
/// segments and unmaps it. The file position moves as after a `read`.
#[cfg(unix)]
pub(crate) struct Mmap;

#[cfg(unix)]
impl ReadMover for Mmap {
    fn prepare(&mut self, _segments: &[&mut [u8]], _start_bytes: usize) {}

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        let place = seek(fd, SeekFrom::Current(0))?;
        let bytes: usize = segments.iter().map(|segment| segment.len()).sum();
        let end = place + bytes as u64;
        // Touching a mapping beyond the end of the file raises SIGBUS.
        if end > rustix::fs::fstat(fd)?.st_size as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut mapping = Mapping::to_read(fd, place, bytes)?;
        for segment in segments {
            mapping.get(segment);
        }
        drop(mapping);
        seek(fd, SeekFrom::Start(end))?;
        Ok(())
    }
}

/// One `read`; after a short read, further calls for the rest.
///
/// Never inlined, nor is [`readv_exact`]: see `write_all`.
#[inline(never)]
pub(crate) fn read_exact(fd: BorrowedFd<'_>, mut bytes: &mut [u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match read(fd, &mut *bytes) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => bytes = &mut bytes[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// One `readv`; after a short one, further calls for the rest. The array is
/// unchanged afterwards.
#[inline(never)]
pub(crate) fn readv_exact(
    fd: BorrowedFd<'_>,
    iovecs: &mut [IoSliceMut<'_>],
    total_bytes: usize,
) -> io::Result<()> {
    let count = retry_on_intr(|| readv(fd, iovecs))?;
    if count < total_bytes {
        receive_rest(fd, iovecs, count)?;
    }
    Ok(())
}

/// Reads the rest with a second array, since advancing through an array changes
/// it.
#[cold]
fn receive_rest(
    fd: BorrowedFd<'_>,
    iovecs: &mut [IoSliceMut<'_>],
    mut count: usize,
) -> io::Result<()> {
    let mut rest: Vec<IoSliceMut<'_>> = iovecs.iter_mut().map(|s| IoSliceMut::new(s)).collect();
    let mut rest = rest.as_mut_slice();
    loop {
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        IoSliceMut::advance_slices(&mut rest, count);
        if rest.is_empty() {
            return Ok(());
        }
        count = retry_on_intr(|| readv(fd, rest))?;
    }
}

/// Converts to an empty array with the same allocation, for slices of another
/// lifetime. Collecting a vector's own iterator reuses its memory.
fn recycled<'to>(mut iovecs: Vec<IoSliceMut<'_>>) -> Vec<IoSliceMut<'to>> {
    iovecs.clear();
    iovecs
        .into_iter()
        .map(|_| IoSliceMut::new(&mut []))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::measure::sampling::clock::FakeClock;

    /// Notes the size of the first segment, and swaps it with the second one. An array that is filled again
    /// is in the old order.
    #[derive(Default)]
    struct Swapping(Vec<usize>);

    impl Scattering for Swapping {
        fn receive(
            &mut self,
            _fd: BorrowedFd<'_>,
            iovecs: &mut [IoSliceMut<'_>],
        ) -> io::Result<()> {
            self.0.push(iovecs[0].len());
            iovecs.swap(0, 1);
            Ok(())
        }
    }

    #[test]
    fn latencies_are_of_the_same_calls_as_samples() {
        let null = std::fs::File::open("/dev/null").unwrap();
        let clock = FakeClock::default();
        for (iovec_setup, sizes) in [
            (IovecSetup::Timed, [1, 1, 1, 1]),
            (IovecSetup::Once, [1, 2, 1, 2]),
        ] {
            let batch = Timed {
                calls: 4,
                untimed_first: false,
                iovec_setup,
                fsync: false,
                queue_depth: 1,
            };
            let (mut one, mut other) = ([0; 1], [0; 2]);
            let mut lists = [vec![&mut one[..], &mut other[..]]];
            let mut mover = WithArray::new(Swapping::default());
            mover
                .sample(null.as_fd(), &mut lists[0], batch, &clock)
                .unwrap();
            assert_eq!(std::mem::take(&mut mover.scattering.0), sizes);
            let mut latencies = Latencies::default();
            let last = mover.latencies(null.as_fd(), &mut lists, batch, &clock, &mut latencies);
            assert_eq!(last.unwrap(), [3]);
            assert_eq!(mover.scattering.0, sizes, "{iovec_setup:?}");
            assert_eq!(latencies.summary().latency_transfers, Some(4));
        }
    }

    #[test]
    fn recycled_arrays_keep_their_memory() {
        let mut bytes = [0; 1000];
        let iovecs: Vec<IoSliceMut<'_>> = bytes.chunks_mut(1).map(IoSliceMut::new).collect();
        let memory = iovecs.as_ptr().addr();
        let again: Vec<IoSliceMut<'static>> = recycled(iovecs);
        assert!(again.is_empty());
        assert!(again.capacity() >= 1000);
        assert_eq!(again.as_ptr().addr(), memory);
    }
}
