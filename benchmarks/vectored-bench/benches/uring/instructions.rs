//! Lists to `/dev/null`, for a program that counts instructions.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use vectored::CostModel;
use vectored_machine::FakeClock;
use vectored_measure::in_flight::Place;
use vectored_measure::measure::{Contender, Lists, Timed, movers};
use vectored_results::model::TechniqueName;

use crate::ring::RingPeer;

/// The lists of a sample, as in `Target::lists`.
const LISTS: u32 = 64;

/// The lists whose instructions are counted.
pub struct Counted {
    /// Whether the technique of the measuring engine is counted, and not this bench's own.
    pub of_technique: bool,
    pub segments: usize,
    pub depth: u32,
    /// A multiple of [`LISTS`].
    pub lists: u32,
}

impl Counted {
    /// Makes and writes the lists.
    pub fn run(&self) -> io::Result<()> {
        let content: &'static [u8] = vec![1; self.segments].leak();
        let null = File::options().write(true).open("/dev/null")?;
        if self.of_technique {
            let technique = Contender::Technique(TechniqueName::new("io-uring"));
            let mut mover = movers(technique, &CostModel::default());
            let lists = Lists::one(content.chunks(1).collect());
            let batch = Timed {
                untimed_first: true,
                queue_depth: self.depth,
                ..Timed::calls(self.lists)
            };
            mover.prepare(lists.first(), 0);
            let clock = FakeClock::default();
            mover.sample(null.as_fd(), &lists, batch, &clock)?;
            return Ok(());
        }
        let mut peer = RingPeer::open(self.depth, LISTS, &Arc::new(null.into()))?;
        for _ in 0..self.lists / LISTS {
            peer.fill(content.chunks(1));
            peer.write(Place::Offset(0))?;
        }
        Ok(())
    }
}
