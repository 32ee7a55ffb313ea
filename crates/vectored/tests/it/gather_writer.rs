//! `GatherWriter` on real descriptors.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::net::UnixStream;

use vectored::GatherWriter;

use crate::support::skip;

/// The system calls by which this thread has written, see proc_pid_io(5).
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

    let mut file = tempfile_in_target();
    let mut writer = GatherWriter::gathering(&file);
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
    // Room for both: else the call blocks.
    rustix::pipe::fcntl_setpipe_size(&pipe, 1 << 17).unwrap();
    let mut writer = GatherWriter::gathering(pipe);
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

/// A file without a name.
fn tempfile_in_target() -> File {
    let memory = rustix::fs::memfd_create("gather-writer", rustix::fs::MemfdFlags::CLOEXEC);
    File::from(memory.unwrap())
}

#[test]
fn a_non_blocking_socket_gets_everything_once_whoever_writes_the_rest_again() {
    let (writer, mut reader) = UnixStream::pair().unwrap();
    writer.set_nonblocking(true).unwrap();
    let mut writer = GatherWriter::gathering(writer);
    let data: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
    let mut arrived = Vec::new();
    let mut blocked = 0;
    let mut make_room = |arrived: &mut Vec<u8>| {
        blocked += 1;
        let mut chunk = vec![0; 100_000];
        let bytes = reader.read(&mut chunk).unwrap();
        arrived.extend(&chunk[..bytes]);
    };
    // Lengths on both sides of every border.
    let mut lengths = [3, 70, 2000, 9000, 50, 30_000].into_iter().cycle();
    let mut rest = &data[..];
    while !rest.is_empty() {
        let most = lengths.next().unwrap_or(1).min(rest.len());
        match writer.write(&rest[..most]) {
            Ok(bytes) => rest = &rest[bytes..],
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
                make_room(&mut arrived);
            }
        }
    }
    while let Err(error) = writer.flush() {
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
        make_room(&mut arrived);
    }
    drop(writer);
    reader.read_to_end(&mut arrived).unwrap();
    assert!(blocked > 2, "it never blocked");
    assert!(arrived == data);
}
