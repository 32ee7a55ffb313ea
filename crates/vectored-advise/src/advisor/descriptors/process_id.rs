//! Identity of a process of a log.

/// Identifies a process for the whole log: its key, which is used again, and a generation, which is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ProcessId {
    pub(super) key: usize,
    pub(in crate::advisor) generation: u32,
}
