//! The sampler of rank 0, which has all ranks take each sample at the same time.

use vectored_results::model::{CellSpec, TechniqueName};

use crate::measure::ranks::group::{Group, give};
use crate::measure::ranks::member::{Member, OpenCell, Order};
use crate::measure::sampler::{
    CellExtras, CellSetup, Contender, DrainChoice, MeasureError, Sampler, Timing,
};

/// A sampler that takes each sample on the first [`Conditions::ranks`](vectored_results::model::Conditions::ranks) ranks at the
/// same time; its time is the time of the slowest rank.
///
/// A barrier precedes each sample, with its untimed first call.
///
/// All other ranks call [`follow`](crate::measure::follow) until this is dropped.
pub struct RankedSampler<'a> {
    member: Member<'a>,
    hear: &'a dyn Fn(u64),
    cell: Option<OpenCell>,
}

impl<'a> RankedSampler<'a> {
    /// Samples with `own` on this rank, rank 0. The other ranks sample with the samplers that they follow with.
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
            cell: None,
        }
    }
}

const OPEN: &str = "a cell is open";

fn order(open: &OpenCell, order: &Order) {
    give(&*open.part, order).expect("only cells have paths");
}

impl Sampler for RankedSampler<'_> {
    fn begin_cell(
        &mut self,
        spec: &CellSpec,
        techniques: &[TechniqueName],
        drain: DrainChoice,
    ) -> Result<CellSetup, MeasureError> {
        let cell = Order::Cell(spec.clone(), techniques.to_vec(), drain);
        // A path that is not UTF-8.
        give(self.member.group, &cell).map_err(|error| {
            MeasureError::io("cannot send a cell to the other ranks")(error.into())
        })?;
        let opened = self.member.open(spec, techniques, drain);
        match opened.expect("rank 0 has a part in every cell") {
            Ok((setup, open)) => {
                self.cell = Some(open);
                Ok(setup)
            }
            Err(error) => {
                self.member.group.rest();
                Err(error)
            }
        }
    }

    fn begin_round(&mut self, round: u32) -> Result<(), MeasureError> {
        let open = self.cell.as_mut().expect(OPEN);
        order(open, &Order::Round(round));
        self.member.round(open, round);
        Ok(())
    }

    fn sample(&mut self, contender: Contender, calls: u32) -> Result<Timing, MeasureError> {
        let open = self.cell.as_mut().expect(OPEN);
        order(open, &Order::Sample(contender, calls));
        let (slowest, signal) = self.member.sample(open, contender, calls)?;
        if signal > 0 {
            (self.hear)(signal);
        }
        Ok(slowest)
    }

    fn end_cell(&mut self) -> Result<CellExtras, MeasureError> {
        let Some(open) = self.cell.take() else {
            return Ok(CellExtras::default());
        };
        order(&open, &Order::Close);
        let closed = self.member.close(open);
        self.member.group.rest();
        closed
    }
}

impl Drop for RankedSampler<'_> {
    fn drop(&mut self) {
        // During a panic the other ranks may wait for something else: this process ends, and its launcher ends the processes
        // of the other ranks.
        if std::thread::panicking() {
            return;
        }
        // The run has its error already.
        let _ = self.end_cell();
        give(self.member.group, &Order::End).expect("only cells have paths");
    }
}
