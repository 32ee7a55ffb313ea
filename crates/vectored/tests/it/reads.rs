//! Reads from files, pipes, sockets and devices: the bytes read, the counts, and the bytes left in the source.

use std::fs::File;
use std::io::{self, ErrorKind, IoSliceMut, Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::thread;

use rustix::fs::OFlags;
use vectored::files::{read_exact_at, read_up_to_eof_at};
use vectored::{Scatter, SegmentCursor, TransferError, read_exact, read_up_to_eof, resume_read};

use crate::support::{mixed_sizes, payload};

type ReadAllAt =
    Box<dyn FnMut(BorrowedFd<'_>, &mut [IoSliceMut<'_>], u64) -> Result<u64, TransferError>>;

/// Every function that reads a list from an offset: first those that fail at the end of the file, then those that
/// stop there.
fn readers_at() -> [Vec<(&'static str, ReadAllAt)>; 2] {
    let (mut exact, mut up_to_eof) = (Scatter::default(), Scatter::default());
    [
        vec![
            (
                "read_exact_at",
                Box::new(|fd, segments, offset| read_exact_at(fd, segments, offset)),
            ),
            (
                "Scatter::read_exact_at",
                Box::new(move |fd, segments, offset| exact.read_exact_at(fd, segments, offset)),
            ),
        ],
        vec![
            (
                "read_up_to_eof_at",
                Box::new(|fd, segments, offset| read_up_to_eof_at(fd, segments, offset)),
            ),
            (
                "Scatter::read_up_to_eof_at",
                Box::new(move |fd, segments, offset| {
                    up_to_eof.read_up_to_eof_at(fd, segments, offset)
                }),
            ),
        ],
    ]
}

type ReadAll = Box<dyn FnMut(BorrowedFd<'_>, &mut [IoSliceMut<'_>]) -> Result<u64, TransferError>>;

/// Every function that reads a list from a stream, by name.
fn readers() -> Vec<(&'static str, ReadAll)> {
    let (mut exact, mut up_to_eof) = (Scatter::default(), Scatter::default());
    vec![
        (
            "Scatter::read_exact",
            Box::new(move |fd, segments| exact.read_exact(fd, segments)),
        ),
        (
            "Scatter::read_up_to_eof",
            Box::new(move |fd, segments| up_to_eof.read_up_to_eof(fd, segments)),
        ),
        (
            "read_exact",
            Box::new(|fd, segments| read_exact(fd, segments)),
        ),
        (
            "read_up_to_eof",
            Box::new(|fd, segments| read_up_to_eof(fd, segments)),
        ),
    ]
}

fn blank(sizes: &[usize]) -> Vec<Vec<u8>> {
    sizes.iter().map(|&size| vec![0; size]).collect()
}

fn list_mut(buffers: &mut [Vec<u8>]) -> Vec<IoSliceMut<'_>> {
    buffers.iter_mut().map(|b| IoSliceMut::new(b)).collect()
}

/// A file without a name that holds these bytes, at its start.
fn file_of(bytes: &[u8]) -> File {
    let path = std::env::temp_dir().join(format!(
        "vectored-read-{}-{:?}",
        std::process::id(),
        thread::current().id()
    ));
    let mut file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .unwrap();
    std::fs::remove_file(&path).unwrap();
    file.write_all(bytes).unwrap();
    file.rewind().unwrap();
    file
}

#[test]
fn lists_around_iov_max_are_filled_from_a_file_and_the_rest_stays() {
    for count in [1, 2, 10, 1023, 1024, 1025, 2048, 3000] {
        let sizes = mixed_sizes(count);
        let expected = payload(&sizes);
        let mut content = expected.concat();
        content.extend(b"the rest");
        for (name, mut read_all) in readers() {
            let mut file = file_of(&content);
            let mut buffers = blank(&sizes);
            let bytes = read_all(file.as_fd(), &mut list_mut(&mut buffers)).unwrap();
            assert_eq!(bytes, expected.concat().len() as u64, "{name}, {count}");
            assert!(buffers == expected, "{name}, {count}");
            let mut rest = String::new();
            file.read_to_string(&mut rest).unwrap();
            assert_eq!(rest, "the rest", "{name}, {count}");
        }
    }
}

