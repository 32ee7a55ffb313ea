use super::*;
use crate::sys::codes;
use crate::testing::reads::ScriptedSource;
use crate::testing::{Answer, any_limits, any_script, any_sizes, payload};
use proptest::prelude::*;
use std::io::ErrorKind;

/// A scripted source as a reader. If `scatters` is false, a call fills only one buffer, which is the default of
/// `Read::read_vectored`.
struct Inner {
    source: ScriptedSource,
    scatters: bool,
}

impl Read for Inner {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.source.call(&mut [IoSliceMut::new(buf)])
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        if self.scatters {
            self.source.call(bufs)
        } else {
            self.read(bufs.iter_mut().find(|b| !b.is_empty()).unwrap())
        }
    }
}

struct Case<'c> {
    lists: &'c [Vec<usize>],
    script: &'c [Answer],
    limits: Limits,
    capacity: usize,
    scatters: bool,
    at_eof: AtEof,
}

/// Resumes after every error and end of file. The bytes after the lists must then be in the buffer or in the
/// source.
fn check(case: &Case<'_>) {
    const BEYOND: usize = 300;
    let sizes = case.lists.concat();
    let total: usize = sizes.iter().sum();
    let data = payload(&[total + BEYOND]).concat();
    let limits = Limits {
        segments: case.limits.segments,
        // A refill asks for the whole capacity, even above the limits. Real limits are far above the capacity.
        bytes: case.limits.bytes.max(case.capacity),
    };
    let inner = Inner {
        source: ScriptedSource::new(data.clone(), case.script, limits),
        scatters: case.scatters,
    };
    let mut reader = ScatterReader::with_capacity(case.capacity, inner);
    let mut taken = 0;
    let mut ends = 0;
    for sizes in case.lists {
        let mut buffers: Vec<Vec<u8>> = sizes.iter().map(|&size| vec![0xfe; size]).collect();
        let bytes: usize = sizes.iter().sum();
        let mut segments: Vec<_> = buffers.iter_mut().map(|b| IoSliceMut::new(b)).collect();
        let mut cursor = SegmentCursor::new();
        let mut done = 0;
        loop {
            let result = reader.receive_all(&mut segments, &mut cursor, case.limits, case.at_eof);
            let transferred = match &result {
                Ok(bytes) => *bytes,
                Err(error) => error.transferred(),
            };
            done += transferred as usize;
            assert_eq!(cursor.remaining_bytes(&segments), (bytes - done) as u64);
            let source = &reader.get_ref().source;
            assert_eq!(source.given, taken + done + reader.buffer().len());
            if result.is_ok() && done == bytes {
                break;
            }
            ends += 1;
            match (result, source.last) {
                (Ok(_), last) => {
                    assert_eq!((last, case.at_eof), (Answer::Take(0), AtEof::Stop));
                }
                (Err(error), Answer::Take(most)) => {
                    assert_eq!((most, case.at_eof), (0, AtEof::Fail));
                    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
                }
                (Err(error), Answer::Fail(code)) => {
                    assert_eq!(error.io_error().raw_os_error(), Some(code));
                    assert_ne!(code, codes::EINTR);
                }
            }
        }
        assert!(buffers.concat() == data[taken..taken + bytes]);
        taken += bytes;
    }
    assert_eq!(ends, reader.get_ref().source.refusals);
    let (inner, unread) = reader.into_parts();
    let unread = unread.into_inner();
    assert!(unread.len() <= case.capacity);
    assert_eq!(unread, data[taken..inner.source.given]);
}

proptest! {
    #[test]
    fn any_lists_of_any_reader_are_filled_and_nothing_read_ahead_is_lost(
        lists in prop::collection::vec(any_sizes(), 1..5),
        script in any_script(),
        limits in any_limits(),
        capacity in prop_oneof![Just(0), 1..20_usize, 20..400_usize],
        scatters: bool,
        fails_at_eof: bool,
    ) {
        let at_eof = if fails_at_eof { AtEof::Fail } else { AtEof::Stop };
        check(&Case { lists: &lists, script: &script, limits, capacity, scatters, at_eof });
    }
}

fn reader_of(sizes: &[usize], capacity: usize) -> ScatterReader<Inner> {
    let source = ScriptedSource::new(payload(sizes).concat(), &[], Limits::default());
    let inner = Inner {
        source,
        scatters: true,
    };
    ScatterReader::with_capacity(capacity, inner)
}

fn read_list(reader: &mut ScatterReader<Inner>, sizes: &[usize]) -> Vec<u8> {
    let mut buffers: Vec<Vec<u8>> = sizes.iter().map(|&size| vec![0; size]).collect();
    let mut segments: Vec<_> = buffers.iter_mut().map(|b| IoSliceMut::new(b)).collect();
    reader.read_exact_vectored(&mut segments).unwrap();
    buffers.concat()
}

#[test]
fn a_large_payload_and_the_header_after_it_are_one_call() {
    let mut reader = reader_of(&[16, 100_000, 16, 3000], 8192);
    read_list(&mut reader, &[16]);
    assert_eq!(reader.get_ref().source.calls, 1);
    let ahead = reader.buffer().len();
    assert_eq!(ahead, 8192 - 16);
    read_list(&mut reader, &[100_000]);
    assert_eq!(reader.get_ref().source.calls, 2);
    assert_eq!(reader.buffer().len(), 16 + 3000);
    read_list(&mut reader, &[16, 3000]);
    assert_eq!(reader.get_ref().source.calls, 2);
}

#[test]
fn many_small_records_take_one_call_for_each_full_buffer() {
    let mut reader = reader_of(&[40; 1000], 8192);
    for _ in 0..1000 {
        read_list(&mut reader, &[8, 32]);
    }
    assert_eq!(reader.get_ref().source.calls, 5); // 40,000 / 8192
}

#[test]
fn it_reads_as_any_buffered_reader_does() {
    let text = b"first line\nsecond line\nand the rest";
    for capacity in [1, 3, 11, 12, 8192] {
        let mut reader = ScatterReader::with_capacity(capacity, &text[..]);
        let mut word = [0; 5];
        let mut segments = [IoSliceMut::new(&mut word)];
        reader.read_exact_vectored(&mut segments).unwrap();
        assert_eq!(&word, b"first");
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert_eq!(line, " line\n");
        // The list has 13 bytes. With a capacity of 12, one byte stays in the buffer.
        let (mut some, mut more) = ([0; 2], [0; 11]);
        let mut bufs = [IoSliceMut::new(&mut some), IoSliceMut::new(&mut more)];
        let bytes = reader.read_vectored(&mut bufs).unwrap();
        assert!(bytes > 0);
        let mut rest = [some.as_slice(), &more].concat()[..bytes].to_vec();
        reader.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"second line\nand the rest");
    }
}

#[test]
fn a_reader_that_reports_too_much_is_an_error() {
    struct Liar;
    impl Read for Liar {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            Ok(buf.len() + 1)
        }
        fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
            Ok(bufs.iter().map(|b| b.len()).sum::<usize>() + 1)
        }
    }
    for capacity in [0, 8, 100] {
        let mut reader = ScatterReader::with_capacity(capacity, Liar);
        let mut bytes = [0; 20];
        let mut segments = [IoSliceMut::new(&mut bytes)];
        let error = reader.read_exact_vectored(&mut segments).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert_eq!(reader.buffer(), b"");
        let error = reader.read(&mut bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }
}
