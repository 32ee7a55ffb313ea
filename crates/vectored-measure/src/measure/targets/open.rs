//! Opens the target of a cell.

use std::io;
use std::path::Path;
use std::rc::Rc;
#[cfg(unix)]
use std::sync::Arc;

use vectored_machine::platform::descriptors::EMPTIES_BETWEEN_SAMPLES;
#[cfg(unix)]
use vectored_machine::platform::fd::OwnedFd;
#[cfg(windows)]
use vectored_machine::platform::lacks;
use vectored_results::model::{CellSpec, Drain, Target};

use crate::measure::sampler::interface::{DrainChoice, MeasureError};
use crate::measure::targets::directory::check_directory;
use crate::measure::targets::drain_thread::DrainThreadSink;
use crate::measure::targets::file::{FILE_SPAN_BYTES, FileEnd, FileSink};
#[cfg(unix)]
use crate::measure::targets::foreign_socket::ForeignSocketSink;
use crate::measure::targets::null::NullSink;
use crate::measure::targets::overwrite::{OverwriteSink, SpanFile};
use crate::measure::targets::sink::Sink;
use crate::measure::targets::stream_kind::StreamKind;
use crate::measure::targets::stream_sink::StreamSink;

/// Opens targets, and keeps the files and connections that several cells share.
#[derive(Default)]
pub(crate) struct TargetOpener {
    span_files: Vec<Rc<SpanFile>>,
    #[cfg(unix)]
    peers: Vec<(String, Arc<OwnedFd>)>,
}

impl TargetOpener {
    /// Opens the target of a cell and chooses how it is emptied. Files are
    /// created in `directory`, unless the cell names another one.
    pub fn open(
        &mut self,
        spec: &CellSpec,
        directory: &Path,
        reader_cpu: Option<usize>,
        choice: OpenChoice,
    ) -> Result<OpenTarget, MeasureError> {
        let half_batch_bytes = spec.half_batch_bytes();
        let what =
            |doing: &str| MeasureError::io(format!("cannot {doing} {}", spec.conditions.place()));
        let path = spec.conditions.path.as_deref();
        if let Some(stream) = StreamKind::of(&spec.conditions) {
            return match choice.drain {
                DrainChoice::Probe if EMPTIES_BETWEEN_SAMPLES => {
                    let sink = StreamSink::open(stream).map_err(what("open"))?;
                    Ok(OpenTarget::new(Box::new(sink), DrainMode::BetweenSamples))
                }
                DrainChoice::Probe | DrainChoice::Thread => {
                    let sink = DrainThreadSink::start(stream, reader_cpu)
                        .map_err(what("start a reader thread for"))?;
                    Ok(OpenTarget::new(Box::new(sink), DrainMode::Thread))
                }
            };
        }
        match spec.conditions.target {
            Target::File => {
                let directory = spec.conditions.directory_or(directory);
                let described =
                    check_directory(directory, spec.conditions.target, half_batch_bytes)?;
                let mut sink = FileSink::create(directory, spec.conditions.sync, choice.file_end)
                    .map_err(what("create"))?;
                if spec.conditions.direct {
                    sink = sink.past_page_cache().map_err(what("use O_DIRECT on"))?;
                }
                Ok(OpenTarget {
                    file_system: Some(described.file_system),
                    span_bytes: Some(FILE_SPAN_BYTES),
                    ..OpenTarget::new(Box::new(sink), DrainMode::NotNeeded)
                })
            }
            Target::FileOverwrite => {
                let directory = spec.conditions.directory_or(directory);
                let file = self.span_file(directory, spec)?;
                let sink = OverwriteSink::new(Rc::clone(&file)).map_err(what("open"))?;
                Ok(OpenTarget {
                    file_system: Some(file.file_system.clone()),
                    span_bytes: Some(file.span_bytes),
                    ..OpenTarget::new(Box::new(sink), DrainMode::NotNeeded)
                })
            }
            Target::Null => {
                let sink = NullSink::open().map_err(what("open"))?;
                Ok(OpenTarget::new(Box::new(sink), DrainMode::NotNeeded))
            }
            _ => {
                let sink = path.ok_or_else(nameless);
                let sink = sink.and_then(|path| self.peer(path));
                let sink = sink.map_err(what("connect to"))?;
                Ok(OpenTarget::new(sink, DrainMode::Peer))
            }
        }
    }

