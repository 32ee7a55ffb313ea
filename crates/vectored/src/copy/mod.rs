//! Copies from one descriptor to another.
//!
//! [`copy`](crate::copy()) copies up to the end of the input. [`Options`] adds a limit, a function that receives
//! the progress, and the choice of the technique.

mod choice;
mod contest;
mod error;
mod run;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::time::Instant;

pub use self::error::{CopyError, Side};

use self::choice::{Output, Wishes};
use self::run::{Calls, Run};
use crate::descriptor::{AsDescriptor, BorrowedDescriptor};
#[cfg(target_os = "linux")]
use crate::sys::moves;
use crate::sys::open_file::{CopyEnd, FileKind};
use crate::sys::{files, syscalls};
use crate::transfer::message_sockets::refuse_copying_messages;

/// Copies from one descriptor to another up to the end of the input, and returns the number of bytes.
///
/// Both descriptors are used at their positions and stay open. The system calls of the copy ([`Technique`])
/// depend on the kinds of the two descriptors. If the kernel refuses these calls, the bytes are read and written
/// through a buffer.
///
/// The output does not change if the input is written afterwards. So a file is copied to a pipe or socket by
/// reads and writes. `splice(2)` and `sendfile(2)` would put pages of the file into the pipe or socket. A later
/// write to the file would then change bytes that the reader has not received yet.
///
/// [`Options`] has a limit, a function that receives the progress, and the choice of the technique.
///
/// # Details
///
/// - A file is copied up to the end that a read finds. The file may grow or shrink during the copy. The file may
///   have no size, like the files of /proc.
/// - On file systems that share blocks (btrfs, XFS), the two files share blocks afterwards. Holes of a file may
///   be copied as zeros.
/// - A copy of at least 16 MiB between two files on ext4 or tmpfs measures itself. For the first parts, the copy
///   tries `splice(2)` through a pipe of 1 MiB, and buffers of 64 to 512 KiB. The fastest way copies the next
///   parts. The copy compares the ways again every 16 to 22 MiB. With a technique or a buffer in the [`Options`],
///   the copy does not measure itself.
/// - The sizes of the caller's pipes do not change without [`Options::enlarge_pipe`]. No file is synchronised.
/// - A copy from a file or pipe to a pipe polls both descriptors for up to 50 µs before a call that would sleep.
///   The polling begins after 64 KiB.
/// - A copy from a socket ends when the peer ends the stream.
/// - An output that is open with `O_DIRECT` takes only whole blocks. If the last part is shorter than a block,
///   the error is `EINVAL`.
///
/// # Errors
///
/// The first error of a call other than `EINTR`. A [`CopyError`] says on which side the error was, and has the
/// counts and the bytes that were read and not written.
///
/// If a non-blocking descriptor is not ready, the error is [`WouldBlock`](io::ErrorKind::WouldBlock). Wait until
/// the descriptor is ready, write [`unwritten`](CopyError::unwritten), and copy the rest.
///
/// These errors are returned before any byte is copied:
///
/// - [`InvalidInput`](io::ErrorKind::InvalidInput) if both descriptors are ends of one pipe.
/// - [`InvalidInput`](io::ErrorKind::InvalidInput) if a descriptor is a socket that preserves message boundaries.
/// - [`InvalidInput`](io::ErrorKind::InvalidInput) if both descriptors are one file, and the output is in append
///   mode or its position is after the position of the input. The copy would never end. GNU `cat` has the same
///   rule.
/// - The error of `fstat(2)` if a descriptor is not open.
///
/// # Examples
///
/// ```
/// use std::fs::File;
///
/// # fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("vectored-copy-{}", std::process::id()));
/// # let saved = path.with_extension("saved");
/// # std::fs::write(&path, [7; 100_000])?;
/// let (from, to) = (File::open(&path)?, File::create(&saved)?);
/// match vectored::copy(&from, &to) {
///     Ok(bytes) => assert_eq!(bytes, 100_000),
///     // For example: "cannot write after 65536 bytes: No space left on device"
///     Err(error) => eprintln!("{error}"),
/// }
/// # assert_eq!(std::fs::read(&saved)?, [7; 100_000]);
/// # std::fs::remove_file(&path)?;
/// # std::fs::remove_file(&saved)
/// # }
/// ```
pub fn copy(from: impl AsDescriptor, to: impl AsDescriptor) -> Result<u64, CopyError> {
    let copied = Options::new().copy(from, to)?;
    Ok(copied.bytes)
}

