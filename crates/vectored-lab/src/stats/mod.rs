//! Statistics: pure functions of samples. No I/O, no clock, no randomness
//! that is not seeded, so the same samples always give the same verdict.
//!
//! The method, and why each part is as it is, is told in `docs/method.md`.

mod compare;
mod cost;
mod crossover;
mod holm;
mod judge;
mod series;
mod sign;
mod student;
mod summary;
mod verdict;

pub use compare::{CALLED_FROM_WITH_FEW_RUNS, FEWEST_RUNS, compare};
pub use cost::{fitted_models, judge_model, target_kind};
pub use crossover::{Wish, crossovers, wishes};
pub use holm::holm_rejects;
pub use judge::{fill_floor_ratios, judge, weigh_cell};
pub use series::{Series as SizeSeries, pair, series};
pub use sign::{
    INTERVAL_LEVEL, PairStats, interval_rank, lower_tail, paired, serial_inflation, sign_test_p,
};
pub use summary::{median, minimum};
pub use verdict::{
    Decision, Evidence, FAMILY_ERROR, LOOKS, MIN_ROUNDS, Series, TIE_ZONE, WIDTH_TARGET, decide,
    lead, weigh,
};
