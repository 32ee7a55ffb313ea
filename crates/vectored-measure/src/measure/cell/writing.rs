//! Writes: one list a call.

use std::borrow::Cow;
use std::io;

use crate::measure::cell::step::{Ends, Movers, Step, Turn, mover};
use crate::measure::sampler::cold_pool::PoolMemory;
use crate::measure::sampler::interface::Timing;
use crate::measure::sampler::meter::Meter;
use crate::measure::sampler::payload_supply::Supply;
use crate::measure::techniques::write_mover::Mover;

pub(crate) struct Writing {
    pub supply: Supply,
    pub movers: Movers<dyn Mover>,
}

impl Step for Writing {
    fn prepare(&mut self, turn: &Turn) -> io::Result<()> {
        self.supply
            .draw(turn.contender, turn.timed.all_calls(), turn.mark);
        let lists = self.supply.lists(turn.contender);
        mover(&mut self.movers, turn.contender).prepare(lists.first(), turn.start_bytes);
        Ok(())
    }

    fn sample(&mut self, turn: &Turn, (_, to): Ends<'_>, meter: Meter<'_>) -> io::Result<Timing> {
        let lists = self.supply.lists(turn.contender);
        mover(&mut self.movers, turn.contender).sample(to, &lists, turn.timed, meter)
    }

    fn sent(&self, _turn: &Turn) -> Cow<'_, [u8]> {
        self.supply.sent()
    }

    fn lay_out(&mut self) {
        self.supply.lay_out();
    }

    fn close(self: Box<Self>) -> Option<PoolMemory> {
        self.supply.into_memory()
    }
}
