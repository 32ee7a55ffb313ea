//! What each rank, rank 0 included, does when an order arrives.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use vectored_results::model::{CellSpec, TechniqueName};
use vectored_results::stats::{RankSamples, median};

use crate::measure::ranks::group::{
    DID_NOT_FIT, DONE, FAILED, Group, failures, gathered, receive, status,
};
use crate::measure::sampler::{
    CellExtras, CellSetup, Contender, DrainChoice, MeasureError, Sampler, Timing,
};

const OPEN: &str = "rank 0 gives this order in a cell";

/// The number of low bits of a word that hold a rank. The other bits hold a time.
const RANK_BITS: u32 = 20;

pub(crate) struct Member<'a> {
    pub group: &'a dyn Group,
    pub own: &'a mut dyn Sampler,
    pub host: &'a str,
    /// The number of the signal that asks this rank to end the run; 0 if there is none.
    signal: &'a dyn Fn() -> u64,
    /// The groups of the first ranks, by the number of ranks. `None` if this rank is not in the group.
    parts: Vec<(u32, Option<Rc<dyn Group>>)>,
    tallies: Vec<(CellSpec, CellTally)>,
    cell: Option<OpenCell>,
}

#[derive(Clone, Debug, Default)]
struct CellTally {
    samples_ns: Vec<Vec<f64>>,
    /// Number of samples in which this rank was the slowest, by technique.
    last: Vec<u64>,
}

struct OpenCell {
    part: Rc<dyn Group>,
    techniques: Vec<TechniqueName>,
    tally: usize,
    round: u32,
    /// An error that is reported by the next sample.
    pending: Option<MeasureError>,
}

impl<'a> Member<'a> {
    pub fn new(
        group: &'a dyn Group,
        own: &'a mut dyn Sampler,
        host: &'a str,
        signal: &'a dyn Fn() -> u64,
    ) -> Self {
        Member {
            group,
            own,
            host,
            signal,
            parts: Vec::new(),
            tallies: Vec::new(),
            cell: None,
        }
    }

    /// The group that hears the next order: the ranks of the open cell, or all.
    pub fn heard(&self) -> &dyn Group {
        let cell = self.cell.as_ref();
        cell.map_or(self.group, |open| &*open.part)
    }

    pub fn is_open(&self) -> bool {
        self.cell.is_some()
    }

    fn part(&mut self, spec: &CellSpec) -> Option<Rc<dyn Group>> {
        let size = self.group.size();
        let count = spec.conditions.ranks.unwrap_or(size).clamp(1, size);
        if let Some((_, part)) = self.parts.iter().find(|(known, _)| *known == count) {
            return part.clone();
        }
        let part = self.group.first(count).map(Rc::from);
        self.parts.push((count, part.clone()));
        part
    }

    /// Opens the cell on this rank. A rank that has no part in the cell rests until the cell is closed.
    pub fn open(
        &mut self,
        spec: &CellSpec,
        techniques: &[TechniqueName],
        drain: DrainChoice,
    ) -> Result<CellSetup, MeasureError> {
        let Some(part) = self.part(spec) else {
            self.group.rest();
            return Err(MeasureError::OtherRank);
        };
        let own = self.own.begin_cell(spec, techniques, drain);
        let is_open = own.is_ok();
        let setup = agree_on_setup(&*part, self.host, own, drain);
        if setup.is_err() {
            if is_open {
                // Another rank failed, and its error is reported, not the error of ending an empty cell.
                let _ = self.own.end_cell();
            }
            self.group.rest();
            return setup;
        }
        let known = self.tallies.iter().position(|(known, _)| known == spec);
        let tally = known.unwrap_or_else(|| {
            self.tallies.push((spec.clone(), CellTally::default()));
            self.tallies.len() - 1
        });
        self.cell = Some(OpenCell {
            part,
            techniques: techniques.to_vec(),
            tally,
            round: 0,
            pending: None,
        });
        setup
    }

    pub fn round(&mut self, round: u32) {
        let open = self.cell.as_mut().expect(OPEN);
        open.round = round;
        // Round 0 only tries the calls: the engine has no samples of the cell, or discards them.
        if round == 0 {
            let count = open.techniques.len();
            self.tallies[open.tally].1 = CellTally {
                samples_ns: vec![Vec::new(); count],
                last: vec![0; count],
            };
        }
        open.pending = self.own.begin_round(round).err();
    }

