//! Tests of transfers that end without success.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use vectored::uring::{Ring, SharedDescriptor};

use super::{counted, only, queue_of, ring};
use crate::support::payload;
use crate::sys::{holds_in_fork, refuse_call};

#[test]
fn a_forgotten_ring_leaks_and_frees_nothing() {
    let test = "uring::ends::a_forgotten_ring_leaks_and_frees_nothing";
    let Some(mut ring) = ring(test, 8) else {
        return;
    };
    let drops = Arc::new(AtomicUsize::new(0));
    let (mut reader, writer) = std::io::pipe().unwrap();
    ring.submit_write(writer, counted(100_000, &drops), 1);
    ring.start().unwrap();
    std::mem::forget(ring);
    // The transfer continues, because its memory was not freed.
    let mut received = vec![0; 65_536];
    reader.read_exact(&mut received).unwrap();
    assert!(received[4..].iter().all(|byte| *byte == 7));
    assert_eq!(drops.load(Ordering::SeqCst), 0);
}

#[test]
fn each_error_is_that_of_its_transfer() {
    let test = "uring::ends::each_error_is_that_of_its_transfer";
    let Some(mut ring) = ring(test, 4) else {
        return;
    };
    let null = || File::open("/dev/null").unwrap();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let (ours, _theirs) = UnixDatagram::pair().unwrap();
    let (queue, buffers) = (|| queue_of(&[vec![1; 10]]), || vec![vec![0; 10]]);
    ring.submit_write(null(), queue(), libc::EBADF as u64);
    ring.submit_write(full, queue(), libc::ENOSPC as u64);
    ring.submit_read(File::open("/").unwrap(), buffers(), libc::EISDIR as u64);
    ring.submit_write_at(null(), queue(), u64::MAX, 1000);
    ring.submit_write_at(null(), queue(), 1 << 63, 1000);
    ring.submit_read_at(null(), buffers(), u64::MAX, 1000);
    ring.submit_read(ours, buffers(), 1000);
    let (ours, _theirs) = UnixDatagram::pair().unwrap();
    let shared = SharedDescriptor::new(ours).unwrap();
    ring.submit_read(&shared, buffers(), 1000);
    // io_uring ignores the offset for a descriptor that cannot seek. The ring reports `ESPIPE`.
    let (_reader, writer) = std::io::pipe().unwrap();
    let (stream, _theirs) = UnixStream::pair().unwrap();
    ring.submit_write_at(writer, queue(), 0, libc::ESPIPE as u64);
    ring.submit_read_at(stream, buffers(), 0, libc::ESPIPE as u64);
    let shared = SharedDescriptor::new(std::io::pipe().unwrap().1).unwrap();
    ring.submit_write_at(&shared, queue(), 0, libc::ESPIPE as u64);
    let mut count = 0;
    while let Some(done) = ring.wait().unwrap() {
        count += 1;
        let error = done.result.unwrap_err();
        assert_eq!(error.transferred(), 0);
        match done.token {
            1000 => assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}"),
            code => assert_eq!(error.io_error().raw_os_error(), Some(code as i32)),
        }
    }
    assert_eq!(count, 11);
}

