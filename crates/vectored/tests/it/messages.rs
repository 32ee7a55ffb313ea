//! Sockets that keep messages apart.

use std::io::{ErrorKind, IoSlice, Read};
use std::net::UdpSocket;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType};
use vectored::{SegmentCursor, write_from};

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

/// Hazard 21: splitting or skipping would change the messages.
#[test]
fn stream_functions_refuse_message_sockets_where_a_list_is_not_exactly_one_message() {
    for kind in [SocketType::DGRAM, SocketType::SEQPACKET] {
        for (name, mut write_all) in writers() {
            let (sender, receiver) = pair(kind);
            // Large enough that a `Gather` does not make one segment of them.
            let too_many = vec![1000; vectored::iov_max() + 1];
            for sizes in [&too_many[..], &[], &[0], &[0; 3000]] {
                let data = payload(sizes);
                let error = write_all(sender.as_fd(), &list(&data)).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}");
                assert_eq!(error.transferred(), 0, "{name}");
                assert!(error.to_string().contains("write_once"), "{name}: {error}");
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
    let error = write_from(&sender, &segments, &mut cursor).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(cursor, SegmentCursor::at(0, 1));
    assert_eq!(receive(&receiver), None);
}

#[test]
fn udp_sockets_are_refused_as_well() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(socket.local_addr().unwrap()).unwrap();
    for (name, mut write_all) in writers() {
        let error = write_all(socket.as_fd(), &[]).unwrap_err();
        assert!(error.to_string().contains("SOCK_DGRAM"), "{name}: {error}");
    }
}

#[test]
fn stream_sockets_take_lists_of_any_length() {
    for (name, mut write_all) in writers() {
        let (sender, mut receiver) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!(write_all(sender.as_fd(), &[]).unwrap(), 0, "{name}");
        let data = payload(&[5; 3000]);
        write_all(sender.as_fd(), &list(&data)).unwrap();
        drop(sender);
        let mut read = Vec::new();
        receiver.read_to_end(&mut read).unwrap();
        assert!(read == data.concat(), "{name}");
    }
}