/// The system calls of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Technique {
    /// `read(2)` into a buffer and `write(2)` from the buffer, on every system and for every pair of descriptors.
    ReadWrite,
    /// `copy_file_range(2)` of Linux, between two regular files.
    CopyFileRange,
    /// `sendfile(2)` of Linux, from a regular file to any descriptor.
    Sendfile,
    /// `splice(2)` of Linux, if the input or the output is a pipe.
    Splice,
}

const TECHNIQUES: usize = 4;

/// The result of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copied {
    /// The number of bytes that were written.
    pub bytes: u64,
    /// The number of system calls that took at least one byte from the input.
    pub calls: u64,
    /// The technique that moved the last bytes.
    pub technique: Technique,
    bytes_by: [u64; TECHNIQUES],
}

impl Copied {
    fn nothing_by(technique: Technique) -> Copied {
        Copied {
            bytes: 0,
            calls: 0,
            technique,
            bytes_by: [0; TECHNIQUES],
        }
    }

    /// The number of bytes that `technique` moved. A [copy that measures itself](crate::copy()) uses several
    /// techniques. A copy whose first technique the kernel refused also uses several techniques.
    #[must_use]
    pub fn bytes_by(&self, technique: Technique) -> u64 {
        self.bytes_by[technique as usize]
    }

    fn add(&mut self, bytes: u64, technique: Technique) {
        self.bytes += bytes;
        self.calls += 1;
        self.technique = technique;
        self.bytes_by[technique as usize] += bytes;
    }

    /// Adds the result of a copy that continued at the end of this copy.
    pub fn join(&mut self, next: Copied) {
        self.bytes += next.bytes;
        self.calls += next.calls;
        if next.bytes > 0 {
            self.technique = next.technique;
        }
        for (all, one) in std::iter::zip(&mut self.bytes_by, next.bytes_by) {
            *all += one;
        }
    }
}

/// A pipe is enlarged after a copy has moved this many bytes.
#[cfg(target_os = "linux")]
const LONG_BYTES: usize = 1 << 20;

type Progress<'p> = dyn FnMut(u64) -> ControlFlow<()> + 'p;

/// The settings of a copy.
///
/// # Examples
///
/// ```
/// use std::io::Write;
/// use std::ops::ControlFlow;
/// use vectored::copy::Options;
///
/// # fn main() -> std::io::Result<()> {
/// # let (from, mut writer) = std::io::pipe()?;
/// # writer.write_all(b"header and body")?;
/// # let to = std::fs::File::options().write(true).open(if cfg!(windows) { "NUL" } else { "/dev/null" })?;
/// let mut progress = |bytes| {
///     eprintln!("{bytes} bytes");
///     ControlFlow::Continue(()) // `Break` stops the copy
/// };
/// let copied = Options::new().limit(6).progress(&mut progress).copy(&from, &to)?;
/// assert_eq!(copied.bytes, 6); // the rest is still in the pipe
/// # Ok(())
/// # }
/// ```
pub struct Options<'p> {
    wishes: Wishes,
    progress: Option<&'p mut Progress<'p>>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options::new()
    }
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_progress = self.progress.is_some();
        f.debug_struct("Options")
            .field("wishes", &self.wishes)
            .field("has_progress", &has_progress)
            .finish()
    }
}

impl<'p> Options<'p> {
    /// The settings of [`copy`](crate::copy()): no limit, and a technique that the library chooses.
    #[must_use]
    pub const fn new() -> Self {
        Options {
            wishes: Wishes {
                technique: None,
                buffer_bytes: None,
                limit: u64::MAX,
                may_alias: false,
                larger_pipe_bytes: None,
            },
            progress: None,
        }
    }

