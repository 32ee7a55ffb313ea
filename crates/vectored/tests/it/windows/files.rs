//! Files and pipes, whose calls take one buffer.

use std::fs::{self, File};
use std::io::{self, IoSlice, IoSliceMut};

use vectored::files::{read_exact_at, write_all_at};
use vectored::{AsDescriptor, TransferError, write_once};

use crate::support::{TemporaryFile, file_writers, list, mixed_sizes, payload, writers};

#[test]
fn a_file_opened_for_appending_is_appended_to_whatever_the_offset_is() {
    for (name, mut write_all) in file_writers() {
        let path = TemporaryFile::new("append");
        fs::write(&path.0, b"before").unwrap();
        let file = File::options().append(true).open(&path.0).unwrap();
        let data = payload(&mixed_sizes(300));
        write_all(file.as_descriptor(), &list(&data)).unwrap();
        let expected = [&b"before"[..], &data.concat()].concat();
        assert!(fs::read(&path.0).unwrap() == expected, "{name}");
    }
}

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

/// Lists of any type that has a handle.
#[test]
fn owners_references_and_pointers_of_handles_are_taken() {
    use std::os::windows::io::{AsHandle, OwnedHandle};
    use std::rc::Rc;
    use std::sync::Arc;
    use vectored::write_all;

    let path = TemporaryFile::new("owners");
    let file = File::create(&path.0).unwrap();
    let segments = [IoSlice::new(b"ab")];
    let owned: OwnedHandle = file.try_clone().unwrap().into();
    let boxed: Box<dyn AsDescriptor> = Box::new(file.try_clone().unwrap());
    let written = [
        write_all(&file, &segments),
        write_all(file.as_handle(), &segments),
        write_all(&owned, &segments),
        write_all(boxed, &segments),
        write_all(Arc::new(file.try_clone().unwrap()), &segments),
        write_all(Rc::new(&file), &segments),
        write_all(file.as_descriptor(), &segments),
    ];
    assert!(written.into_iter().all(|result| result.unwrap() == 2));
    assert_eq!(fs::read(&path.0).unwrap(), b"ababababababab");
}
