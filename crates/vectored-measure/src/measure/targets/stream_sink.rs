//! Streams that the writing thread empties between samples.

use std::io::{self, Read};

use fastrand::Rng;
use vectored_machine::platform::fd::{AsFd, BorrowedFd, ByteStream, OwnedFd};
use vectored_machine::platform::plain_calls;

use crate::measure::targets::comparison::ByteComparison;
use crate::measure::targets::end::{Batch, End, Mismatch, POISON};
use crate::measure::targets::stream_kind::StreamKind;

/// Both ends of a non-blocking stream. A sample that does not fit must fail, since no other thread empties the stream.
pub(crate) struct OpenStream {
    pub kind: StreamKind,
    pub writer: OwnedFd,
    pub reader: ByteStream,
    ballast: Ballast,
}

impl OpenStream {
    pub fn open(kind: StreamKind) -> io::Result<Self> {
        let (writer, reader) = kind.open_non_blocking()?;
        Ok(OpenStream {
            kind,
            writer,
            reader: reader.into(),
            ballast: Ballast::default(),
        })
    }

    pub fn reopen(&mut self) -> io::Result<()> {
        let ballast = std::mem::take(&mut self.ballast);
        *self = OpenStream {
            ballast,
            ..OpenStream::open(self.kind)?
        };
        Ok(())
    }

    /// Opens the stream anew on other kernel memory.
    pub fn lay_out(&mut self, rng: &mut Rng) -> io::Result<()> {
        self.ballast.change(rng)?;
        self.reopen()
    }
}

/// A stream that is emptied by the thread that fills it.
pub(crate) struct StreamSink {
    stream: OpenStream,
    buffer: Vec<u8>,
}

impl StreamSink {
    pub fn open(kind: StreamKind) -> io::Result<Self> {
        Ok(StreamSink {
            stream: OpenStream::open(kind)?,
            buffer: vec![POISON; 1 << 16],
        })
    }

    fn drain(
        &mut self,
        mut take: impl FnMut(&[u8]) -> Result<(), Mismatch>,
    ) -> Result<(), Mismatch> {
        self.take_available(&mut take)?;
        while !self
            .stream
            .kind
            .settle(&self.stream.writer, &self.stream.reader)?
        {
            self.take_available(&mut take)?;
        }
        // Takes the bytes that arrived while the stream settled.
        if self.stream.kind.has_transit() {
            self.take_available(&mut take)
        } else {
            Ok(())
        }
    }

    /// Reads until the stream would block or ends.
    fn take_available(
        &mut self,
        take: &mut impl FnMut(&[u8]) -> Result<(), Mismatch>,
    ) -> Result<(), Mismatch> {
        loop {
            match (&self.stream.reader).read(&mut self.buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => take(&self.buffer[..count])?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl End for StreamSink {
    fn fd(&self) -> BorrowedFd<'_> {
        self.stream.writer.as_fd()
    }

    fn finish(&mut self, batch: Batch, proof: Option<&[u8]>) -> Result<(), Mismatch> {
        let mut comparison = ByteComparison::new(proof, batch);
        self.drain(|piece| comparison.take(piece))?;
        comparison.end()
    }

    fn discard(&mut self) -> io::Result<()> {
        match self.drain(|_| Ok(())) {
            Err(Mismatch::Io(error)) => Err(error),
            _ => Ok(()),
        }
    }

    fn holds(&mut self, bytes: u64) -> io::Result<bool> {
        self.stream.kind.has_arrived(&self.stream.reader, bytes)
    }

    fn lay_out(&mut self, rng: &mut Rng) -> io::Result<()> {
        self.stream.lay_out(rng)
    }
}

/// Fewer pages than this are held back in a round: the usual capacity of a pipe.
const MAX_BALLAST: usize = 16;

/// Holds kernel pages for a round, so that a stream gets other pages.
///
/// The kernel allocates the most recently freed pages first. Without ballast,
/// every sample of a cell would get the same few pages in the same order, and a
/// technique that happens to get faster pages would seem faster.
#[derive(Debug, Default)]
struct Ballast(Option<(OwnedFd, OwnedFd)>);

impl Ballast {
    /// Releases the pages and holds a new random number of them.
    fn change(&mut self, rng: &mut Rng) -> io::Result<()> {
        self.0 = None;
        let (writer, reader) = StreamKind::Pipe(None).open_non_blocking()?;
        for _ in 0..rng.usize(..MAX_BALLAST) {
            match plain_calls::write(&writer, &[POISON; 4096]) {
                Ok(_) => {}
                // A user with many pipes gets small pipes (pipe(7)), which hold fewer pages.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
        self.0 = Some((writer, reader));
        Ok(())
    }
}
