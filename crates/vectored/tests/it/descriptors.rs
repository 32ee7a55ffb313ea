//! Files, pipes and devices: the counts must match the bytes that the kernel took.

use std::fs::{self, File};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use vectored::buffered::VectoredWrite;
use vectored::{AsDescriptor, Gather, SegmentCursor, resume_write, write_all};

use crate::support::{TemporaryFile, list, payload};

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

/// No call is made, not even the check for message sockets, which would refuse a list after a part of it was sent.
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
