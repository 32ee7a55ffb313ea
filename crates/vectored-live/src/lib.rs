//! System calls of running programs, from BPF programs in the kernel, as the events that `vectored-strace` reads from logs.
//!
//! [`Watch`] attaches the programs; [`Watch::next`] hands on the events. On other systems than Linux for x86-64 it refuses.
//!
//! The public items of this crate are for the program alone; names say what most of them are.
#![allow(missing_docs)]

/// The modules of the one system for which there are programs.
#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_pointer_width = "64"
))]
#[path = "."]
mod here {
    pub(crate) mod action;
    pub(crate) mod calls;
    pub(crate) mod drain;
    pub(crate) mod events;
    pub(crate) mod open_before;
    pub(crate) mod order;
    pub(crate) mod record;
    pub(crate) mod sites;
    pub(crate) mod socket_names;
    pub(crate) mod sys;
    pub(crate) mod watch;
}
#[cfg(not(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_pointer_width = "64"
)))]
#[path = "elsewhere.rs"]
mod watch;

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_pointer_width = "64"
))]
#[allow(clippy::wildcard_imports)] // Each module is `crate::NAME`, as if it stood here.
use here::*;

pub use watch::Watch;

/// What is watched, with all that it starts.
#[derive(Debug)]
pub enum Target<'a> {
    Processes(&'a [u32]),
    /// All processes of a cgroup of version 2 and of the cgroups below it.
    Cgroup(&'a Path),
    /// A command, which is started.
    Command(&'a mut Command),
}

/// What a watch has seen so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub calls: u64,
    /// Calls that were lost, since they came faster than they were read.
    pub lost: u64,
    pub is_over: bool,
    pub wall: Duration,
    /// CPU time of all threads meanwhile.
    pub cpu: Duration,
}

/// Why calls cannot be watched. A remedy stands after a semicolon.
#[derive(Debug)]
pub enum Refusal {
    /// This user can attach no programs on this machine, or cannot read what processes have open.
    Machine(String),
    /// The target of the watch does not exist.
    Target(String),
    /// The command could not be started.
    Command(io::Error),
}

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Machine(why) | Refusal::Target(why) => f.write_str(why),
            Refusal::Command(error) => write!(f, "cannot run the command: {error}"),
        }
    }
}

impl Error for Refusal {}
