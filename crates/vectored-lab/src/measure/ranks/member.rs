//! What each rank does with an order, rank 0 included.

use crate::measure::ranks::agreement::{DID_NOT_FIT, DONE, FAILED, failures, status};
use crate::measure::ranks::group::Group;
use crate::measure::ranks::order::{CellOrder, Order, receive};
use crate::measure::sampling::sampler::{
    CellSetup, Contender, DrainChoice, MeasureError, Sampler, Timing,
};
use crate::model::{CellSpec, Drain, Technique};
use crate::stats::{RankSamples, median};

/// The bits of a rank in a word beside a time.
const RANK_BITS: u32 = 20;

/// One rank with its own sampler.
pub(crate) struct Member<'a> {
    pub group: &'a dyn Group,
    pub own: &'a mut dyn Sampler,
    pub host: &'a str,
    /// The number of the signal that asks this rank to end the run; 0 if none does.
    signal: &'a dyn Fn() -> u64,
    /// The groups of the first ranks, by their number. `None` if this rank is not one of them.
    parts: Vec<(u32, Option<Box<dyn Group>>)>,
    /// The samples of this rank. Only summaries of them leave it.
    tallies: Vec<(CellSpec, CellTally)>,
}

/// The samples of one rank in a cell.
#[derive(Clone, Debug, Default)]
struct CellTally {
    /// Time of a call of each sample, by technique.
    samples_ns: Vec<Vec<f64>>,
    /// The samples in which this rank was the last, by technique.
    last: Vec<u64>,
}

/// A cell that is open on this rank.
pub(crate) struct OpenCell {
    techniques: Vec<Technique>,
    /// The place in the tallies.
    tally: usize,
    round: u32,
    /// An error that is reported by the next sample.
    pending: Option<MeasureError>,
}

/// What all ranks know of a sample.
pub(crate) struct Sampled {
    pub own: Timing,
    /// The times of the slowest rank.
    pub slowest: Timing,
    /// The largest number of a signal that asks a rank to end the run; 0 without one.
    pub signal: u64,
}

