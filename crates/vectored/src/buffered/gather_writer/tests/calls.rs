//! Tests of single cases: which calls are made, and which bytes stay staged.

use std::io::{self, ErrorKind, IoSlice, Seek, SeekFrom, Write};

use super::{Shared, gathering};
use crate::buffered::gather_writer::SMALL_BYTES;
use crate::gather::vectored_write::VectoredWrite;
use crate::sys::codes;
use crate::testing::{Answer, list, payload};
use crate::{CostModel, Gather, GatherWriter, SegmentCursor, TransferError};

#[test]
fn a_list_of_more_segments_than_a_call_takes_is_not_cut_if_it_fits_the_buffer() {
    let data = payload(&vec![7; 1500]);
    for staged in [10, 5000] {
        let inner = Shared::new(&[]);
        let mut writer = GatherWriter::with_capacity(12_000, inner.clone());
        writer.write_all(&vec![1; staged]).unwrap();
        assert_eq!(writer.write_vectored(&list(&data)).unwrap(), 10_500);
        writer.flush().unwrap();
        let ends = inner.call_ends();
        let whole = [vec![staged + 10_500], vec![staged, staged + 10_500]];
        assert!(whole.contains(&ends), "{ends:?}");
    }
}

#[test]
fn the_threshold_without_a_model_is_that_of_the_default_model() {
    assert_eq!(SMALL_BYTES, CostModel::default().copy_below_bytes(2));
}

#[test]
fn a_slice_that_does_not_fit_is_staged_after_a_call_if_small_and_sent_with_it_if_not() {
    let inner = Shared::new(&[]);
    let mut writer = GatherWriter::with_capacity(5000, inner.clone());
    let data = payload(&[2500, 2400, SMALL_BYTES, SMALL_BYTES + 1]);
    for (slice, ends, staged) in [
        (&data[0], &[][..], 2500),
        (&data[1], &[], 4900),
        (&data[2], &[4900], SMALL_BYTES),
        (&data[3], &[4900, 4900 + 2 * SMALL_BYTES + 1], 0),
    ] {
        assert_eq!(writer.write(slice).unwrap(), slice.len());
        assert_eq!(
            (&inner.call_ends()[..], writer.buffer().len()),
            (ends, staged)
        );
    }
    assert_eq!(inner.taken(), data.concat());
}

#[test]
fn an_error_after_accepted_bytes_is_returned_by_the_next_call_unless_it_is_transient() {
    let data = payload(&[20, 70]);
    for code in [codes::EAGAIN, codes::ENOSPC] {
        let inner = Shared::new(&[Answer::Take(30), Answer::Fail(code)]);
        let mut writer = gathering(&inner);
        writer.write_all(&data[0]).unwrap();
        assert_eq!(writer.write(&data[1]).unwrap(), 10);
        let flushed = writer.flush().map_err(|error| error.raw_os_error());
        let is_transient = code == codes::EAGAIN;
        assert_eq!(flushed, if is_transient { Ok(()) } else { Err(Some(code)) });
        assert_eq!((inner.taken().len(), writer.buffer()), (30, &b""[..]));
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
    // If a list would fill the buffer, a writer of `copying` makes a call before it stages the list.
    let inner = Shared::new(&[]);
    let mut writer = GatherWriter::copying_with_capacity(64, inner.clone());
    writer.write_all(&[1; 40]).unwrap();
    let full = payload(&[10, 20, 34]);
    assert_eq!(writer.write_vectored(&list(&full)).unwrap(), 64);
    assert_eq!((inner.call_ends(), writer.buffer().len()), (vec![40], 64));
}

#[test]
fn dropping_writes_what_is_staged_and_ignores_errors() {
    let inner = Shared::new(&[Answer::Take(2), Answer::Fail(codes::EIO)]);
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
    assert_eq!(staged, b"staged");
    assert_eq!(inner.calls(), 0);
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
    impl VectoredWrite for Boastful {
        fn resume_write(
            &mut self,
            _: &mut Gather,
            segments: &[IoSlice<'_>],
            cursor: &mut SegmentCursor,
        ) -> Result<u64, TransferError> {
            self.0
                .extend(segments.iter().flat_map(|segment| segment.iter()));
            // The first cursor is outside the list. The second cursor contradicts the returned count.
            let offset = if self.0.len() > 6 { 0 } else { 7 };
            *cursor = SegmentCursor::at(segments.len(), offset);
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
