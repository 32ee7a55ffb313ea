//! The definition of a technique.

use vectored::CostModel;
use vectored_results::model::{Conditions, Operation, TechniqueName};

use crate::measure::techniques::{CopyMover, Mover, ReadMover};

pub type Make<C, M> = fn(&C) -> Box<M>;

/// A way to move the bytes of several segments through one descriptor, or bytes from one descriptor to another.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Technique {
    pub name: TechniqueName,
    pub about: &'static str,
    /// Whether the technique is measured if no technique is named.
    pub usual: bool,
    /// Whether the technique keeps up to `queue_depth` lists in flight, rather than one list.
    pub in_flight: bool,
    /// Why the technique cannot be measured under these conditions, as the rest of a sentence that begins with the
    /// technique's name.
    pub refuses: fn(&Conditions) -> Option<&'static str>,
    /// The time of a list on a simulated machine.
    pub cost_ns: fn(&Costs) -> f64,
    /// Makes the mover that writes to a target with this cost model. The loop of each mover is compiled separately: see
    /// [`Mover::sample`].
    pub write: Option<Make<CostModel, dyn Mover>>,
    pub read: Option<Make<CostModel, dyn ReadMover>>,
    pub copy: Option<Make<Conditions, dyn CopyMover>>,
}

/// The times of a list on a simulated machine, by a cost model.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Costs {
    pub call_ns: f64,
    pub each_ns: f64,
    pub copied_ns: f64,
    pub referenced_ns: f64,
    pub queue_depth: f64,
}

impl Technique {
    /// A synchronous technique that moves nothing yet, measured only if it is named, on all targets and on every system.
    pub(super) const fn named(name: &'static str) -> Technique {
        Technique {
            name: TechniqueName::new(name),
            about: "",
            usual: false,
            in_flight: false,
            refuses: |_| None,
            cost_ns: |costs| costs.referenced_ns,
            write: None,
            read: None,
            copy: None,
        }
    }

    pub fn moves(&self, operation: Operation) -> bool {
        match operation {
            Operation::Write => self.write.is_some(),
            Operation::Read => self.read.is_some(),
            Operation::Copy => self.copy.is_some(),
        }
    }
}