/// What rank 0 knows of a closed cell.
pub(crate) struct Closed {
    pub proof_calls: u64,
    pub ranks: Vec<(Technique, Vec<RankSamples>)>,
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
        }
    }

    /// Makes the group of the first ranks, once. All ranks call it.
    fn part(&mut self, ranks: u32) -> usize {
        let known = self.parts.iter().position(|(count, _)| *count == ranks);
        known.unwrap_or_else(|| {
            self.parts.push((ranks, self.group.first(ranks)));
            self.parts.len() - 1
        })
    }

    /// Opens a cell on the first ranks. On the others there is nothing to do: `None`.
    pub fn open(
        &mut self,
        ranks: u32,
        order: &CellOrder,
    ) -> Option<Result<(CellSetup, OpenCell), MeasureError>> {
        let part = self.part(ranks);
        let part = self.parts[part].1.as_deref()?;
        let drain = order.drain();
        let own = self.own.begin_cell(&order.spec, &order.techniques, drain);
        let is_open = own.is_ok();
        let setup = agree_on_setup(part, self.host, own, drain);
        if is_open && setup.is_err() {
            // The error of another rank. That of an empty cell's end would hide it.
            let _ = self.own.end_cell();
        }
        Some(setup.map(|setup| {
            let known = self
                .tallies
                .iter()
                .position(|(spec, _)| *spec == order.spec);
            let tally = known.unwrap_or_else(|| {
                let tally = (order.spec.clone(), CellTally::default());
                self.tallies.push(tally);
                self.tallies.len() - 1
            });
            let open = OpenCell {
                techniques: order.techniques.clone(),
                tally,
                round: 0,
                pending: None,
            };
            (setup, open)
        }))
    }

    /// The group of the ranks that have opened a cell. `None` on the others.
    pub fn active(&self, ranks: u32) -> Option<&dyn Group> {
        let mut parts = self.parts.iter();
        let part = parts.find(|(count, _)| *count == ranks)?;
        part.1.as_deref()
    }

    /// Begins a round. Its error is kept for the next sample.
    pub fn round(&mut self, open: &mut OpenCell, round: u32) {
        open.round = round;
        // The engine tries the calls in round 0, when it has no samples of the cell, or discards them.
        if round == 0 {
            let count = open.techniques.len();
            self.tallies[open.tally].1 = CellTally {
                samples_ns: vec![Vec::new(); count],
                last: vec![0; count],
            };
        }
        open.pending = self.own.begin_round(round).err();
    }

    /// Waits for the others, takes a sample and exchanges the times.
    pub fn sample(
        &mut self,
        ranks: u32,
        open: &mut OpenCell,
        (place, calls): (u32, u32),
        at_the_barrier: &mut dyn FnMut(Moment),
    ) -> Result<Sampled, MeasureError> {
        let parts = self.parts.iter().find(|(count, _)| *count == ranks);
        let part = parts.and_then(|(_, part)| part.as_deref());
        let part = part.expect("a rank that has opened the cell");
        let contender = contender(&open.techniques, place);
        part.barrier();
        at_the_barrier(Moment::Together);
        let own = match open.pending.take() {
            Some(error) => Err(error),
            None => self.own.sample(contender, calls),
        };
        at_the_barrier(Moment::Sampled);
        let timing = own.as_ref().copied().unwrap_or(Timing {
            elapsed_ns: 0,
            cpu_ns: 0,
        });
        let elapsed_ns = timing.elapsed_ns.min(u64::MAX >> RANK_BITS);
        let key = (elapsed_ns << RANK_BITS) | u64::from(part.rank());
        let mut words = [status(&own), key, timing.cpu_ns, (self.signal)()];
        part.largest(&mut words);
        match words[0] {
            DONE => {}
            DID_NOT_FIT => return Err(MeasureError::DidNotFit),
            _ => return Err(failures(part, self.host, &own)),
        }
        if let (Contender::Technique(_), true) = (contender, open.round > 0) {
            let tally = &mut self.tallies[open.tally].1;
            let index = place as usize - 2;
            tally.samples_ns[index].push(timing.elapsed_ns as f64 / f64::from(calls));
            tally.last[index] += u64::from(words[1] == key);
        }
        Ok(Sampled {
            own: timing,
            slowest: Timing {
                elapsed_ns: words[1] >> RANK_BITS,
                cpu_ns: words[2],
            },
            signal: words[3],
        })
    }

    /// Closes the cell, and hands the summaries of its samples over to rank 0.
    pub fn close(&mut self, ranks: u32, open: OpenCell) -> Result<Closed, MeasureError> {
        let own = self.own.end_cell();
        let parts = self.parts.iter().find(|(count, _)| *count == ranks);
        let part = parts.and_then(|(_, part)| part.as_deref());
        let part = part.expect("a rank that has opened the cell");
        let mut words = [status(&own)];
        part.largest(&mut words);
        if words[0] != DONE {
            return Err(failures(part, self.host, &own));
        }
        let tally = &self.tallies[open.tally].1;
        let mut summary = own.unwrap_or(0).to_le_bytes().to_vec();
        for (samples_ns, last) in std::iter::zip(&tally.samples_ns, &tally.last) {
            let of_rank = RankSamples {
                samples: samples_ns.len() as u64,
                last: *last,
                median_ns: median(samples_ns).unwrap_or(0.0),
                min_ns: samples_ns.iter().copied().reduce(f64::min).unwrap_or(0.0),
            };
            summary.extend(encoded(of_rank));
        }
        let all = part.gather(&summary);
        let mut closed = Closed {
            proof_calls: 0,
            ranks: Vec::new(),
        };
        let of_techniques = open.techniques.iter();
        closed
            .ranks
            .extend(of_techniques.map(|technique| (*technique, Vec::new())));
        for summary in all {
            let (proof_calls, samples) = summary.split_at(8);
            closed.proof_calls += u64::from_le_bytes(proof_calls.try_into().expect("8 bytes"));
            let samples = samples.as_chunks::<ENCODED_BYTES>().0;
            for ((_, ranks), bytes) in std::iter::zip(&mut closed.ranks, samples) {
                ranks.push(decoded(bytes));
            }
        }
        Ok(closed)
    }
}

/// The moments of a sample between which ranks wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// All ranks are at the barrier.
    Together,
    /// This rank has taken its sample.
    Sampled,
}