    /// Copies at most this many bytes, and takes no further byte from the input.
    #[must_use]
    pub fn limit(mut self, bytes: u64) -> Self {
        self.wishes.limit = bytes;
        self
    }

    /// Copies by this technique. With `None`, the library chooses the technique.
    ///
    /// If the kernel refuses a named technique, the copy fails. If the kinds of the two descriptors exclude the
    /// technique, the error is [`InvalidInput`](io::ErrorKind::InvalidInput), and no byte is copied.
    ///
    /// [`Splice`](Technique::Splice) and [`Sendfile`](Technique::Sendfile) from a file to a pipe or socket do not
    /// copy bytes, but put pages of the file into the pipe or socket. If the file is written or truncated before
    /// the reader has received these pages, the change may reach the reader. Use these techniques only for files
    /// that do not change.
    ///
    /// Even with a named technique, some bytes are read and written: to find the end of a file, and if a call
    /// does not say which side would block.
    #[must_use]
    pub fn technique(mut self, technique: impl Into<Option<Technique>>) -> Self {
        self.wishes.technique = technique.into();
        self
    }

    /// Allows a technique that does not copy bytes: [`Splice`](Technique::Splice), from a file of more than 64
    /// KiB to a pipe. If the file changes before the reader has received the pages, the change may reach
    /// the reader (see [`technique`](Options::technique)).
    ///
    /// With a fast reader, splicing takes half of the time of reading and writing.
    #[must_use]
    pub fn may_alias(mut self, allowed: bool) -> Self {
        self.wishes.may_alias = allowed;
        self
    }

    /// Enlarges a pipe to this size by `F_SETPIPE_SZ` of fcntl(2), after 1 MiB has passed through the pipe. Linux
    /// only.
    ///
    /// The pipe is the input, or the output if the input is a file. The pipe keeps the new size after the copy. A
    /// pipe that is already larger does not change. If the kernel refuses, the pipe keeps its size: pipe(7)
    /// limits the memory of all pipes of a user, by default to 64 MiB.
    ///
    /// To a file on ext4, a copy through a pipe of 256 KiB took 0.8 of the time of a copy through a pipe of 64
    /// KiB.
    #[must_use]
    pub fn enlarge_pipe(mut self, bytes: usize) -> Self {
        self.wishes.larger_pipe_bytes = Some(bytes);
        self
    }

    /// The size of the buffer of [`Technique::ReadWrite`], at least 1 byte.
    ///
    /// A pipe in packet mode (`O_DIRECT`, pipe(2)) loses the rest of a packet that is larger than the buffer.
    #[must_use]
    pub fn buffer_bytes(mut self, bytes: usize) -> Self {
        self.wishes.buffer_bytes = Some(bytes);
        self
    }

