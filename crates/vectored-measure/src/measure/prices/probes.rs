//! The probes of a price: the states in which programs find a target.

use vectored_machine::model::{DescriptorKind, Operation};

use vectored_results::model::{CellSpec, PageCache, Target, TechniqueName, Workload};

/// A cell in which one call and many calls move the same bytes.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    pub spec: CellSpec,
    pub technique: TechniqueName,
    pub manner: Manner,
    pub quantity: Quantity,
    /// Share of the budget.
    pub share: f64,
}

/// How the calls are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Calls one after the other, with no other thread.
    Alone,
    /// Calls one after the other, while a thread reads.
    ToReader,
    /// Calls with some work before each piece, like a program that produces what it writes. The reader falls asleep
    /// during the work and must be woken.
    WorkingToReader,
    /// A few calls, then a wait until the reader has their bytes, like a server that answers a
    /// request.
    Answering,
    /// `lseek(2)` before each call, compared with the same calls without it.
    Seeking {
        /// Number of pieces of the list. The floor writes as many.
        pieces: usize,
    },
}

/// The quantity that a probe measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    /// The cost of a small call, in a usual state of programs.
    Usual,
    /// The cost of a call that fills a good part of a page.
    Medium,
    /// The extra cost of calls of one page each over one large call, which allocates memory for
    /// more pages at once.
    Pages,
    /// The cost of a call that sends a further piece of an answer.
    Answer,
    /// The cost of `lseek(2)`.
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
    /// Bytes of the list per further call.
    pub fn bytes_a_call(&self) -> f64 {
        self.spec.workload.total_bytes() as f64 / self.more_calls()
    }

    /// How many more calls the technique makes than the floor.
    pub fn more_calls(&self) -> f64 {
        let pieces = self.spec.workload.segment_count();
        match self.manner {
            Manner::Seeking { .. } => pieces as f64,
            _ => (pieces - 1) as f64,
        }
    }
}

/// The probes of a price; empty for a target that has no price.
pub(super) fn probes(target: DescriptorKind, operation: Operation) -> Vec<Probe> {
    let Some(place) = place(target) else {
        return Vec::new();
    };
    let of = |(pieces, bytes), manner, quantity, share| Probe {
        spec: spec(place, operation, Workload::uniform(pieces, bytes)),
        technique: match operation {
            Operation::Write => TechniqueName::WRITE_EACH,
            Operation::Read => TechniqueName::READ_EACH,
        },
        manner,
        quantity,
        share,
    };
    let alone = |list, quantity, share| of(list, Manner::Alone, quantity, share);
    // Reads also use the cost of `lseek` between writes: it is the same call.
    let seek = |share| Probe {
        spec: spec(place, Operation::Write, Workload::uniform(SMALL.0, SMALL.1)),
        technique: TechniqueName::WRITE_EACH,
        manner: Manner::Seeking { pieces: SMALL.0 },
        quantity: Quantity::Seek,
        share,
    };
    match (target, operation) {
        (DescriptorKind::File, Operation::Write) => vec![
            alone(SMALL, Quantity::Usual, 0.3),
            alone(PAGES, Quantity::Pages, 0.25),
            alone(MEDIUM, Quantity::Medium, 0.15),
            seek(0.1),
            // A second time: the state of the machine may have changed by now.
            alone(SMALL, Quantity::Usual, 0.2),
        ],
        (DescriptorKind::File, Operation::Read) => vec![
            alone(SMALL, Quantity::Usual, 0.3),
            alone(PAGES, Quantity::Pages, 0.25),
            alone(MEDIUM, Quantity::Medium, 0.2),
            seek(0.1),
            alone(SMALL, Quantity::Usual, 0.15),
        ],
        (_, Operation::Write) => vec![
            // Whether the reader sleeps between two pieces depends on the speeds of both programs.
            // A log does not show them, since strace slows the programs down. So the price is the
            // mean of both states.
            of(SMALL, Manner::ToReader, Quantity::Usual, 0.3),
            of(SMALL, Manner::WorkingToReader, Quantity::Usual, 0.4),
            of(FEW, Manner::Answering, Quantity::Answer, 0.3),
        ],
        // A reader waits for its writer in any case, so only reading available bytes counts.
        (_, Operation::Read) => vec![alone(SMALL, Quantity::Usual, 1.0)],
    }
}

fn spec(place: Target, operation: Operation, workload: Workload) -> CellSpec {
    match operation {
        Operation::Write => CellSpec::write(place, workload),
        Operation::Read => CellSpec::read(place, workload, PageCache::Hot),
    }
}

/// The target of a kind; `None` if it has no price.
pub(super) fn place(target: DescriptorKind) -> Option<Target> {
    match target {
        DescriptorKind::File => Some(Target::File),
        DescriptorKind::Pipe => Some(Target::Pipe),
        DescriptorKind::Unix => Some(Target::Unix),
        DescriptorKind::Tcp => Some(Target::Tcp),
        DescriptorKind::Datagram | DescriptorKind::Unknown => None,
    }
}
