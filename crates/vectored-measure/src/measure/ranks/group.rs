//! How ranks talk to each other, and agree that all of them succeeded.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::measure::sampler::{MeasureError, RankFailure, ranks_in_words};

/// A group of ranks, seen by one of them.
///
/// All ranks of a group call the same methods in the same order. A call returns when the ranks that it depends on have made
/// the same call. If one of these ranks has died, the call never returns, or ends the process.
///
/// Errors of the connection end the process, as MPI's default error handler does: a group that has lost a rank cannot
/// be used any more.
pub trait Group {
    fn rank(&self) -> u32;

    fn size(&self) -> u32;

    /// Replaces `bytes` by the bytes of rank 0. The number of bytes may differ between ranks.
    fn broadcast(&self, bytes: &mut Vec<u8>);

    fn barrier(&self);

    /// Replaces each value by the largest value that a rank has at the same index. The length is the same on all ranks.
    fn largest(&self, values: &mut [u64]);

    /// Gives rank 0 the bytes of all ranks, in the order of the ranks. The result is empty on the other ranks.
    fn gather(&self, bytes: &[u8]) -> Vec<Vec<u8>>;

    /// A [`barrier`](Group::barrier) at which waiting ranks sleep. A sleeping rank takes no CPU time from ranks that
    /// measure, and may notice the end some ms late.
    fn rest(&self);

    /// The group of the first `count` ranks; `None` on the other ranks. All ranks of the present group call this.
    fn first(&self, count: u32) -> Option<Box<dyn Group>>;
}

const SAME_PROGRAM: &str = "all ranks run one program";

/// Gives a value of rank 0 to all other ranks, which call [`receive`].
pub fn give<T: Serialize>(group: &dyn Group, value: &T) -> serde_json::Result<()> {
    group.broadcast(&mut serde_json::to_vec(value)?);
    Ok(())
}

/// Waits for a value of rank 0.
pub fn receive<T: DeserializeOwned>(group: &dyn Group) -> T {
    let mut text = Vec::new();
    group.broadcast(&mut text);
    parsed(text)
}

/// A value of another rank. The value is parsed from a `str`, as results are: with another source of bytes, the parser of
/// each type would be compiled once more.
fn parsed<T: DeserializeOwned>(text: Vec<u8>) -> T {
    let text = String::from_utf8(text).expect(SAME_PROGRAM);
    serde_json::from_str(&text).expect(SAME_PROGRAM)
}

/// The values of all ranks on rank 0, in the order of the ranks; empty on the other ranks.
pub fn gathered<T: Serialize + DeserializeOwned>(group: &dyn Group, value: &T) -> Vec<T> {
    let text = serde_json::to_vec(value).expect("plain data");
    let all = group.gather(&text).into_iter();
    all.map(parsed).collect()
}

/// How an operation ended on one rank, ordered by what the other ranks have to know.
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

/// The error of an operation that has failed on at least one rank. On rank 0, the error has the failures of all ranks. On
/// the other ranks, the error is [`MeasureError::OtherRank`].
pub(crate) fn failures<T>(
    group: &dyn Group,
    host: &str,
    outcome: &Result<T, MeasureError>,
) -> MeasureError {
    // A list that did not fit is measured again in another way, so it is no failure.
    let own = outcome.as_ref().err();
    let own = own.filter(|error| !matches!(error, MeasureError::DidNotFit));
    of_all(group, own.map(|error| failure(group, host, error)))
}

fn failure(group: &dyn Group, host: &str, error: &MeasureError) -> RankFailure {
    let refused = match error {
        MeasureError::Refused { technique, source } => Some((*technique, source.to_string())),
        _ => None,
    };
    RankFailure {
        rank: group.rank(),
        host: host.to_owned(),
        message: error.to_string(),
        is_wrong_bytes: error.is_wrong_bytes(),
        refused,
    }
}

fn of_all(group: &dyn Group, own: Option<RankFailure>) -> MeasureError {
    let all = gathered(group, &own);
    match group.rank() {
        0 => of_failures(all.into_iter().flatten().collect()),
        _ => MeasureError::OtherRank,
    }
}

/// The error of these ranks. If kernels refuse one technique and nothing else failed, the engine goes on without the
/// technique.
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

/// Returns `outcome` if the outcome is `Ok` on every rank. All ranks call this, before and after a run.
///
/// Otherwise rank 0 gets [`MeasureError::Ranks`], which names each failed rank with its host. The other ranks get
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
