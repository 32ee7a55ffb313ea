//! Opens the target of a calibration, and times batches of calls.

use std::fs::File;
use std::io::{self, IoSlice, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::calibrate::ends::{null_device, pipe, tcp_pair, unix_pair, unnamed_file};
use crate::cost::TargetKind;
use crate::descriptor::{AsDescriptor, BorrowedDescriptor};
use crate::error::TransferError;
use crate::write::all::write_all;

pub(super) const MAX_LIST_BYTES: usize = 1 << 20;

/// A growing file is truncated before its size exceeds this limit.
pub(super) const MAX_FILE_BYTES: u64 = 7 << 20;

/// The size of a file that is overwritten, in bytes. Most files of programs do not fit the CPU's near caches, so
/// this file must not fit the caches. Outside the caches, a long copy costs less per byte than a short copy. With
/// a file within the caches, the crossover of 64 segments was one third as high.
pub(super) const OVERWRITTEN_BYTES: u64 = 16 << 20;

/// The intended time of a timed batch. In comparison, reading the clock takes about 50 ns.
pub(super) const BATCH_TIME: Duration = Duration::from_micros(6);

/// The most calls in a batch. A socket's buffer counts each small write as several hundred bytes.
pub(super) const MAX_CALLS: u64 = 16;

/// The most bytes of a batch to a stream. Every stream is assumed to take this many bytes.
pub(super) const STREAM_BATCH_BYTES: u64 = 48 << 10;

/// The unused bytes between two segments. The buffers of a program are rarely adjacent in memory.
pub(super) const GAP_BYTES: usize = 48;

pub(super) struct Channel {
    writer: Writer,
    position: u64,
    /// The largest size of a file.
    end: u64,
    overwrites: bool,
    buffer: Vec<u8>,
}

enum Writer {
    File(File),
    Stream {
        writer: Box<dyn AsDescriptor>,
        reader: Box<dyn Read>,
    },
}

impl Channel {
    pub(super) fn open(kind: TargetKind, directory: &Path) -> io::Result<Channel> {
        let stream = |(writer, reader)| Writer::Stream { writer, reader };
        let writer = match kind {
            TargetKind::File | TargetKind::FileOverwrite => Writer::File(unnamed_file(directory)?),
            TargetKind::Pipe => stream(pipe()?),
            TargetKind::Unix => stream(unix_pair()?),
            TargetKind::Tcp => stream(tcp_pair()?),
            TargetKind::Other => Writer::File(null_device()?),
        };
        Ok(Channel {
            writer,
            position: 0,
            end: match kind {
                TargetKind::Other => u64::MAX,
                _ => MAX_FILE_BYTES,
            },
            overwrites: false,
            buffer: vec![0; STREAM_BATCH_BYTES as usize],
        })
    }

    pub(super) fn is_stream(&self) -> bool {
        matches!(self.writer, Writer::Stream { .. })
    }

    /// Times `calls` calls that write `bytes` each. `None` if the target cannot take the bytes without blocking.
    pub(super) fn time_batch(
        &mut self,
        calls: u32,
        bytes: u64,
        mut call: impl FnMut(BorrowedDescriptor<'_>) -> Result<u64, TransferError>,
    ) -> io::Result<Option<Duration>> {
        self.prepare_position(u64::from(calls) * bytes)?;
        let fd = match &self.writer {
            Writer::File(file) => file.as_descriptor(),
            Writer::Stream { writer, .. } => writer.as_descriptor(),
        };
        let mut sent = 0;
        let mut failed = None;
        let began = Instant::now();
        for _ in 0..calls {
            match call(fd) {
                Ok(written) => sent += written,
                Err(error) => {
                    sent += error.transferred();
                    failed = Some(error);
                    break;
                }
            }
        }
        let elapsed = began.elapsed();
        self.drain(sent)?;
        match failed {
            None => Ok(Some(elapsed)),
            Some(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Some(error) => Err(error.into()),
        }
    }

    pub(super) fn prepare_position(&mut self, bytes: u64) -> io::Result<()> {
        let Writer::File(file) = &mut self.writer else {
            return Ok(());
        };
        let mut position = self.position;
        if position + bytes > self.end {
            if !self.overwrites {
                file.set_len(0)?;
            }
            position = 0;
        }
        if position != self.position {
            file.seek(SeekFrom::Start(position))?;
            self.position = position;
        }
        Ok(())
    }

    /// Fills the file, so that all later batches overwrite bytes.
    pub(super) fn overwrite(&mut self) -> io::Result<()> {
        let chunk = vec![0x5a; MAX_LIST_BYTES];
        for _ in 0..OVERWRITTEN_BYTES / MAX_LIST_BYTES as u64 {
            if let Writer::File(file) = &self.writer {
                write_all(file, &[IoSlice::new(&chunk)])?;
            }
        }
        (self.position, self.end) = (OVERWRITTEN_BYTES, OVERWRITTEN_BYTES);
        self.overwrites = true;
        Ok(())
    }

    pub(super) fn drain(&mut self, bytes: u64) -> io::Result<()> {
        let Writer::Stream { reader, .. } = &mut self.writer else {
            self.position += bytes;
            return Ok(());
        };
        let mut left = bytes;
        while left > 0 {
            let wanted = left.min(self.buffer.len() as u64) as usize;
            reader.read_exact(&mut self.buffer[..wanted])?;
            left -= wanted as u64;
        }
        Ok(())
    }
}
