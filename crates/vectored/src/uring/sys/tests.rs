//! Tests of cancellations that find no call, of the memory of lists, and of panics.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::{Begun, Call, Calls, Lists, MAX_RETAINED_BYTES, Operation, is_transient, mark};

struct ReadByte {
    file: OwnedFd,
    buffer: Vec<u8>,
}

impl Call for ReadByte {
    fn begin<'a>(
        &'a mut self,
        _: &mut Vec<IoSlice<'a>>,
        targets: &mut Vec<IoSliceMut<'a>>,
    ) -> io::Result<Begun<'a>> {
        targets.push(IoSliceMut::new(&mut self.buffer));
        Ok(Begun {
            descriptor: self.file.as_fd(),
            operation: Operation::Read { offset: None },
            list: None,
            used_at_end: std::ptr::null(),
        })
    }
}

fn read_byte(calls: &mut Calls<ReadByte>, file: impl Into<OwnedFd>, token: u64) {
    let call = ReadByte {
        file: file.into(),
        buffer: vec![0; 1],
    };
    assert!(calls.start(Box::new(call), token).is_ok());
}

fn calls<C: Call>(test: &str, depth: u32) -> Option<Calls<C>> {
    Calls::new(depth)
        .map_err(|error| crate::testing::skip(test, &error.to_string()))
        .ok()
}

/// A cancellation does not find a call that the kernel is about to try again.
#[test]
fn a_cancellation_that_did_not_find_its_call_is_repeated() {
    let test = "a_cancellation_that_did_not_find_its_call_is_repeated";
    let Some(mut calls) = calls(test, 2) else {
        return;
    };
    let (pipe, _writer) = io::pipe().unwrap();
    read_byte(&mut calls, pipe, 1);
    // The cancellation names a call that does not exist. The completion has the mark of the first call in the first
    // slot.
    let (of_call, of_none) = (mark(0, 1), mark(0, 7));
    calls.push_cancellation(of_none, of_call).unwrap();
    let ended = loop {
        if let Some(ended) = calls.next_ended() {
            break ended;
        }
        calls.enter(true).unwrap();
    };
    let error = ended.result.unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ECANCELED));
    assert_eq!(calls.in_flight(), 0);
}

/// Another transfer ends at once, again and again, so the ring is never idle.
#[test]
fn a_missed_cancellation_is_repeated_on_a_busy_ring() {
    let test = "a_missed_cancellation_is_repeated_on_a_busy_ring";
    let Some(mut calls) = calls(test, 2) else {
        return;
    };
    let (pipe, _writer) = io::pipe().unwrap();
    read_byte(&mut calls, pipe, 1);
    calls.push_cancellation(mark(0, 7), mark(0, 1)).unwrap();
    // The limit is far above the pause before a repeated cancellation, so the test passes on a slow machine.
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        if calls.has_room() {
            read_byte(&mut calls, File::open("/dev/zero").unwrap(), 2);
        }
        calls.enter(true).unwrap();
        while let Some(ended) = calls.next_ended() {
            if let Err(error) = ended.result {
                assert_eq!(error.raw_os_error(), Some(libc::ECANCELED));
                return;
            }
        }
    }
    panic!("the cancellation was not repeated");
}

#[test]
fn a_call_is_of_the_thread_that_started_and_submitted_it() {
    let test = "a_call_is_of_the_thread_that_started_and_submitted_it";
    let Some(mut calls) = calls(test, 1) else {
        return;
    };
    let mut read = move || {
        read_byte(&mut calls, File::open("/dev/zero").unwrap(), 1);
        calls.enter(true).unwrap();
        let ended = calls.next_ended().expect("a read of /dev/zero has ended");
        assert!(!ended.is_of_other_thread);
    };
    read();
    std::thread::spawn(read).join().unwrap();
}

struct Zeros {
    file: File,
    buffer: [u8; 1024],
}

impl Call for Zeros {
    fn begin<'a>(
        &'a mut self,
        _: &mut Vec<IoSlice<'a>>,
        targets: &mut Vec<IoSliceMut<'a>>,
    ) -> io::Result<Begun<'a>> {
        targets.extend(self.buffer.chunks_mut(1).map(IoSliceMut::new));
        Ok(Begun {
            descriptor: self.file.as_fd(),
            operation: Operation::Read { offset: None },
            list: None,
            used_at_end: std::ptr::null(),
        })
    }
}

#[test]
fn the_memory_of_lists_is_kept_up_to_a_limit() {
    let Some(mut calls) = calls("the_memory_of_lists_is_kept_up_to_a_limit", 200) else {
        return;
    };
    for _ in 0..3 {
        while calls.has_room() {
            let file = File::open("/dev/zero").unwrap();
            let buffer = [1; 1024];
            assert!(calls.start(Box::new(Zeros { file, buffer }), 0).is_ok());
        }
        while calls.in_flight() > 0 {
            calls.enter(true).unwrap();
            while let Some(ended) = calls.next_ended() {
                assert_eq!(ended.result.unwrap(), 1024);
                assert_eq!(ended.call.buffer, [0; 1024]);
            }
        }
        let kept: usize = calls.lists.iter().map(Lists::bytes).sum();
        assert_eq!(kept, calls.retained_bytes);
        let expected = MAX_RETAINED_BYTES / 2..=MAX_RETAINED_BYTES;
        assert!(expected.contains(&kept), "{kept}");
    }
}

/// The `begin` of this call panics after adding a slice.
struct Panics(Option<[u8; 1]>);

impl Call for Panics {
    fn begin<'a>(
        &'a mut self,
        _: &mut Vec<IoSlice<'a>>,
        targets: &mut Vec<IoSliceMut<'a>>,
    ) -> io::Result<Begun<'a>> {
        let buffer = self.0.as_mut().map(|buffer| IoSliceMut::new(buffer));
        targets.extend(buffer);
        panic!("a call that cannot begin");
    }
}

#[test]
fn lists_are_empty_after_a_panic() {
    let Some(mut calls) = calls("lists_are_empty_after_a_panic", 1) else {
        return;
    };
    for buffer in [Some([0]), None] {
        let started = catch_unwind(AssertUnwindSafe(|| {
            calls.start(Box::new(Panics(buffer)), 0).is_ok()
        }));
        assert!(started.is_err());
        assert_eq!(calls.in_flight(), 0);
        // The first call is leaked, and no other call gets its slice.
        assert_eq!(calls.lists[0].targets.len(), usize::from(buffer.is_some()));
    }
}

#[test]
fn no_memory_now_and_signals_are_transient() {
    for code in [libc::EAGAIN, libc::EBUSY, libc::EINTR, libc::EBADF] {
        let error = io::Error::from_raw_os_error(code);
        assert_eq!(is_transient(&error), code != libc::EBADF, "{error}");
    }
}
