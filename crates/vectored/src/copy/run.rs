//! The loop of a copy. The calls are system calls, or a script in tests.

use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;

use super::contest::{BUFFER_BYTES, Contest};
use super::error::{CopyError, Side};
use super::{Copied, Progress, Technique};
use crate::interruption::{CallEnd, go_on_after};
use crate::sys::codes;
use crate::sys::staging::StagingBuffer;
use crate::sys::uninit::Filling;
use crate::transfer::read_loop::retry_interrupted;

/// The byte limit of a call that moves bytes within the kernel. A signal can end the copy only between two calls.
/// The progress function is called only between two calls. A call of 2 GiB may take a minute on a slow disk. A
/// call of 16 MiB takes less than a second at 20 MB/s, and the cost of the calls is less than 0.1 % of the time
/// at any speed.
pub(super) const CALL_BYTES: u64 = 16 << 20;

/// The buffer on the stack, for a read that confirms the end, and for small files.
pub(super) const SMALL_BYTES: usize = 16 << 10;

/// `O_DIRECT` requires this alignment.
#[repr(align(4096))]
struct Small([MaybeUninit<u8>; SMALL_BYTES]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moved {
    Part,
    End,
    /// The rest is to be read and written. The kernel refused the technique, or a descriptor failed.
    Refused,
}

pub(super) trait Calls {
    fn read<'b>(&mut self, free: &'b mut [MaybeUninit<u8>]) -> io::Result<&'b mut [u8]>;

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// A call that fails has moved no byte.
    fn transfer(&mut self, technique: Technique, most: usize) -> io::Result<usize>;

    /// The number of system calls of the last transfer that took bytes from the input.
    fn calls_of_transfer(&self) -> u64 {
        1
    }

    /// Waits at most 0.1 s. False if no byte and no end of the input arrived.
    fn await_input(&mut self) -> bool;

    /// Called after a transfer that would block. True if the output is full and a `write` would also not wait.
    fn is_output_full(&mut self) -> io::Result<bool>;

    fn now_ns(&mut self) -> u64;
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) technique: Technique,
    /// `Some` if the copy measures itself.
    pub(super) trial_bytes: Option<u64>,
    /// If the caller named the technique, a refusal of the kernel is an error.
    pub(super) is_named: bool,
    /// Whether a transfer of 0 bytes is the end of the input. For a file, a read must confirm the end: files of
    /// /proc have a size of 0, and `copy_file_range` copies no byte beyond the size.
    pub(super) is_zero_the_end: bool,
    /// Whether a short transfer is probably the last transfer. If so, a read confirms the end, because a read
    /// costs less than a transfer of 0 bytes.
    pub(super) is_short_the_last: bool,
    /// The size of an input that is a file, or 0 if the size is unknown. If a short read ends exactly at this
    /// size, no further read confirms the end.
    pub(super) file_bytes: u64,
    pub(super) first_bytes: usize,
    pub(super) most_bytes: usize,
    pub(super) limit: u64,
}

pub(super) struct Run<'p, C> {
    pub(super) calls: C,
    left: u64,
    copied: Copied,
    progress: Option<&'p mut Progress<'p>>,
}

impl<'p, C: Calls> Run<'p, C> {
    pub(super) fn new(calls: C, plan: Plan, progress: Option<&'p mut Progress<'p>>) -> Self {
        Run {
            calls,
            left: plan.limit,
            copied: Copied::nothing_by(plan.technique),
            progress,
        }
    }

    pub(super) fn finish(&mut self, plan: Plan) -> Result<Copied, CopyError> {
        let mut small = Small([MaybeUninit::uninit(); SMALL_BYTES]);
        let small = &mut small.0[..plan.most_bytes.min(SMALL_BYTES)];
        let moved = match (plan.trial_bytes, plan.technique) {
            (Some(bytes), _) => self.by_the_fastest(bytes, plan, small)?,
            (None, Technique::ReadWrite) => Moved::Refused,
            (None, technique) => self.within_the_kernel(technique, plan, small, 0)?,
        };
        if moved == Moved::Refused {
            self.through_memory(plan, small)?;
        }
        // The end may come long after the last bytes, so the progress function is called again.
        if self.left > 0 {
            self.ask()?;
        }
        Ok(self.copied)
    }

