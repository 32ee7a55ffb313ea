//! The sampler of rank 0, which has all ranks take each sample at the same time.

use vectored_results::model::{CellSpec, TechniqueName};

use crate::measure::ranks::group::{Group, give};
use crate::measure::ranks::member::{Member, Order};
use crate::measure::sampler::{
    CellExtras, CellSetup, Contender, DrainChoice, MeasureError, Sampler, Timing,
};

/// A sampler that takes each sample on the first [`Conditions::ranks`](vectored_results::model::Conditions::ranks) ranks at
/// the same time. The time of a sample is the time of the slowest rank.
///
/// A barrier precedes the untimed first call of each sample.
///
/// All other ranks call [`follow`](crate::measure::follow) until this value is dropped.
pub struct RankedSampler<'a> {
    member: Member<'a>,
    hear: &'a dyn Fn(u64),
}

impl<'a> RankedSampler<'a> {
    /// Rank 0, which calls this, samples with `own`. The other ranks sample with the samplers that they give to `follow`.
    ///
    /// `hear` is called with the number of a signal that another rank got. The sample before the signal counts.
    pub fn new(
        group: &'a dyn Group,
        own: &'a mut dyn Sampler,
        host: &'a str,
        hear: &'a dyn Fn(u64),
    ) -> Self {
        assert_eq!(group.rank(), 0, "rank 0 gives the orders");
        RankedSampler {
            // A signal to this rank is known here already.
            member: Member::new(group, own, host, &|| 0),
            hear,
        }
    }
}

impl RankedSampler<'_> {
    fn order(&self, order: &Order) {
        give(self.member.heard(), order).expect("only cells have paths");
    }
}

impl Sampler for RankedSampler<'_> {
    fn begin_cell(
        &mut self,
        spec: &CellSpec,
        techniques: &[TechniqueName],
        drain: DrainChoice,
    ) -> Result<CellSetup, MeasureError> {
        let cell = Order::Cell(spec.clone(), techniques.to_vec(), drain);
        // This fails for a path that is not UTF-8.
        give(self.member.heard(), &cell).map_err(|error| {
            MeasureError::io("cannot send a cell to the other ranks")(error.into())
        })?;
        self.member.open(spec, techniques, drain)
    }

    fn begin_round(&mut self, round: u32) -> Result<(), MeasureError> {
        self.order(&Order::Round(round));
        self.member.round(round);
        Ok(())
    }

    fn sample(&mut self, contender: Contender, calls: u32) -> Result<Timing, MeasureError> {
        self.order(&Order::Sample(contender, calls));
        let (slowest, signal) = self.member.sample(contender, calls)?;
        if signal > 0 {
            (self.hear)(signal);
        }
        Ok(slowest)
    }

    fn end_cell(&mut self) -> Result<CellExtras, MeasureError> {
        if !self.member.is_open() {
            return Ok(CellExtras::default());
        }
        self.order(&Order::Close);
        self.member.close()
    }
}

impl Drop for RankedSampler<'_> {
    fn drop(&mut self) {
        // During a panic, the other ranks may wait for another call than this. So this process ends, and its launcher ends
        // the processes of the other ranks.
        if std::thread::panicking() {
            return;
        }
        // The run has its error already.
        let _ = self.end_cell();
        self.order(&Order::End);
    }
}
