//! Writing and reading at an offset.

use std::fs::{self, File};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Seek, SeekFrom};

use vectored::bindings::BorrowedDescriptor;
use vectored::files::{read_exact_at, read_up_to_eof_at, write_all_at};
use vectored::{AsDescriptor, Gather, TransferError};

use crate::support::{TemporaryFile, list, mixed_sizes, payload};

type WriteAt =
    Box<dyn FnMut(BorrowedDescriptor<'_>, &[IoSlice<'_>], u64) -> Result<u64, TransferError>>;

fn writers_at() -> Vec<(&'static str, WriteAt)> {
    let mut gather = Gather::default();
    vec![
        (
            "write_all_at",
            Box::new(|fd, segments, offset| write_all_at(fd, segments, offset)),
        ),
        (
            "Gather",
            Box::new(move |fd, segments, offset| gather.write_all_at(fd, segments, offset)),
        ),
    ]
}

fn as_fd(fd: &impl AsDescriptor) -> BorrowedDescriptor<'_> {
    fd.as_descriptor()
}

#[test]
fn the_bytes_are_at_the_offset_and_the_position_does_not_move() {
    for (name, mut write_at) in writers_at() {
        for (offset, count) in [(0, 1), (1, 2), (4095, 1025), (100_000, 3000)] {
            let path = TemporaryFile::new(&format!("at-{name}-{offset}"));
            let mut file = File::create(&path.0).unwrap();
            file.seek(SeekFrom::Start(17)).unwrap();
            let data = payload(&mixed_sizes(count));
            let bytes = write_at(as_fd(&file), &list(&data), offset).unwrap();
            assert_eq!(bytes, data.concat().len() as u64, "{name}");
            // On Windows each call at an offset moves the position.
            if cfg!(unix) {
                assert_eq!(file.stream_position().unwrap(), 17, "{name}");
            }
            let content = fs::read(&path.0).unwrap();
            let (gap, rest) = content.split_at(offset as usize);
            assert!(gap.iter().all(|&byte| byte == 0), "{name}");
            assert!(rest == data.concat(), "{name}");
        }
    }
}

/// "If a file is opened with O_APPEND, on Linux, pwrite() appends data to the end of the
/// file, regardless of the value of offset" (pwrite(2), "BUGS"). The position of the descriptor does not move.
#[test]
#[cfg(target_os = "linux")]
fn o_append_overrides_the_offset_and_no_position_moves() {
    for (name, mut write_at) in writers_at() {
        for count in [1, 3, 2500] {
            let path = TemporaryFile::new(&format!("append-at-{name}"));
            fs::write(&path.0, b"0123456789").unwrap();
            let mut file = File::options().append(true).open(&path.0).unwrap();
            file.seek(SeekFrom::Start(4)).unwrap();
            let data = payload(&mixed_sizes(count));
            let bytes = write_at(as_fd(&file), &list(&data), 2).unwrap();
            assert_eq!(bytes, data.concat().len() as u64, "{name}");
            assert_eq!(file.stream_position().unwrap(), 4, "{name}");
            let expected = [&b"0123456789"[..], &data.concat()].concat();
            assert!(fs::read(&path.0).unwrap() == expected, "{name}, {count}");
        }
    }
}

#[test]
fn a_list_that_would_end_past_the_last_offset_is_refused_before_any_byte() {
    for (name, mut write_at) in writers_at() {
        let path = TemporaryFile::new(&format!("past-{name}"));
        let file = File::create(&path.0).unwrap();
        let data = payload(&[3, 4]);
        for offset in [i64::MAX as u64 - 6, i64::MAX as u64, u64::MAX - 1, u64::MAX] {
            let error = write_at(as_fd(&file), &list(&data), offset).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}");
            assert_eq!(error.transferred(), 0, "{name}");
            assert!(error.to_string().contains("2^63"), "{name}: {error}");
        }
        assert_eq!(file.metadata().unwrap().len(), 0, "{name}");
    }
}

#[test]
fn a_pipe_has_no_offsets() {
    for (name, mut write_at) in writers_at() {
        let (mut reader, writer) = io::pipe().unwrap();
        let error = write_at(as_fd(&writer), &list(&payload(&[3, 4])), 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSeekable, "{name}");
        assert_eq!(error.transferred(), 0, "{name}");
        drop(writer);
        assert_eq!(reader.read(&mut [0]).unwrap(), 0, "{name}");
    }
}

#[test]
fn an_offset_of_a_read_past_what_a_file_can_have_is_refused_before_any_byte() {
    let path = TemporaryFile::new("read-past");
    fs::write(&path.0, b"content").unwrap();
    let file = File::open(&path.0).unwrap();
    let (mut one, mut two) = ([0], [0]);
    let mut segments = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
    for offset in [i64::MAX as u64 - 1, i64::MAX as u64 + 1, u64::MAX] {
        let error = read_up_to_eof_at(&file, &mut segments, offset).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(error.transferred(), 0);
    }
    // The largest offset is just past the end.
    let last = i64::MAX as u64 - 2;
    assert_eq!(read_up_to_eof_at(&file, &mut segments, last).unwrap(), 0);
    let (reader, _writer) = io::pipe().unwrap();
    let error = read_exact_at(&reader, &mut segments, 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSeekable);
}
