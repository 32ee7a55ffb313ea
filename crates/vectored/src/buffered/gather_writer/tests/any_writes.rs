//! Random writes lose no byte, split no slice, and take no more calls than with `BufWriter`.

use std::io::{self, Write};

use proptest::prelude::*;

use super::{Model, Shared, Step, any_steps, any_writer, make, reportable};
use crate::GatherWriter;
use crate::testing::{any_script, list, payload};

/// The range of the bytes that each step passes to the writer.
fn records_of(steps: &[Step]) -> Vec<(usize, usize)> {
    let mut end = 0;
    let records = steps.iter().map(|step| {
        let begin = end;
        end += match step {
            Step::Write(bytes) | Step::WriteAll(bytes) => *bytes,
            Step::Vectored(sizes) | Step::AllVectored(sizes) => sizes.iter().sum(),
            Step::Flush => 0,
        };
        (begin, end)
    });
    records.collect()
}

fn write_whole(writer: &mut impl Write, steps: &[Step]) -> Vec<u8> {
    let mut model = Model::new();
    for step in steps {
        match step {
            Step::Write(bytes) | Step::WriteAll(bytes) => {
                let slice = model.fresh(*bytes);
                writer.write_all(&slice).unwrap();
                model.accepted.extend(&slice);
            }
            Step::Vectored(sizes) | Step::AllVectored(sizes) => {
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
    fn accepted_bytes_are_written_or_staged_in_order_and_every_error_is_reported_once(
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
    fn no_call_ends_inside_a_slice_or_list_that_fits_the_buffer(
        steps in any_steps(), gathers: bool, capacity in 0..200_usize
    ) {
        let inner = Shared::new(&[]);
        let mut writer = make(&inner, (gathers, capacity));
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
        // Steps with lists are left out, because a `BufWriter` does not stage a list like a `GatherWriter`.
        let steps = steps.iter().filter(|step| !matches!(step, Step::Vectored(_) | Step::AllVectored(_)));
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
        // The drop of a writer would write its staged bytes, so the bytes are compared before both drops.
        prop_assert_eq!(ours.taken(), theirs.taken());
    }

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
