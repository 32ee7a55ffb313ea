//! Tests of files and pipes, whose calls take one buffer.

use std::fs::{self, File};
use std::io::{self, IoSlice, IoSliceMut};

use vectored::files::{read_exact_at, write_all_at};
use vectored::{AsDescriptor, TransferError, write_once};

use crate::support::{TemporaryFile, file_writers, list, payload, writers};

#[test]
fn offsets_have_64_bits() {
    let path = TemporaryFile::new("far");
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&path.0)
        .unwrap();
    let far = 5 << 30;
    write_all_at(
        &file,
        &[IoSlice::new(b"here"), IoSlice::new(b"and there")],
        far,
    )
    .unwrap();
    assert_eq!(file.metadata().unwrap().len(), far + 13);
    let (mut here, mut there) = ([0; 4], [0; 9]);
    let mut segments = [IoSliceMut::new(&mut here), IoSliceMut::new(&mut there)];
    read_exact_at(&file, &mut segments, far).unwrap();
    assert_eq!((&here, &there), (b"here", b"and there"));
}

#[test]
fn a_pipe_without_a_reader_is_broken() {
    for (name, mut write_all) in writers() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let error: TransferError =
            write_all(writer.as_descriptor(), &list(&payload(&[3, 4]))).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "{name}: {error}");
        assert_eq!(error.transferred(), 0, "{name}");
    }
}

#[test]
fn a_record_of_any_length_is_one_call() {
    let data = payload(&[100_000, 3, 0, 70_000, 1]);
    let path = TemporaryFile::new("record");
    let log = File::options()
        .append(true)
        .create(true)
        .open(&path.0)
        .unwrap();
    assert_eq!(write_once(&log, &list(&data)).unwrap(), 170_004);
    assert!(fs::read(&path.0).unwrap() == data.concat());
}

#[test]
fn a_handle_that_is_only_readable_is_an_error_before_any_byte() {
    let path = TemporaryFile::new("readable");
    fs::write(&path.0, b"before").unwrap();
    for (name, mut write_all) in file_writers() {
        let file = File::open(&path.0).unwrap();
        let error = write_all(file.as_descriptor(), &list(&payload(&[3, 4]))).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{name}");
        assert_eq!(error.transferred(), 0, "{name}");
    }
    assert_eq!(fs::read(&path.0).unwrap(), b"before");
}
