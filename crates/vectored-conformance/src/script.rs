//! A sink with a script, for the ways that make no system call of their own.

use std::io::{self, IoSlice};

/// What the sink does at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptedCall {
    /// Takes so many bytes, or all where there are fewer.
    Take(usize),
    /// Fails with this code of the operating system and takes nothing.
    Fail(i32),
}

/// Keeps what it takes and checks every call; takes everything after the end of its script.
#[derive(Debug)]
pub struct ScriptedSink {
    script: std::vec::IntoIter<ScriptedCall>,
    /// All that it took.
    pub taken: Vec<u8>,
    /// How many calls were short or failed.
    pub faults: u64,
    /// How many calls there were.
    pub calls: u64,
}

impl ScriptedSink {
    /// A sink that answers so.
    #[must_use]
    pub fn new(script: Vec<ScriptedCall>) -> ScriptedSink {
        ScriptedSink {
            script: script.into_iter(),
            taken: Vec::new(),
            faults: 0,
            calls: 0,
        }
    }

    /// One call, as `writev(2)` would be.
    ///
    /// # Panics
    ///
    /// If it is handed what must not reach a kernel: no slice, an empty one, too many.
    ///
    /// # Errors
    ///
    /// Those of the script.
    pub fn call(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.calls += 1;
        let bytes: usize = slices.iter().map(|slice| slice.len()).sum();
        assert!(!slices.is_empty(), "a call without a slice");
        assert!(
            slices.iter().all(|slice| !slice.is_empty()),
            "an empty slice"
        );
        assert!(slices.len() <= vectored::iov_max(), "too many slices");
        match self.script.next().unwrap_or(ScriptedCall::Take(usize::MAX)) {
            ScriptedCall::Fail(code) => {
                self.faults += 1;
                Err(io::Error::from_raw_os_error(code))
            }
            ScriptedCall::Take(most) => {
                let taken = most.min(bytes);
                self.faults += u64::from(taken < bytes);
                let all = slices.iter().flat_map(|slice| slice.iter());
                self.taken.extend(all.take(taken));
                Ok(taken)
            }
        }
    }
}
