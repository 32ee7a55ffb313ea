//! Files, pipes and devices: the counts must match the bytes that the kernel took.

use std::fs::{self, File};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;

use proptest::prelude::*;
#[cfg(target_os = "linux")]
use rustix::fs::OFlags;
use vectored::buffered::VectoredWrite;
use vectored::{AsDescriptor, Gather, SegmentCursor, TransferError, resume_write, write_all};

#[cfg(target_os = "linux")]
use crate::support::add_flag;
use crate::support::{
    TemporaryFile, file_writers, list, mixed_sizes, payload, set_nonblocking, writers,
};

/// A pipe in packet mode (`O_DIRECT`, pipe(2)) keeps each write of up to 4096 bytes apart.
#[test]
#[cfg(target_os = "linux")]
fn a_list_that_fits_is_one_system_call() {
    for (name, mut write_all) in writers() {
        for sizes in [&[3, 0, 4, 5][..], &[700, 1, 2, 900, 3], &[1000; 4], &[9]] {
            let data = payload(sizes);
            let (mut reader, writer) = io::pipe().unwrap();
            add_flag(&writer, OFlags::DIRECT);
            write_all(writer.as_fd(), &list(&data)).unwrap();
            let mut packet = [0; 4096];
            let bytes = reader.read(&mut packet).unwrap();
            assert_eq!(packet[..bytes], data.concat(), "{name}, {sizes:?}");
        }
    }
}

#[test]
fn mixed_lists_reach_a_file_in_order() {
    for (name, mut write_all) in file_writers() {
        for count in [1, 2, 10, 1023, 1024, 1025, 2048, 3000] {
            let data = payload(&mixed_sizes(count));
            let path = TemporaryFile::new(&format!("order-{name}-{count}"));
            let file = File::create(&path.0).unwrap();
            let bytes = write_all(file.as_fd(), &list(&data)).unwrap();
            assert_eq!(bytes, data.concat().len() as u64, "{name}, {count}");
            assert!(
                fs::read(&path.0).unwrap() == data.concat(),
                "{name}, {count}"
            );
        }
    }
}

#[test]
fn lists_are_appended_to_a_file_opened_for_appending() {
    for (name, mut write_all) in writers() {
        let path = TemporaryFile::new(&format!("append-{name}"));
        fs::write(&path.0, b"before").unwrap();
        let file = File::options().append(true).open(&path.0).unwrap();
        let mut expected = b"before".to_vec();
        for count in [3, 1500] {
            let data = payload(&mixed_sizes(count));
            write_all(file.as_fd(), &list(&data)).unwrap();
            expected.extend(data.concat());
        }
        assert!(fs::read(&path.0).unwrap() == expected, "{name}");
    }
}

#[test]
fn a_pipe_with_a_slow_reader_gets_everything() {
    for (name, mut write_all) in writers() {
        let data = payload(&mixed_sizes(3000));
        let expected = data.concat();
        let (mut reader, writer) = io::pipe().unwrap();
        let reading = thread::spawn(move || {
            let mut all = Vec::new();
            // Portions of an odd size, so that writes end within segments.
            let mut portion = [0; 777];
            loop {
                match reader.read(&mut portion).unwrap() {
                    0 => return all,
                    bytes => all.extend_from_slice(&portion[..bytes]),
                }
            }
        });
        let bytes = write_all(writer.as_fd(), &list(&data)).unwrap();
        drop(writer);
        assert_eq!(bytes, expected.len() as u64, "{name}");
        assert!(reading.join().unwrap() == expected, "{name}");
    }
}

#[test]
fn a_full_pipe_would_block_after_as_many_bytes_as_can_be_read() {
    for (name, mut write_all) in writers() {
        // Several times the 64 KiB of a pipe.
        let data = payload(&mixed_sizes(2000));
        let segments = list(&data);
        let expected = data.concat();
        let (mut reader, writer) = io::pipe().unwrap();
        set_nonblocking(&writer);
        set_nonblocking(&reader);

        let error = write_all(writer.as_fd(), &segments).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock, "{name}");
        assert!(error.transferred() > 0, "{name}");
        let mut read = Vec::new();
        let end = reader.read_to_end(&mut read).unwrap_err();
        assert_eq!(end.kind(), ErrorKind::WouldBlock);
        assert_eq!(error.transferred(), read.len() as u64, "{name}");
        assert!(read == expected[..read.len()], "{name}");

        // The count suffices to resume.
        let mut cursor = SegmentCursor::new();
        cursor.advance(&segments, read.len());
        let remaining = (expected.len() - read.len()) as u64;
        assert_eq!(cursor.remaining_bytes(&segments), remaining, "{name}");
        let rest: Vec<IoSlice<'_>> =
            std::iter::once(&segments[cursor.segment()][cursor.offset()..])
                .chain(
                    segments[cursor.segment() + 1..]
                        .iter()
                        .map(|segment| &**segment),
                )
                .map(IoSlice::new)
                .collect();
        let again = match write_all(writer.as_fd(), &rest) {
            Ok(bytes) => bytes,
            Err(error) => error.transferred(),
        };
        let before = read.len() as u64;
        reader.read_to_end(&mut read).unwrap_err();
        assert_eq!(before + again, read.len() as u64, "{name}");
        assert!(read == expected[..read.len()], "{name}");
    }
}

