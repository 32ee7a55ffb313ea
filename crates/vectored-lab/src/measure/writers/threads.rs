//! Writers that are threads of this process.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::measure::targets::stay_on;
use crate::measure::writers::crew::{Crew, Reports};
use crate::measure::writers::writer::{Order, Span, Writer, WriterMovers, WriterSetup};
use crate::sys::gate::Gate;

/// Interval at which missing reports are looked into.
const PATIENCE: Duration = Duration::from_millis(100);

/// The threads, which end when this is dropped.
pub(crate) struct ThreadCrew {
    gate: Arc<Gate>,
    orders: Vec<Sender<Order>>,
    reports: Receiver<(usize, io::Result<Span>)>,
    threads: Vec<JoinHandle<()>>,
}

impl ThreadCrew {
    /// Starts a thread for each of `targets`, in turn on each of `cpus` (anywhere if there are none).
    pub fn start(
        setup: &WriterSetup,
        targets: Vec<Arc<OwnedFd>>,
        cpus: &[usize],
        make_mover: WriterMovers,
    ) -> io::Result<Self> {
        let gate = Arc::new(Gate::new(targets.len() as u32)?);
        let (outgoing, reports) = channel();
        let mut crew = ThreadCrew {
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
}

impl Crew for ThreadCrew {
    fn sample(&mut self, order: Order) -> io::Result<Vec<Span>> {
        for orders in &self.orders {
            // A thread that has ended is noticed below.
            let _ = orders.send(order);
        }
        let mut reports = Reports::of(self.threads.len());
        while !reports.are_complete() {
            match self.reports.recv_timeout(PATIENCE) {
                Ok((writer, report)) => reports.add(writer, report),
                Err(RecvTimeoutError::Timeout)
                    if self.threads.iter().any(JoinHandle::is_finished) =>
                {
                    self.gate.break_open();
                    return Err(io::Error::other("a writer thread ended unexpectedly"));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("all writer threads ended unexpectedly"));
                }
            }
        }
        reports.end()
    }
}

impl Drop for ThreadCrew {
    fn drop(&mut self) {
        self.gate.break_open();
        self.orders.clear();
        for thread in self.threads.drain(..) {
            // A panic of a writer has been reported as a missing answer.
            let _ = thread.join();
        }
    }
}
