//! `GatherWriter` on real descriptors.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use vectored::GatherWriter;

use crate::support::skip;

/// The number of writing system calls that this thread has made (`syscw` of proc_pid_io(5)).
fn writing_calls() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("syscw: "))?;
    line.parse().ok()
}

#[test]
fn a_header_and_a_body_are_one_system_call_on_a_file_and_a_pipe() {
    let Some(_) = writing_calls() else {
        let reason = "the kernel does not count calls in /proc/thread-self/io";
        return skip(
            "a_header_and_a_body_are_one_system_call_on_a_file_and_a_pipe",
            reason,
        );
    };
    let body = vec![b'b'; 64 << 10];
    let calls_of = |write: &mut dyn FnMut()| {
        let before = writing_calls().unwrap();
        write();
        writing_calls().unwrap() - before
    };

    let mut file = unnamed_file();
    let mut writer = GatherWriter::new(&file);
    let calls = calls_of(&mut || {
        writer.write_all(b"a header of 16 B").unwrap();
        writer.write_all(&body).unwrap();
    });
    assert_eq!((calls, writer.buffer().len()), (1, 0), "on a file");
    drop(writer);
    file.rewind().unwrap();
    let mut written = Vec::new();
    file.read_to_end(&mut written).unwrap();
    assert_eq!(written, [b"a header of 16 B", &body[..]].concat());

    let (mut reader, pipe) = std::io::pipe().unwrap();
    // Large enough for both; otherwise the call blocks.
    rustix::pipe::fcntl_setpipe_size(&pipe, 1 << 17).unwrap();
    let mut writer = GatherWriter::new(pipe);
    let calls = calls_of(&mut || {
        writer.write_all(b"a header of 16 B").unwrap();
        writer.write_all(&body).unwrap();
    });
    assert_eq!((calls, writer.buffer().len()), (1, 0), "on a pipe");
    drop(writer);
    let mut arrived = Vec::new();
    reader.read_to_end(&mut arrived).unwrap();
    assert_eq!(arrived, written);
}

/// A file in memory, without a name.
fn unnamed_file() -> File {
    let memory = rustix::fs::memfd_create("gather-writer", rustix::fs::MemfdFlags::CLOEXEC);
    File::from(memory.unwrap())
}

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
