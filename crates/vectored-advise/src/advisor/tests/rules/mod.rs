//! A rule a test.

/// `check! { lines => findings }`.
macro_rules! check {
    { $($line:expr),* => $($finding:expr),* } => { $crate::advisor::tests::rules::check(&[$($line),*], &[$($finding),*]) };
}

// Below the macro, which they use.
mod barriers;
mod processes;
mod rows;
mod runs;
mod sharing;

use crate::advisor::tests::events::*;

#[track_caller]
pub(super) fn check(lines: &[Line], expected: &[&str]) {
    assert_eq!(summary(&analysed(lines)), expected);
}

pub(super) const POLL: &str = "(poll, select or epoll_wait between them)";

pub(super) const SEVERAL_WRITERS: &str =
    "(several threads or processes write to it: a merged call changes the order of their bytes)";
