//! A program of C.

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;

use vectored_machine::Clock;
use vectored_measure::measure::{Lists, Mover, Timed, Timing};
use vectored_results::model::IovecSetup;

use crate::sys::c_callers::{CCallers, How};

/// A technique of `c_callers.c`, which gets an array of `iovec`.
pub struct CProgram {
    callers: CCallers,
    how: How,
}

impl CProgram {
    pub fn new(callers: CCallers, how: How) -> Self {
        CProgram { callers, how }
    }
}

fn array<'a>(segments: &[&'a [u8]]) -> Vec<IoSlice<'a>> {
    segments
        .iter()
        .map(|segment| IoSlice::new(segment))
        .collect()
}

impl Mover for CProgram {
    fn prepare(&mut self, _segments: &[&[u8]], _start_bytes: usize) {}

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let mut caller = self.callers.open(self.how, fd, segments.len())?;
        caller.send(fd, &array(segments))
    }

    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &Lists<'_>,
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<Timing> {
        let mut caller = self.callers.open(self.how, fd, lists.segments().len())?;
        match batch.iovec_setup {
            IovecSetup::Timed => {
                let mut turns = lists.in_turn();
                let mut iovecs = Vec::new();
                batch.time(clock, fd, || {
                    iovecs.clear();
                    iovecs.extend(turns.next().iter().map(|segment| IoSlice::new(segment)));
                    caller.send(fd, &iovecs)
                })
            }
            IovecSetup::Once => {
                let iovecs = array(lists.segments());
                let mut turns = lists.turns_of(&iovecs);
                batch.time(clock, fd, || caller.send(fd, turns.next()))
            }
        }
    }
}
