use super::*;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::rc::Rc;

use proptest::prelude::*;

use crate::testing::{Answer, ScriptedSink, any_script, list, payload};
use crate::{ChunkPolicy, Limits};

/// A sink that the test can look into while it is written to.
#[derive(Clone)]
struct Shared {
    sink: Rc<RefCell<ScriptedSink>>,
    /// The call that panics, counted from 1, after as much as its answer says went.
    panics_at: Option<usize>,
    /// What had gone before the last call.
    known: Rc<RefCell<usize>>,
    /// What had gone after each call.
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
            // Without the message that a panic prints.
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

impl Gathers for Shared {
    fn gather_from(
        &mut self,
        gather: &mut Gather,
        segments: &[IoSlice<'_>],
        cursor: &mut SegmentCursor,
    ) -> Result<u64, TransferError> {
        let may_split = || Ok(());
        gather.send_all(segments, cursor, may_split, |slices| self.call(slices))
    }
}

/// A writer of 64 bytes that copies slices of up to 8 whenever they fit, and sends those from 40 on at once.
fn gathering(inner: &Shared) -> GatherWriter<Shared> {
    let mut writer = GatherWriter::with_capacity(64, inner.clone());
    writer.borders = SliceThresholds {
        small_bytes: 8,
        large_bytes: 40,
    };
    writer
}

#[derive(Clone, Debug)]
enum Step {
    Write(usize),
    WriteAll(usize),
    Vectored(Vec<usize>),
    Flush,
}

fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let size =
        || prop_oneof![1 => Just(0), 6 => 1..30_usize, 3 => 30..80_usize, 1 => 80..300_usize];
    let step = prop_oneof![
        4 => size().prop_map(Step::Write),
        4 => size().prop_map(Step::WriteAll),
        3 => prop::collection::vec(size(), 0..6).prop_map(Step::Vectored),
        1 => Just(Step::Flush),
    ];
    prop::collection::vec(step, 0..30)
}

fn any_writer() -> impl Strategy<Value = (bool, usize, SliceThresholds)> {
    let capacity = prop_oneof![Just(0), 1..10_usize, 10..100_usize];
    let large = prop_oneof![Just(usize::MAX), 20..100_usize];
    (any::<bool>(), capacity, 0..20_usize, large).prop_map(|(gathers, capacity, small, large)| {
        let borders = SliceThresholds {
            small_bytes: small,
            large_bytes: large,
        };
        (
            gathers,
            capacity,
            if gathers {
                borders
            } else {
                SliceThresholds::COPY
            },
        )
    })
}

fn make(
    inner: &Shared,
    (gathers, capacity, borders): (bool, usize, SliceThresholds),
) -> GatherWriter<Shared> {
    let mut writer = if gathers {
        GatherWriter::with_capacity(capacity, inner.clone())
    } else {
        GatherWriter::copying_with_capacity(capacity, inner.clone())
    };
    writer.borders = borders;
    writer
}

/// What a test knows of the bytes that it has written.
struct Model {
    accepted: Vec<u8>,
    /// Errors that were returned, but for `WouldBlock`.
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

    /// So many bytes, none like its neighbours.
    fn fresh(&mut self, bytes: usize) -> Vec<u8> {
        let mut next = || {
            self.next = (self.next + 1) % 251;
            self.next
        };
        (0..bytes).map(|_| next()).collect()
    }

    fn note(&mut self, error: &io::Error) {
        assert_ne!(
            error.kind(),
            ErrorKind::Interrupted,
            "of a writer that is to retry"
        );
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
                // What the inner writer answered is passed on where it was asked for this slice alone.
                self.errors += usize::from(bytes == 0 && !slice.is_empty());
            }
            // `write` before any byte: the inner one was interrupted, as it may be.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => self.note(&error),
        }
    }

    /// Some of the slice was taken, and nobody said how much.
    fn took_some(&mut self, slice: &[u8], writer: &GatherWriter<Shared>) {
        let mut there = writer.get_ref().taken();
        there.extend(writer.buffer());
        let took = there.len() - self.accepted.len();
        self.accepted.extend(&slice[..took]);
    }

    fn compare(&self, writer: &GatherWriter<Shared>) {
        let mut there = writer.get_ref().taken();
        there.extend(writer.buffer());
        assert_eq!(there, self.accepted, "what is written and what is staged");
    }
}

