//! Files and pipes, whose calls take one buffer.

use std::fs::{self, File};
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::thread;

use proptest::prelude::*;
use vectored::files::{read_exact_at, write_all_at};
use vectored::{AsDescriptor, Scatter, TransferError, read_exact, read_up_to_eof, write_once};

use crate::support::{TemporaryFile, file_writers, list, mixed_sizes, payload, writers};

/// Segments below and above those that are joined for a call.
fn any_sizes() -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![
        2 => Just(0_usize),
        4 => 1..5000_usize,
        1 => 65_000..66_000_usize,
        1 => Just(65_536),
        1 => 100_000..200_000_usize,
    ];
    prop::collection::vec(size, 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_list_reaches_a_file_and_comes_back(sizes in any_sizes(), cut in 1..200_000_usize) {
        let data = payload(&sizes);
        let expected = data.concat();
        for (name, mut write_all) in file_writers() {
            let path = TemporaryFile::new("any-list");
            let file = File::create(&path.0).unwrap();
            let bytes = write_all(file.as_descriptor(), &list(&data)).unwrap();
            prop_assert_eq!(bytes, expected.len() as u64, "{}", name);
            prop_assert!(fs::read(&path.0).unwrap() == expected, "{}", name);
        }
        // Neighbours that are one piece of memory.
        let path = TemporaryFile::new("any-pieces");
        let mut file = File::options().read(true).write(true).create(true).truncate(true).open(&path.0).unwrap();
        let pieces: Vec<_> = expected.chunks(cut).map(IoSlice::new).collect();
        for (name, mut write_all) in file_writers() {
            file.set_len(0).unwrap();
            file.seek(SeekFrom::Start(0)).unwrap();
            write_all(file.as_descriptor(), &pieces).unwrap();
            prop_assert!(fs::read(&path.0).unwrap() == expected, "{}", name);
        }
        // And back, by both readers, at the position and at an offset.
        for is_scatter in [false, true] {
            let mut buffers: Vec<Vec<u8>> = sizes.iter().map(|&size| vec![0; size]).collect();
            let mut segments: Vec<_> = buffers.iter_mut().map(|b| IoSliceMut::new(b)).collect();
            file.seek(SeekFrom::Start(0)).unwrap();
            let read = if is_scatter { Scatter::default().read_exact(&file, &mut segments) } else { read_exact(&file, &mut segments) };
            prop_assert_eq!(read.unwrap(), expected.len() as u64);
            prop_assert!(buffers == data);
            let mut buffers: Vec<Vec<u8>> = sizes.iter().map(|&size| vec![0; size]).collect();
            let mut segments: Vec<_> = buffers.iter_mut().map(|b| IoSliceMut::new(b)).collect();
            prop_assert_eq!(read_exact_at(&file, &mut segments, 0).unwrap(), expected.len() as u64);
            prop_assert!(buffers == data);
        }
    }
}

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
fn a_pipe_with_a_slow_reader_gets_everything() {
    for (name, mut write_all) in writers() {
        let data = payload(&mixed_sizes(2000));
        let expected = data.concat();
        let (mut reader, writer) = io::pipe().unwrap();
        let reading = thread::spawn(move || {
            let mut all = Vec::new();
            let mut portion = [0; 777];
            loop {
                match reader.read(&mut portion).unwrap() {
                    0 => return all,
                    bytes => all.extend_from_slice(&portion[..bytes]),
                }
            }
        });
        let bytes = write_all(writer.as_descriptor(), &list(&data)).unwrap();
        drop(writer);
        assert_eq!(bytes, expected.len() as u64, "{name}");
        assert!(reading.join().unwrap() == expected, "{name}");
    }
}

#[test]
fn a_pipe_is_read_up_to_its_end() {
    let (reader, mut writer) = io::pipe().unwrap();
    writer.write_all(b"0123456789").unwrap();
    drop(writer);
    let mut four = [0; 4];
    read_exact(&reader, &mut [IoSliceMut::new(&mut four)]).unwrap();
    assert_eq!(&four, b"0123");
    let (mut two, mut rest) = ([0; 2], [b'-'; 10]);
    let mut segments = [IoSliceMut::new(&mut two), IoSliceMut::new(&mut rest)];
    assert_eq!(read_up_to_eof(&reader, &mut segments).unwrap(), 6);
    assert_eq!((&two, &rest), (b"45", b"6789------"));
    let error = read_exact(&reader, &mut [IoSliceMut::new(&mut two)]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
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
