//! Inner writers with a script, random steps, and the model that a writer is compared with.

mod any_writes;
mod calls;
mod panics;

use std::cell::RefCell;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::rc::Rc;

use proptest::prelude::*;

use crate::gather::vectored_write::VectoredWrite;
use crate::sys::codes;
use crate::sys::limits::Limits;
use crate::testing::{Answer, ScriptedSink, list};
use crate::{Gather, GatherWriter, SegmentCursor, TransferError};

#[derive(Clone)]
struct Shared {
    sink: Rc<RefCell<ScriptedSink>>,
    /// The number of the call, counted from 1. Before the panic, the call takes bytes by the script.
    panics_at: Option<usize>,
    /// The number of bytes that were taken before the last call.
    known: Rc<RefCell<usize>>,
    /// The number of bytes that were taken after each call.
    ends: Rc<RefCell<Vec<usize>>>,
    flushes: usize,
}

impl Shared {
    fn new(script: &[Answer]) -> Shared {
        Shared {
            sink: Rc::new(RefCell::new(ScriptedSink::new(
                script.to_vec(),
                Limits::default(),
            ))),
            panics_at: None,
            known: Rc::default(),
            ends: Rc::default(),
            flushes: 0,
        }
    }

    fn call(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        *self.known.borrow_mut() = self.sink.borrow().taken.len();
        let answer = self.sink.borrow_mut().call(slices);
        self.ends.borrow_mut().push(self.sink.borrow().taken.len());
        let calls = self.sink.borrow().calls;
        if Some(calls) == self.panics_at {
            // Unlike `panic!`, `resume_unwind` prints no message.
            std::panic::resume_unwind(Box::new("a sink that panics"));
        }
        answer
    }

    fn taken(&self) -> Vec<u8> {
        self.sink.borrow().taken.clone()
    }

    fn calls(&self) -> usize {
        self.sink.borrow().calls
    }

    fn call_ends(&self) -> Vec<usize> {
        self.ends.borrow().clone()
    }
}

impl Write for Shared {
    fn write(&mut self, slice: &[u8]) -> io::Result<usize> {
        self.call(&[IoSlice::new(slice)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flushes += 1;
        Ok(())
    }
}

impl VectoredWrite for Shared {
    fn resume_write(
        &mut self,
        gather: &mut Gather,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
    ) -> Result<u64, TransferError> {
        let may_split = || Ok(());
        gather.send_all(segments, cursor, may_split, |slices| self.call(slices))
    }
}

fn gathering(inner: &Shared) -> GatherWriter<Shared> {
    GatherWriter::with_capacity(64, inner.clone())
}

#[derive(Clone, Debug)]
enum Step {
    Write(usize),
    WriteAll(usize),
    Vectored(Vec<usize>),
    AllVectored(Vec<usize>),
    Flush,
}

fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let size =
        || prop_oneof![1 => Just(0), 6 => 1..30_usize, 3 => 30..80_usize, 1 => 80..300_usize];
    let step = prop_oneof![
        4 => size().prop_map(Step::Write),
        4 => size().prop_map(Step::WriteAll),
        3 => prop::collection::vec(size(), 0..6).prop_map(Step::Vectored),
        2 => prop::collection::vec(size(), 0..6).prop_map(Step::AllVectored),
        1 => Just(Step::Flush),
    ];
    prop::collection::vec(step, 0..30)
}

/// Whether the writer gathers, and its capacity in bytes.
fn any_writer() -> impl Strategy<Value = (bool, usize)> {
    let capacity = prop_oneof![Just(0), 1..10_usize, 10..100_usize];
    (any::<bool>(), capacity)
}

fn make(inner: &Shared, (gathers, capacity): (bool, usize)) -> GatherWriter<Shared> {
    if gathers {
        GatherWriter::with_capacity(capacity, inner.clone())
    } else {
        GatherWriter::copying_with_capacity(capacity, inner.clone())
    }
}

struct Model {
    accepted: Vec<u8>,
    /// The number of errors other than `WouldBlock`.
    errors: usize,
    next: u8,
}

impl Model {
    fn new() -> Model {
        Model {
            accepted: Vec::new(),
            errors: 0,
            next: 0,
        }
    }

    /// Neighbouring bytes differ.
    fn fresh(&mut self, bytes: usize) -> Vec<u8> {
        let mut next = || {
            self.next = (self.next + 1) % 251;
            self.next
        };
        (0..bytes).map(|_| next()).collect()
    }

    fn note(&mut self, error: &io::Error) {
        assert_ne!(error.kind(), ErrorKind::Interrupted, "a writer must retry");
        self.errors += usize::from(error.kind() != ErrorKind::WouldBlock);
    }

    fn run(&mut self, step: &Step, writer: &mut GatherWriter<Shared>) {
        match step {
            Step::Write(bytes) => {
                let slice = self.fresh(*bytes);
                let result = writer.write(&slice);
                self.took(&slice, result);
            }
            Step::Vectored(sizes) => {
                let data: Vec<_> = sizes.iter().map(|&bytes| self.fresh(bytes)).collect();
                let result = writer.write_vectored(&list(&data));
                self.took(&data.concat(), result);
            }
            Step::WriteAll(bytes) => {
                let slice = self.fresh(*bytes);
                match writer.write_all(&slice) {
                    Ok(()) => self.accepted.extend(&slice),
                    Err(error) => {
                        self.note(&error);
                        self.took_some(&slice, writer);
                    }
                }
            }
            Step::AllVectored(sizes) => {
                let data: Vec<_> = sizes.iter().map(|&bytes| self.fresh(bytes)).collect();
                let all = data.concat();
                let accepted = writer
                    .write_all_vectored(&list(&data))
                    .unwrap_or_else(|error| {
                        self.note(error.io_error());
                        error.transferred()
                    });
                self.accepted.extend(&all[..accepted as usize]);
            }
            Step::Flush => {
                if let Err(error) = writer.flush() {
                    self.note(&error);
                }
            }
        }
        self.compare(writer);
    }

    fn took(&mut self, slice: &[u8], result: io::Result<usize>) {
        match result {
            Ok(bytes) => {
                assert!(bytes <= slice.len());
                self.accepted.extend(&slice[..bytes]);
                // `write` returns `Ok(0)` if the inner writer returned 0 for a call with this slice alone.
                self.errors += usize::from(bytes == 0 && !slice.is_empty());
            }
            // `write` may return `Interrupted` before it accepts a byte.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => self.note(&error),
        }
    }

    /// `write_all` does not report how much of the slice it accepted.
    fn took_some(&mut self, slice: &[u8], writer: &GatherWriter<Shared>) {
        let mut there = writer.get_ref().taken();
        there.extend(writer.buffer());
        let took = there.len() - self.accepted.len();
        self.accepted.extend(&slice[..took]);
    }

    fn compare(&self, writer: &GatherWriter<Shared>) {
        let mut there = writer.get_ref().taken();
        there.extend(writer.buffer());
        assert_eq!(there, self.accepted, "written and staged bytes");
    }
}

/// A writer must report all answers except interruptions and `WouldBlock`.
fn reportable(script: &[Answer], calls: usize) -> usize {
    let refused = script.iter().take(calls).filter(|answer| match answer {
        Answer::Take(most) => *most == 0,
        Answer::Fail(code) => ![codes::EINTR, codes::EAGAIN].contains(code),
    });
    refused.count()
}
