//! Tests of sockets, whose calls take lists.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::thread;

use vectored::files::write_all_at;
use vectored::{
    AsDescriptor, Gather, SegmentCursor, read_exact, resume_write, write_all, write_once,
};

use crate::support::{list, payload, writers};

fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

/// `WSASend` sends the list as one datagram. `send` would need several calls.
#[test]
fn a_datagram_is_one_list_and_a_list_that_is_not_one_datagram_is_refused() {
    let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    sender.connect(receiver.local_addr().unwrap()).unwrap();
    let data = payload(&[700, 300, 0, 2000]);
    assert_eq!(write_once(&sender, &list(&data)).unwrap(), 3000);
    let mut received = [0; 5000];
    assert_eq!(receiver.recv(&mut received).unwrap(), 3000);
    assert!(received[..3000] == data.concat());

    for (name, mut write_all) in writers() {
        let error = write_all(sender.as_descriptor(), &list(&payload(&[700; 1025]))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}");
        assert_eq!(error.transferred(), 0, "{name}");
        assert!(error.to_string().contains("SOCK_DGRAM"), "{name}: {error}");
    }
    let mut byte = [0];
    let error = read_exact(&receiver, &mut [IoSliceMut::new(&mut byte)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_full_socket_would_block_and_the_cursor_resumes() {
    let (writer, mut reader) = tcp_pair();
    writer.set_nonblocking(true).unwrap();
    let data = payload(&[100_000; 150]);
    let expected = data.concat();
    let segments = list(&data);
    let mut cursor = SegmentCursor::new();
    let mut gather = Gather::default();
    let error = resume_write(&writer, &segments, &mut cursor).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    let left = cursor.remaining_bytes(&segments);
    assert_eq!(error.transferred() + left, expected.len() as u64);
    assert!(left > 0);
    let reading = thread::spawn(move || {
        let mut all = Vec::new();
        reader.read_to_end(&mut all).map(|_| all)
    });
    loop {
        match gather.resume_write(&writer, &segments, &mut cursor) {
            Ok(_) => break,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        thread::yield_now();
    }
    drop(writer);
    assert!(reading.join().unwrap().unwrap() == expected);
}

#[test]
fn a_socket_has_no_offsets() {
    let (writer, _reader) = tcp_pair();
    let error = write_all_at(&writer, &[IoSlice::new(b"ab")], 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSeekable);
}

#[test]
fn a_peer_that_is_gone_is_an_error() {
    let (writer, reader) = tcp_pair();
    drop(reader);
    // The lists are short, so that no call waits for room.
    let data = payload(&[100, 200]);
    let error: io::Error = loop {
        match write_all(&writer, &list(&data)) {
            // The reset of the peer may not have arrived yet.
            Ok(_) => thread::yield_now(),
            Err(error) => break error.into(),
        }
    };
    let kinds = [
        ErrorKind::ConnectionReset,
        ErrorKind::ConnectionAborted,
        ErrorKind::BrokenPipe,
    ];
    assert!(kinds.contains(&error.kind()), "{error}");
}
