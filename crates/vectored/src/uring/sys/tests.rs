//! Cancellations that find nothing, and the memory of lists.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, PipeReader};
use std::os::fd::AsFd;

use super::{Begun, Call, Calls, MAX_RETAINED_BYTES, Operation, mark};

struct ReadByte {
    pipe: PipeReader,
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
            descriptor: self.pipe.as_fd(),
            operation: Operation::Read { offset: None },
        })
    }
}

fn calls<C: Call>(test: &str, depth: u32) -> Option<Calls<C>> {
    Calls::new(depth)
        .map_err(|error| crate::testing::skip(test, &error.to_string()))
        .ok()
}

/// The kernel may be about to try a call again when it looks for it.
#[test]
fn a_cancellation_that_did_not_find_its_call_is_repeated() {
    let test = "a_cancellation_that_did_not_find_its_call_is_repeated";
    let Some(mut calls) = calls(test, 2) else {
        return;
    };
    let (pipe, _writer) = io::pipe().unwrap();
    let buffer = vec![0; 1];
    assert!(calls.start(Box::new(ReadByte { pipe, buffer }), 1).is_ok());
    // The first call of the first slot, and one that is not there.
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

/// Reads a zero into each of its segments.
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
        let kept: usize = calls.slots.iter().map(|slot| slot.lists.bytes()).sum();
        assert_eq!(kept, calls.retained_bytes);
        let expected = MAX_RETAINED_BYTES / 2..=MAX_RETAINED_BYTES;
        assert!(expected.contains(&kept), "{kept}");
    }
}
