//! What is sampled for a price: the states that programs find a target in.

use crate::model::{CellSpec, Leads, Operation, PageCache, Target, Technique, Workload};

/// A cell in which one call and many move the same bytes.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    pub spec: CellSpec,
    pub technique: Technique,
    pub manner: Manner,
    pub tells: Tells,
    /// Its share of the budget.
    pub share: f64,
}

/// How the calls are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// One after the other, and nobody else is at work.
    Alone,
    /// One after the other, while a thread reads.
    ToAReader,
    /// With some work before each piece, as a program has that makes what it writes. The reader
    /// falls asleep meanwhile and has to be woken.
    WorkingToAReader,
    /// A few together, and then nothing until the reader has them, as an answer that somebody
    /// waits for.
    Answering,
    /// `lseek(2)` before each, against the same calls without it.
    Seeking {
        /// Pieces of the list: the floor writes as many.
        pieces: usize,
    },
}

/// What the rounds of a probe are evidence of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tells {
    /// What a small call costs, in a state that programs are usually in.
    Usual,
    /// What a call costs that fills a good part of a page.
    Medium,
    /// What calls of a page each cost more than one that is large: memory is found for more at once.
    Pages,
    /// What a call costs that sends a further piece of an answer.
    Answer,
    /// What `lseek(2)` costs.
    Seek,
}

/// Small calls: 64 of 64 B.
const SMALL: (usize, usize) = (64, 64);

/// A few small calls: 4 of 64 B.
const FEW: (usize, usize) = (4, 64);

/// Calls that fill a good part of a page: 8 of 512 B.
const MEDIUM: (usize, usize) = (8, 512);

/// Calls of a page: 16 of 4 KiB.
const PAGES: (usize, usize) = (16, 4096);

impl Probe {
    /// The bytes of the list for each further call.
    pub fn bytes_a_call(&self) -> f64 {
        self.spec.workload.total_bytes() as f64 / self.more_calls()
    }

    /// By how many calls both sides differ.
    pub fn more_calls(&self) -> f64 {
        let pieces = self.spec.workload.segment_count();
        match self.manner {
            Manner::Seeking { .. } => pieces as f64,
            _ => (pieces - 1) as f64,
        }
    }
}

/// The probes of a price; none of what has no price.
pub(super) fn probes(target: Leads, operation: Operation) -> Vec<Probe> {
    let Some(place) = place(target) else {
        return Vec::new();
    };
    let of = |(pieces, bytes), manner, tells, share| Probe {
        spec: spec(place, operation, Workload::uniform(pieces, bytes)),
        technique: match operation {
            Operation::Write => Technique::WriteEach,
            Operation::Read => Technique::ReadEach,
        },
        manner,
        tells,
        share,
    };
    let alone = |list, tells, share| of(list, Manner::Alone, tells, share);
    // Of reads, too, it is what `lseek` adds to writes: the same call.
    let seek = |share| Probe {
        spec: spec(place, Operation::Write, Workload::uniform(SMALL.0, SMALL.1)),
        technique: Technique::WriteEach,
        manner: Manner::Seeking { pieces: SMALL.0 },
        tells: Tells::Seek,
        share,
    };
    match (target, operation) {
        (Leads::File, Operation::Write) => vec![
            alone(SMALL, Tells::Usual, 0.3),
            alone(PAGES, Tells::Pages, 0.25),
            alone(MEDIUM, Tells::Medium, 0.15),
            seek(0.1),
            // Once more: the machine may be another by now.
            alone(SMALL, Tells::Usual, 0.2),
        ],
        (Leads::File, Operation::Read) => vec![
            alone(SMALL, Tells::Usual, 0.3),
            alone(PAGES, Tells::Pages, 0.25),
            alone(MEDIUM, Tells::Medium, 0.2),
            seek(0.1),
            alone(SMALL, Tells::Usual, 0.15),
        ],
        (_, Operation::Write) => vec![
            // Whether the reader sleeps between two pieces depends on the paces of both programs,
            // which a log that strace slowed does not tell: the middle of both.
            of(SMALL, Manner::ToAReader, Tells::Usual, 0.3),
            of(SMALL, Manner::WorkingToAReader, Tells::Usual, 0.4),
            of(FEW, Manner::Answering, Tells::Answer, 0.3),
        ],
        // What waits for a writer waits for it in any case: what counts is reading what is there.
        (_, Operation::Read) => vec![alone(SMALL, Tells::Usual, 1.0)],
    }
}

fn spec(place: Target, operation: Operation, workload: Workload) -> CellSpec {
    match operation {
        Operation::Write => CellSpec::write(place, workload),
        Operation::Read => CellSpec::read(place, workload, PageCache::Hot),
    }
}

fn place(target: Leads) -> Option<Target> {
    match target {
        Leads::File => Some(Target::File),
        Leads::Pipe => Some(Target::Pipe),
        Leads::Unix => Some(Target::Unix),
        Leads::Tcp => Some(Target::Tcp),
        Leads::Datagram | Leads::Unknown => None,
    }
}
