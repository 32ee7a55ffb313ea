//! The peers: functions of other projects that write several buffers, used as their documentation says.
//!
//! A peer is opened once for each sample, untimed: a program opens it once for each descriptor.

mod buf_writer;
mod c_caller;
mod go;
mod libevent;
mod libuv;
mod peer;
mod std_vectored;
mod tokio_vectored;

use std::io;
use std::rc::Rc;

use vectored::CostModel;
use vectored_measure::measure::{Contender, Mover, movers};
use vectored_results::model::TechniqueName;

pub use go::GoProgram;

use crate::sys::c_callers::{CCallers, How};
use crate::sys::evbuffer::{Adding, Evbuffers};
use crate::sys::uv::Uv;
use crate::techniques::{
    ADAPTIVES, BUF_WRITER, BUF_WRITER_LARGE, C_CALLERS, C_FWRITE, C_GATHER, C_WRITEV,
    GO_NET_BUFFERS, LIBEVENT_COPY, LIBEVENT_REFERENCE, LIBUV, STD_VECTORED, STDIO_LARGE,
    TOKIO_UTIL, WRITE_EACH_AGAIN,
};
use buf_writer::StdBufWriter;
use c_caller::CProgram;
use go::GoNetBuffers;
use libevent::Libevent;
use libuv::Libuv;
use peer::Opened;
use std_vectored::StdVectored;
use tokio_vectored::TokioUtil;

/// Each peer, or the reason why it is not available.
pub struct Peers {
    uv: Result<Uv, String>,
    evbuffers: Result<Evbuffers, String>,
    runtime: Rc<tokio::runtime::Runtime>,
    go: Result<Rc<GoProgram>, String>,
    c: Result<CCallers, String>,
}

impl Peers {
    /// Loads or starts the peers in `wanted`.
    ///
    /// # Errors
    ///
    /// If no tokio runtime can be made. A missing library is not an error: see [`missing`](Peers::missing).
    pub fn find(wanted: &[TechniqueName]) -> io::Result<Self> {
        let unwanted = || "not asked for".to_owned();
        let is_wanted = |technique| wanted.contains(&technique);
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        Ok(Peers {
            uv: if is_wanted(LIBUV) { Uv::load() } else { Err(unwanted()) },
            evbuffers: if [LIBEVENT_COPY, LIBEVENT_REFERENCE]
                .into_iter()
                .any(is_wanted)
            {
                Evbuffers::load()
            } else {
                Err(unwanted())
            },
            runtime: Rc::new(runtime.enable_all().build()?),
            go: if is_wanted(GO_NET_BUFFERS) {
                GoProgram::start().map(Rc::new)
            } else {
                Err(unwanted())
            },
            c: if C_CALLERS.into_iter().any(is_wanted) {
                CCallers::build()
            } else {
                Err(unwanted())
            },
        })
    }

    /// Why a peer cannot be measured here and what helps; `None` if it can.
    pub fn missing(&self, technique: TechniqueName) -> Option<String> {
        let reason = match technique {
            LIBUV => self.uv.as_ref().err(),
            LIBEVENT_COPY | LIBEVENT_REFERENCE => self.evbuffers.as_ref().err(),
            GO_NET_BUFFERS => self.go.as_ref().err(),
            C_GATHER | C_WRITEV | C_FWRITE => self.c.as_ref().err(),
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
            return movers(
                Contender::Technique(TechniqueName::ADAPTIVE),
                &models[index],
            );
        }
        match technique {
            BUF_WRITER => Box::new(Opened(StdBufWriter::default())),
            BUF_WRITER_LARGE => Box::new(Opened(StdBufWriter::with_capacity(64 << 10))),
            STD_VECTORED => Box::new(Opened(StdVectored::default())),
            TOKIO_UTIL => Box::new(TokioUtil::new(Rc::clone(&self.runtime))),
            LIBUV => {
                let uv = self.uv.as_ref().expect(loaded);
                Box::new(Opened(Libuv::new(*uv)))
            }
            LIBEVENT_COPY => {
                let functions = self.evbuffers.as_ref().expect(loaded);
                Box::new(Opened(Libevent::new(*functions, Adding::Copy)))
            }
            LIBEVENT_REFERENCE => {
                let functions = self.evbuffers.as_ref().expect(loaded);
                Box::new(Opened(Libevent::new(*functions, Adding::Reference)))
            }
            GO_NET_BUFFERS => {
                let program = self.go.as_ref().expect(loaded);
                Box::new(GoNetBuffers::new(Rc::clone(program)))
            }
            C_GATHER | C_WRITEV | C_FWRITE => {
                let how = match technique {
                    C_GATHER => How::Gather,
                    C_WRITEV => How::Writev,
                    _ => How::Fwrite,
                };
                Box::new(CProgram::new(*self.c.as_ref().expect(loaded), how))
            }
            STDIO_LARGE => {
                let write = vectored_measure::measure::STDIO_LARGE.write;
                write.expect("a technique that writes")(&models[0])
            }
            WRITE_EACH_AGAIN => movers(Contender::Technique(TechniqueName::WRITE_EACH), &models[0]),
            _ => movers(contender, &models[0]),
        }
    }
}
