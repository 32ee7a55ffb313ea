//! Copies from a source to a target.

use std::borrow::Cow;
use std::io;

use crate::measure::cell::step::{Ends, Movers, Step, Turn, mover};
use crate::measure::sampler::interface::Timing;
use crate::measure::sampler::meter::Meter;
use crate::measure::sampler::pattern::Pattern;
use crate::measure::techniques::copy_mover::CopyMover;

pub(crate) struct Copying {
    pub pattern: Pattern,
    pub call_bytes: usize,
    pub movers: Movers<dyn CopyMover>,
}

impl Step for Copying {
    fn prepare(&mut self, turn: &Turn) -> io::Result<()> {
        mover(&mut self.movers, turn.contender).prepare(turn.start_bytes)
    }

    fn sample(&mut self, turn: &Turn, ends: Ends<'_>, meter: Meter<'_>) -> io::Result<Timing> {
        let mover = mover(&mut self.movers, turn.contender);
        mover.sample(ends, self.call_bytes, turn.timed, meter)
    }

    fn sent(&self, turn: &Turn) -> Cow<'_, [u8]> {
        let mut image = vec![0; self.call_bytes * turn.timed.all_calls() as usize];
        self.pattern.fill(turn.position, &mut image);
        Cow::Owned(image)
    }
}
