//! Opens the target of a cell.

use std::path::Path;

use super::Sink;
use super::directory::check_directory;
use super::file::FileSink;
use super::null::NullSink;
use super::pairs::{MakePair, pipe, unix_pair};
use super::stream::StreamSink;
use crate::measure::reader::ReaderSink;
use crate::measure::sampler::{DrainChoice, MeasureError};
use crate::model::{CellSpec, Target};

/// Opens the target of a cell; says which way it is emptied.
pub(in crate::measure) fn open_target(
    spec: &CellSpec,
    directory: &Path,
    reader_cpu: Option<usize>,
    drain: DrainChoice,
) -> Result<Opened, MeasureError> {
    let call_bytes = spec.workload.total_bytes() as u64;
    let what = |doing: &str| MeasureError::io(format!("cannot {doing} {}", spec.target));
    let make_pair: MakePair = match spec.target {
        Target::File => {
            let described = check_directory(directory, call_bytes)?;
            let sink = FileSink::create(directory).map_err(what("create"))?;
            return Ok(Opened {
                file_system: Some(described.file_system),
                ..Opened::new(Box::new(sink), Emptying::Itself)
            });
        }
        Target::Null => {
            let sink = NullSink::open().map_err(what("open"))?;
            return Ok(Opened::new(Box::new(sink), Emptying::Itself));
        }
        Target::Pipe => pipe,
        Target::Unix => unix_pair,
    };
    match drain {
        DrainChoice::Probe => {
            let sink = StreamSink::open(make_pair).map_err(what("open"))?;
            Ok(Opened::new(Box::new(sink), Emptying::BetweenSamples))
        }
        DrainChoice::Thread => {
            let pair = make_pair().map_err(what("open"))?;
            let sink =
                ReaderSink::start(pair, reader_cpu).map_err(what("start a reader thread for"))?;
            Ok(Opened::new(Box::new(sink), Emptying::Reader))
        }
    }
}

/// A target that is ready.
pub(in crate::measure) struct Opened {
    pub sink: Box<dyn Sink>,
    pub emptying: Emptying,
    /// Of a file.
    pub file_system: Option<String>,
}

impl Opened {
    pub fn new(sink: Box<dyn Sink>, emptying: Emptying) -> Self {
        Opened {
            sink,
            emptying,
            file_system: None,
        }
    }
}

/// How room is made in a target.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::measure) enum Emptying {
    /// It is never full, or empties itself.
    Itself,
    BetweenSamples,
    Reader,
}
