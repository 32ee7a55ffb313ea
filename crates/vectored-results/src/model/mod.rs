//! The data of the pipeline: plain structs that can be saved and loaded, so that each stage runs alone.
//!
//! `arguments → `[`Experiment`]` → (sampler) → `[`Results`]` → report`

pub(crate) mod axes;
pub(crate) mod comparison;
pub(crate) mod conditions;
pub(crate) mod cost_model;
pub(crate) mod direct_io;
pub(crate) mod experiment;
pub(crate) mod experiments;
pub(crate) mod ranks;
pub(crate) mod results;
pub(crate) mod swept_mix;
pub(crate) mod target;
pub(crate) mod technique;
pub(crate) mod words;
pub(crate) mod workload;

pub use crate::model::axes::{AXES, Axis, Values};
pub use crate::model::comparison::{
    COMPARISON_SCHEMA, Compared, Comparison, EnvironmentDifference, FloorChange,
};
pub use crate::model::conditions::{Conditions, Operation, SyncMode};
pub use crate::model::cost_model::{FittedModel, ModelSource};
pub use crate::model::direct_io::DirectIo;
pub use crate::model::experiment::{CellSpec, Experiment, MAX_QUEUE_DEPTH};
pub use crate::model::experiments::{
    EXPERIMENTS_SCHEMA, ExperimentCrossover, ExperimentName, ExperimentRow, Experiments, HERE,
    Measure, PUBLISHED_FILE_BYTES, PublishedRatio, Ratio, Reproduction, RowKey, Sample, Setting,
    Times,
};
pub use crate::model::ranks::{MAX_RANKS, Rank, RankFigures, STRAGGLER};
pub use crate::model::results::{
    Cell, Crossover, LeftOut, ListShape, OpenBecause, Refused, Results, SCHEMA, TechniqueResult,
    Verdict, measured_in,
};
pub use crate::model::swept_mix::SweptMix;
pub use crate::model::target::{Drain, REMOTE_SCHEME, Target};
pub use crate::model::technique::{Role, TechniqueName};
pub use crate::model::workload::{Cache, IovecSetup, Layout, PageCache, Workload};