    /// The file that cells of this directory, sync mode and way past the page cache rewrite. Replaces it
    /// if it is too short.
    fn span_file(
        &mut self,
        directory: &Path,
        spec: &CellSpec,
    ) -> Result<Rc<SpanFile>, MeasureError> {
        let half_batch_bytes = spec.half_batch_bytes();
        let is_direct = spec.conditions.direct;
        let is_this = |file: &Rc<SpanFile>| {
            file.directory == directory
                && file.sync == spec.conditions.sync
                && file.is_direct == is_direct
        };
        let mut files = self.span_files.iter();
        if let Some(file) = files.find(|file| is_this(file) && file.suffices(half_batch_bytes)) {
            return Ok(Rc::clone(file));
        }
        self.span_files.retain(|file| !is_this(file));
        let described = check_directory(directory, spec.conditions.target, half_batch_bytes)?;
        let mut file = SpanFile::create(
            directory,
            described.file_system,
            spec.conditions.sync,
            half_batch_bytes,
        )
        .map_err(MeasureError::io(format!(
            "cannot create {}",
            spec.conditions.place()
        )))?;
        if is_direct {
            let what = format!("cannot use O_DIRECT on {}", spec.conditions.place());
            file = file.past_page_cache().map_err(MeasureError::io(what))?;
        }
        self.span_files.push(Rc::new(file));
        Ok(Rc::clone(&self.span_files[self.span_files.len() - 1]))
    }

    /// A sink on the connection to the program at a path or an address.
    #[cfg(unix)]
    fn peer(&mut self, path: &str) -> io::Result<Box<dyn Sink>> {
        let mut peers = self.peers.iter();
        let known = peers.find(|(this, _)| this == path);
        let socket = match known {
            Some((_, socket)) => Arc::clone(socket),
            None => {
                let socket = ForeignSocketSink::connect(Path::new(path))?;
                self.peers.push((path.to_owned(), Arc::clone(&socket)));
                socket
            }
        };
        Ok(Box::new(ForeignSocketSink::new(socket)))
    }

    #[cfg(windows)]
    fn peer(&mut self, _path: &str) -> io::Result<Box<dyn Sink>> {
        Err(lacks("sockets of other programs"))
    }
}

/// The choices that a cell leaves to the sampler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenChoice {
    pub drain: DrainChoice,
    pub file_end: FileEnd,
}

/// The error of a target that needs a path and has none.
fn nameless() -> io::Error {
    io::Error::other("this kind of target needs a path, and the cell has none")
}

pub(crate) struct OpenTarget {
    pub sink: Box<dyn Sink>,
    pub drain_mode: DrainMode,
    /// The file system; files only.
    pub file_system: Option<String>,
    /// The length up to which it is written; files only.
    pub span_bytes: Option<u64>,
}

impl OpenTarget {
    pub fn new(sink: Box<dyn Sink>, drain_mode: DrainMode) -> Self {
        OpenTarget {
            sink,
            drain_mode,
            file_system: None,
            span_bytes: None,
        }
    }
}

/// How a target is emptied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum DrainMode {
    /// The sink empties it between samples, or it is never full.
    NotNeeded,
    /// The measuring thread empties it between samples.
    BetweenSamples,
    /// A reader thread empties it during samples.
    Thread,
    /// Another program empties it.
    Peer,
}

impl DrainMode {
    /// The threads that work at the ends of a cell, as the results name them, if its source is filled in this way.
    pub fn beside(self, filled: Option<Drain>) -> Option<Drain> {
        match (filled, self) {
            (Some(Drain::WriterThread), DrainMode::Thread) => Some(Drain::BothThreads),
            (_, DrainMode::Thread) => Some(Drain::ReaderThread),
            (Some(Drain::WriterThread), _) => Some(Drain::WriterThread),
            (_, DrainMode::Peer) => Some(Drain::Peer),
            (_, DrainMode::BetweenSamples) => Some(Drain::BetweenSamples),
            (filled, DrainMode::NotNeeded) => filled,
        }
    }
}
