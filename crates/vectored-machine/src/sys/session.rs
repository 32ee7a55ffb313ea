//! The session of a child process.
//!
//! # Safety
//!
//! `unsafe` for code that runs in the child between fork and exec.
#![allow(unsafe_code)]

use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Signal, set_parent_process_death_signal, setsid};

/// Ends the child process just before it becomes the program of the command. The kernel counts what the child has used
/// until then for every program that this process starts.
pub fn end_before_program(command: &mut Command) {
    // SAFETY: `_exit` is async-signal-safe, and runs no handler of this process.
    unsafe { command.pre_exec(|| libc::_exit(0)) };
}

/// Starts the command in a session of its own: the command has no terminal, and no signal from the keyboard reaches it. The
/// command is killed when the starting thread ends.
pub fn in_own_session(command: &mut Command) {
    let prepare = || {
        setsid()?;
        set_parent_process_death_signal(Some(Signal::KILL))?;
        Ok(())
    };
    // SAFETY: after the fork of a process with several threads only async-signal-safe functions may be called. `setsid` and
    // `prctl` are plain system calls, and nothing is allocated.
    unsafe { command.pre_exec(prepare) };
}
