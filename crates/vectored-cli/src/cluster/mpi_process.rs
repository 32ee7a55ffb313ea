//! The MPI process of this rank, seen by the rank.

use std::cell::RefCell;
use std::env;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::thread;

use anyhow::Context;

use super::remote_group::RemoteGroup;
use crate::failure::Failure;

/// A process that has joined the other ranks for this one.
pub struct MpiProcess {
    /// The ranks.
    pub group: RemoteGroup<UnixStream>,
    /// Their MPI library, in words.
    pub library: String,
    child: Rc<RefCell<Child>>,
}

impl MpiProcess {
    /// Starts it, and waits until it has joined the others.
    pub fn start() -> Result<MpiProcess, Failure> {
        let program = env::current_exe().context("cannot find this program to start MPI")?;
        let (own, its) = UnixStream::pair().context("cannot make a socket")?;
        let child = Command::new(program)
            .arg("mpi")
            .stdin(OwnedFd::from(its))
            // What MPI prints is no result.
            .stdout(Stdio::null())
            .spawn()
            .context("cannot start the process for MPI")?;
        let child = Rc::new(RefCell::new(child));
        let watched = Rc::clone(&child);
        let joined = RemoteGroup::joined(own, move |error| lost(&watched, &error));
        let (group, library) =
            joined.map_err(|error| Failure::from(anyhow::anyhow!(in_words(&child, &error))))?;
        Ok(MpiProcess {
            group,
            library,
            child,
        })
    }

    /// Ends MPI. It waits for the other ranks, which end it as well.
    pub fn end(self) -> Result<(), Failure> {
        let ended = self.group.end().and_then(|()| {
            let status = self.child.borrow_mut().wait()?;
            match status.success() {
                true => Ok(()),
                false => Err(io::Error::other("it could not end MPI")),
            }
        });
        ended.map_err(|error| Failure::from(anyhow::anyhow!(in_words(&self.child, &error))))
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

/// Ends this process: without MPI it can do nothing, and the launcher ends the others.
fn lost(child: &RefCell<Child>, error: &io::Error) -> ! {
    let message = format!("error: {}\n", in_words(child, error));
    let _ = io::stderr().write_all(message.as_bytes());
    std::process::exit(1)
}

fn in_words(child: &RefCell<Child>, error: &io::Error) -> String {
    // It has closed the connection, so it ends.
    let how = match child.borrow_mut().wait() {
        Ok(status) => status.to_string(),
        Err(unknown) => unknown.to_string(),
    };
    format!(
        "the process that calls MPI for this rank ended ({how}; {error}): if MPI gives a reason, it stands above"
    )
}
