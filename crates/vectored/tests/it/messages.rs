//! Tests of sockets that keep messages apart.

use std::fs::File;
use std::io::{ErrorKind, IoSliceMut};
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use vectored::{Gather, Scatter, SegmentCursor, read_exact, resume_read, resume_write};

use crate::support::{list, payload, writers};

fn pair(kind: SocketType) -> (OwnedFd, OwnedFd) {
    rustix::net::socketpair(AddressFamily::UNIX, kind, SocketFlags::empty(), None).unwrap()
}

/// Returns the next message, or `None` if no message has arrived.
fn receive(fd: impl AsFd) -> Option<Vec<u8>> {
    let mut message = vec![0; 100_000];
    let (bytes, _) = rustix::net::recv(fd, &mut message[..], RecvFlags::DONTWAIT).ok()?;
    message.truncate(bytes);
    Some(message)
}

/// Splitting a list or skipping an empty list would change the messages.
#[test]
fn a_list_is_one_message_or_is_refused_before_any_byte() {
    // The segments are too long for a `Gather` to copy them together.
    let too_many = vec![1000; vectored::limits::iov_max() + 1];
    let too_many_bytes = vec![10; 100_000];
    for kind in [SocketType::DGRAM, SocketType::SEQPACKET] {
        for (name, mut write_all) in writers() {
            let (sender, receiver) = pair(kind);
            for sizes in [&too_many[..], &too_many_bytes, &[], &[0], &[0; 3000]] {
                let data = payload(sizes);
                let error = write_all(sender.as_fd(), &list(&data)).unwrap_err();
                assert_eq!(
                    (error.kind(), error.transferred()),
                    (ErrorKind::InvalidInput, 0)
                );
                // `write_once` sends nothing for an empty message.
                for remedy in ["write_once", "an empty one with send(2)"] {
                    assert!(error.to_string().contains(remedy), "{name}: {error}");
                }
                assert_eq!(receive(&receiver), None, "{name}");
            }
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
fn a_list_without_bytes_reads_no_message() {
    let (sender, receiver) = pair(SocketType::DGRAM);
    rustix::net::send(&sender, b"message", SendFlags::empty()).unwrap();
    let mut empty = [IoSliceMut::new(&mut [])];
    assert_eq!(read_exact(&receiver, &mut empty).unwrap(), 0);
    let read = Scatter::default().read_exact(&receiver, &mut empty);
    assert_eq!(read.unwrap(), 0);
    // A message is not read in parts.
    let mut byte = [0];
    let error = read_exact(&receiver, &mut [IoSliceMut::new(&mut byte)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(receive(&receiver).as_deref(), Some(&b"message"[..]));
}

/// No call is made. The check for message sockets is not made either, because the check would refuse the rest of a
/// list.
#[test]
fn a_finished_cursor_moves_nothing_and_is_a_success_on_any_descriptor() {
    let (datagrams, _peer) = pair(SocketType::DGRAM);
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
        let read = resume_read(&unreadable, &mut places, &mut cursor);
        assert_eq!(read.unwrap(), 0);
        assert!(cursor.is_at_end(&segments));
    }
}
