//! Sockets that keep messages apart.

use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use vectored::{
    Scatter, SegmentCursor, TransferError, read_exact, read_up_to_eof, resume_read, resume_write,
};

use crate::support::{list, payload, writers};

fn pair(kind: SocketType) -> (OwnedFd, OwnedFd) {
    rustix::net::socketpair(AddressFamily::UNIX, kind, SocketFlags::empty(), None).unwrap()
}

/// The next message, or `None` if there is none.
fn receive(fd: impl AsFd) -> Option<Vec<u8>> {
    let mut message = vec![0; 100_000];
    let (bytes, _) = rustix::net::recv(fd, &mut message[..], RecvFlags::DONTWAIT).ok()?;
    message.truncate(bytes);
    Some(message)
}

/// Splitting a list or skipping an empty one would change the messages.
#[test]
fn stream_functions_refuse_message_sockets_where_a_list_is_not_exactly_one_message() {
    for kind in [SocketType::DGRAM, SocketType::SEQPACKET] {
        for (name, mut write_all) in writers() {
            let (sender, receiver) = pair(kind);
            // The segments are too large for a `Gather` to copy them together.
            let too_many = vec![1000; vectored::limits::iov_max() + 1];
            let too_many_bytes = vec![10; 100_000];
            for sizes in [&too_many[..], &too_many_bytes, &[], &[0], &[0; 3000]] {
                let data = payload(sizes);
                let error = write_all(sender.as_fd(), &list(&data)).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}");
                assert_eq!(error.transferred(), 0, "{name}");
                // `write_once` sends nothing for an empty message.
                for remedy in ["write_once", "an empty one with send(2)"] {
                    assert!(error.to_string().contains(remedy), "{name}: {error}");
                }
                assert_eq!(receive(&receiver), None, "{name}");
            }
        }
    }
}

#[test]
fn a_list_that_fits_one_call_is_one_message() {
    for kind in [SocketType::DGRAM, SocketType::SEQPACKET] {
        for (name, mut write_all) in writers() {
            let (sender, receiver) = pair(kind);
            for sizes in [&[3, 0, 4, 5][..], &[700, 1, 2, 900, 3, 0], &[9]] {
                let data = payload(sizes);
                write_all(sender.as_fd(), &list(&data)).unwrap();
                assert_eq!(receive(&receiver), Some(data.concat()), "{name}");
                assert_eq!(receive(&receiver), None, "{name}");
            }
        }
    }
}

#[test]
fn the_rest_of_a_list_is_no_message() {
    let (sender, receiver) = pair(SocketType::DGRAM);
    let segments = [IoSlice::new(b"abc"), IoSlice::new(b"de")];
    let mut cursor = SegmentCursor::at(0, 1);
    let error = resume_write(&sender, &segments, &mut cursor).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(cursor, SegmentCursor::at(0, 1));
    assert_eq!(receive(&receiver), None);
}

type Read = Box<dyn FnMut(BorrowedFd<'_>, &mut [IoSliceMut<'_>]) -> Result<u64, TransferError>>;

/// Every function that reads from a stream into a list, by name.
fn readers() -> Vec<(&'static str, Read)> {
    vec![
        ("read_exact", Box::new(|fd, list| read_exact(fd, list))),
        (
            "read_up_to_eof",
            Box::new(|fd, list| read_up_to_eof(fd, list)),
        ),
        (
            "resume_read",
            Box::new(|fd, list| resume_read(fd, list, &mut SegmentCursor::at(0, 1))),
        ),
        (
            "Scatter",
            Box::new(|fd, list| Scatter::default().read_exact(fd, list)),
        ),
        (
            "Scatter::resume_read",
            Box::new(|fd, list| {
                Scatter::default().resume_read(fd, list, &mut SegmentCursor::new())
            }),
        ),
        (
            "Scatter::read_up_to_eof",
            Box::new(|fd, list| Scatter::default().read_up_to_eof(fd, list)),
        ),
    ]
}

/// The end of a message longer than the list would be lost, shorter messages would be joined, and an empty one would
/// look like the end of the file.
#[test]
fn stream_functions_read_nothing_from_message_sockets() {
    let messages: [&[u8]; 4] = [b"longer than the list", b"123456", b"ab", b""];
    for (kind, type_name) in [
        (SocketType::DGRAM, "SOCK_DGRAM"),
        (SocketType::SEQPACKET, "SOCK_SEQPACKET"),
    ] {
        for (name, mut read) in readers() {
            for message in messages {
                let (sender, receiver) = pair(kind);
                rustix::net::send(&sender, message, SendFlags::empty()).unwrap();
                let (mut head, mut body) = ([0; 2], [0; 4]);
                let mut list = [IoSliceMut::new(&mut head), IoSliceMut::new(&mut body)];
                let error = read(receiver.as_fd(), &mut list).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}: {error}");
                assert_eq!(error.transferred(), 0, "{name}");
                for words in [type_name, "recvmsg"] {
                    assert!(error.to_string().contains(words), "{name}: {error}");
                }
                // The whole message is still in the socket.
                assert_eq!(receive(&receiver).as_deref(), Some(message), "{name}");
            }
        }
    }
}

/// A list without bytes takes no message, and is not refused.
#[test]
fn a_list_without_bytes_reads_no_message() {
    let (sender, receiver) = pair(SocketType::DGRAM);
    rustix::net::send(&sender, b"message", SendFlags::empty()).unwrap();
    assert_eq!(read_exact(&receiver, &mut []).unwrap(), 0);
    let mut empty = [IoSliceMut::new(&mut [])];
    assert_eq!(
        Scatter::default()
            .read_exact(&receiver, &mut empty)
            .unwrap(),
        0
    );
    assert_eq!(receive(&receiver).as_deref(), Some(&b"message"[..]));
}
