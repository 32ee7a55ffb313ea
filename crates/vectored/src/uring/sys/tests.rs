//! Cancellations that find nothing.

use std::io::{self, IoSlice, IoSliceMut, PipeReader};
use std::os::fd::AsFd;

use super::{Begun, Call, Calls, Operation, mark};

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

/// The kernel may be about to try a call again when it looks for it.
#[test]
fn a_cancellation_that_did_not_find_its_call_is_repeated() {
    let mut calls = match Calls::new(2) {
        Ok(calls) => calls,
        Err(error) => {
            let test = "a_cancellation_that_did_not_find_its_call_is_repeated";
            crate::testing::skip(test, &error.to_string());
            return;
        }
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
