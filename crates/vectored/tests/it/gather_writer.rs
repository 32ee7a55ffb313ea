//! `GatherWriter` on real descriptors.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use vectored::GatherWriter;

/// A line of 9 to 319 bytes, as in a log.
fn line(number: usize, writer: char) -> String {
    format!("{writer}{number:06}{}.\n", "-".repeat(number * 37 % 311))
}

/// The bytes of each call, received as messages of a `SOCK_SEQPACKET` socket.
fn calls_for_lines(write: impl FnOnce(OwnedFd)) -> Vec<Vec<u8>> {
    use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, recv, socketpair};
    let (one, other) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    let reading = std::thread::spawn(move || {
        let mut calls = Vec::new();
        let mut room = vec![0; 1 << 20];
        loop {
            let (_, bytes) = recv(&other, &mut room[..], RecvFlags::empty()).unwrap();
            match bytes {
                0 => return calls,
                _ => calls.push(room[..bytes].to_vec()),
            }
        }
    });
    write(one);
    reading.join().unwrap()
}

#[test]
fn each_call_for_a_log_is_whole_lines() {
    let lines: Vec<_> = (0..2000).map(|number| line(number, 'a')).collect();
    let write_lines = |writer: &mut dyn Write| {
        for line in &lines {
            writer.write_all(line.as_bytes()).unwrap();
        }
        writer.flush().unwrap();
    };
    let gathering = calls_for_lines(|fd| write_lines(&mut GatherWriter::new(fd)));
    let shared =
        calls_for_lines(|fd| write_lines(&mut GatherWriter::new(Arc::new(UnixStream::from(fd)))));
    let copying = calls_for_lines(|fd| write_lines(&mut GatherWriter::copying(File::from(fd))));
    let buffered = calls_for_lines(|fd| write_lines(&mut BufWriter::new(File::from(fd))));
    assert!(copying == buffered);
    for calls in [gathering, shared, buffered] {
        assert_eq!(calls.concat(), lines.concat().as_bytes());
        assert!(calls.len() < 60, "{} calls", calls.len());
        assert!(calls.iter().all(|call| call.ends_with(b"\n")));
    }
}
