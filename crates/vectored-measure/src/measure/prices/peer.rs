//! A stream whose reader thread reads continuously, as another program does.
//!
//! The reader thread of the engine reads a batch and then compares it, while nothing is sent. That
//! makes comparisons fair, but does not show the cost of a reader that sleeps between two pieces and
//! is woken by each.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use vectored_machine::Clock;
use vectored_machine::platform::descriptors::{pipe, tcp_pair, unix_pair};
use vectored_machine::platform::fd::{AsFd, OwnedFd};
use vectored_results::model::{CellSpec, Target, TechniqueName};

use crate::measure::prices::movers::work;
use crate::measure::prices::probes::Manner;
use crate::measure::sampler::cell_extras::CellExtras;
use crate::measure::sampler::interface::{
    CellSetup, Contender, DrainChoice, MeasureError, Sampler, Timing,
};
use crate::measure::techniques::write_all;

/// The value of every byte.
const FILL: u8 = b'v';

/// Maximum number of calls in a sample.
const MAX_CALLS: u32 = 64;

/// Bytes that have not arrived after this time count as lost.
const PATIENCE: Duration = Duration::from_secs(2);

/// Times writing to streams whose reader is another thread.
pub(super) struct PeerSampler<'a> {
    clock: &'a dyn Clock,
    manner: Manner,
    cell: Option<PeerCell>,
}

struct PeerCell {
    writer: Option<OwnedFd>,
    /// Number of bytes that arrived and had the right value.
    arrived_bytes: Arc<AtomicU64>,
    sent_bytes: u64,
    reader: Option<JoinHandle<io::Result<()>>>,
    pieces: usize,
    bytes: Vec<u8>,
}

impl<'a> PeerSampler<'a> {
    pub fn new(clock: &'a dyn Clock, manner: Manner) -> Self {
        PeerSampler {
            clock,
            manner,
            cell: None,
        }
    }
}

impl Sampler for PeerSampler<'_> {
    fn begin_cell(
        &mut self,
        spec: &CellSpec,
        _techniques: &[TechniqueName],
        _drain: DrainChoice,
    ) -> Result<CellSetup, MeasureError> {
        let cell = PeerCell::open(spec).map_err(MeasureError::io(format!(
            "cannot open {} with a reader",
            spec.conditions.place()
        )))?;
        self.cell = Some(cell);
        Ok(CellSetup {
            max_calls: MAX_CALLS,
            ..CellSetup::default()
        })
    }

    fn begin_round(&mut self, _round: u32) -> Result<(), MeasureError> {
        Ok(())
    }

    fn sample(&mut self, contender: Contender, calls: u32) -> Result<Timing, MeasureError> {
        let cell = self.cell.as_mut().expect("begin_cell comes first");
        let merged = contender == Contender::Floor || contender == Contender::FloorAgain;
        let began = (self.clock.now_ns(), self.clock.thread_cpu_ns());
        let works = self.manner == Manner::WorkingToReader;
        let outcome = (0..calls).try_for_each(|_| {
            cell.send(merged, works)?;
            match self.manner {
                Manner::Answering => cell.wait(),
                _ => Ok(()),
            }
        });
        let elapsed_ns = self.clock.now_ns() - began.0;
        let cpu_ns = self.clock.thread_cpu_ns() - began.1;
        outcome
            .and_then(|()| cell.wait())
            .map_err(MeasureError::io("cannot write to a reader thread"))?;
        Ok(Timing { elapsed_ns, cpu_ns })
    }

    fn end_cell(&mut self) -> Result<CellExtras, MeasureError> {
        if let Some(mut cell) = self.cell.take() {
            cell.close()
                .map_err(MeasureError::io("cannot read in the reader thread"))?;
        }
        Ok(CellExtras::default())
    }
}

impl PeerCell {
    fn open(spec: &CellSpec) -> io::Result<Self> {
        let (writer, reader) = match spec.conditions.target {
            Target::Pipe => pipe()?,
            Target::Unix => unix_pair()?,
            Target::Tcp => tcp_pair()?,
            _ => return Err(io::ErrorKind::Unsupported.into()),
        };
        let arrived_bytes = Arc::new(AtomicU64::new(0));
        let arrived = Arc::clone(&arrived_bytes);
        let thread = std::thread::Builder::new()
            .name("peer".to_owned())
            .spawn(move || take_all(reader, &arrived))?;
        Ok(PeerCell {
            writer: Some(writer),
            arrived_bytes,
            sent_bytes: 0,
            reader: Some(thread),
            pieces: spec.workload.segment_count(),
            bytes: vec![FILL; spec.workload.total_bytes()],
        })
    }

    /// Writes the list: piece by piece, or with one call if `merged`.
    fn send(&mut self, merged: bool, works: bool) -> io::Result<()> {
        let fd = self.writer.as_ref().expect("open until closed").as_fd();
        self.sent_bytes += self.bytes.len() as u64;
        for piece in self.bytes.chunks(self.bytes.len() / self.pieces) {
            if works {
                work();
            }
            if !merged {
                write_all(fd, piece)?;
            }
        }
        if merged {
            write_all(fd, &self.bytes)?;
        }
        Ok(())
    }

    /// Waits until all bytes have arrived and the reader is about to sleep.
    fn wait(&self) -> io::Result<()> {
        let began = Instant::now();
        while self.arrived_bytes.load(Ordering::Acquire) < self.sent_bytes {
            if began.elapsed() > PATIENCE {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        self.writer = None;
        match self.reader.take().map(JoinHandle::join) {
            Some(Err(_)) => Err(io::Error::other("the reader thread has panicked")),
            Some(Ok(outcome)) => outcome,
            None => Ok(()),
        }
    }
}

impl Drop for PeerCell {
    fn drop(&mut self) {
        // `end_cell` reports an error of closing. A cell that is dropped otherwise has failed
        // already, so the error is ignored.
        let _ = self.close();
    }
}

/// Runs the reader thread: reads to the end of the stream, or to the first wrong byte.
fn take_all(reader: OwnedFd, arrived_bytes: &AtomicU64) -> io::Result<()> {
    let mut stream = File::from(reader);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) if buffer[..count].iter().all(|&byte| byte == FILL) => {
                arrived_bytes.fetch_add(count as u64, Ordering::Release);
            }
            Ok(_) => {
                return Err(io::Error::other(
                    "the bytes that arrived differ from those sent",
                ));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // TCP connections here end with a reset, and all sent bytes have been counted by then.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}
