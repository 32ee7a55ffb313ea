//! The threads of a cell with several writers.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use vectored_machine::platform::fd::{AsFd, OwnedFd};

use crate::measure::cell::writers::gate::Gate;
use crate::measure::cell::writers::writer::{Order, Span, Writer, WriterMovers, WriterSetup};
use crate::measure::targets::stay_on;

/// Interval at which missing reports are looked into.
const PATIENCE: Duration = Duration::from_millis(100);

/// All writers of a cell, which carry out one order at a time. They end when this is dropped.
pub(crate) struct Crew {
    gate: Arc<Gate>,
    orders: Vec<Sender<Order>>,
    reports: Receiver<(usize, io::Result<Span>)>,
    threads: Vec<JoinHandle<()>>,
}

impl Crew {
    /// Starts a thread for each of `targets`, in turn on each of `cpus` (anywhere if there are none).
    pub fn start(
        setup: &WriterSetup,
        targets: Vec<Arc<OwnedFd>>,
        cpus: &[usize],
        make_mover: WriterMovers,
    ) -> io::Result<Self> {
        let gate = Arc::new(Gate::new(targets.len() as u32));
        let (outgoing, reports) = channel();
        let mut crew = Crew {
            gate: Arc::clone(&gate),
            orders: Vec::new(),
            reports,
            threads: Vec::new(),
        };
        for (index, target) in targets.into_iter().enumerate() {
            let (orders, incoming) = channel::<Order>();
            let cpu = (!cpus.is_empty()).then(|| cpus[index % cpus.len()]);
            let (setup, gate, outgoing) = (setup.clone(), Arc::clone(&gate), outgoing.clone());
            let thread = std::thread::Builder::new()
                .name(format!("writer {index}"))
                .spawn(move || {
                    stay_on(cpu);
                    let mut writer = Writer::new(index as u32, setup, make_mover);
                    while let Ok(order) = incoming.recv() {
                        let report = writer.sample(order, target.as_fd(), &gate);
                        if outgoing.send((index, report)).is_err() {
                            return;
                        }
                    }
                })?;
            crew.orders.push(orders);
            crew.threads.push(thread);
        }
        Ok(crew)
    }

    /// Has each writer take the sample; they start together. The spans are in the order of the writers.
    ///
    /// # Errors
    ///
    /// The first error of a writer.
    pub fn sample(&mut self, order: Order) -> io::Result<Vec<Span>> {
        for orders in &self.orders {
            // A thread that has ended is noticed below.
            let _ = orders.send(order);
        }
        let mut spans = vec![None; self.threads.len()];
        let mut failure = None;
        for _ in 0..self.threads.len() {
            match self.report()? {
                (writer, Ok(span)) => spans[writer] = Some(span),
                // Writers that waited for the failed one report an interruption.
                (_, Err(error))
                    if error.kind() == io::ErrorKind::Interrupted && failure.is_some() => {}
                (_, Err(error)) => failure = Some(error),
            }
        }
        match failure {
            Some(error) => Err(error),
            None => Ok(spans.into_iter().flatten().collect()),
        }
    }

    /// The next report, with the number of the writer.
    fn report(&self) -> io::Result<(usize, io::Result<Span>)> {
        loop {
            match self.reports.recv_timeout(PATIENCE) {
                Ok(report) => return Ok(report),
                Err(RecvTimeoutError::Timeout)
                    if !self.threads.iter().any(JoinHandle::is_finished) => {}
                Err(_) => {
                    self.gate.break_open();
                    return Err(io::Error::other("a writer thread ended unexpectedly"));
                }
            }
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.gate.break_open();
        self.orders.clear();
        for thread in self.threads.drain(..) {
            // A panic of a writer has been reported as a missing answer.
            let _ = thread.join();
        }
    }
}