#[test]
fn lists_are_filled_from_an_offset_without_moving_the_position() {
    for count in [1, 1023, 1024, 1025, 2048] {
        let sizes = mixed_sizes(count);
        let expected = payload(&sizes);
        let mut content = b"before".to_vec();
        content.extend(expected.concat());
        content.extend(b"after");
        let mut file = file_of(&content);
        file.seek(io::SeekFrom::Start(3)).unwrap();
        for (name, mut read_at) in readers_at().into_iter().flatten() {
            let mut buffers = blank(&sizes);
            let bytes = read_at(file.as_fd(), &mut list_mut(&mut buffers), 6).unwrap();
            assert_eq!(bytes, expected.concat().len() as u64, "{name}");
            assert!(buffers == expected, "{name}, {count}");
            assert_eq!(file.stream_position().unwrap(), 3, "{name}");
        }
    }
}

#[test]
fn an_early_end_of_file_is_an_error_with_the_count_or_just_the_count() {
    let sizes = mixed_sizes(1500);
    let expected = payload(&sizes).concat();
    for cut in [0, 1, 7, 200, expected.len() / 2, expected.len() - 1] {
        let mut file = file_of(&expected[..cut]);
        let mut check =
            |name: &str, is_exact, read: &mut dyn FnMut(&File, &mut [IoSliceMut<'_>]) -> _| {
                file.rewind().unwrap();
                let mut buffers = blank(&sizes);
                let result: Result<u64, TransferError> = read(&file, &mut list_mut(&mut buffers));
                let bytes = match result {
                    Err(error) if is_exact => {
                        assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{name}");
                        error.transferred()
                    }
                    Ok(bytes) if !is_exact => bytes,
                    other => panic!("{name}, {cut}: {other:?}"),
                };
                assert_eq!(bytes, cut as u64, "{name}");
                assert!(buffers.concat()[..cut] == expected[..cut], "{name}, {cut}");
            };
        for (name, mut read_all) in readers() {
            let is_exact = name.contains("exact");
            check(name, is_exact, &mut |file, list| {
                read_all(file.as_fd(), list)
            });
        }
        for (readers, is_exact) in readers_at().into_iter().zip([true, false]) {
            for (name, mut read_at) in readers {
                check(name, is_exact, &mut |file, list| {
                    read_at(file.as_fd(), list, 0)
                });
            }
        }
    }
}

#[test]
fn lists_larger_than_a_pipe_or_socket_are_filled_and_the_rest_stays() {
    let sizes: Vec<usize> = (0..1500).map(|i| [7, 0, 4096, 100, 900][i % 5]).collect();
    let expected = payload(&sizes);
    for (name, mut read_all) in readers() {
        let mut content = expected.concat();
        content.extend(b"rest");
        let mut try_with = |reader: BorrowedFd<'_>, mut writer: Box<dyn Write + Send>| {
            let content = content.clone();
            let sender = thread::spawn(move || writer.write_all(&content).unwrap());
            let mut buffers = blank(&sizes);
            let bytes = read_all(reader, &mut list_mut(&mut buffers)).unwrap();
            assert_eq!(bytes, expected.concat().len() as u64, "{name}");
            assert!(buffers == expected, "{name}");
            let mut rest = [0; 4];
            assert_eq!(rustix::io::read(reader, &mut rest), Ok(4));
            assert_eq!(&rest, b"rest", "{name}");
            sender.join().unwrap();
        };
        let (reader, writer) = io::pipe().unwrap();
        try_with(reader.as_fd(), Box::new(writer));
        let (reader, writer) = UnixStream::pair().unwrap();
        try_with(reader.as_fd(), Box::new(writer));
    }
}