    /// Calls a function with the number of bytes written.
    ///
    /// The function is called at the end of the input, and after each call that moved bytes (a buffer, or at most
    /// 16 MiB). On Unix, the function is also called every 0.1 s while a blocking pipe, socket or terminal has no
    /// bytes, and after a signal during that time. The function is not called while the output takes no bytes.
    ///
    /// If the function returns [`Break`](ControlFlow::Break), the copy ends with the error
    /// [`Interrupted`](io::ErrorKind::Interrupted), and every byte that was read is written.
    #[must_use]
    pub fn progress(mut self, progress: &'p mut Progress<'p>) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Copies from one descriptor to another. With a [`limit`](Options::limit) of 0, the method changes neither
    /// descriptor. It fails if a copy between their kinds would be refused before any byte.
    pub fn copy(
        &mut self,
        from: impl AsDescriptor,
        to: impl AsDescriptor,
    ) -> Result<Copied, CopyError> {
        let (from, to) = (from.as_descriptor(), to.as_descriptor());
        let fails = |side| move |error| CopyError::before_any_byte(Some(side), error);
        let input = look(from).map_err(fails(Side::Input))?;
        let output = look(to).map_err(fails(Side::Output))?;
        self.refuse_kinds(input.kind, output.kind)?;
        let is_within = is_same(&input, &output);
        if is_within {
            refuse_endless(from, to, &input).map_err(fails(Side::Output))?;
        }
        let descriptors = Descriptors {
            from,
            to,
            #[cfg(unix)]
            may_be_silent: self.progress.is_some() && files::may_be_silent(from, input.kind),
            #[cfg(target_os = "linux")]
            patience: is_polled(&input, &output).then(moves::Patience::default),
            #[cfg(target_os = "linux")]
            own_pipe: ((input.kind, output.kind) == (FileKind::Regular, FileKind::Regular))
                .then(moves::OwnPipe::default),
            #[cfg(target_os = "linux")]
            pipe_to_enlarge: pipe_to_enlarge(from, to, &input, &output)
                .zip(self.wishes.larger_pipe_bytes),
            #[cfg(target_os = "linux")]
            moved_bytes: 0,
            began: None,
        };
        let plan = choice::plan(&input, &output, is_within, &descriptors, &self.wishes);
        let progress = self.progress.as_mut();
        let progress = progress.map(|progress| &mut **progress as &mut Progress<'_>);
        Run::new(descriptors, plan, progress).finish(plan)
    }

    /// Returns the error that [`copy`](Options::copy) to a new regular file would return before any byte.
    pub fn check_into_new_file(&self, from: impl AsDescriptor) -> Result<(), CopyError> {
        let input = look(from.as_descriptor());
        let input = input.map_err(|error| CopyError::before_any_byte(Some(Side::Input), error))?;
        self.refuse_kinds(input.kind, FileKind::Regular)
    }

    fn refuse_kinds(&self, from: FileKind, to: FileKind) -> Result<(), CopyError> {
        let unsuited = self
            .wishes
            .technique
            .and_then(|named| choice::unsuited(named, from, to));
        let Some(why) = unsuited else {
            return Ok(());
        };
        let error = io::Error::new(io::ErrorKind::InvalidInput, why);
        Err(CopyError::before_any_byte(None, error))
    }
}

/// With a larger pipe, the two processes sleep less often.
#[cfg(target_os = "linux")]
fn pipe_to_enlarge<'d>(
    from: BorrowedDescriptor<'d>,
    to: BorrowedDescriptor<'d>,
    input: &CopyEnd,
    output: &CopyEnd,
) -> Option<BorrowedDescriptor<'d>> {
    match (input.kind, output.kind) {
        (FileKind::Fifo, _) => Some(from),
        (FileKind::Regular, FileKind::Fifo) => Some(to),
        _ => None,
    }
}

fn look(fd: BorrowedDescriptor<'_>) -> io::Result<CopyEnd> {
    let end = CopyEnd::describe(fd)?;
    if end.kind == FileKind::Socket {
        refuse_copying_messages(fd)?;
    }
    Ok(end)
}

/// A socket or a terminal has two directions, so a copy to itself is allowed.
fn is_same(from: &CopyEnd, to: &CopyEnd) -> bool {
    use FileKind::{Block, Fifo, Regular};
    matches!(from.kind, Regular | Block | Fifo) && from.file.is_some() && from.file == to.file
}

/// Whether both ends are polled before a call that would sleep. With polling, two processes pass one full pipe of
/// bytes at a time. A socket buffers more than a pipe, so a copy to a socket does not poll.
#[cfg(target_os = "linux")]
fn is_polled(from: &CopyEnd, to: &CopyEnd) -> bool {
    matches!(from.kind, FileKind::Regular | FileKind::Fifo) && to.kind == FileKind::Fifo
}

fn refuse_endless(
    from: BorrowedDescriptor<'_>,
    to: BorrowedDescriptor<'_>,
    input: &CopyEnd,
) -> io::Result<()> {
    if input.kind == FileKind::Fifo || files::is_written_ahead(from, to, input.bytes)? {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is the file that is read, so the copy would never end: write to another file",
        ));
    }
    Ok(())
}

