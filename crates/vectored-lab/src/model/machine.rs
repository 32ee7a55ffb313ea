//! Extracts of results that name no machine: the rows of a table of machine types.
//!
//! Each struct lists what is shared, field by field. Nothing is copied from a result as a whole, so a field that a later
//! version adds to results is not shared before somebody adds it here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::conditions::{Conditions, is_false};
use crate::model::cost_model::ModelSource;
use crate::model::device::DeviceKind;
use crate::model::drain::Drain;
use crate::model::list_shape::ListShape;
use crate::model::results::Verdict;
use crate::model::swept_mix::SweptMix;
use crate::model::sync::SyncMode;
use crate::model::target::Target;
use crate::model::technique::Technique;
use crate::model::workload::{Cache, IovecSetup, Layout, Operation, PageCache};
use crate::model::writers::Writers;

/// The value of [`Machine::schema`].
pub const MACHINE_SCHEMA: &str = "vectored-machine/1";

/// The extract of one result of `vectored measure`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Always [`MACHINE_SCHEMA`]; a reader rejects any other value.
    pub schema: String,
    /// The version of `vectored` that measured, as numbers.
    pub vectored_version: String,
    /// The month in which the run began, as `2026-11`.
    pub month: String,
    /// False if the run ended before every cell had the minimum of rounds.
    pub complete: bool,
    /// The type of the machine.
    #[serde(rename = "machine")]
    pub kind: MachineKind,
    /// The measured cells, by the conditions that they share.
    pub groups: Vec<MachineGroup>,
}

/// The type of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineKind {
    /// The words of the processor's model name that are usual in such names.
    pub processor: String,
    /// CPUs that the run was allowed to use.
    pub cpus: usize,
    /// Level-1 data cache of one core.
    pub l1d_bytes: Option<u64>,
    /// Level-2 cache.
    pub l2_bytes: Option<u64>,
    /// Level-3 cache.
    pub l3_bytes: Option<u64>,
    /// The architecture, as `x86_64`.
    pub architecture: String,
    /// The operating system, as `Linux`.
    pub system: String,
    /// The numbers of the kernel's release, as `6.18.44`.
    pub kernel: String,
    /// The kind of virtual machine or container, if one was detected.
    pub virtualization: Option<Virtualization>,
}

/// What a system runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Virtualization {
    /// A virtual machine.
    VirtualMachine,
    /// A container.
    Container,
    /// A container in a virtual machine.
    ContainerInVirtualMachine,
}

/// Cells under the same conditions, and what follows from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineGroup {
    /// The conditions.
    #[serde(flatten)]
    pub conditions: MachineConditions,
    /// The type of the file system, if the target is a file; `other` if the type is not a known one.
    pub file_system: Option<String>,
    /// What the file system is on, if it is known.
    pub device: Option<DeviceKind>,
    /// The cells.
    pub cells: Vec<MachineCell>,
    /// The crossovers among them.
    pub crossovers: Vec<SharedCrossover>,
    /// The cost models.
    pub cost_models: Vec<SharedCosts>,
}

/// [`Conditions`] without the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineConditions {
    /// Where the bytes went, or came from.
    pub target: Target,
    /// Whether the bytes were written or read.
    pub operation: Operation,
    /// How the segments lay in memory.
    pub layout: Layout,
    /// State of the CPU's caches.
    pub cache: Cache,
    /// State of the page cache of a file that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_cache: Option<PageCache>,
    /// When the iovec array was filled.
    pub iovec_setup: IovecSetup,
    /// How durable each call was before the next one.
    pub sync: SyncMode,
    /// Whether a file was written or read with `O_DIRECT`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub direct: bool,
    /// How the target was emptied or filled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain: Option<Drain>,
    /// Transfers that asynchronous techniques kept in flight.
    pub queue_depth: u32,
    /// Writers that started each sample together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writers: Option<Writers>,
    /// Ranks of a cluster that started each sample together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
}