#[test]
fn a_nonblocking_pipe_is_resumed_until_the_list_is_full() {
    let sizes: Vec<usize> = (0..300)
        .map(|i| [7, 10, 0, 4096, 100, 900][i % 6])
        .collect();
    let expected = payload(&sizes);
    let content = expected.concat();
    let mut scatter = Scatter::default();
    for scattering in [false, true] {
        let (reader, mut writer) = io::pipe().unwrap();
        let flags = rustix::fs::fcntl_getfl(&reader).unwrap();
        rustix::fs::fcntl_setfl(&reader, flags | OFlags::NONBLOCK).unwrap();
        let mut buffers = blank(&sizes);
        let mut segments = list_mut(&mut buffers);
        let mut cursor = SegmentCursor::new();
        let mut blocked = 0;
        let mut total = 0;
        for chunk in content.chunks(5003) {
            writer.write_all(chunk).unwrap();
            let result = if scattering {
                scatter.resume_read(&reader, &mut segments, &mut cursor)
            } else {
                resume_read(&reader, &mut segments, &mut cursor)
            };
            total += match result {
                Ok(bytes) => bytes,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    assert_eq!(error.transferred(), chunk.len() as u64);
                    blocked += 1;
                    error.transferred()
                }
            };
        }
        assert_eq!(total, content.len() as u64);
        assert_eq!(blocked, content.len() / 5003);
        assert!(cursor.is_at_end(&segments));
        assert!(buffers == expected);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_memory_file_and_dev_zero_fill_lists() {
    let sizes = mixed_sizes(1100);
    let expected = payload(&sizes);
    let memory = rustix::fs::memfd_create("vectored-read", rustix::fs::MemfdFlags::empty());
    let mut memory = File::from(memory.unwrap());
    memory.write_all(&expected.concat()).unwrap();
    let mut buffers = blank(&sizes);
    read_exact_at(&memory, &mut list_mut(&mut buffers), 0).unwrap();
    assert!(buffers == expected);

    let zero = File::open("/dev/zero").unwrap();
    for (name, mut read_all) in readers() {
        let mut buffers = payload(&sizes);
        read_all(zero.as_fd(), &mut list_mut(&mut buffers)).unwrap();
        assert!(buffers == blank(&sizes), "{name}");
    }
}

#[test]
fn empty_lists_are_filled_without_a_system_call() {
    // Any read from this descriptor would be an error.
    let file = File::create("/dev/null").unwrap();
    for sizes in [&[][..], &[0], &[0; 3000]] {
        for (name, mut read_all) in readers() {
            let mut buffers = blank(sizes);
            let result = read_all(file.as_fd(), &mut list_mut(&mut buffers));
            assert_eq!(result.unwrap(), 0, "{name}");
        }
        let mut buffers = blank(sizes);
        let result = read_exact_at(&file, &mut list_mut(&mut buffers), 7);
        assert_eq!(result.unwrap(), 0);
    }
    let error = read_exact(&file, &mut list_mut(&mut blank(&[1]))).unwrap_err();
    assert_eq!(error.io_error().raw_os_error(), Some(9), "EBADF");
}

#[test]
fn an_offset_past_what_a_file_can_have_is_refused_before_any_byte() {
    let file = file_of(b"content");
    for offset in [i64::MAX as u64 - 1, i64::MAX as u64 + 1, u64::MAX] {
        let mut buffers = blank(&[1, 1]);
        let mut segments = list_mut(&mut buffers);
        let error = read_up_to_eof_at(&file, &mut segments, offset).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(error.transferred(), 0);
    }
    let mut buffers = blank(&[1, 1]);
    let last = i64::MAX as u64 - 2;
    let result = read_up_to_eof_at(&file, &mut list_mut(&mut buffers), last);
    assert_eq!(
        result.unwrap(),
        0,
        "the largest offset is just past the end"
    );
}

#[test]
fn a_pipe_has_no_offsets() {
    let (reader, _writer) = io::pipe().unwrap();
    let mut buffers = blank(&[1, 1]);
    let error = read_exact_at(&reader, &mut list_mut(&mut buffers), 0).unwrap_err();
    assert_eq!(error.io_error().raw_os_error(), Some(29), "ESPIPE");
}
