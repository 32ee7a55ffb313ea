//! Ranks agree that all of them succeeded, or learn which did not.

use std::io;

use crate::measure::ranks::group::{Group, gathered};
use crate::measure::sampler::interface::{MeasureError, ranks_in_words};
use crate::measure::sampler::rank_failure::RankFailure;

/// How an operation ended on one rank, ordered by what the others have to know.
pub(crate) const DONE: u64 = 0;
pub(crate) const DID_NOT_FIT: u64 = 1;
pub(crate) const FAILED: u64 = 2;

pub(crate) fn status<T>(outcome: &Result<T, MeasureError>) -> u64 {
    match outcome {
        Ok(_) => DONE,
        Err(MeasureError::DidNotFit) => DID_NOT_FIT,
        Err(_) => FAILED,
    }
}

/// The error of all ranks on rank 0; at least one rank has failed. The other ranks learn nothing more: they return
/// [`MeasureError::OtherRank`].
pub(crate) fn failures<T>(
    group: &dyn Group,
    host: &str,
    outcome: &Result<T, MeasureError>,
) -> MeasureError {
    // A list that did not fit is measured again in another way, so it is no failure.
    let own = outcome.as_ref().err();
    let own = own.filter(|error| !matches!(error, MeasureError::DidNotFit));
    of_all(
        group,
        own.map(|error| RankFailure {
            rank: group.rank(),
            host: host.to_owned(),
            message: error.to_string(),
            is_wrong_bytes: error.is_wrong_bytes(),
            refused: match error {
                MeasureError::Refused { technique, source } => {
                    Some((*technique, source.to_string()))
                }
                _ => None,
            },
        }),
    )
}

fn of_all(group: &dyn Group, own: Option<RankFailure>) -> MeasureError {
    let all = gathered(group, &own);
    match group.rank() {
        0 => of_failures(all.into_iter().flatten().collect()),
        _ => MeasureError::OtherRank,
    }
}

/// The error of these ranks. If kernels refuse one technique and nothing else failed, the engine goes on without it.
fn of_failures(failed: Vec<RankFailure>) -> MeasureError {
    let technique = |one: &RankFailure| one.refused.as_ref().map(|(technique, _)| *technique);
    match failed.first().and_then(|first| first.refused.clone()) {
        Some((refused, error)) if failed.iter().all(|one| technique(one) == Some(refused)) => {
            let ranks = ranks_in_words(failed.iter());
            MeasureError::Refused {
                technique: refused,
                source: io::Error::other(format!("{error}, {ranks}")),
            }
        }
        _ => MeasureError::Ranks(failed),
    }
}

/// Returns `outcome` if it is `Ok` on every rank. All ranks call it, before and after a run.
///
/// # Errors
///
/// On rank 0 [`MeasureError::Ranks`], which names the ranks that failed, each with its host; on the others
/// [`MeasureError::OtherRank`].
pub fn agree<T, E: std::fmt::Display>(
    group: &dyn Group,
    host: &str,
    outcome: Result<T, E>,
) -> Result<T, MeasureError> {
    let mut failed = [u64::from(outcome.is_err())];
    group.largest(&mut failed);
    match outcome {
        Ok(value) if failed == [0] => Ok(value),
        outcome => Err(of_all(
            group,
            outcome.err().map(|error| RankFailure {
                rank: group.rank(),
                host: host.to_owned(),
                message: error.to_string(),
                is_wrong_bytes: false,
                refused: None,
            }),
        )),
    }
}
