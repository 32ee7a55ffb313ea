//! The MPI process of this rank, seen by the rank.

use std::cell::RefCell;
use std::env;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::rc::Rc;
use std::thread;

use vectored_lab::measure::host_name;

use super::launch::Launch;
use super::remote_group::RemoteGroup;
use crate::failure::Failure;
use crate::terminal::print_message;

/// A process that has joined the other ranks for this one.
///
/// Without it the rank can do nothing, and cannot agree with the others on an error: it prints what happened and ends by a
/// signal. If it ended by an exit status before it has joined, the mpirun of MPICH would leave the others waiting. `srun`
/// does so in both cases unless it has `--kill-on-bad-exit=1`.
pub struct MpiProcess {
    /// The ranks.
    pub group: RemoteGroup<UnixStream>,
    /// Their MPI library, in words.
    pub library: String,
    rank: u32,
    child: Rc<RefCell<Child>>,
}

impl MpiProcess {
    /// Starts it, and waits until it has joined the others.
    pub fn start(launch: Launch) -> MpiProcess {
        let rank = launch.rank;
        let (own, child) = started().unwrap_or_else(|error| {
            end_all(rank, &format!("cannot start a process for MPI: {error}"))
        });
        let child = Rc::new(RefCell::new(child));
        let watched = Rc::clone(&child);
        let joined = RemoteGroup::joined(own, move |error| lost(rank, &watched, &error));
        let (group, library) = joined.unwrap_or_else(|error| lost(rank, &child, &error));
        MpiProcess {
            group,
            library,
            rank,
            child,
        }
    }

    /// Ends MPI. It waits for the other ranks, which end it as well. If that fails, this rank ends and prints the error of
    /// the run, too, if there is one.
    pub fn end(self, failure: Option<&Failure>) {
        // If it cannot be told, it has ended, and its status tells how.
        let told = self.group.end();
        let status = self.child.borrow_mut().wait();
        if told.is_err() || !status.as_ref().is_ok_and(ExitStatus::success) {
            let how = how_it_ended(status);
            let what = match failure {
                Some(failure) => format!("{:#}; and {how}", failure.error),
                None => how,
            };
            end_all(self.rank, &what);
        }
    }
}

impl Drop for MpiProcess {
    fn drop(&mut self) {
        // The others wait for this rank.
        if thread::panicking() {
            self.group.abort();
        }
    }
}

fn started() -> io::Result<(UnixStream, Child)> {
    let (own, its) = UnixStream::pair()?;
    let child = Command::new(env::current_exe()?)
        .arg("mpi")
        .stdin(OwnedFd::from(its))
        // Standard output is for the result; MPI may print, too.
        .stdout(Stdio::null())
        .spawn()?;
    Ok((own, child))
}

/// Ends this rank after an error of the connection: its MPI process has ended, or has sent what cannot be read.
fn lost(rank: u32, child: &RefCell<Child>, error: &io::Error) -> ! {
    let mut child = child.borrow_mut();
    let has_ended = matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    );
    if !has_ended {
        // It would wait for the next call.
        let _ = child.kill();
        end_all(
            rank,
            &format!("cannot read the answer of its MPI process: {error}"),
        );
    }
    end_all(rank, &how_it_ended(child.wait()))
}

fn how_it_ended(status: io::Result<ExitStatus>) -> String {
    let how = match status {
        Ok(status) => match status.signal() {
            Some(signal) => format!("was ended by signal {signal}"),
            None => format!("ended with {status}"),
        },
        Err(unknown) => format!("ended ({unknown})"),
    };
    format!("its MPI process {how}; MPI or the launcher may have printed a reason")
}

/// Prints what happened on this rank, and ends it, so that the launcher ends the others.
fn end_all(rank: u32, what: &str) -> ! {
    print_message(&format!("error: rank {rank} on {}: {what}", host_name()));
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    // Not reached: no process can ignore it.
    std::process::abort()
}
