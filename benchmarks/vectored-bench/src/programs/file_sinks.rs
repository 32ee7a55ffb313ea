//! The ways in which a blocking program can write records to a file. A record has a head, a value that the program keeps, and a
//! tail.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::rc::Rc;

use bytes::Bytes;
use vectored::SegmentQueue;
use vectored::queue::QueuePolicy;

use crate::programs::list::List;

/// A way to write records.
#[derive(Clone, Copy, Debug)]
pub enum FileWay {
    /// Each record is put together in a `Vec` and written by one call.
    EachRecord,
    /// One `Vec`, written when the request is complete.
    OneBuffer,
    /// `BufWriter` with this many bytes, flushed when the request is complete.
    BufWriter(usize),
    /// A list of slices, and `write_vectored` until all is written.
    WriteVectored,
    /// A [`SegmentQueue`] with this policy.
    Queue(QueuePolicy),
    /// A [`SegmentQueue`] that is told the end of each record: no call ends inside a record.
    QueueOfRecords(QueuePolicy),
}

/// A destination of records.
pub trait FileSink {
    /// Writes a record, now or later.
    fn record(&mut self, head: &[u8], value: &Bytes, tail: &[u8]) -> io::Result<()>;

    /// Writes all records.
    fn flush(&mut self) -> io::Result<()>;
}

impl FileWay {
    /// A sink of this way.
    pub fn sink(self, file: Rc<File>) -> Box<dyn FileSink> {
        let file = Shared(file);
        match self {
            FileWay::EachRecord => Box::new(EachRecord {
                file,
                record: Vec::new(),
            }),
            FileWay::OneBuffer => Box::new(OneBuffer {
                file,
                buffer: Vec::new(),
            }),
            FileWay::BufWriter(bytes) => Box::new(BufWriter::with_capacity(bytes, file)),
            FileWay::WriteVectored => Box::new(WriteVectored {
                file,
                list: List::default(),
            }),
            FileWay::Queue(policy) | FileWay::QueueOfRecords(policy) => Box::new(Queue {
                file,
                queue: SegmentQueue::with_policy(policy),
                has_ends: matches!(self, FileWay::QueueOfRecords(_)),
            }),
        }
    }
}

/// A file that the measuring side rewinds between slices.
pub struct Shared(pub Rc<File>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes)
    }

    fn write_vectored(&mut self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
        (&*self.0).write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct EachRecord {
    file: Shared,
    record: Vec<u8>,
}

impl FileSink for EachRecord {
    fn record(&mut self, head: &[u8], value: &Bytes, tail: &[u8]) -> io::Result<()> {
        self.record.clear();
        self.record.extend_from_slice(head);
        self.record.extend_from_slice(value);
        self.record.extend_from_slice(tail);
        self.file.write_all(&self.record)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct OneBuffer {
    file: Shared,
    buffer: Vec<u8>,
}

impl FileSink for OneBuffer {
    fn record(&mut self, head: &[u8], value: &Bytes, tail: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(head);
        self.buffer.extend_from_slice(value);
        self.buffer.extend_from_slice(tail);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

impl FileSink for BufWriter<Shared> {
    fn record(&mut self, head: &[u8], value: &Bytes, tail: &[u8]) -> io::Result<()> {
        self.write_all(head)?;
        self.write_all(value)?;
        self.write_all(tail)
    }

    fn flush(&mut self) -> io::Result<()> {
        Write::flush(self)
    }
}

struct WriteVectored {
    file: Shared,
    list: List,
}

impl FileSink for WriteVectored {
    fn record(&mut self, head: &[u8], value: &Bytes, tail: &[u8]) -> io::Result<()> {
        self.list.copy(head);
        self.list.keep(value);
        self.list.copy(tail);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        loop {
            let slices = self.list.slices();
            if slices.is_empty() {
                return Ok(());
            }
            let bytes = self.file.write_vectored(&slices)?;
            self.list.advance(bytes)?;
        }
    }
}

struct Queue {
    file: Shared,
    queue: SegmentQueue,
    has_ends: bool,
}

impl FileSink for Queue {
    fn record(&mut self, head: &[u8], value: &Bytes, tail: &[u8]) -> io::Result<()> {
        self.queue.put_slice(head);
        self.queue.push_shared(value);
        self.queue.put_slice(tail);
        if self.has_ends {
            self.queue.end_record();
        }
        if self.queue.is_full() {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.queue.write_to(&*self.file.0)?;
        Ok(())
    }
}
