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
use vectored_lab::measure::{Contender, Mover, movers};
use vectored_lab::model::Technique;

pub use go::GoProgram;

use crate::sys::c_callers::{CCallers, How};
use crate::sys::evbuffer::{Adding, Evbuffers};
use crate::sys::uv::Uv;
use crate::techniques::{ADAPTIVES, C_CALLERS};
use buf_writer::StdBufWriter;
use c_caller::CProgram;
use go::GoNetBuffers;
use libevent::Libevent;
use libuv::Libuv;
use peer::Opened;
use std_vectored::StdVectored;
use tokio_vectored::TokioUtil;

/// The peers that are available, and for each other one the reason.
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
            c: match C_CALLERS.into_iter().any(is_wanted) {
                true => CCallers::build(),
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
            Technique::CGather | Technique::CWritev | Technique::CFwrite => self.c.as_ref().err(),
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
            Technique::CGather | Technique::CWritev | Technique::CFwrite => {
                let how = match technique {
                    Technique::CGather => How::Gather,
                    Technique::CWritev => How::Writev,
                    _ => How::Fwrite,
                };
                Box::new(CProgram::new(*self.c.as_ref().expect(loaded), how))
            }
            Technique::WriteEachAgain => {
                movers(Contender::Technique(Technique::WriteEach), &models[0])
            }
            _ => movers(contender, &models[0]),
        }
    }
}
