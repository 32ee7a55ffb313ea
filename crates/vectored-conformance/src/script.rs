//! A sink that follows a script, for functions that make no system call themselves.

use std::io::{self, IoSlice};

/// The result of one call of the sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptedCall {
    /// Takes this many bytes, or all if there are fewer.
    Take(usize),
    /// Fails with this error number and takes nothing.
    Fail(i32),
}

/// A sink that keeps the bytes that it takes and checks every call. After the end of its script it takes everything.
#[derive(Debug)]
pub struct ScriptedSink {
    script: std::vec::IntoIter<ScriptedCall>,
    /// All bytes that it took.
    pub taken: Vec<u8>,
    /// The number of calls that were short or failed.
    pub faults: u64,
    /// The number of calls.
    pub calls: u64,
}

impl ScriptedSink {
    /// A sink with this script.
    #[must_use]
    pub fn new(script: Vec<ScriptedCall>) -> ScriptedSink {
        ScriptedSink {
            script: script.into_iter(),
            taken: Vec::new(),
            faults: 0,
            calls: 0,
        }
    }

    /// One call, like `writev(2)`.
    ///
    /// # Panics
    ///
    /// If there is no slice, an empty one, or more than `IOV_MAX`: no such call may reach the kernel.
    ///
    /// # Errors
    ///
    /// The errors of the script.
    pub fn call(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.calls += 1;
        let bytes: usize = slices.iter().map(|slice| slice.len()).sum();
        assert!(!slices.is_empty(), "a call without a slice");
        assert!(
            slices.iter().all(|slice| !slice.is_empty()),
            "an empty slice"
        );
        assert!(
            slices.len() <= vectored::limits::iov_max(),
            "too many slices"
        );
        match self.script.next().unwrap_or(ScriptedCall::Take(usize::MAX)) {
            ScriptedCall::Fail(code) => {
                self.faults += 1;
                Err(io::Error::from_raw_os_error(code))
            }
            ScriptedCall::Take(limit) => {
                let taken = limit.min(bytes);
                self.faults += u64::from(taken < bytes);
                let all = slices.iter().flat_map(|slice| slice.iter());
                self.taken.extend(all.take(taken));
                Ok(taken)
            }
        }
    }
}