    pub fn sample(
        &mut self,
        contender: Contender,
        calls: u32,
    ) -> Result<(Timing, u64), MeasureError> {
        let open = self.cell.as_mut().expect(OPEN);
        open.part.barrier();
        let own = match open.pending.take() {
            Some(error) => Err(error),
            None => self.own.sample(contender, calls),
        };
        let timing = own.as_ref().copied().unwrap_or_default();
        let elapsed_ns = timing.elapsed_ns.min(u64::MAX >> RANK_BITS);
        let key = (elapsed_ns << RANK_BITS) | u64::from(open.part.rank());
        let mut words = [status(&own), key, timing.cpu_ns, (self.signal)()];
        open.part.largest(&mut words);
        match words[0] {
            DONE => {}
            DID_NOT_FIT => return Err(MeasureError::DidNotFit),
            _ => return Err(failures(&*open.part, self.host, &own)),
        }
        if let (Contender::Technique(name), true) = (contender, open.round > 0) {
            let place = open.techniques.iter().position(|own| *own == name);
            let place = place.expect("a technique of the cell");
            let tally = &mut self.tallies[open.tally].1;
            tally.samples_ns[place].push(timing.elapsed_ns as f64 / f64::from(calls));
            tally.last[place] += u64::from(words[1] == key);
        }
        let slowest = Timing {
            elapsed_ns: words[1] >> RANK_BITS,
            cpu_ns: words[2],
        };
        Ok((slowest, words[3]))
    }

    pub fn close(&mut self) -> Result<CellExtras, MeasureError> {
        let open = self.cell.take().expect(OPEN);
        let closed = self.closed(open);
        self.group.rest();
        closed
    }

    fn closed(&mut self, open: OpenCell) -> Result<CellExtras, MeasureError> {
        let own = self.own.end_cell();
        let mut words = [status(&own)];
        open.part.largest(&mut words);
        let own = match own {
            Ok(own) if words[0] == DONE => own,
            own => return Err(failures(&*open.part, self.host, &own)),
        };
        let tally = &self.tallies[open.tally].1;
        let samples = std::iter::zip(&tally.samples_ns, &tally.last);
        let samples = samples.map(|(samples_ns, last)| RankSamples {
            samples: samples_ns.len() as u64,
            last: *last,
            median_ns: median(samples_ns).unwrap_or(0.0),
            min_ns: samples_ns.iter().copied().reduce(f64::min).unwrap_or(0.0),
        });
        let summary = (own.proof_calls, samples.collect::<Vec<_>>());
        let all = gathered(&*open.part, &summary);
        let of = |place: usize| all.iter().filter_map(move |(_, ranks)| ranks.get(place));
        let techniques = open.techniques.into_iter().enumerate();
        Ok(CellExtras {
            proof_calls: all.iter().map(|(proof_calls, _)| proof_calls).sum(),
            ranks: techniques
                .map(|(place, technique)| (technique, of(place).copied().collect()))
                .collect(),
        })
    }
}

/// Obeys the orders of rank 0 until the run ends. Every rank except rank 0 calls this, with its sampler. Rank 0 reports the
/// errors of this rank.
///
/// `signal` gives the number of the signal that asks this rank to end the run, or 0. Rank 0 learns of the signal in the
/// next sample in which this rank takes part.
pub fn follow(group: &dyn Group, own: &mut dyn Sampler, host: &str, signal: &dyn Fn() -> u64) {
    let mut member = Member::new(group, own, host, signal);
    loop {
        match receive(member.heard()) {
            Order::Cell(spec, techniques, drain) => {
                drop(member.open(&spec, &techniques, drain));
            }
            Order::Round(round) => member.round(round),
            Order::Sample(contender, calls) => drop(member.sample(contender, calls)),
            Order::Close => drop(member.close()),
            Order::End => return,
        }
    }
}

/// The setup that suits all ranks. If some ranks empty their target by a thread and other ranks do not, the error is
/// `DidNotFit`: the engine starts over with threads everywhere.
fn agree_on_setup(
    part: &dyn Group,
    host: &str,
    own: Result<CellSetup, MeasureError>,
    drain: DrainChoice,
) -> Result<CellSetup, MeasureError> {
    let setup = own.as_ref().ok();
    let drain_code = setup.map_or(0, |setup| setup.drain.map_or(0, |drain| drain as u64 + 1));
    let max_calls = setup.map_or(u64::MAX, |setup| setup.max_calls.into());
    let mut words = [status(&own), drain_code, !drain_code, !max_calls];
    part.largest(&mut words);
    let is_mixed = words[1] != !words[2];
    match (words[0], own) {
        (FAILED, own) => Err(failures(part, host, &own)),
        (DID_NOT_FIT, _) => Err(MeasureError::DidNotFit),
        _ if is_mixed && drain == DrainChoice::Probe => Err(MeasureError::DidNotFit),
        (_, Ok(setup)) => Ok(CellSetup {
            max_calls: (!words[3]) as u32,
            ..setup
        }),
        (_, Err(error)) => Err(error),
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Order {
    /// The ranks of the cell open the cell; the other ranks rest until the cell is closed.
    Cell(CellSpec, Vec<TechniqueName>, DrainChoice),
    Round(u32),
    Sample(Contender, u32),
    Close,
    End,
}