#[test]
fn a_queue_that_one_call_does_not_take_is_no_message() {
    let test = "uring::ends::a_queue_that_one_call_does_not_take_is_no_message";
    let Some(mut ring) = ring(test, 1) else {
        return;
    };
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    let ours = Arc::new(ours);
    ring.submit_write(Arc::clone(&ours), queue_of(&payload(&[1; 1025])), 1);
    let done = only(&mut ring);
    assert_eq!(done.result.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(done.data.into_queue().unwrap().len(), 1025);
    ring.submit_write(ours, queue_of(&payload(&[1; 1024])), 2);
    assert_eq!(only(&mut ring).result.unwrap(), 1024);
    assert_eq!(theirs.recv(&mut [0; 4096]).unwrap(), 1024);
}

#[test]
fn a_transfer_that_waits_for_a_place_is_cancelled_whole() {
    let test = "uring::ends::a_transfer_that_waits_for_a_place_is_cancelled_whole";
    let Some(mut ring) = ring(test, 1) else {
        return;
    };
    let (reader, _writer) = std::io::pipe().unwrap();
    let (_other, waiting) = std::io::pipe().unwrap();
    ring.submit_read(reader, vec![vec![0; 4]], 1);
    ring.submit_write(waiting, queue_of(&payload(&[9])), 2);
    assert!(ring.try_wait().unwrap().is_none());
    assert_eq!([ring.cancel(3).unwrap(), ring.cancel(2).unwrap()], [0, 1]);
    let done = ring.wait().unwrap().unwrap();
    assert_eq!((done.token, done.result.unwrap_err().transferred()), (2, 0));
    assert_eq!(done.data.into_queue().unwrap().len(), 9);
}

/// One thread puts a call into the submission queue, but its io_uring_enter(2) fails. A second thread passes the call
/// to the kernel, and ends.
#[test]
fn a_transfer_outlives_the_thread_that_passed_it_on_for_another_one() {
    let test = "uring::ends::a_transfer_outlives_the_thread_that_passed_it_on_for_another_one";
    let Some(mut ring) = ring(test, 8) else {
        return;
    };
    let (reader, mut writer) = std::io::pipe().unwrap();
    let (to_second, for_second) = mpsc::channel::<Ring>();
    let (to_first, for_first) = mpsc::channel::<Ring>();
    let second = thread::spawn(move || {
        let mut ring = for_second.recv().unwrap();
        ring.start().unwrap();
        ring
    });
    let first = thread::spawn(move || {
        refuse_call(libc::SYS_io_uring_enter, libc::EAGAIN);
        ring.submit_read(reader, vec![vec![0; 4]], 1);
        assert_eq!(ring.start().unwrap_err().kind(), ErrorKind::WouldBlock);
        to_second.send(ring).unwrap();
        let mut ring = for_first.recv().unwrap();
        // The kernel has cancelled the call, and this thread cannot pass the call to the kernel again.
        let done = ring.wait();
        assert_eq!(done.expect_err("no result").kind(), ErrorKind::WouldBlock);
        ring
    });
    to_first.send(second.join().unwrap()).unwrap();
    let mut ring = first.join().unwrap();
    writer.write_all(b"four").unwrap();
    assert_eq!(only(&mut ring).result.unwrap(), 4);
}

#[test]
fn a_forked_child_cannot_use_the_ring_of_its_parent() {
    let test = "uring::ends::a_forked_child_cannot_use_the_ring_of_its_parent";
    let Some(mut ring) = ring(test, 8) else {
        return;
    };
    let (reader, mut writer) = std::io::pipe().unwrap();
    let reader = Arc::new(reader);
    ring.submit_read(Arc::clone(&reader), vec![vec![0; 4]], 1);
    ring.start().unwrap();
    let mut ring = Some(ring);
    let holds = holds_in_fork(|| {
        let mut ring = ring.take().unwrap();
        ring.submit_read(Arc::clone(&reader), vec![vec![0; 4]], 2);
        let refused = [
            ring.start().err(),
            ring.wait().err(),
            ring.try_wait().err(),
            ring.cancel(1).err(),
        ];
        let is_clear = |error: &Option<std::io::Error>| {
            let error = error.as_ref().map(ToString::to_string);
            error.is_some_and(|error| error.contains("fork"))
        };
        let holds = refused.iter().all(is_clear) && ring.len() == 2;
        drop(ring);
        let of_child = Ring::new(1);
        holds && of_child.is_ok_and(|mut ring| matches!(ring.wait(), Ok(None)))
    });
    assert!(holds);
    let mut ring = ring.expect("the parent's");
    writer.write_all(b"four").unwrap();
    assert_eq!(only(&mut ring).result.unwrap(), 4);
}
