//! Writing and reading at an offset.

use std::fs::{self, File};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Seek, SeekFrom};

use vectored::bindings::BorrowedDescriptor;
use vectored::files::{read_exact_at, read_up_to_eof_at, write_all_at};
use vectored::{AsDescriptor, Gather, TransferError};

use crate::support::{TemporaryFile, list, mixed_sizes, payload};

type WriteAt = fn(BorrowedDescriptor<'_>, &[IoSlice<'_>], u64) -> Result<u64, TransferError>;

const WRITERS: [WriteAt; 2] = [
    |fd, segments, offset| write_all_at(fd, segments, offset),
    |fd, segments, offset| Gather::default().write_all_at(fd, segments, offset),
];

#[test]
fn the_bytes_are_at_the_offset_and_the_position_does_not_move() {
    for (write_at, (offset, count)) in WRITERS.iter().flat_map(|write_at| {
        [(0, 1), (1, 2), (4095, 1025), (100_000, 3000)].map(|place| (write_at, place))
    }) {
        let path = TemporaryFile::new(&format!("at-{offset}"));
        let mut file = File::create(&path.0).unwrap();
        file.seek(SeekFrom::Start(17)).unwrap();
        let data = payload(&mixed_sizes(count));
        let bytes = write_at(file.as_descriptor(), &list(&data), offset).unwrap();
        assert_eq!(bytes, data.concat().len() as u64);
        // On Windows each call at an offset moves the position.
        if cfg!(unix) {
            assert_eq!(file.stream_position().unwrap(), 17);
        }
        let content = fs::read(&path.0).unwrap();
        let (gap, rest) = content.split_at(offset as usize);
        assert!(gap.iter().all(|&byte| byte == 0));
        assert!(rest == data.concat());
    }
}

/// The largest offset of a file is `i64::MAX`, and a pipe has none.
#[test]
fn places_that_cannot_be_are_refused_before_any_byte() {
    let path = TemporaryFile::new("past");
    let mut options = File::options();
    let options = options.read(true).write(true).create(true).truncate(true);
    let file = options.open(&path.0).unwrap();
    let (mut reader, writer) = io::pipe().unwrap();
    let data = payload(&[3, 4]);
    let (mut one, mut two) = ([0; 3], [0; 4]);
    let mut places = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
    for offset in [i64::MAX as u64 - 6, i64::MAX as u64 + 1, u64::MAX] {
        for result in [
            WRITERS[0](file.as_descriptor(), &list(&data), offset),
            WRITERS[1](file.as_descriptor(), &list(&data), offset),
            read_up_to_eof_at(&file, &mut places, offset),
        ] {
            let error = result.unwrap_err();
            assert_eq!(
                (error.kind(), error.transferred()),
                (ErrorKind::InvalidInput, 0)
            );
            assert!(error.to_string().contains("2^63"), "{error}");
        }
    }
    assert_eq!(file.metadata().unwrap().len(), 0);
    assert_eq!(
        read_up_to_eof_at(&file, &mut places, i64::MAX as u64 - 7).unwrap(),
        0
    );
    for result in [
        WRITERS[0](writer.as_descriptor(), &list(&data), 0),
        WRITERS[1](writer.as_descriptor(), &list(&data), 0),
        read_exact_at(&reader, &mut places, 0),
    ] {
        let error = result.unwrap_err();
        assert_eq!(
            (error.kind(), error.transferred()),
            (ErrorKind::NotSeekable, 0)
        );
    }
    drop(writer);
    assert_eq!(reader.read(&mut [0]).unwrap(), 0);
}