/// One list of segments, measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineCell {
    /// Segments in the list.
    pub segment_count: usize,
    /// Size of each segment, if all are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment_bytes: Option<usize>,
    /// Sizes as runs of `[count, bytes]`, if they are mixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment_sizes: Option<Vec<(usize, usize)>>,
    /// The mix with its variable size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swept_mix: Option<SweptMix>,
    /// Rounds that were sampled.
    pub rounds: u32,
    /// Median time of the floor.
    pub floor_ns: f64,
    /// The largest difference within the 95 % interval of the A/A pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_floor: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// The fastest technique, if the verdict is `faster`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winner: Option<Technique>,
    /// How much longer the nearest rival takes than the leader: median ratio, and its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<[f64; 3]>,
    /// Time ÷ that of the floor in the same round by technique: median, and its 95 % interval.
    pub floor_ratios: BTreeMap<Technique, [f64; 3]>,
}

/// A crossover of a group: see [`Crossover`](crate::model::Crossover).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharedCrossover {
    /// Segments in the lists.
    pub segment_count: usize,
    /// The mix, if the size is that of one run of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swept_mix: Option<SweptMix>,
    /// The technique that is faster for smaller segments.
    pub below: Technique,
    /// The technique that is faster for larger segments.
    pub above: Technique,
    /// The size at which both take the same time.
    pub at_bytes: f64,
    /// Lower end of the interval of `at_bytes`.
    pub low_bytes: f64,
    /// Upper end.
    pub high_bytes: f64,
}

/// A cost model of a group: see [`FittedModel`](crate::model::FittedModel).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharedCosts {
    /// The source of the numbers.
    pub source: ModelSource,
    /// A system call that moves no bytes.
    pub call_ns: f64,
    /// Additional time of a call with a list.
    pub gather_call_ns: f64,
    /// A segment of less than 256 bytes, referenced.
    pub segment_ns: f64,
    /// A segment of 256 bytes or more, referenced.
    pub large_segment_ns: f64,
    /// Additional time of a list of more than 8 segments.
    pub iovec_step_ns: f64,
    /// Time saved by a segment that ends at a page boundary of the target.
    pub page_end_ns: f64,
    /// A byte moved.
    pub byte_ns: f64,
    /// A segment, copied.
    pub copy_segment_ns: f64,
    /// A byte copied within the caches.
    pub copy_byte_ns: f64,
    /// A byte copied beyond the caches.
    pub copy_byte_uncached_ns: f64,
    /// The staging size above which copying is beyond the caches.
    pub staging_bytes: usize,
    /// Median regret of choosing by the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regret_median: Option<f64>,
}

impl MachineConditions {
    /// These conditions without their path. A condition that is added has to be named here before anything with it is
    /// shared.
    pub fn of(conditions: &Conditions) -> Self {
        let Conditions {
            target,
            path: _,
            operation,
            layout,
            cache,
            page_cache,
            iovec_setup,
            sync,
            drain,
            queue_depth,
            writers,
            direct,
            ranks,
        } = conditions;
        MachineConditions {
            target: *target,
            operation: *operation,
            layout: *layout,
            cache: *cache,
            page_cache: *page_cache,
            iovec_setup: *iovec_setup,
            sync: *sync,
            drain: *drain,
            queue_depth: *queue_depth,
            writers: *writers,
            direct: *direct,
            ranks: *ranks,
        }
    }

    /// The conditions of a cell, without a path.
    pub fn conditions(&self) -> Conditions {
        Conditions {
            target: self.target,
            path: None,
            operation: self.operation,
            layout: self.layout,
            cache: self.cache,
            page_cache: self.page_cache,
            iovec_setup: self.iovec_setup,
            sync: self.sync,
            drain: self.drain,
            queue_depth: self.queue_depth,
            writers: self.writers,
            direct: self.direct,
            ranks: self.ranks,
        }
    }
}

impl MachineCell {
    /// The shape of its list.
    pub fn shape(&self) -> ListShape<'_> {
        ListShape {
            segment_count: self.segment_count,
            swept_mix: self.swept_mix.as_ref(),
        }
    }

    /// The size in which it differs from lists of the same shape; `None` for a fixed mix.
    pub fn swept_bytes(&self) -> Option<usize> {
        match &self.swept_mix {
            Some(mix) => mix.bytes_of(self.segment_sizes.as_deref()?),
            None => self.segment_bytes,
        }
    }
}

impl SharedCrossover {
    /// The shape of the lists.
    pub fn shape(&self) -> ListShape<'_> {
        ListShape {
            segment_count: self.segment_count,
            swept_mix: self.swept_mix.as_ref(),
        }
    }
}