    fn by_the_fastest(
        &mut self,
        trial_bytes: u64,
        plan: Plan,
        small: &mut [MaybeUninit<u8>],
    ) -> Result<Moved, CopyError> {
        let mut buffer = allocated(BUFFER_BYTES);
        if buffer.capacity() < BUFFER_BYTES {
            return Ok(Moved::Refused);
        }
        let mut contest = Contest::new(trial_bytes);
        while self.left > 0 {
            let (way, part_bytes) = contest.next();
            let (left, until) = (self.left, self.left.saturating_sub(part_bytes));
            let began_ns = self.calls.now_ns();
            let moved = if way.technique == Technique::ReadWrite {
                let most = (way.buffer_bytes as u64).min(part_bytes) as usize;
                let memory = &mut buffer.free()[..most];
                self.reads_and_writes(plan, memory, until)?
            } else {
                self.within_the_kernel(way.technique, plan, small, until)?
            };
            match moved {
                Moved::Part => contest.took(left - self.left, self.calls.now_ns() - began_ns),
                Moved::End => return Ok(Moved::End),
                Moved::Refused => contest.refuse(),
            }
        }
        Ok(Moved::Part)
    }

    fn reads_and_writes(
        &mut self,
        plan: Plan,
        memory: &mut [MaybeUninit<u8>],
        until: u64,
    ) -> Result<Moved, CopyError> {
        while self.left > until {
            let read = self.read_and_write(memory)?;
            if read == 0 || read < memory.len() && self.copied.bytes == plan.file_bytes {
                return Ok(Moved::End);
            }
        }
        Ok(Moved::Part)
    }

    /// The buffer grows after two full reads. One full read is not enough: one read can get all bytes of a pipe of
    /// 64 KiB.
    fn through_memory(
        &mut self,
        plan: Plan,
        small: &mut [MaybeUninit<u8>],
    ) -> Result<(), CopyError> {
        let mut buffer = None;
        if plan.first_bytes > small.len() {
            let first = allocated(plan.first_bytes);
            if first.capacity() == 0 {
                return Err(self.failure(None, ErrorKind::OutOfMemory.into()));
            }
            buffer = Some(first);
        }
        let mut filled = 0;
        while self.left > 0 {
            let memory = match &mut buffer {
                Some(buffer) => buffer.free(),
                None => &mut *small,
            };
            let memory_bytes = memory.len();
            let read = self.read_and_write(memory)?;
            let is_all = read < memory_bytes && self.copied.bytes == plan.file_bytes;
            if read == 0 || is_all {
                break;
            }
            filled = if read == memory_bytes { filled + 1 } else { 0 };
            if filled >= 2 && read < plan.most_bytes {
                let larger = allocated(read.saturating_mul(4).min(plan.most_bytes));
                // Without memory for a larger buffer, the copy continues with the old buffer.
                if larger.capacity() > 0 {
                    buffer = Some(larger);
                    filled = 0;
                }
            }
        }
        Ok(())
    }

    fn within_the_kernel(
        &mut self,
        technique: Technique,
        plan: Plan,
        small: &mut [MaybeUninit<u8>],
        until: u64,
    ) -> Result<Moved, CopyError> {
        while self.left > until {
            let most = (self.left - until).min(CALL_BYTES) as usize;
            self.await_input()?;
            match retry_interrupted(|| self.calls.transfer(technique, most)) {
                Ok(0) if plan.is_zero_the_end => return Ok(Moved::End),
                Ok(0) => return Ok(Moved::Refused),
                Ok(bytes) => {
                    assert!(bytes <= most, "{bytes} bytes of {most} were moved");
                    // `count` adds the remaining call.
                    self.copied.calls += self.calls.calls_of_transfer() - 1;
                    self.count(bytes, technique)?;
                    let is_last = plan.is_short_the_last && bytes < most;
                    if is_last && self.read_and_write(small)? == 0 {
                        return Ok(Moved::End);
                    }
                }
                // The error does not say which side would block. A transfer may return the error even if the
                // descriptors are blocking.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    match retry_interrupted(|| self.calls.is_output_full()) {
                        Ok(true) => return Err(self.failure(Some(Side::Output), error)),
                        Ok(false) if self.read_and_write(small)? == 0 => return Ok(Moved::End),
                        Ok(false) => {}
                        Err(error) => return Err(self.failure(None, error)),
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {
                    return Err(self.failure(None, error));
                }
                Err(error) if is_one_of(&codes::OF_OUTPUT, &error) => {
                    return Err(self.failure(Some(Side::Output), error));
                }
                Err(error) if plan.is_named => return Err(self.failure(None, error)),
                // A socket reports an error only once, for example after a reset of the connection. A later read
                // would find the end of the input and hide the error.
                Err(error) if plan.is_zero_the_end && !is_one_of(&codes::REFUSALS, &error) => {
                    return Err(self.failure(Some(Side::Input), error));
                }
                // The kernel refused the technique, or one descriptor failed. No byte was moved, so a read and a
                // write find the reason.
                Err(_) => return Ok(Moved::Refused),
            }
        }
        Ok(Moved::Part)
    }

