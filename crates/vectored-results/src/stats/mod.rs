//! Statistics: pure functions of samples. No I/O, no clock, no unseeded randomness, so the same samples
//! always give the same verdict.
//!
//! `docs/method.md` explains the method and the reason for each part.

pub(crate) mod compare;
pub(crate) mod cost;
pub(crate) mod crossover;
pub(crate) mod discoveries;
pub(crate) mod fill_verdicts;
pub(crate) mod paired;
pub(crate) mod ranks;
pub(crate) mod series;
pub(crate) mod summary;
pub(crate) mod t_distribution;
pub(crate) mod verdict;

pub(crate) use crate::stats::cost::{fitted_models, judge_model};
pub(crate) use crate::stats::ranks::judge_ranks;

pub use crate::stats::compare::{CALLED_FROM_WITH_FEW_RUNS, MIN_RUNS, compare};
pub use crate::stats::cost::target_kind;
pub use crate::stats::crossover::{RefinementRequest, crossovers, refinement_requests};
pub use crate::stats::discoveries::discoveries;
pub use crate::stats::fill_verdicts::judge;
pub use crate::stats::paired::{PairStats, paired};
pub use crate::stats::ranks::{RankSamples, rank_figures};
pub use crate::stats::series::{pair, series};
pub use crate::stats::summary::median;
pub use crate::stats::verdict::{
    Evidence, FALSE_DISCOVERIES, LOOKS, MIN_ROUNDS, TIE_ZONE, WIDTH_TARGET, decide, weigh_cell,
};
