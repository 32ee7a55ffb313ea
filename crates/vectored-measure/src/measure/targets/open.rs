//! Opens the target of a cell.

use std::fs::File;
use std::io;
use std::path::Path;
use std::rc::Rc;
#[cfg(unix)]
use std::sync::Arc;

#[cfg(unix)]
use vectored_machine::platform::fd::OwnedFd;
#[cfg(windows)]
use vectored_machine::platform::lacks;
use vectored_machine::platform::plain_calls::NULL_DEVICE;
use vectored_results::model::{CellSpec, Drain, Target};

use crate::measure::sampler::{CellSetup, DrainChoice, MeasureError};
use crate::measure::targets::direct::check_directory;
use crate::measure::targets::end::{End, NullSink};
use crate::measure::targets::file::{FILE_SPAN_BYTES, FileSink, SpanFile};
#[cfg(unix)]
use crate::measure::targets::foreign_socket::ForeignSocketSink;
use crate::measure::targets::reader_thread::DrainThreadSink;
use crate::measure::targets::stream_kind::StreamKind;
use crate::measure::targets::stream_sink::StreamSink;

/// Maximum size of a batch with a thread at the other end. The thread holds the whole batch.
pub(crate) const THREAD_BYTES: u64 = 8 << 20;

/// Opens targets, and keeps the files and connections that several cells share.
#[derive(Default)]
pub(crate) struct TargetOpener {
    span_files: Vec<Rc<SpanFile>>,
    #[cfg(unix)]
    peers: Vec<(String, Arc<OwnedFd>)>,
}

impl TargetOpener {
    pub fn open(
        &mut self,
        spec: &CellSpec,
        (directory, reader_cpu): (&Path, Option<usize>),
        drain: DrainChoice,
        appends: bool,
    ) -> Result<(Box<dyn End>, CellSetup), MeasureError> {
        let what =
            |doing: &str| MeasureError::io(format!("cannot {doing} {}", spec.conditions.place()));
        if let Some(stream) = StreamKind::of(&spec.conditions) {
            let (sink, drain): (Box<dyn End>, _) = if drain == DrainChoice::Probe {
                let sink = StreamSink::open(stream).map_err(what("open"))?;
                (Box::new(sink), Drain::BetweenSamples)
            } else {
                let sink = DrainThreadSink::start(stream, reader_cpu);
                let sink = sink.map_err(what("start a reader thread for"))?;
                (Box::new(sink), Drain::ReaderThread)
            };
            return Ok((
                sink,
                CellSetup::with_room(THREAD_BYTES, spec).drained(drain),
            ));
        }
        let directory = spec.conditions.directory_or(directory);
        match spec.conditions.target {
            Target::File | Target::FileOverwrite => {
                let file = self.span_file(directory, spec, appends)?;
                let end = CellSetup {
                    file_system: Some(file.file_system.clone()),
                    span_bytes: Some(file.span_bytes),
                    ..CellSetup::with_room(file.span_bytes, spec)
                };
                let sink = FileSink::new(file).map_err(what("open"))?;
                Ok((Box::new(sink), end))
            }
            Target::Null => {
                let null = File::options().write(true).open(NULL_DEVICE);
                let sink = NullSink(null.map_err(what("open"))?);
                Ok((Box::new(sink), CellSetup::with_room(FILE_SPAN_BYTES, spec)))
            }
            _ => {
                let path = spec.conditions.path.as_deref().ok_or_else(|| {
                    io::Error::other("this kind of target needs a path, and the cell has none")
                });
                let sink = path.and_then(|path| self.peer(path));
                let end = CellSetup::with_room(THREAD_BYTES, spec).drained(Drain::Peer);
                Ok((sink.map_err(what("connect to"))?, end))
            }
        }
    }

    /// The file of a cell. Cells with the same directory, sync mode and `direct` rewrite one file. A file that is too short
    /// is replaced.
    fn span_file(
        &mut self,
        directory: &Path,
        spec: &CellSpec,
        appends: bool,
    ) -> Result<Rc<SpanFile>, MeasureError> {
        let (asked, call_bytes) = (&spec.conditions, spec.half_batch_bytes());
        let is_shared = asked.target == Target::FileOverwrite;
        let is_this = |file: &Rc<SpanFile>| {
            is_shared
                && (&*file.directory, file.sync, file.is_direct)
                    == (directory, asked.sync, asked.direct)
        };
        let mut files = self.span_files.iter();
        if let Some(file) = files.find(|file| is_this(file) && file.suffices(call_bytes)) {
            return Ok(Rc::clone(file));
        }
        self.span_files.retain(|file| !is_this(file));
        let described = check_directory(directory, asked.target, call_bytes)?;
        let file = SpanFile::create(directory, described.file_system, spec, appends);
        let cannot = MeasureError::io(format!("cannot create {}", asked.place()));
        let file = Rc::new(file.map_err(cannot)?);
        if is_shared {
            self.span_files.push(Rc::clone(&file));
        }
        Ok(file)
    }

    #[cfg(unix)]
    fn peer(&mut self, path: &str) -> io::Result<Box<dyn End>> {
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
        Ok(Box::new(ForeignSocketSink(socket)))
    }

    #[cfg(windows)]
    fn peer(&mut self, _path: &str) -> io::Result<Box<dyn End>> {
        Err(lacks("sockets of other programs"))
    }
}