/// Obeys the orders of rank 0 until the run ends. Every rank but 0 calls it, with the sampler that it measures with.
/// Errors of this rank are rank 0's to report.
///
/// `signal` gives the number of the signal that asks this rank to end the run, or 0. Rank 0 learns of it in the next
/// sample in which this rank takes part.
pub fn follow(group: &dyn Group, own: &mut dyn Sampler, host: &str, signal: &dyn Fn() -> u64) {
    let mut member = Member::new(group, own, host, signal);
    while let Order::Cell(ranks, cell) = receive(group) {
        if let Some(opened) = member.open(ranks, &cell) {
            follow_cell(&mut member, ranks, opened.ok().map(|(_, open)| open));
        }
        group.rest();
    }
}

/// Obeys the orders for a cell until it is closed.
fn follow_cell(member: &mut Member<'_>, ranks: u32, mut open: Option<OpenCell>) {
    loop {
        let part = member
            .active(ranks)
            .expect("a rank that has opened the cell");
        match (receive(part), &mut open) {
            (Order::Round(round), Some(open)) => member.round(open, round),
            (Order::Sample(place, calls), Some(open)) => {
                // Rank 0 has heard of an error.
                let _ = member.sample(ranks, open, (place, calls), &mut |_| ());
            }
            (Order::Close, open) => {
                if let Some(open) = open.take() {
                    let _ = member.close(ranks, open);
                }
                return;
            }
            (order, _) => panic!("rank 0 gave {order:?} in a cell: do all ranks run one program?"),
        }
    }
}

fn contender(techniques: &[Technique], place: u32) -> Contender {
    match place {
        0 => Contender::Floor,
        1 => Contender::FloorAgain,
        _ => Contender::Technique(techniques[place as usize - 2]),
    }
}

/// The place of a contender in orders.
pub(crate) fn place_of(techniques: &[Technique], contender: Contender) -> u32 {
    match contender {
        Contender::Floor => 0,
        Contender::FloorAgain => 1,
        Contender::Technique(name) => {
            let place = techniques.iter().position(|technique| *technique == name);
            2 + place.expect("a technique of the cell") as u32
        }
    }
}

/// The setup that suits all ranks. If some empty their target by a thread and others do not, all start over with a
/// thread.
fn agree_on_setup(
    part: &dyn Group,
    host: &str,
    own: Result<CellSetup, MeasureError>,
    drain: DrainChoice,
) -> Result<CellSetup, MeasureError> {
    let setup = own.as_ref().ok();
    let drain_code = setup.map_or(0, |setup| drain_code(setup.drain));
    let max_calls = setup.map_or(u64::MAX, |setup| setup.max_calls.into());
    let sample_ns = setup.and_then(|setup| setup.sample_ns).unwrap_or(0);
    let mut words = [status(&own), drain_code, !drain_code, !max_calls, sample_ns];
    part.largest(&mut words);
    let is_mixed = words[1] != !words[2];
    match (words[0], own) {
        (FAILED, own) => Err(failures(part, host, &own)),
        (DID_NOT_FIT, _) => Err(MeasureError::DidNotFit),
        _ if is_mixed && drain == DrainChoice::Probe => Err(MeasureError::DidNotFit),
        (_, Ok(setup)) => Ok(CellSetup {
            max_calls: (!words[3]) as u32,
            sample_ns: (words[4] > 0).then_some(words[4]),
            ..setup
        }),
        (_, Err(error)) => Err(error),
    }
}

fn drain_code(drain: Option<Drain>) -> u64 {
    match drain {
        None => 0,
        Some(Drain::BetweenSamples) => 1,
        Some(Drain::ReaderThread) => 2,
        Some(Drain::WriterThread) => 3,
        Some(Drain::Peer) => 4,
    }
}

const ENCODED_BYTES: usize = 32;

fn encoded(samples: RankSamples) -> [u8; ENCODED_BYTES] {
    let words = [
        samples.samples,
        samples.last,
        samples.median_ns.to_bits(),
        samples.min_ns.to_bits(),
    ];
    let mut bytes = [0; ENCODED_BYTES];
    for (place, word) in std::iter::zip(bytes.chunks_exact_mut(8), words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

fn decoded(bytes: &[u8; ENCODED_BYTES]) -> RankSamples {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    RankSamples {
        samples: word(0),
        last: word(8),
        median_ns: f64::from_bits(word(16)),
        min_ns: f64::from_bits(word(24)),
    }
}
