//! System calls of running programs, as the events that `vectored-strace` reads from logs. BPF programs in the kernel
//! record the calls.
//!
//! [`Watch`] attaches the programs; [`Watch::next`] hands on the events. On systems other than Linux for x86-64, `Watch`
//! refuses.
//!
//! Only the command `vectored` uses the public items of this crate; names say what most of them are.
#![allow(missing_docs)]

/// The modules for Linux on x86-64, the only system for which there are programs.
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
#[allow(clippy::wildcard_imports)] // Each module is then `crate::NAME`.
use here::*;

pub use watch::Watch;

/// The target of a watch. All processes that the target starts are also watched.
#[derive(Debug)]
pub enum Target<'a> {
    Processes(&'a [u32]),
    /// All processes of a cgroup of version 2 and of the cgroups below it.
    Cgroup(&'a Path),
    /// A command that the watch starts.
    Command(&'a mut Command),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub calls: u64,
    /// Calls that were lost because they came faster than they were read.
    pub lost: u64,
    pub is_over: bool,
    pub wall: Duration,
    /// CPU time of all watched threads since the watch began.
    pub cpu: Duration,
}

/// Why calls cannot be watched. A remedy stands after a semicolon.
#[derive(Debug)]
pub enum Refusal {
    /// On this machine, this user can attach no programs or cannot read what processes have open.
    Machine(String),
    /// The target of the watch does not exist.
    Target(String),
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