/// Refusals that a writer has to report: all but interruptions and `WouldBlock`.
fn reportable(script: &[Answer], calls: usize) -> usize {
    let refused = script.iter().take(calls).filter(|answer| match answer {
        Answer::Take(most) => *most == 0,
        Answer::Fail(code) => ![libc::EINTR, libc::EAGAIN].contains(code),
    });
    refused.count()
}

proptest! {
    #[test]
    fn what_was_accepted_is_written_or_staged_in_order_and_every_error_is_told_once(
        steps in any_steps(), script in any_script(), kind in any_writer()
    ) {
        let inner = Shared::new(&script);
        let mut writer = make(&inner, kind);
        let mut model = Model::new();
        for step in &steps {
            model.run(step, &mut writer);
            prop_assert_eq!(writer.capacity(), kind.1);
        }
        loop {
            match writer.into_inner() {
                Ok(_) => break,
                Err(error) => {
                    model.note(error.error());
                    writer = error.into_inner();
                    model.compare(&writer);
                }
            }
        }
        prop_assert_eq!(inner.taken(), model.accepted);
        prop_assert_eq!(model.errors, reportable(&script, inner.calls()));
    }

    #[test]
    fn after_a_panic_nothing_is_written_twice(
        steps in any_steps(), script in any_script(), kind in any_writer(), panics_at in 1..10_usize
    ) {
        let mut inner = Shared::new(&script);
        inner.panics_at = Some(panics_at);
        let mut writer = make(&inner, kind);
        let mut model = Model::new();
        for step in &steps {
            let before = model.accepted.clone();
            if catch_unwind(AssertUnwindSafe(|| model.run(step, &mut writer))).is_err() {
                prop_assert_eq!(inner.calls(), panics_at, "another panic");
                // What went in the call that did not return is not known to the writer.
                let known = *inner.known.borrow();
                let kept = before.get(known..).unwrap_or_default();
                prop_assert_eq!(writer.buffer(), kept);
                let taken = inner.taken();
                drop(writer);
                prop_assert_eq!(inner.taken(), taken, "written when dropped");
                return Ok(());
            }
        }
        // Its last call, if it makes one, may be the one that panics.
        let _ = writer.into_parts();
    }
}

/// A model that would cut lists and runs if it could: pieces, and less staging than the capacity.
fn any_model() -> impl Strategy<Value = CostModel> {
    let pieces = prop_oneof![
        Just(None),
        (1..100_usize, 1..100_usize).prop_map(|(threshold_bytes, chunk_bytes)| Some(ChunkPolicy {
            threshold_bytes,
            chunk_bytes
        })),
    ];
    let staging = prop_oneof![Just(0), 1..100_usize, Just(1 << 18)];
    (pieces, staging, 0..100_u32, 0.03..100.0).prop_map(
        |(pieces, staging_bytes, border, copy_byte_ns)| CostModel {
            chunk_policy: pieces,
            staging_bytes,
            copy_thresholds: crate::cost::thresholds::CopyThresholds::everywhere(border),
            copy_byte_ns,
            ..CostModel::default()
        },
    )
}

/// Where each record that was handed over in one call begins and ends.
fn records_of(steps: &[Step]) -> Vec<(usize, usize)> {
    let mut end = 0;
    let records = steps.iter().map(|step| {
        let begin = end;
        end += match step {
            Step::Write(bytes) | Step::WriteAll(bytes) => *bytes,
            Step::Vectored(sizes) => sizes.iter().sum(),
            Step::Flush => 0,
        };
        (begin, end)
    });
    records.collect()
}

