//! How ranks talk to each other.

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

    /// Replaces `bytes` by those of rank 0. The length is the same on all ranks.
    fn broadcast(&self, bytes: &mut [u8]);

    /// Returns when all ranks have called it.
    fn barrier(&self);

    /// Replaces each value by the largest of all ranks' values at its place. The length is the same on all ranks.
    fn largest(&self, values: &mut [u64]);

    /// Hands the bytes of all ranks over to rank 0, in their order. Empty on the others.
    fn gather(&self, bytes: &[u8]) -> Vec<Vec<u8>>;

    /// As [`barrier`](Group::barrier), but a rank that waits sleeps, so that it takes no CPU time from those that
    /// measure, and may notice the end some ms late.
    fn rest(&self);

    /// The group of the first `count` ranks; `None` on the others. All ranks of this group call it.
    fn first(&self, count: u32) -> Option<Box<dyn Group>>;

    /// Tells the group that this rank runs on this CPU alone. Whatever works for the group while the rank waits moves
    /// there, too, since on another CPU it would disturb another rank.
    fn pinned_to(&self, _cpu: usize) {}
}
