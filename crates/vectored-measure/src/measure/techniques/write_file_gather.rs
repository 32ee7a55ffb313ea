//! Lists of pages written by `WriteFileGather` of Windows, with several of them in flight.

use std::io;

use vectored_machine::platform::fd::BorrowedFd;
use vectored_results::model::{Cache, Conditions, SyncMode};

use crate::in_flight::Place;
use crate::in_flight::pages::PageQueue;
use crate::measure::sampler::full_queue::{
    Transfer, next_place, set_position_after, time_full_queue,
};
use crate::measure::sampler::interface::Timing;
use crate::measure::sampler::lists::Lists;
use crate::measure::sampler::meter::{Meter, Timed};
use crate::measure::techniques::write_mover::Mover;
use crate::measure::techniques::{Technique, asynchronous};

pub const WRITE_FILE_GATHER: Technique = Technique {
    about: "lists of whole pages past the cache; files",
    in_flight: true,
    refuses,
    write: Some(|_| Box::new(WriteFileGather::default())),
    ..Technique::named("write-file-gather")
};

fn refuses(conditions: &Conditions) -> Option<&'static str> {
    if !conditions.target.is_file() {
        Some("is for files only")
    } else if matches!(conditions.sync, SyncMode::Dsync | SyncMode::Sync) {
        Some("opens the file again, without the flags of --sync dsync and sync: omit --sync")
    } else if conditions.cache == Cache::Cold {
        Some("has its segments in pages of its own: omit --cache cold")
    } else {
        asynchronous::refuses(conditions)
    }
}

/// `WriteFileGather`. The segments of a list lie in pages of its own, as in a program that uses it: they are copied there
/// before a batch, which is not timed. The file is open a second time, past the cache.
#[derive(Default)]
struct WriteFileGather {
    queue: Option<PageQueue>,
    /// The segments of the list, until there is a queue.
    segments: Vec<Vec<u8>>,
    call_bytes: u64,
}

impl WriteFileGather {
    /// Writes the lists of a batch. `time` is given the transfer, and does not time what is before and after it.
    fn batch<T>(
        &mut self,
        fd: BorrowedFd<'_>,
        (count, depth): (u64, u32),
        time: impl FnOnce(&mut Transfer<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        let Place::Offset(offset) = next_place(fd)? else {
            let why = "only files are written by WriteFileGather";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        };
        if self.queue.is_none() {
            let mut queue = PageQueue::new()?;
            queue.load(&as_slices(&self.segments));
            self.queue = Some(queue);
        }
        let queue = self.queue.as_mut().expect("made above");
        queue.get_ready(fd, depth)?;
        let timing = time(&mut |on_event| queue.write(offset, count, on_event))?;
        set_position_after(fd, Place::Offset(offset), count * self.call_bytes)?;
        Ok(timing)
    }
}

fn as_slices(segments: &[Vec<u8>]) -> Vec<&[u8]> {
    segments.iter().map(Vec::as_slice).collect()
}

impl Mover for WriteFileGather {
    fn prepare(&mut self, segments: &[&[u8]], _start_bytes: usize) {
        self.call_bytes = segments.iter().map(|segment| segment.len() as u64).sum();
        match &mut self.queue {
            Some(queue) => queue.load(segments),
            None => self.segments = segments.iter().map(|segment| segment.to_vec()).collect(),
        }
    }

    /// Writes the segments that were prepared, which are these.
    fn call(&mut self, fd: BorrowedFd<'_>, _segments: &[&[u8]]) -> io::Result<()> {
        self.batch(fd, (1, 1), |transfer| Ok(transfer(&mut |_| ())?))
    }

    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        _lists: &Lists<'_>,
        batch: Timed,
        meter: Meter<'_>,
    ) -> io::Result<Timing> {
        let shape = (batch.all_calls().into(), batch.queue_depth);
        self.batch(fd, shape, |transfer| {
            time_full_queue(batch, meter, transfer)
        })
    }
}
