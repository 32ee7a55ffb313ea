//! Inner writers that panic: nothing is written twice.

use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind, IoSlice, Write};
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::rc::Rc;

use proptest::prelude::*;

use super::{Model, Shared, Step, any_steps, any_writer, make};
use crate::buffered::gather_writer::slice_thresholds::SliceThresholds;
use crate::gather::vectored_write::VectoredWrite;
use crate::sys::limits::Limits;
use crate::testing::{Answer, any_script};
use crate::{Gather, GatherWriter, SegmentCursor, TransferError};

/// When a `Panicking` writer panics.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    BeforeTheCall,
    /// After bytes were written and the cursor was advanced.
    AfterTheCall,
}

fn any_moment() -> impl Strategy<Value = Moment> {
    prop_oneof![Just(Moment::BeforeTheCall), Just(Moment::AfterTheCall)]
}

/// An inner writer that implements `VectoredWrite` itself, makes short calls, and panics at one of them.
#[derive(Clone)]
struct Panicking {
    taken: Rc<RefCell<Vec<u8>>>,
    calls: Rc<Cell<usize>>,
    most: usize,
    panics_at: usize,
    when: Moment,
}

impl Panicking {
    fn new(most: usize, panics_at: usize, when: Moment) -> Panicking {
        Panicking {
            taken: Rc::default(),
            calls: Rc::default(),
            most,
            panics_at,
            when,
        }
    }

    fn taken(&self) -> Vec<u8> {
        self.taken.borrow().clone()
    }

    fn panic_if(&self, when: Moment) {
        if self.calls.get() == self.panics_at && self.when == when {
            // Prints no panic message.
            std::panic::resume_unwind(Box::new("a sink that panics"));
        }
    }
}

impl Write for Panicking {
    /// Panics before the call only: after it, no caller could know how much was written.
    fn write(&mut self, slice: &[u8]) -> io::Result<usize> {
        self.calls.set(self.calls.get() + 1);
        if self.calls.get() == self.panics_at {
            std::panic::resume_unwind(Box::new("a sink that panics"));
        }
        let bytes = slice.len().min(self.most);
        self.taken.borrow_mut().extend(&slice[..bytes]);
        Ok(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl VectoredWrite for Panicking {
    fn resume_write(
        &mut self,
        _: &mut Gather,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
    ) -> Result<u64, TransferError> {
        let limits = Limits {
            bytes: self.most,
            ..Limits::default()
        };
        let mut sent = 0;
        while !cursor.is_at_end(segments) {
            self.calls.set(self.calls.get() + 1);
            self.panic_if(Moment::BeforeTheCall);
            let mut scratch = Vec::new();
            let batch = cursor.batch(segments, limits, &mut scratch);
            let bytes = batch.iter().map(|slice| slice.len()).sum();
            for slice in batch {
                self.taken.borrow_mut().extend(&slice[..]);
            }
            cursor.advance(segments, bytes);
            sent += bytes as u64;
            self.panic_if(Moment::AfterTheCall);
        }
        Ok(sent)
    }
}

proptest! {
    #[test]
    fn after_a_panic_nothing_is_written_twice(
        steps in any_steps(), script in any_script(), kind in any_writer(), panics_at in 1..10_usize
    ) {
        let mut inner = Shared::new(&script);
        inner.panics_at = Some(panics_at);
        let mut writer = make(&inner, kind);
        let mut model = Model::new();
        // A panic loses the count of what the writes before it accepted of a list.
        for step in steps.iter().filter(|step| !matches!(step, Step::AllVectored(_))) {
            let before = model.accepted.clone();
            if catch_unwind(AssertUnwindSafe(|| model.run(step, &mut writer))).is_err() {
                prop_assert_eq!(inner.calls(), panics_at, "an unexpected panic");
                // The writer does not know how much the call that panicked has written.
                let known = *inner.known.borrow();
                let kept = before.get(known..).unwrap_or_default();
                prop_assert_eq!(writer.buffer(), kept);
                let taken = inner.taken();
                drop(writer);
                prop_assert_eq!(inner.taken(), taken, "bytes were written by the drop");
                return Ok(());
            }
        }
        // The writer is not dropped, since the call that dropping makes may be the one that panics.
        let _ = writer.into_parts();
    }

    #[test]
    fn after_a_caught_panic_no_byte_of_the_slice_of_that_call_is_written_twice(
        sizes in prop::collection::vec(1..100_usize, 1..30),
        capacity in 0..100_usize,
        most in 1..60_usize,
        panics_at in 1..20_usize,
        when in any_moment(),
        gathers: bool,
    ) {
        let inner = Panicking::new(most, panics_at, when);
        let mut writer = if gathers { GatherWriter::with_capacity(capacity, inner.clone()) } else { GatherWriter::copying_with_capacity(capacity, inner.clone()) };
        let mut model = Model::new();
        for size in sizes {
            let slice = model.fresh(size);
            let written = model.accepted.len();
            let mut done = 0;
            while done < slice.len() {
                let before = (inner.taken().len(), writer.buffer().len());
                match catch_unwind(AssertUnwindSafe(|| writer.write(&slice[done..]))) {
                    Ok(Ok(bytes)) => done += bytes,
                    Ok(Err(error)) => {
                        // The sink panicked after bytes of the slice were written: nothing may follow them.
                        prop_assert_eq!(error.kind(), ErrorKind::Other, "{}", error);
                        let taken = inner.taken();
                        let went = taken.len() - written - done;
                        prop_assert!(went > 0);
                        prop_assert_eq!(&taken[written + done..], &slice[done..done + went]);
                        prop_assert!(writer.write(b"x").is_err());
                        prop_assert!(writer.write_vectored(&[IoSlice::new(b"x")]).is_err());
                        prop_assert!(writer.flush().is_err());
                        drop(writer);
                        prop_assert_eq!(inner.taken(), taken);
                        return Ok(());
                    }
                    Err(_) => {
                        // No byte of the slice is staged, and all staged bytes had been accepted.
                        prop_assert!(writer.buffer().len() <= before.1);
                        prop_assert!(model.accepted.len() + done >= writer.buffer().len());
                    }
                }
            }
            model.accepted.extend(&slice);
        }
        while catch_unwind(AssertUnwindSafe(|| writer.flush().unwrap())).is_err() {}
        prop_assert_eq!(inner.taken(), model.accepted);
    }
}

#[test]
fn parts_after_a_panic_say_so() {
    for gathers in [false, true] {
        let mut inner = Shared::new(&[Answer::Take(3)]);
        inner.panics_at = Some(1);
        let thresholds = SliceThresholds::COPYING;
        let mut writer = make(&inner, (gathers, 10, thresholds));
        writer.write_all(b"staged").unwrap();
        catch_unwind(AssertUnwindSafe(|| writer.flush())).unwrap_err();
        let (_, staged) = writer.into_parts();
        let panicked = staged.unwrap_err();
        assert_eq!(
            format!("{panicked:?}"),
            "WriterPanicked { staged_bytes: 6 }"
        );
        assert_eq!(panicked.into_inner(), b"staged");
        assert_eq!(inner.taken(), b"sta");
    }
}

#[test]
fn it_is_as_safe_to_unwind_past_as_a_buf_writer() {
    fn is_safe<T: UnwindSafe + RefUnwindSafe>() {}
    is_safe::<io::BufWriter<std::fs::File>>();
    is_safe::<GatherWriter<std::fs::File>>();
    is_safe::<GatherWriter<std::net::TcpStream>>();
    is_safe::<GatherWriter<Vec<u8>>>();
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<GatherWriter<std::fs::File>>();
}
