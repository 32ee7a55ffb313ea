//! Identifies a process of a log.

/// A process: its place, and how many were there before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ProcessId {
    pub(super) place: u32,
    pub(super) generation: u32,
}
