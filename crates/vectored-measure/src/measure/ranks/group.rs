//! How ranks talk to each other.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A group of ranks, seen by one of them.
///
/// All ranks of a group call the same methods in the same order. A call returns when the ranks that it depends on have
/// made it too; if one of them has died, it never returns, or ends the process.
///
/// # Implementer notes
///
/// Errors of the connection end the process, as MPI's default error handler does: a group that has lost a rank cannot
/// be used any more.
pub trait Group {
    /// The number of this rank, from 0.
    fn rank(&self) -> u32;

    /// The number of ranks, at least 1.
    fn size(&self) -> u32;

    /// Replaces `bytes` by the bytes of rank 0, whatever their number.
    fn broadcast(&self, bytes: &mut Vec<u8>);

    /// Returns when all ranks have called it.
    fn barrier(&self);

    /// Replaces each value by the largest of all ranks' values at its place. The length is the same on all ranks.
    fn largest(&self, values: &mut [u64]);

    /// Hands the bytes of all ranks over to rank 0, in their order. Empty on the others.
    fn gather(&self, bytes: &[u8]) -> Vec<Vec<u8>>;

    /// A [`barrier`](Group::barrier) at which a rank that waits sleeps: it takes no CPU time from ranks that measure,
    /// and may notice the end some ms late.
    fn rest(&self);

    /// The group of the first `count` ranks; `None` on the others. All ranks of this group call it.
    fn first(&self, count: u32) -> Option<Box<dyn Group>>;
}

const SAME_PROGRAM: &str = "all ranks run one program";

/// Gives a value of rank 0 to all other ranks, which call [`receive`].
///
/// # Errors
///
/// If the value has no JSON, such as a path that is not UTF-8. Then nothing is given.
pub fn give<T: Serialize>(group: &dyn Group, value: &T) -> serde_json::Result<()> {
    group.broadcast(&mut serde_json::to_vec(value)?);
    Ok(())
}

/// Waits for a value of rank 0.
///
/// # Panics
///
/// If rank 0 gives a value of another type: it runs another version of this program.
pub fn receive<T: DeserializeOwned>(group: &dyn Group) -> T {
    let mut text = Vec::new();
    group.broadcast(&mut text);
    parsed(text)
}

/// A value of another rank. It is parsed from a `str`, as results are: for another source of bytes, the parser of each
/// type would be compiled once more.
fn parsed<T: DeserializeOwned>(text: Vec<u8>) -> T {
    let text = String::from_utf8(text).expect(SAME_PROGRAM);
    serde_json::from_str(&text).expect(SAME_PROGRAM)
}

/// The values of all ranks on rank 0, in their order; none on the others.
///
/// # Panics
///
/// If the value has no JSON, or another rank runs another version of this program.
pub fn gathered<T: Serialize + DeserializeOwned>(group: &dyn Group, value: &T) -> Vec<T> {
    let text = serde_json::to_vec(value).expect("plain data");
    let all = group.gather(&text).into_iter();
    all.map(parsed).collect()
}
