//! Tests of offsets that no file has.

use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read};

use vectored::bindings::BorrowedDescriptor;
use vectored::files::{read_exact_at, read_up_to_eof_at, write_all_at};
use vectored::{AsDescriptor, Gather, TransferError};

use crate::support::{TemporaryFile, list, payload};

type WriteAt = fn(BorrowedDescriptor<'_>, &[IoSlice<'_>], u64) -> Result<u64, TransferError>;

const WRITERS: [WriteAt; 2] = [
    |fd, segments, offset| write_all_at(fd, segments, offset),
    |fd, segments, offset| Gather::default().write_all_at(fd, segments, offset),
];

/// The largest offset of a file is `i64::MAX`. A pipe has no offset.
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