/// Does the steps, each whole.
fn write_whole(writer: &mut impl Write, steps: &[Step]) -> Vec<u8> {
    let mut model = Model::new();
    for step in steps {
        match step {
            Step::Write(bytes) | Step::WriteAll(bytes) => {
                let slice = model.fresh(*bytes);
                writer.write_all(&slice).unwrap();
                model.accepted.extend(&slice);
            }
            Step::Vectored(sizes) => {
                let data: Vec<_> = sizes.iter().map(|&bytes| model.fresh(bytes)).collect();
                let all = data.concat();
                let accepted = writer.write_vectored(&list(&data)).unwrap();
                writer.write_all(&all[accepted..]).unwrap();
                model.accepted.extend(&all);
            }
            Step::Flush => writer.flush().unwrap(),
        }
    }
    writer.flush().unwrap();
    model.accepted
}

proptest! {
    #[test]
    fn no_call_ends_inside_a_slice_or_list_that_fits_the_buffer(
        steps in any_steps(), gathers: bool, capacity in 0..200_usize, model in any_model()
    ) {
        let inner = Shared::new(&[]);
        let mut writer = match gathers {
            true => GatherWriter::with_model(capacity, model, inner.clone()),
            false => GatherWriter::copying_with_capacity(capacity, inner.clone()),
        };
        let expected = write_whole(&mut writer, &steps);
        let mut buffered = io::BufWriter::with_capacity(capacity, Vec::new());
        write_whole(&mut buffered, &steps);
        prop_assert_eq!(&expected, buffered.get_ref());
        prop_assert_eq!(inner.taken(), expected);
        let ends = inner.call_ends();
        for (begin, end) in records_of(&steps) {
            if end - begin <= capacity {
                let cut = ends.iter().find(|&&at| begin < at && at < end);
                prop_assert!(cut.is_none(), "{:?} cuts {}..{}", cut, begin, end);
            }
        }
    }

    #[test]
    fn a_writer_that_copies_makes_the_calls_of_a_buf_writer(
        steps in any_steps(), script in any_script(), capacity in 1..100_usize
    ) {
        // What each does with a list is its own affair.
        let steps = steps.iter().filter(|step| !matches!(step, Step::Vectored(_)));
        let (ours, theirs) = (Shared::new(&script), Shared::new(&script));
        let mut writer = GatherWriter::copying_with_capacity(capacity, ours.clone());
        let mut buffered = io::BufWriter::with_capacity(capacity, theirs.clone());
        let (mut model, kind) = (Model::new(), |error: io::Error| error.kind());
        for step in steps {
            match step {
                Step::Write(bytes) => {
                    let slice = model.fresh(*bytes);
                    let expected = buffered.write(&slice).map_err(kind);
                    prop_assert_eq!(writer.write(&slice).map_err(kind), expected);
                }
                Step::WriteAll(bytes) => {
                    let slice = model.fresh(*bytes);
                    let expected = buffered.write_all(&slice).map_err(kind);
                    prop_assert_eq!(writer.write_all(&slice).map_err(kind), expected);
                }
                _ => prop_assert_eq!(writer.flush().map_err(kind), buffered.flush().map_err(kind)),
            }
            prop_assert_eq!(writer.buffer(), buffered.buffer());
            prop_assert_eq!(ours.call_ends(), theirs.call_ends());
        }
        // Else it writes when it is dropped, as does the other one.
        prop_assert_eq!(ours.taken(), theirs.taken());
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
        let mut writer = match gathers {
            true => GatherWriter::with_capacity(capacity, inner.clone()),
            false => GatherWriter::copying_with_capacity(capacity, inner.clone()),
        };
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
                        // Bytes of the slice had gone when it panicked: nothing may follow them.
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
                        // No byte of the slice is staged, and what is staged had been accepted.
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

/// When a `Panicking` does so.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    BeforeTheCall,
    /// Bytes have gone, and the cursor says so.
    AfterTheCall,
}

fn any_moment() -> impl Strategy<Value = Moment> {
    prop_oneof![Just(Moment::BeforeTheCall), Just(Moment::AfterTheCall)]
}

/// A sink from scratch, of short calls, of which one panics.
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
            // Without the message that a panic prints.
            std::panic::resume_unwind(Box::new("a sink that panics"));
        }
    }
}

