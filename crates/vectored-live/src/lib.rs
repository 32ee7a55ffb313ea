//! System calls of running programs, from BPF programs in the kernel, as the events that `vectored-strace` reads from logs.
//!
//! [`Watch`] attaches the programs; [`Watch::next`] hands on the events. On other systems than Linux for x86-64 it refuses.

mod refusal;
mod seen;

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
#[path = "."]
mod here {
    pub(crate) mod elsewhere;
    pub(crate) use elsewhere as watch;
}

#[allow(clippy::wildcard_imports)] // Each module is `crate::NAME`, as if it stood here.
use here::*;

pub use refusal::Refusal;
pub use seen::{Seen, Target};
pub use watch::Watch;
