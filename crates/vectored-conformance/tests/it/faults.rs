//! Faults while a list is written. The reported count is the number of bytes that were written.

use std::io::{self, IoSlice, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use vectored::buffered::VectoredWrite;
use vectored::{Gather, GatherWriter};
use vectored_conformance::host::{
    Mount, in_child, limit_file_size, report_skip, role, strace_unavailable, under_strace,
};
use vectored_conformance::model::{bytes_lost, list, mixed_sizes, payload};
use vectored_conformance::signals::{SignalStorm, end_on_broken_pipes, ignore_file_size_signal};
use vectored_conformance::target::{Delivery, Target};
use vectored_conformance::way::WriteWay;
use vectored_conformance::write_ways::COPY_WAYS;

use crate::support::{build_directory, expect_all_of, expect_whole, write_ways};

/// Expects this error, and the count of the bytes that arrived. These bytes must be the first bytes of the list.
fn expect_partial(way: &WriteWay, model: &[u8], delivery: &Delivery, error: Errno) {
    let Delivery {
        received, reported, ..
    } = delivery;
    let code = delivery.error.as_ref().and_then(io::Error::raw_os_error);
    assert_eq!(code, Some(error.raw_os_error()), "{way:?}");
    assert_eq!(*reported, received.len() as u64, "{way:?}");
    assert_eq!(bytes_lost(&model[..received.len()], received), 0, "{way:?}");
}

#[test]
fn a_signal_storm_loses_nothing() {
    for (way, mut write_fn) in write_ways().filter(|(way, _)| !way.only_files) {
        let before = SignalStorm::caught();
        let _storm = SignalStorm::begin(Duration::from_micros(50)).unwrap();
        for _ in 0..20 {
            let target = Target::small_pipe(Duration::from_micros(300)).unwrap();
            expect_whole(way, &mut write_fn, target, &mixed_sizes(100));
            let target = Target::small_pipe(Duration::from_micros(300)).unwrap();
            expect_whole(way, &mut write_fn, target, &[30_000, 50, 60, 20_000]);
        }
        assert!(
            SignalStorm::caught() - before > 20,
            "{way:?}: too few signals"
        );
    }
}

#[test]
fn a_broken_pipe_has_taken_what_was_counted() {
    for (way, mut write_fn) in write_ways().filter(|(way, _)| !way.only_files) {
        let data = payload(&mixed_sizes(3000));
        let model = data.concat();
        let target = Target::pipe_that_breaks(100_000).unwrap();
        let delivery = target.deliver(&mut write_fn, &list(&data)).unwrap();
        let kind = delivery.error.as_ref().map(io::Error::kind);
        assert_eq!(kind, Some(io::ErrorKind::BrokenPipe), "{way:?}");
        assert_eq!(bytes_lost(&model[..100_000], &delivery.received), 0);
        // The bytes in the pipe when it broke also count. They fill up to 16 places of a page, or of 32 KiB if
        // spliced from a socket.
        let place_bytes = if way.name == "copy of a Unix stream" { 32_768 } else { 4096 };
        let reported = delivery.reported as usize;
        assert!(
            (100_000..=100_000 + 16 * place_bytes).contains(&reported),
            "{way:?} {reported}"
        );
    }
}

#[test]
fn beyond_the_file_size_limit_the_count_is_the_files_size() {
    let test = "faults::beyond_the_file_size_limit_the_count_is_the_files_size";
    if role().is_none() {
        return in_child(test, "limited", &[]);
    }
    ignore_file_size_signal();
    let data = payload(&mixed_sizes(3000));
    let model = data.concat();
    for (way, mut write_fn) in write_ways() {
        for limit in [0, 1, 4096, 100_000, 777_777, model.len() as u64 - 1] {
            let target = Target::file(build_directory()).unwrap();
            limit_file_size(Some(limit)).unwrap();
            let delivery = target.deliver(&mut write_fn, &list(&data)).unwrap();
            limit_file_size(None).unwrap();
            expect_partial(way, &model, &delivery, Errno::FBIG);
            assert_eq!(delivery.reported, limit, "{way:?}");
            // The cursor is enough to resume when the limit is lifted.
            let target = Target::file(build_directory()).unwrap();
            limit_file_size(Some(limit)).unwrap();
            let lift = |_: &io::Error| limit_file_size(None).is_ok();
            let delivery = target.deliver_resuming(&mut write_fn, &list(&data), lift);
            limit_file_size(None).unwrap();
            expect_all_of(way.name, &model, delivery.unwrap());
        }
    }
}

#[test]
fn on_a_full_file_system_the_count_is_the_files_size() {
    // The test is a process of its own. A process that another test forks holds the file of the last way, and the
    // file's blocks, until it executes its program. Under an emulator that takes a while.
    let test = "faults::on_a_full_file_system_the_count_is_the_files_size";
    if role().is_none() {
        return in_child(test, "full", &[]);
    }
    let mount = match Mount::tmpfs("size=1m") {
        Ok(mount) => mount,
        Err(reason) => return report_skip(test, &reason),
    };
    let data = payload(&mixed_sizes(3000));
    let model = data.concat();
    assert!(model.len() > 1 << 20);
    for (way, mut write_fn) in write_ways() {
        for open in [Target::file, Target::appended_file] {
            let target = open(mount.path()).unwrap();
            let delivery = target.deliver(&mut write_fn, &list(&data)).unwrap();
            expect_partial(way, &model, &delivery, Errno::NOSPC);
            assert!(delivery.reported > 1_000_000, "{way:?}");
        }
    }
}

#[test]
fn a_file_that_may_not_grow_holds_what_was_counted() {
    if !cfg!(target_os = "linux") {
        return report_skip(
            "a_file_that_may_not_grow_holds_what_was_counted",
            "only Linux seals the length of a file",
        );
    }
    let data = payload(&mixed_sizes(1500));
    let model = data.concat();
    for (way, mut write_fn) in write_ways() {
        let target = Target::memory(Some(500_000)).unwrap();
        let mut delivery = target.deliver(&mut write_fn, &list(&data)).unwrap();
        // No byte of the payload is zero.
        let written = delivery.received.iter().take_while(|&&byte| byte != 0);
        let written = written.count();
        delivery.received.truncate(written);
        expect_partial(way, &model, &delivery, Errno::PERM);
        assert!(written > 0, "{way:?}");
    }
}

fn under_writing_strace(test: &str, injections: &[&str]) {
    // Calls of several segments, and of the single segment that may be left.
    under_strace(test, "writev,pwritev", injections);
}

/// The number of bytes of each call except the last.
const CALL_BYTES: u64 = 1024 * 900;

/// The ways that copy these lists and call `write(2)`. The test itself also calls `write(2)`.
const PLAIN: [&str; 6] = [
    "GatherWriter::copying",
    "GatherWriter::new",
    "Gather::write_all as to a pipe",
    "SegmentQueue::write_to",
    "SegmentQueue::write_to as to a pipe",
    "SegmentQueue::write_some",
];

/// Writes a list of at least three calls by every way that is not in [`PLAIN`]. strace answers a call by the rule of
/// the role.
///
/// strace counts the calls of each thread, so each way gets a new thread.
fn answered_by_the_kernel(check: fn(&WriteWay, &[u8], &Delivery)) {
    let write_ways = vectored_conformance::write_ways::WRITE_WAYS.iter();
    for way in write_ways.filter(|way| !PLAIN.contains(&way.name)) {
        let thread = std::thread::spawn(move || {
            let data = payload(&vec![900; 3000]);
            let target = Target::file(build_directory()).unwrap();
            let delivery = target.deliver(&mut (way.make)(), &list(&data)).unwrap();
            check(way, &data.concat(), &delivery);
        });
        thread.join().unwrap();
    }
}

#[test]
fn an_error_that_the_kernel_answers_carries_the_exact_count() {
    let test = "faults::an_error_that_the_kernel_answers_carries_the_exact_count";
    let Some(role) = role() else {
        let injections = [
            "error=EIO:when=1",
            "error=EIO:when=3",
            "error=ENOSPC:when=2",
        ];
        return under_writing_strace(test, &injections);
    };
    let check: fn(&WriteWay, &[u8], &Delivery) = match role.as_str() {
        "error=EIO:when=1" => |way, model, delivery| {
            expect_partial(way, model, delivery, Errno::IO);
            assert_eq!(delivery.reported, 0);
        },
        "error=EIO:when=3" => |way, model, delivery| {
            expect_partial(way, model, delivery, Errno::IO);
            assert_eq!(delivery.reported, 2 * CALL_BYTES, "{way:?}");
        },
        _ => |way, model, delivery| {
            expect_partial(way, model, delivery, Errno::NOSPC);
            assert_eq!(delivery.reported, CALL_BYTES, "{way:?}");
        },
    };
    answered_by_the_kernel(check);
}

/// strace answers some of the calls that move bytes within the kernel. An answer is an interruption, or an error of a
/// file or a system that does not support the call. A call that strace answers moves nothing.
#[test]
#[cfg(target_os = "linux")]
fn a_copy_whose_calls_the_kernel_refuses_is_whole() {
    let test = "faults::a_copy_whose_calls_the_kernel_refuses_is_whole";
    if role().is_none() {
        let injections = [
            "error=EIO:when=1",
            "error=EINVAL:when=2",
            "error=ENOSYS",
            "error=EINTR:when=1+2",
            "error=EAGAIN:when=1+3",
            "retval=0:when=1",
        ];
        let calls = "copy_file_range,splice,sendfile";
        return under_strace(test, calls, &injections);
    }
    for way in COPY_WAYS.iter().filter(|way| !way.name.contains("within")) {
        for open in [Target::file, |_: &Path| Target::pipe()] {
            let mut write_fn = (way.make)();
            // From a pipe, 0 bytes of splice are the end, and EIO is an error of the pipe.
            let target = open(build_directory()).unwrap();
            let is_heeded = ["retval=0:when=1", "error=EIO:when=1"].contains(&&*role().unwrap());
            if !(is_heeded && target.name == "a pipe" && way.name != "copy of a file") {
                expect_whole(way, &mut write_fn, target, &mixed_sizes(3000));
            }
        }
    }
}

/// Runs the test again while strace refuses all of these calls. Returns the numbers of refused and of other
/// calls on files whose path contains `file`.
fn calls_refused(test: &str, role: &str, file: &str, refused: &str) -> Option<[usize; 2]> {
    if let Some(reason) = strace_unavailable() {
        let name = test.rsplit("::").next().unwrap_or(test);
        report_skip(name, &reason);
        return None;
    }
    let code = role.split(' ').next_back().unwrap_or(role);
    let log = build_directory().join(format!("refused-{}-{role}", std::process::id()));
    let rule = format!("inject={refused}:error={code}");
    let log_path = log.to_str().expect("a path of the build");
    let plain = refused.replace('v', "").replace("pread", "pread64");
    let trace = format!("trace={refused},{}", plain.replace("pwrite", "pwrite64"));
    let options = [
        "strace", "-f", "-y", "-s", "0", "-o", log_path, "-e", &trace, "-e", &rule,
    ];
    in_child(test, role, &options);
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    let mut counts = [0; 2];
    for line in text.lines().filter(|line| line.contains(file)) {
        counts[usize::from(!line.contains("(INJECTED)"))] += 1;
    }
    Some(counts)
}

/// The number of plain calls for a list of 3000 segments: 2,700,000 bytes in three batches, through a buffer of 256
/// KiB.
const PLAIN_CALLS: usize = 2_700_000_usize.div_ceil(256 * 1024);

#[test]
fn a_file_without_vectored_writes_gets_plain_calls_and_is_asked_once_a_transfer() {
    let test =
        "faults::a_file_without_vectored_writes_gets_plain_calls_and_is_asked_once_a_transfer";
    // The first way makes its calls itself and has no fallback, and the second never makes another call. The remaining ways
    // make many calls, and each is a transfer of its own.
    let others = [
        "SegmentCursor by hand",
        "write_once, as much as fits at a time",
        "SegmentQueue::write_some that keeps every segment",
    ];
    let write_ways = vectored_conformance::write_ways::WRITE_WAYS.iter();
    let write_ways =
        write_ways.filter(|way| !others.contains(&way.name) && !PLAIN.contains(&way.name));
    if role().is_some() {
        for way in write_ways {
            let target = Target::file(build_directory()).unwrap();
            expect_whole(way, &mut (way.make)(), target, &vec![900; 3000]);
        }
        return;
    }
    for role in ["writes EOPNOTSUPP", "writes EINVAL"] {
        let place = build_directory().to_str().expect("a path of the build");
        let Some([refused, plain]) = calls_refused(test, role, place, "writev,pwritev") else {
            return;
        };
        // Each way makes one transfer. Some ways copy the whole list.
        let ways = write_ways.clone().count();
        assert!((ways / 2..=ways).contains(&refused), "{role}: {refused}");
        assert!(
            (PLAIN_CALLS * 8..PLAIN_CALLS * 40).contains(&plain),
            "{role}: {plain}"
        );
    }
}

#[test]
fn a_file_without_vectored_reads_gets_plain_calls_and_is_asked_once_a_transfer() {
    let test =
        "faults::a_file_without_vectored_reads_gets_plain_calls_and_is_asked_once_a_transfer";
    if role().is_some() {
        let model = payload(&vec![900; 3000]);
        let path = build_directory().join(format!("to-read-{}", std::process::id()));
        std::fs::write(&path, model.concat()).unwrap();
        let open = || std::fs::File::open(&path).unwrap();
        let first = open();
        let mut scatter = vectored::Scatter::default();
        for round in 0..4 {
            let mut buffers = vec![vec![0; 900]; 3000];
            let mut list: Vec<_> = buffers.iter_mut().map(|b| io::IoSliceMut::new(b)).collect();
            let read = match round {
                0 => vectored::read_exact(&first, &mut list),
                1 => vectored::files::read_exact_at(&first, &mut list, 0),
                2 => scatter.read_exact(open(), &mut list),
                _ => scatter.read_up_to_eof_at(&first, &mut list, 0),
            };
            assert_eq!(read.unwrap(), 2_700_000);
            assert!(buffers == model, "round {round}");
        }
        std::fs::remove_file(&path).unwrap();
        return;
    }
    for role in ["reads EOPNOTSUPP", "reads EINVAL"] {
        let Some([refused, plain]) = calls_refused(test, role, "/to-read-", "readv,preadv") else {
            return;
        };
        assert_eq!(refused, 4, "{role}: once for each of four transfers");
        assert!(
            (PLAIN_CALLS * 4..PLAIN_CALLS * 8).contains(&plain),
            "{role}: {plain}"
        );
    }
}

#[test]
fn interruptions_that_the_kernel_answers_are_retried() {
    let test = "faults::interruptions_that_the_kernel_answers_are_retried";
    if role().is_none() {
        // Once before any byte; 200 times in a row after progress.
        let injections = ["error=EINTR:when=1", "error=EINTR:when=2..201"];
        return under_writing_strace(test, &injections);
    }
    answered_by_the_kernel(|way, model, delivery| {
        assert!(delivery.error.is_none(), "{way:?}: {:?}", delivery.error);
        assert_eq!(delivery.reported, model.len() as u64, "{way:?}");
        assert_eq!(bytes_lost(model, &delivery.received), 0, "{way:?}");
    });
}

#[test]
fn a_call_that_moves_nothing_is_write_zero_and_not_a_spin() {
    let test = "faults::a_call_that_moves_nothing_is_write_zero_and_not_a_spin";
    if role().is_none() {
        return under_writing_strace(test, &["retval=0:when=2+"]);
    }
    answered_by_the_kernel(|way, model, delivery| {
        let kind = delivery.error.as_ref().map(io::Error::kind);
        assert_eq!(kind, Some(io::ErrorKind::WriteZero), "{way:?}");
        assert_eq!(delivery.reported, CALL_BYTES, "{way:?}");
        let arrived = &delivery.received;
        let first = &model[..CALL_BYTES as usize];
        assert_eq!(bytes_lost(first, arrived), 0, "{way:?}");
    });
}

/// Writes until the socket reports that its peer has closed.
fn write_to_nobody(what: &str, socket: impl VectoredWrite) {
    let mut writer = GatherWriter::new(socket);
    let body = vec![b'.'; 20_000];
    // A TCP socket learns of the close from the answer to a segment that it sends, and may report a reset first.
    for _ in 0..1000 {
        // A call with one slice, and one with a list.
        let written = writer
            .write_all(b"header")
            .and_then(|()| writer.flush())
            .and_then(|()| writer.write_all(b"header"))
            .and_then(|()| writer.write_all(&body));
        match written.map_err(|error| error.kind()) {
            Err(io::ErrorKind::BrokenPipe) => {
                let (socket, _) = writer.into_parts();
                let mut writer = GatherWriter::with_capacity(10, socket);
                for write in [b"12345".as_slice(), &body] {
                    writer.write_all(b"six123").unwrap();
                    let error = writer.write_all(write).and_then(|()| writer.flush());
                    let kind = error.map_err(|error| error.kind());
                    assert_eq!(kind, Err(io::ErrorKind::BrokenPipe), "{what}");
                    assert!(!writer.buffer().is_empty(), "{what}");
                    writer = GatherWriter::with_capacity(10, writer.into_parts().0);
                }
                return;
            }
            Ok(()) | Err(io::ErrorKind::ConnectionReset) => {
                writer = GatherWriter::new(writer.into_parts().0);
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(kind) => panic!("{what}: {kind:?}"),
        }
    }
    panic!("{what}: no error although the peer has closed");
}

fn unix_without_peer() -> UnixStream {
    UnixStream::pair().unwrap().0
}

fn tcp_without_peer() -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    drop(listener.accept().unwrap());
    stream
}

#[test]
fn a_socket_whose_peer_is_gone_is_an_error_and_not_a_signal() {
    let test = "faults::a_socket_whose_peer_is_gone_is_an_error_and_not_a_signal";
    match role().as_deref() {
        Some("typed") => {
            end_on_broken_pipes();
            write_to_nobody("UnixStream", unix_without_peer());
            write_to_nobody("&UnixStream", &unix_without_peer());
            write_to_nobody("Arc<UnixStream>", Arc::new(unix_without_peer()));
            let boxed: Box<dyn VectoredWrite> = Box::new(unix_without_peer());
            write_to_nobody("Box<dyn VectoredWrite>", boxed);
            write_to_nobody("TcpStream", tcp_without_peer());
            write_to_nobody("&TcpStream", &tcp_without_peer());
            write_to_nobody("Arc<TcpStream>", Arc::new(tcp_without_peer()));
        }
        // A bare descriptor behaves like write(2), as documented.
        Some("bare") => {
            end_on_broken_pipes();
            write_to_nobody("BorrowedFd", unix_without_peer().as_fd());
        }
        Some(_) => {
            end_on_broken_pipes();
            let segments = [
                IoSlice::new(b"a function"),
                IoSlice::new(b" takes any descriptor"),
            ];
            let written = Gather::default().write_all(unix_without_peer(), &segments);
            panic!("the call returned: {written:?}");
        }
        None => {
            in_child(test, "typed", &[]);
            for role in ["bare", "function"] {
                let ended = catch_unwind(|| in_child(test, role, &[])).unwrap_err();
                let how = ended.downcast::<String>().unwrap();
                assert!(how.contains("SIGPIPE"), "{role}: {how}");
            }
        }
    }
}
