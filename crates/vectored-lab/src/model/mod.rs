//! What is measured and what came out: plain structs that can be saved and
//! loaded, so that each stage of the pipeline runs alone.
//!
//! `arguments → `[`Experiment`]` → (sampler) → `[`Results`]` → report`

mod advice;
mod advisory;
mod comparison;
mod conditions;
mod cost_model;
mod crossover;
mod experiment;
mod experiments;
mod offer;
mod results;
mod saved;
mod sync;
mod target;
mod technique;
mod workload;

pub use advice::Advice;
pub use advisory::{
    ADVISORY_SCHEMA, Advisory, DescriptorUse, FileCalls, Finding, FindingKey, FindingKind, Grade,
    Leads, Price, Runtime, SiteCalls, Skipped, Step, Tally, Uncounted, WallSource,
};
pub use comparison::{
    COMPARISON_SCHEMA, Change, Compared, Comparison, EnvironmentDifference, FloorChange,
};
pub use conditions::Conditions;
pub use cost_model::{FittedModel, ModelSource};
pub use crossover::Crossover;
pub use experiment::{CellSpec, Experiment};
pub use experiments::{
    Border, EXPERIMENTS_SCHEMA, ExperimentName, ExperimentRow, Experiments, Measure,
    PublishedRatio, PublishedRow, Ratio, Reproduction, Setting,
};
pub use offer::{
    BufferLimits, DirectOffer, FlagAnswer, HOST_SCHEMA, HostReport, HugePages, IoUringOffer, Known,
};
pub use results::{
    Cell, CpuInfo, DirectoryInfo, Drain, Host, LeftOut, OpenBecause, Results, Ruler, SCHEMA,
    TechniqueResult, Verdict,
};
pub use saved::Saved;
pub use sync::SyncMode;
pub use target::Target;
pub use technique::{Technique, UnknownTechnique};
pub use workload::{Cache, FAST_IOVECS, IovecSetup, Layout, Operation, PageCache, Workload};