impl Write for Panicking {
    /// Never after the call: nobody could know what went.
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

impl Gathers for Panicking {
    fn gather_from(
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

#[test]
fn a_list_of_more_segments_than_a_call_takes_is_not_cut_if_it_fits_the_buffer() {
    let data = payload(&vec![7; 1500]);
    for staged in [10, 5000] {
        for model in [
            CostModel::default(),
            CostModel {
                staging_bytes: 0,
                ..CostModel::default()
            },
        ] {
            let inner = Shared::new(&[]);
            let mut writer = GatherWriter::with_model(12_000, model, inner.clone());
            writer.write_all(&vec![1; staged]).unwrap();
            assert_eq!(writer.write_vectored(&list(&data)).unwrap(), 10_500);
            writer.flush().unwrap();
            let ends = inner.call_ends();
            let whole = [vec![staged + 10_500], vec![staged, staged + 10_500]];
            assert!(whole.contains(&ends), "{ends:?}");
        }
    }
}

proptest! {
    #[test]
    fn with_a_capacity_it_makes_no_more_calls_than_a_buf_writer(
        capacity in prop_oneof![0..3000_usize, 3000..100_000_usize],
        sizes in prop::collection::vec(prop_oneof![0..2000_usize, 2000..40_000_usize], 0..12),
    ) {
        let (ours, theirs) = (Shared::new(&[]), Shared::new(&[]));
        let mut writer = GatherWriter::with_capacity(capacity, ours.clone());
        let mut buffered = io::BufWriter::with_capacity(capacity, theirs.clone());
        let data = payload(&sizes);
        for slice in &data {
            let fits = slice.len() <= capacity - writer.buffer().len() && slice.len() < capacity;
            let calls = ours.calls();
            writer.write_all(slice).unwrap();
            buffered.write_all(slice).unwrap();
            prop_assert!(!fits || ours.calls() == calls, "{} bytes fit, and were sent", slice.len());
            prop_assert!(ours.calls() <= theirs.calls());
        }
        writer.flush().unwrap();
        buffered.flush().unwrap();
        prop_assert!(ours.calls() <= theirs.calls(), "{} and {}", ours.calls(), theirs.calls());
        prop_assert_eq!(ours.taken(), data.concat());
    }
}

#[test]
fn a_large_capacity_is_used_for_large_slices() {
    let inner = Shared::new(&[]);
    let mut writer = GatherWriter::with_capacity(1 << 20, inner.clone());
    for _ in 0..1024 {
        writer.write_all(&[b'x'; 16 << 10]).unwrap();
    }
    writer.flush().unwrap();
    assert_eq!((inner.calls(), inner.taken().len()), (16, 16 << 20));
}

#[test]
fn the_constant_borders_are_those_of_the_default_model() {
    let small_bytes = CostModel::default().copy_below_bytes(2);
    assert_eq!(SliceThresholds::BY_CAPACITY.small_bytes, small_bytes);
}

#[test]
fn a_model_decides_what_is_sent_though_it_fits() {
    let inner = Shared::new(&[]);
    let mut writer = GatherWriter::with_model(1 << 20, CostModel::default(), inner.clone());
    writer.write_all(&[b'x'; 13_333]).unwrap();
    assert_eq!(inner.calls(), 1);
    writer.write_all(&[b'x'; 13_332]).unwrap();
    assert_eq!((inner.calls(), writer.buffer().len()), (1, 13_332));
}

#[test]
fn it_is_as_safe_to_unwind_past_as_a_buf_writer() {
    fn is_safe<T: UnwindSafe + RefUnwindSafe>() {}
    is_safe::<io::BufWriter<std::fs::File>>();
    is_safe::<GatherWriter<std::fs::File>>();
    is_safe::<GatherWriter<std::os::unix::net::UnixStream>>();
    is_safe::<GatherWriter<Vec<u8>>>();
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<GatherWriter<std::fs::File>>();
}

#[test]
fn a_header_and_a_large_body_are_one_call() {
    let inner = Shared::new(&[]);
    let mut writer = GatherWriter::new(inner.clone());
    let data = payload(&[16, 64 << 10]);
    writer.write_all(&data[0]).unwrap();
    assert_eq!(inner.calls(), 0);
    writer.write_all(&data[1]).unwrap();
    assert_eq!(inner.calls(), 1);
    assert_eq!(writer.buffer(), b"");
    assert_eq!(inner.taken(), data.concat());
}

#[test]
fn a_slice_that_does_not_fit_is_staged_behind_a_call_if_it_is_small_and_goes_along_if_not() {
    let inner = Shared::new(&[]);
    let mut writer = gathering(&inner);
    let data = payload(&[30, 30, 7, 30, 30, 9]);
    for slice in &data[..3] {
        assert_eq!(writer.write(slice).unwrap(), slice.len());
    }
    assert_eq!((inner.call_ends(), writer.buffer().len()), (vec![60], 7));
    for slice in &data[3..] {
        assert_eq!(writer.write(slice).unwrap(), slice.len());
    }
    assert_eq!(
        (inner.call_ends(), writer.buffer().len()),
        (vec![60, 127], 9)
    );
    writer.flush().unwrap();
    assert_eq!(inner.taken(), data.concat());
}

#[test]
fn a_slice_that_costs_more_to_copy_than_to_send_is_sent_though_it_fits() {
    let inner = Shared::new(&[]);
    let mut writer = gathering(&inner);
    let data = payload(&[5, 40]);
    writer.write_all(&data.concat()[..5]).unwrap();
    writer.write_all(&data[1]).unwrap();
    assert_eq!((inner.calls(), inner.taken()), (1, data.concat()));
}

#[test]
fn a_call_that_ends_inside_the_staged_bytes_goes_on() {
    let data = payload(&[20, 50]);
    // Miri takes its time for each.
    let step = if cfg!(miri) { 19 } else { 1 };
    for first in (1..70).step_by(step) {
        for second in (1..70).step_by(step) {
            let inner = Shared::new(&[Answer::Take(first), Answer::Take(second)]);
            let mut writer = gathering(&inner);
            writer.write_all(&data[0]).unwrap();
            assert_eq!(writer.write(&data[1]).unwrap(), 50);
            assert_eq!(inner.taken(), data.concat(), "{first}, {second}");
        }
    }
}

#[test]
fn an_error_inside_the_staged_bytes_accepts_nothing_and_one_behind_them_tells_how_much() {
    let data = payload(&[20, 50]);
    for went in (0..70).step_by(if cfg!(miri) { 10 } else { 1 }) {
        for code in [libc::EAGAIN, libc::ENOSPC] {
            let mut script = vec![Answer::Fail(code)];
            if went > 0 {
                script.insert(0, Answer::Take(went));
            }
            let inner = Shared::new(&script);
            let mut writer = gathering(&inner);
            writer.write_all(&data[0]).unwrap();
            let result = writer.write(&data[1]);
            assert_eq!(inner.taken().len(), went);
            if went <= 20 {
                assert_eq!(result.unwrap_err().raw_os_error(), Some(code));
                assert_eq!(writer.buffer(), &data[0][went..]);
            } else {
                assert_eq!(result.unwrap(), went - 20);
                assert_eq!(writer.buffer(), b"");
                // Staged, since it fits: the error is for whoever writes.
                writer.write_all(b"more").unwrap();
                let flushed = writer.flush();
                if code == libc::EAGAIN {
                    flushed.unwrap();
                } else {
                    assert_eq!(flushed.unwrap_err().raw_os_error(), Some(code));
                    assert_eq!(
                        inner.taken().len(),
                        went,
                        "written before the error was told"
                    );
                    writer.flush().unwrap();
                }
                assert_eq!(&inner.taken()[went..], b"more");
            }
        }
    }
}

#[test]
fn a_list_that_fits_is_staged_and_one_that_does_not_is_one_call() {
    let inner = Shared::new(&[]);
    let mut writer = gathering(&inner);
    let data = payload(&[3, 0, 4, 5]);
    assert_eq!(writer.write_vectored(&list(&data)).unwrap(), 12);
    assert_eq!((inner.calls(), writer.buffer()), (0, &data.concat()[..]));
    let more = payload(&[3, 50, 0, 60]);
    assert_eq!(writer.write_vectored(&list(&more)).unwrap(), 113);
    assert_eq!(inner.calls(), 1);
    assert_eq!(inner.taken(), [data.concat(), more.concat()].concat());
}

#[test]
fn dropping_writes_what_is_staged_and_ignores_errors() {
    let inner = Shared::new(&[Answer::Take(2), Answer::Fail(libc::EIO)]);
    let mut writer = gathering(&inner);
    writer.write_all(b"staged").unwrap();
    drop(writer);
    assert_eq!(inner.taken(), b"st");
}

#[test]
fn parts_are_not_written() {
    let inner = Shared::new(&[]);
    let mut writer = gathering(&inner);
    writer.write_all(b"staged").unwrap();
    let (_, staged) = writer.into_parts();
    assert_eq!(staged.unwrap(), b"staged");
    assert_eq!(inner.calls(), 0);
}

#[test]
fn parts_after_a_panic_say_so() {
    for gathers in [false, true] {
        let mut inner = Shared::new(&[Answer::Take(3)]);
        inner.panics_at = Some(1);
        let borders = SliceThresholds::COPY;
        let mut writer = make(&inner, (gathers, 10, borders));
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
fn only_a_writer_with_a_buffer_of_its_own_is_flushed() {
    let mut writer = GatherWriter::copying(Shared::new(&[]));
    writer.flush().unwrap();
    assert_eq!(writer.get_ref().flushes, 1);
    let mut writer = gathering(&Shared::new(&[]));
    writer.flush().unwrap();
    assert_eq!((writer.get_ref().flushes, writer.get_ref().calls()), (0, 0));
}

#[test]
fn an_inner_writer_that_reports_too_much_is_an_error_and_nothing_is_sent_again() {
    struct Boastful(Vec<u8>);
    impl Write for Boastful {
        fn write(&mut self, slice: &[u8]) -> io::Result<usize> {
            self.0.extend(slice);
            Ok(slice.len() + 1)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    impl Gathers for Boastful {
        fn gather_from(
            &mut self,
            _: &mut Gather,
            segments: &[IoSlice<'_>],
            cursor: &mut SegmentCursor,
        ) -> Result<u64, TransferError> {
            self.0
                .extend(segments.iter().flat_map(|segment| segment.iter()));
            *cursor = SegmentCursor::at(segments.len(), 7);
            Ok(3)
        }
    }
    let writers = [
        GatherWriter::copying_with_capacity(10, Boastful(Vec::new())),
        GatherWriter::with_capacity(10, Boastful(Vec::new())),
    ];
    for mut writer in writers {
        writer.write_all(b"staged").unwrap();
        assert_eq!(writer.flush().unwrap_err().kind(), ErrorKind::InvalidData);
        writer.flush().unwrap();
        assert_eq!(writer.get_ref().0, b"staged");
        let error = writer.write(&[b'x'; 20]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }
}

#[test]
fn seeking_writes_what_is_staged_where_it_belongs() {
    let mut writer = GatherWriter::copying(io::Cursor::new(Vec::new()));
    writer.write_all(b"staged").unwrap();
    writer.seek(SeekFrom::Start(1)).unwrap();
    writer.write_all(b"w").unwrap();
    let file = writer.into_inner().unwrap().into_inner();
    assert_eq!(file, b"swaged");
}

#[test]
fn its_debug_form_shows_no_bytes_of_a_caller() {
    let mut writer = GatherWriter::copying_with_capacity(10, io::sink());
    writer.write_all(b"secret").unwrap();
    let text = format!("{writer:?}");
    assert!(text.starts_with("GatherWriter { inner: Sink"), "{text}");
    assert!(text.contains("staged_bytes: 6, capacity: 10"), "{text}");
}
