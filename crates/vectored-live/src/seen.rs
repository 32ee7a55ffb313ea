//! What is watched, and what was seen of it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// What is watched, with all that it starts.
#[derive(Debug)]
#[non_exhaustive]
pub enum Target<'a> {
    /// Running processes.
    Processes(&'a [u32]),
    /// All processes of a cgroup of version 2 and of those below it.
    Cgroup(&'a Path),
    /// A command, which is started.
    Command(&'a mut Command),
}

/// What a watch has seen so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen {
    /// Calls that were recorded.
    pub calls: u64,
    /// Calls that were lost, since they came faster than they were read.
    pub lost: u64,
    /// Whether all that was watched has ended.
    pub is_over: bool,
    /// Time of the watch.
    pub wall: Duration,
    /// CPU time of all threads meanwhile.
    pub cpu: Duration,
}