/// Bytes that a non-blocking descriptor does not take at once are not lost.
#[test]
fn a_list_is_resumed_after_would_block_until_a_slow_reader_has_all_of_it() {
    type WriteFrom = Box<
        dyn FnMut(
            &io::PipeWriter,
            &[IoSlice<'_>],
            &mut SegmentCursor,
        ) -> Result<u64, TransferError>,
    >;
    let mut gather = Gather::default();
    let writers: [(&str, WriteFrom); 2] = [
        (
            "resume_write",
            Box::new(|fd, segments, cursor| resume_write(fd, segments, cursor)),
        ),
        (
            "Gather",
            Box::new(move |fd, segments, cursor| gather.resume_write(fd, segments, cursor)),
        ),
    ];
    for (name, mut resume_write) in writers {
        let data = payload(&mixed_sizes(3000));
        let segments = list(&data);
        let (mut reader, writer) = io::pipe().unwrap();
        set_nonblocking(&writer);
        set_nonblocking(&reader);
        let (mut cursor, mut counted, mut stops) = (SegmentCursor::new(), 0, 0);
        let mut read = Vec::new();
        loop {
            let before = cursor;
            let result = resume_write(&writer, &segments, &mut cursor);
            let bytes = match &result {
                Ok(bytes) => *bytes,
                Err(error) => error.transferred(),
            };
            counted += bytes;
            let moved = before.remaining_bytes(&segments) - cursor.remaining_bytes(&segments);
            assert_eq!(moved, bytes, "{name}");
            // Portions of an odd size, so that writes end within segments. A pipe frees whole pages.
            let mut portion = [0; 5001];
            match result {
                Ok(_) => break,
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{name}"),
            }
            stops += 1;
            let bytes = reader.read(&mut portion).unwrap();
            read.extend_from_slice(&portion[..bytes]);
        }
        drop(writer);
        reader.read_to_end(&mut read).unwrap();
        assert!(cursor.is_at_end(&segments), "{name}");
        assert_eq!(counted, read.len() as u64, "{name}");
        assert!(read == data.concat(), "{name}");
        assert!(stops > 20, "{name}: only {stops} stops");
    }
}

#[test]
fn a_timeout_of_a_socket_would_block_with_a_count() {
    let (writer, mut reader) = UnixStream::pair().unwrap();
    let timeout = Some(std::time::Duration::from_millis(10));
    writer.set_write_timeout(timeout).unwrap();
    let data = payload(&vec![1000; 10_000]);
    let mut cursor = SegmentCursor::new();
    let error = resume_write(&writer, &list(&data), &mut cursor).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    drop(writer);
    let mut received = Vec::new();
    reader.read_to_end(&mut received).unwrap();
    assert_eq!(error.transferred(), received.len() as u64);
    assert!(received == data.concat()[..received.len()]);
    assert!(!received.is_empty());

    let (mut writer, reader) = UnixStream::pair().unwrap();
    reader.set_read_timeout(timeout).unwrap();
    writer.write_all(b"12345").unwrap();
    let (mut one, mut two) = ([0; 3], [0; 3]);
    let mut places = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
    let error = vectored::read_exact(&reader, &mut places).unwrap_err();
    assert_eq!(
        (error.kind(), error.transferred()),
        (ErrorKind::WouldBlock, 5)
    );
    assert_eq!((&one, &two), (b"123", b"45\0"));
}

/// No call is made, not even the check for message sockets, which would refuse a list of which a part was sent.
#[test]
fn a_finished_cursor_moves_nothing_and_is_a_success_on_any_descriptor() {
    let (datagrams, _peer) = std::os::unix::net::UnixDatagram::pair().unwrap();
    let unreadable = File::create("/dev/null").unwrap();
    let data = payload(&[3, 4]);
    let segments = list(&data);
    for end in [SegmentCursor::at(2, 0), SegmentCursor::at(1, 4)] {
        let mut cursor = end;
        assert_eq!(resume_write(&datagrams, &segments, &mut cursor).unwrap(), 0);
        let mut gather = Gather::default();
        let written = gather.resume_write(&datagrams, &segments, &mut cursor);
        assert_eq!(written.unwrap(), 0);
        let (mut one, mut two) = ([0; 3], [0; 4]);
        let mut places = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
        let read = vectored::resume_read(&unreadable, &mut places, &mut cursor);
        assert_eq!(read.unwrap(), 0);
        assert!(cursor.is_at_end(&segments));
    }
}

#[test]
fn a_full_socket_would_block_after_as_many_bytes_as_can_be_read() {
    for (name, mut write_all) in writers() {
        let data = payload(&mixed_sizes(3000));
        let (writer, mut reader) = UnixStream::pair().unwrap();
        writer.set_nonblocking(true).unwrap();
        reader.set_nonblocking(true).unwrap();
        let error = write_all(writer.as_fd(), &list(&data)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock, "{name}");
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap_err();
        assert_eq!(error.transferred(), read.len() as u64, "{name}");
        assert!(read == data.concat()[..read.len()], "{name}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_pipe_closed_by_its_reader_counts_every_byte_that_it_had_taken() {
    for (name, mut write_all) in writers() {
        let data = payload(&mixed_sizes(3000));
        let (reader, writer) = io::pipe().unwrap();
        let reading = thread::spawn(move || {
            // When the pipe is full, the writer is blocked, and no byte more is taken.
            let full = rustix::pipe::fcntl_getpipe_size(&reader).unwrap() as u64;
            while rustix::io::ioctl_fionread(&reader).unwrap() < full {
                thread::yield_now();
            }
            full
        });
        let error = write_all(writer.as_fd(), &list(&data)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe, "{name}");
        assert_eq!(error.transferred(), reading.join().unwrap(), "{name}");
    }
}

#[test]
fn a_reader_that_goes_away_is_a_broken_pipe_with_a_count() {
    for (name, mut write_all) in writers() {
        let data = payload(&mixed_sizes(3000));
        let (mut reader, writer) = io::pipe().unwrap();
        let reading = thread::spawn(move || {
            let mut first = vec![0; 100_000];
            reader.read_exact(&mut first).unwrap();
            first
        });
        let error = write_all(writer.as_fd(), &list(&data)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe, "{name}");
        // The bytes in the pipe when it broke were taken too, and can no longer be read.
        let read = reading.join().unwrap();
        let total = data.concat().len() as u64;
        assert!(
            (read.len() as u64..total).contains(&error.transferred()),
            "{name}: {error}"
        );
        assert!(read == data.concat()[..read.len()], "{name}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_device_is_an_error_before_any_byte() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    for (name, mut write_all) in file_writers() {
        let error = write_all(full.as_fd(), &list(&payload(&[3, 4]))).unwrap_err();
        assert_eq!(
            (error.transferred(), error.kind()),
            (0, ErrorKind::StorageFull),
            "{name}"
        );
        assert_eq!(io::Error::from(error).raw_os_error(), Some(28), "{name}");
    }
}

/// A memory file that is sealed against growing fails in the middle of a list, as a full disk does.
#[test]
#[cfg(target_os = "linux")]
fn an_error_within_a_list_counts_the_bytes_that_are_in_the_file() {
    use rustix::fs::{MemfdFlags, SealFlags};
    for (name, mut write_all) in file_writers() {
        for count in [10, 100, 1500] {
            let data = payload(&mixed_sizes(count));
            let expected = data.concat();
            let file = rustix::fs::memfd_create("vectored-test", MemfdFlags::ALLOW_SEALING);
            let file = File::from(file.unwrap());
            let size = expected.len() as u64 * 2 / 3;
            file.set_len(size).unwrap();
            rustix::fs::fcntl_add_seals(&file, SealFlags::GROW).unwrap();

            let error = write_all(file.as_fd(), &list(&data)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{name}");
            // No byte of the payload is zero.
            let mut content = vec![0; size as usize];
            std::os::unix::fs::FileExt::read_exact_at(&file, &mut content, 0).unwrap();
            let written = content.iter().take_while(|&&byte| byte != 0).count();
            assert!(content[written..].iter().all(|&byte| byte == 0));
            assert!(content[..written] == expected[..written], "{name}");
            assert_eq!(error.transferred(), written as u64, "{name}, {count}");
            // A file shorter than a page refuses the whole call.
            assert!(written > 0 || count == 10, "{name}, {count}");
        }
    }
}

#[test]
fn a_descriptor_that_is_only_readable_is_an_error_before_any_byte() {
    let file = File::open("/dev/null").unwrap();
    for (name, mut write_all) in file_writers() {
        let error = write_all(file.as_fd(), &list(&payload(&[3]))).unwrap_err();
        assert_eq!(error.transferred(), 0, "{name}");
        assert!(error.io_error().raw_os_error().is_some(), "{name}");
    }
}

#[test]
fn empty_lists_succeed_without_a_write() {
    // Any write to this descriptor would be an error.
    let file = File::open("/dev/null").unwrap();
    for (name, mut write_all) in file_writers() {
        for sizes in [&[][..], &[0], &[0; 3000]] {
            let result = write_all(file.as_fd(), &list(&payload(sizes)));
            assert_eq!(result.unwrap(), 0, "{name}, {}", sizes.len());
        }
    }
}

#[test]
fn more_bytes_than_one_call_moves_are_written_and_counted() {
    // 2.5 GiB in 640 segments: more than 0x7ffff000 bytes in fewer than IOV_MAX segments.
    let chunk = vec![0; 4 << 20];
    let segments = vec![IoSlice::new(&chunk); 640];
    let null = File::create("/dev/null").unwrap();
    for (name, mut write_all) in file_writers() {
        let bytes = write_all(null.as_fd(), &segments).unwrap();
        assert_eq!(bytes, 640 * (4 << 20), "{name}");
    }
}

#[test]
fn the_callers_list_is_left_as_it_was() {
    let data = payload(&mixed_sizes(100));
    let segments = list(&data);
    let before: Vec<_> = segments.iter().map(|s| (s.as_ptr(), s.len())).collect();
    let null = File::create("/dev/null").unwrap();
    for (_, mut write_all) in file_writers() {
        write_all(null.as_fd(), &segments).unwrap();
        let after: Vec<_> = segments.iter().map(|s| (s.as_ptr(), s.len())).collect();
        assert_eq!(before, after);
    }
}

/// The compiler is the test: these types implement `VectoredWrite`.
#[test]
fn the_streams_of_the_standard_library_gather() {
    fn gathers<T: VectoredWrite>() {}
    gathers::<File>();
    gathers::<&File>();
    gathers::<io::PipeWriter>();
    gathers::<&io::PipeWriter>();
    gathers::<std::process::ChildStdin>();
    gathers::<std::net::TcpStream>();
    gathers::<&std::net::TcpStream>();
    gathers::<UnixStream>();
    gathers::<&UnixStream>();
    gathers::<std::os::fd::OwnedFd>();
    gathers::<std::os::fd::BorrowedFd<'_>>();
    gathers::<&mut File>();
    gathers::<Box<dyn VectoredWrite>>();
    gathers::<Arc<File>>();
    gathers::<Arc<io::PipeWriter>>();
    gathers::<Arc<std::process::ChildStdin>>();
    gathers::<Arc<std::net::TcpStream>>();
    gathers::<Arc<UnixStream>>();
    gathers::<Arc<std::os::fd::OwnedFd>>();
    gathers::<std::rc::Rc<File>>();
}

#[test]
fn descriptors_are_taken_owned_or_borrowed() {
    let file = File::create("/dev/null").unwrap();
    let segments = [IoSlice::new(b"abc")];
    assert_eq!(write_all(&file, &segments).unwrap(), 3);
    assert_eq!(write_all(file.as_fd(), &segments).unwrap(), 3);
    assert_eq!(write_all(file, &segments).unwrap(), 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_list_reaches_a_file_in_order(
        sizes in prop::collection::vec(prop_oneof![Just(0), 1..50_usize, 50..2000_usize], 0..200)
    ) {
        let data = payload(&sizes);
        for (name, mut write_all) in file_writers() {
            let path = TemporaryFile::new(&format!("any-{name}"));
            let file = File::create(&path.0).unwrap();
            let bytes = write_all(file.as_fd(), &list(&data)).unwrap();
            prop_assert_eq!(bytes, data.concat().len() as u64);
            prop_assert!(fs::read(&path.0).unwrap() == data.concat(), "{}", name);
        }
    }
}

/// Every type with `AsFd` is taken, also by a generic function that knows nothing else of it, and by a trait object.
#[test]
fn any_type_with_a_descriptor_is_taken() {
    fn through_as_fd(fd: impl AsFd) -> u64 {
        write_all(fd, &[IoSlice::new(b"ab")]).unwrap()
    }
    fn through_as_descriptor(descriptor: &dyn AsDescriptor) -> u64 {
        write_all(descriptor.as_descriptor(), &[IoSlice::new(b"ab")]).unwrap()
    }
    let path = TemporaryFile::new("any-descriptor");
    let file = File::create(&path.0).unwrap();
    let object: &dyn AsFd = &file;
    let shared = Arc::new(file.try_clone().unwrap());
    let boxed: Box<dyn AsFd> = Box::new(file.try_clone().unwrap());
    let written = [
        through_as_fd(&file),
        through_as_fd(object),
        through_as_fd(Arc::clone(&shared)),
        through_as_fd(&shared),
        through_as_fd(boxed),
        through_as_descriptor(&file),
        through_as_descriptor(&object),
    ];
    assert_eq!(written, [2; 7]);
    assert_eq!(fs::read(&path.0).unwrap(), b"ababababababab");
}
