//! A thread on another CPU at the other end of a stream.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use vectored_machine::platform::cpus;
use vectored_machine::platform::fd::OwnedFd;

/// A thread that obeys orders, and reports.
pub(crate) struct ThreadBeside<O, R> {
    name: &'static str,
    /// Our end of the stream, and the channel of the orders. Both are open until this value is dropped.
    open: Option<(OwnedFd, Sender<O>)>,
    pub reports: Receiver<R>,
    thread: Option<JoinHandle<()>>,
}

impl<O: Send + 'static, R: Send + 'static> ThreadBeside<O, R> {
    pub fn start(
        name: &'static str,
        end: OwnedFd,
        cpu: Option<usize>,
        work: impl FnOnce(&Receiver<O>, &Sender<R>) + Send + 'static,
    ) -> io::Result<Self> {
        let (orders, incoming) = channel();
        let (outgoing, reports) = channel();
        let thread = std::thread::Builder::new();
        let thread = thread.name(name.to_owned()).spawn(move || {
            if let Some(cpu) = cpu {
                // The CPU was allowed when it was chosen. If the CPU is no longer allowed, the thread runs unpinned, so the
                // error is ignored.
                let _ = cpus::pin(cpu);
            }
            work(&incoming, &outgoing);
        })?;
        Ok(ThreadBeside {
            name,
            open: Some((end, orders)),
            reports,
            thread: Some(thread),
        })
    }
}

impl<O, R> ThreadBeside<O, R> {
    pub fn end(&self) -> &OwnedFd {
        &self.open.as_ref().expect("open until dropped").0
    }

    pub fn order(&self, order: O) -> io::Result<()> {
        let (_, orders) = self.open.as_ref().expect("open until dropped");
        orders.send(order).map_err(|_| self.has_ended())
    }

    pub fn has_ended(&self) -> io::Error {
        io::Error::other(format!("the {} thread ended unexpectedly", self.name))
    }
}

impl<O, R> Drop for ThreadBeside<O, R> {
    fn drop(&mut self) {
        // Closing our end, which no technique holds any more, ends a blocked call of the thread. Closing the channel ends
        // the thread.
        self.open = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported as a missing answer.
            let _ = thread.join();
        }
    }
}