    /// Returns 0 at the end of the input.
    fn read_and_write(&mut self, memory: &mut [MaybeUninit<u8>]) -> Result<usize, CopyError> {
        self.await_input()?;
        let most = self.left.min(memory.len() as u64) as usize;
        let mut filling = Filling::new(&mut memory[..most]);
        let calls = &mut self.calls;
        let read = retry_interrupted(|| filling.fill(most, |free| calls.read(free)));
        let read = match read {
            Ok(0) => return Ok(0),
            Ok(read) => read,
            Err(error) => return Err(self.failure(Some(Side::Input), error)),
        };
        let bytes = filling.into_filled();
        let mut written = 0;
        if let Err((side, error)) = write_all(calls, bytes, &mut written) {
            let unwritten = bytes[written..].to_vec();
            let written = self.copied.bytes + written as u64;
            return Err(CopyError::new(side, written, unwritten, error));
        }
        self.count(read, Technique::ReadWrite)?;
        Ok(read)
    }

    /// Fails if the program stops the copy.
    fn count(&mut self, bytes: usize, technique: Technique) -> Result<(), CopyError> {
        self.copied.add(bytes as u64, technique);
        self.left -= bytes as u64;
        self.ask()?;
        if self.left > 0 {
            go_on_after(CallEnd::Other).map_err(|stopped| self.failure(None, stopped))?;
        }
        Ok(())
    }

    fn ask(&mut self) -> Result<(), CopyError> {
        let written = self.copied.bytes;
        let progress = self.progress.as_mut();
        if progress.is_some_and(|progress| progress(written).is_break()) {
            let stopped = io::Error::new(ErrorKind::Interrupted, "the program stopped the copy");
            return Err(self.failure(None, stopped));
        }
        Ok(())
    }

    fn await_input(&mut self) -> Result<(), CopyError> {
        while self.progress.is_some() && !self.calls.await_input() {
            self.ask()?;
            go_on_after(CallEnd::Cut).map_err(|stopped| self.failure(None, stopped))?;
        }
        Ok(())
    }

    /// Only for errors after which no byte is unwritten.
    fn failure(&self, side: Option<Side>, error: io::Error) -> CopyError {
        CopyError::new(side, self.copied.bytes, Vec::new(), error)
    }
}

fn allocated(bytes: usize) -> StagingBuffer {
    let mut buffer = StagingBuffer::unallocated(bytes);
    buffer.start();
    buffer
}

fn write_all(
    calls: &mut impl Calls,
    bytes: &[u8],
    written: &mut usize,
) -> Result<(), (Option<Side>, io::Error)> {
    let of_output = |error| (Some(Side::Output), error);
    loop {
        let rest = &bytes[*written..];
        let some = retry_interrupted(|| calls.write(rest)).map_err(of_output)?;
        assert!(
            some <= rest.len(),
            "{some} bytes of {} were written",
            rest.len()
        );
        *written += some;
        if some == rest.len() {
            return Ok(());
        }
        if some == 0 {
            return Err(of_output(ErrorKind::WriteZero.into()));
        }
        go_on_after(CallEnd::Cut).map_err(|stopped| (None, stopped))?;
    }
}

fn is_one_of(codes: &[i32], error: &io::Error) -> bool {
    error
        .raw_os_error()
        .is_some_and(|code| codes.contains(&code))
}
