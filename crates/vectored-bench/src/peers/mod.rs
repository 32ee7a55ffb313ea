//! The peers: functions of other projects that write several buffers, used as their documentation says.
//!
//! A peer is opened once for each sample, untimed: a program opens it once for each descriptor.

mod buf_writer;
mod go;
mod libevent;
mod libuv;
mod std_vectored;
mod tokio_vectored;

use std::io;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

use vectored::CostModel;
use vectored_lab::measure::{Clock, Contender, Lists, Mover, Timed, Timing, movers, time_calls};
use vectored_lab::model::Technique;

pub use go::GoProgram;

use crate::sys::evbuffer::{Adding, Evbuffers};
use crate::sys::uv::Uv;
use buf_writer::StdBufWriter;
use go::GoNetBuffers;
use libevent::Libevent;
use libuv::Libuv;
use std_vectored::StdVectored;
use tokio_vectored::TokioUtil;

/// The techniques of other projects, in the order of the tables.
pub const PEERS: [Technique; 9] = [
    Technique::BufWriter,
    Technique::BufWriterLarge,
    Technique::StdVectored,
    Technique::TokioUtil,
    Technique::StdioLarge,
    Technique::Libuv,
    Technique::LibeventCopy,
    Technique::LibeventReference,
    Technique::GoNetBuffers,
];

/// Writes lists to a descriptor that it was opened for.
trait Peer {
    /// Prepares for a descriptor. Untimed.
    fn open(&mut self, fd: BorrowedFd<'_>) -> io::Result<()>;

    /// Writes all segments once.
    fn send(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()>;

    /// Drops what `open` made. Bytes that an error has left in it must not be written.
    fn close(&mut self);
}

/// Makes a peer a mover of the engine.
struct Opened<P>(P);

impl<P: Peer> Mover for Opened<P> {
    fn prepare(&mut self, _segments: &[&[u8]], _start_bytes: usize) {}

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        self.0.open(fd)?;
        let outcome = self.0.send(fd, segments);
        self.0.close();
        outcome
    }

    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &Lists<'_>,
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<Timing> {
        self.0.open(fd)?;
        let mut turns = lists.in_turn();
        let outcome = time_calls(fd, batch, clock, || self.0.send(fd, turns.next()));
        self.0.close();
        outcome
    }
}

/// The peers that are available, and for each other one the reason.
pub struct Peers {
    uv: Result<Uv, String>,
    evbuffers: Result<Evbuffers, String>,
    runtime: Rc<tokio::runtime::Runtime>,
    go: Result<Rc<GoProgram>, String>,
}

impl Peers {
    /// Loads or starts the peers in `wanted`.
    ///
    /// # Errors
    ///
    /// If no tokio runtime can be made. A missing library is not an error: see [`missing`](Peers::missing).
    pub fn find(wanted: &[Technique]) -> io::Result<Self> {
        let unwanted = || "not asked for".to_owned();
        let is_wanted = |technique| wanted.contains(&technique);
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        Ok(Peers {
            uv: match is_wanted(Technique::Libuv) {
                true => Uv::load(),
                false => Err(unwanted()),
            },
            evbuffers: match [Technique::LibeventCopy, Technique::LibeventReference]
                .into_iter()
                .any(is_wanted)
            {
                true => Evbuffers::load(),
                false => Err(unwanted()),
            },
            runtime: Rc::new(runtime.enable_all().build()?),
            go: match is_wanted(Technique::GoNetBuffers) {
                true => GoProgram::start().map(Rc::new),
                false => Err(unwanted()),
            },
        })
    }

    /// Why a peer cannot be measured here and what helps; `None` if it can.
    pub fn missing(&self, technique: Technique) -> Option<String> {
        let reason = match technique {
            Technique::Libuv => self.uv.as_ref().err(),
            Technique::LibeventCopy | Technique::LibeventReference => self.evbuffers.as_ref().err(),
            Technique::GoNetBuffers => self.go.as_ref().err(),
            _ => None,
        };
        reason.map(|reason| {
            format!("{technique}: {reason}; on Debian, as root: cargo xtask bench-peers")
        })
    }

    /// The mover of a contender. `models` has one model for each of [`ADAPTIVES`], in that order.
    ///
    /// # Panics
    ///
    /// For a peer that is [`missing`](Peers::missing).
    pub fn mover(&self, contender: Contender, models: &[CostModel]) -> Box<dyn Mover> {
        let Contender::Technique(technique) = contender else {
            return movers(contender, &models[0]);
        };
        let loaded = "what is missing is not measured";
        if let Some(index) = ADAPTIVES.iter().position(|adaptive| *adaptive == technique) {
            return movers(Contender::Technique(Technique::Adaptive), &models[index]);
        }
        match technique {
            Technique::BufWriter => Box::new(Opened(StdBufWriter::default())),
            Technique::BufWriterLarge => Box::new(Opened(StdBufWriter::with_capacity(64 << 10))),
            Technique::StdVectored => Box::new(Opened(StdVectored::default())),
            Technique::TokioUtil => Box::new(TokioUtil::new(Rc::clone(&self.runtime))),
            Technique::Libuv => {
                let uv = self.uv.as_ref().expect(loaded);
                Box::new(Opened(Libuv::new(*uv)))
            }
            Technique::LibeventCopy => {
                let functions = self.evbuffers.as_ref().expect(loaded);
                Box::new(Opened(Libevent::new(*functions, Adding::Copy)))
            }
            Technique::LibeventReference => {
                let functions = self.evbuffers.as_ref().expect(loaded);
                Box::new(Opened(Libevent::new(*functions, Adding::Reference)))
            }
            Technique::GoNetBuffers => {
                let program = self.go.as_ref().expect(loaded);
                Box::new(GoNetBuffers::new(Rc::clone(program)))
            }
            Technique::WriteEachAgain => {
                movers(Contender::Technique(Technique::WriteEach), &models[0])
            }
            _ => movers(contender, &models[0]),
        }
    }
}

/// `adaptive` with a first, a second and a third calibration.
pub const ADAPTIVES: [Technique; 3] = [
    Technique::Adaptive,
    Technique::Adaptive2,
    Technique::Adaptive3,
];