struct Descriptors<'d> {
    from: BorrowedDescriptor<'d>,
    to: BorrowedDescriptor<'d>,
    #[cfg(unix)]
    may_be_silent: bool,
    /// Present if the output is a pipe.
    #[cfg(target_os = "linux")]
    patience: Option<moves::Patience>,
    /// Present if both are files.
    #[cfg(target_os = "linux")]
    own_pipe: Option<moves::OwnPipe>,
    /// The pipe that is enlarged after `LONG_BYTES`, and the new size in bytes.
    #[cfg(target_os = "linux")]
    pipe_to_enlarge: Option<(BorrowedDescriptor<'d>, usize)>,
    #[cfg(target_os = "linux")]
    moved_bytes: usize,
    /// Set at the first reading of the clock. Only a copy that measures itself reads the clock.
    began: Option<Instant>,
}

impl Descriptors<'_> {
    /// A copy of less than 64 KiB does not poll.
    #[cfg(target_os = "linux")]
    fn wait(&mut self, from: Option<BorrowedDescriptor<'_>>) {
        if self.moved_bytes < choice::USUAL_PIPE_BYTES {
            return;
        }
        if let Some(patience) = &mut self.patience {
            patience.wait(from, self.to);
        }
    }

    #[cfg(target_os = "linux")]
    fn count(&mut self, bytes: usize) {
        self.moved_bytes = self.moved_bytes.saturating_add(bytes);
        if self.moved_bytes >= LONG_BYTES {
            if let Some((pipe, bytes)) = self.pipe_to_enlarge.take() {
                files::enlarge_pipe(pipe, bytes);
            }
        }
    }
}

impl Output for Descriptors<'_> {
    fn pipe_bytes(&self) -> Option<usize> {
        files::pipe_bytes(self.to)
    }

    fn is_without_copies(&self) -> bool {
        files::is_without_copies(self.to)
    }
}

impl Calls for Descriptors<'_> {
    fn read<'b>(&mut self, free: &'b mut [MaybeUninit<u8>]) -> io::Result<&'b mut [u8]> {
        syscalls::read_uninit(self.from, free)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(target_os = "linux")]
        self.wait(None);
        let written = syscalls::write_entries(self.to, &[io::IoSlice::new(bytes)])?;
        #[cfg(target_os = "linux")]
        self.count(written);
        Ok(written)
    }

    #[cfg(target_os = "linux")]
    fn transfer(&mut self, technique: Technique, most: usize) -> io::Result<usize> {
        let call = match technique {
            Technique::CopyFileRange => moves::copy_file_range,
            Technique::Sendfile => moves::sendfile,
            Technique::Splice => moves::splice,
            Technique::ReadWrite => unreachable!("reading and writing are two calls"),
        };
        self.wait(Some(self.from));
        let moved = match &mut self.own_pipe {
            Some(pipe) if technique == Technique::Splice => {
                pipe.splice(self.from, self.to, most)?
            }
            _ => call(self.from, self.to, most)?,
        };
        self.count(moved);
        Ok(moved)
    }

    #[cfg(not(target_os = "linux"))]
    fn transfer(&mut self, technique: Technique, _most: usize) -> io::Result<usize> {
        let why = format!("{technique:?} is a technique of Linux alone");
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }

    #[cfg(target_os = "linux")]
    fn calls_of_transfer(&self) -> u64 {
        let through_pipe = self.own_pipe.as_ref().map(|pipe| pipe.calls);
        through_pipe.filter(|&calls| calls > 0).unwrap_or(1)
    }

    #[cfg(unix)]
    fn await_input(&mut self) -> bool {
        !self.may_be_silent || files::await_input(self.from)
    }

    #[cfg(not(unix))]
    fn await_input(&mut self) -> bool {
        true
    }

    #[cfg(target_os = "linux")]
    fn is_output_full(&mut self) -> io::Result<bool> {
        moves::is_output_full(self.from, self.to)
    }

    #[cfg(not(target_os = "linux"))]
    fn is_output_full(&mut self) -> io::Result<bool> {
        unreachable!("only a transfer of Linux asks")
    }

    fn now_ns(&mut self) -> u64 {
        let began = self.began.get_or_insert_with(Instant::now);
        began.elapsed().as_nanos() as u64
    }
}
