//! Writing a `bytes::Buf` to pipes and sockets.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread;

use bytes::{Buf, Bytes};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType};
use vectored::TransferError;
use vectored::buffered::BufSender;

use crate::support::{mixed_sizes, payload, set_nonblocking};

/// A buffer of many chunks that shows all of them in `chunks_vectored`.
#[derive(Clone)]
pub struct Rope(pub VecDeque<Bytes>);

impl Rope {
    fn new(sizes: &[usize]) -> Rope {
        let chunks = payload(sizes).into_iter().filter(|chunk| !chunk.is_empty());
        Rope(chunks.map(Bytes::from).collect())
    }
}

impl Buf for Rope {
    fn remaining(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    fn chunk(&self) -> &[u8] {
        self.0.front().map_or(&[], |chunk| chunk)
    }

    fn advance(&mut self, mut bytes: usize) {
        while bytes > 0 {
            let first = &mut self.0[0];
            let here = bytes.min(first.len());
            first.advance(here);
            bytes -= here;
            if first.is_empty() {
                self.0.pop_front();
            }
        }
    }

    fn chunks_vectored<'a>(&'a self, to: &mut [IoSlice<'a>]) -> usize {
        let shown = to.iter_mut().zip(&self.0);
        shown.map(|(to, chunk)| *to = IoSlice::new(chunk)).count()
    }
}

/// Sends the rest of a rope, and returns the result and the bytes that remain.
type Send = Box<dyn FnMut(&OwnedFd) -> (Result<u64, TransferError>, u64)>;

fn senders(rope: &Rope) -> [(&'static str, Send); 2] {
    let mut sender = BufSender::new(rope.clone());
    let mut chain: Box<dyn Buf> = Box::new(Bytes::new());
    for chunk in rope.0.iter().rev() {
        chain = Box::new(chunk.clone().chain(chain));
    }
    let mut of_chain = BufSender::new(chain);
    [
        (
            "BufSender",
            Box::new(move |fd| (sender.write_to(fd), sender.remaining_bytes())),
        ),
        (
            "BufSender of a chain",
            Box::new(move |fd| (of_chain.write_to(fd), of_chain.remaining_bytes())),
        ),
    ]
}

fn pipe() -> (OwnedFd, OwnedFd) {
    let (reader, writer) = io::pipe().unwrap();
    (reader.into(), writer.into())
}

fn stream() -> (OwnedFd, OwnedFd) {
    let (reader, writer) = UnixStream::pair().unwrap();
    (reader.into(), writer.into())
}

#[test]
fn bufs_arrive_whole_through_pipes_and_sockets() {
    for sizes in [mixed_sizes(300), vec![700; 2049], vec![3; 1025], vec![]] {
        let model = payload(&sizes).concat();
        for open in [pipe, stream] {
            for (name, mut send) in senders(&Rope::new(&sizes)) {
                let (reader, writer) = open();
                let received = thread::spawn(move || {
                    let mut received = Vec::new();
                    let mut reader = std::fs::File::from(reader);
                    reader.read_to_end(&mut received).unwrap();
                    received
                });
                let (result, remaining) = send(&writer);
                assert_eq!(result.unwrap(), model.len() as u64, "{name}");
                assert_eq!(remaining, 0, "{name}");
                drop(writer);
                assert!(received.join().unwrap() == model, "{name}");
            }
        }
    }
}

#[test]
fn bufs_are_resumed_after_would_block() {
    let sizes = mixed_sizes(2000);
    let model = payload(&sizes).concat();
    for open in [pipe, stream] {
        for (name, mut send) in senders(&Rope::new(&sizes)) {
            let (reader, writer) = open();
            set_nonblocking(&writer);
            let mut reader = std::fs::File::from(reader);
            let mut received = Vec::new();
            let (mut sent, mut waits) = (0, 0);
            loop {
                let (result, remaining) = send(&writer);
                sent += match &result {
                    Ok(bytes) => *bytes,
                    Err(error) => error.transferred(),
                };
                assert_eq!(sent + remaining, model.len() as u64, "{name}");
                match result {
                    Ok(_) => break,
                    Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{name}"),
                }
                waits += 1;
                let mut some = [0; 7777];
                let bytes = reader.read(&mut some).unwrap();
                received.extend(&some[..bytes]);
            }
            assert!(waits > 3, "{name}: {waits}");
            drop(writer);
            reader.read_to_end(&mut received).unwrap();
            assert!(received == model, "{name}");
        }
    }
}

fn messages(kind: SocketType) -> (OwnedFd, OwnedFd) {
    rustix::net::socketpair(AddressFamily::UNIX, kind, SocketFlags::empty(), None).unwrap()
}

/// The next message, or `None` if there is none.
fn receive(fd: impl AsFd) -> Option<Vec<u8>> {
    let mut message = vec![0; 100_000];
    let (bytes, _) = rustix::net::recv(fd, &mut message[..], RecvFlags::DONTWAIT).ok()?;
    message.truncate(bytes);
    Some(message)
}

#[test]
fn a_buf_is_exactly_one_message_or_none() {
    for kind in [SocketType::DGRAM, SocketType::SEQPACKET] {
        for sizes in [&[3, 4, 5][..], &[700, 1, 2, 9000], &[9]] {
            for (name, mut send) in senders(&Rope::new(sizes)) {
                let (receiver, sender) = messages(kind);
                send(&sender).0.unwrap();
                let expected = payload(sizes).concat();
                assert_eq!(receive(&receiver), Some(expected), "{name}");
                assert_eq!(receive(&receiver), None, "{name}");
            }
        }
        // The first list has too many chunks, each too large to be copied; the second is the empty message.
        let too_many = vec![5000; vectored::limits::iov_max() + 1];
        for sizes in [&too_many[..], &[]] {
            for (name, mut send) in senders(&Rope::new(sizes)) {
                let (receiver, sender) = messages(kind);
                let (result, remaining) = send(&sender);
                let error = result.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}");
                assert_eq!(error.transferred(), 0, "{name}");
                assert_eq!(remaining, sizes.iter().sum::<usize>() as u64, "{name}");
                assert_eq!(receive(&receiver), None, "{name}");
            }
        }
    }
}

/// An event counter takes exactly 8 bytes a call, and the kernel hands its driver each segment of a list by
/// itself.
#[test]
#[cfg(target_os = "linux")]
fn a_value_in_chunks_reaches_a_file_that_takes_it_whole_or_not_at_all() {
    use rustix::event::{EventfdFlags, eventfd};

    let rope = Rope::new(&[3, 5]);
    let expected = payload(&[8]).concat();
    // Twice: nothing is remembered of an anonymous inode.
    for _ in 0..2 {
        let counter = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
        let mut value = [0; 8];
        assert_eq!(BufSender::new(rope.clone()).write_to(&counter).unwrap(), 8);
        assert_eq!(rustix::io::read(&counter, &mut value), Ok(8));
        assert_eq!(value[..], expected);
    }
}
