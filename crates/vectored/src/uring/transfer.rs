//! A transfer, which makes calls until all bytes are moved.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::BorrowedFd;
use std::ptr;

use rustix::fs::{FileType, OFlags, SeekFrom};
use rustix::io::Errno;

use crate::cursor::SegmentCursor;
use crate::error::TransferError;
use crate::queue::write::checked;
use crate::sys::limits::Limits;
use crate::transfer::message_sockets::{refuse_messages, refuse_reading_messages};
use crate::uring::buffer::Buffer;
use crate::uring::completion::{Completion, Data};
use crate::uring::descriptor::{Descriptor, Kind};
use crate::uring::sys::{Begun, Call, Operation};

/// The type is small and aligned to cache lines. If many transfers are in flight, a transfer is in no cache when it
/// ends.
#[repr(align(64))]
pub(super) struct Transfer<B> {
    pub(super) token: u64,
    descriptor: Descriptor,
    /// The data are empty after the end of the transfer.
    data: Data<B>,
    /// The position of the next byte in the buffers of a read. A write does not use this field.
    cursor: SegmentCursor,
    place: Place,
    transferred: u64,
    /// The number of bytes that the last call was given.
    given: usize,
    readiness: Readiness,
    /// Whether the transfer ends with the first call that moves bytes.
    ends_early: bool,
    /// Whether getsockopt(2) has shown that the descriptor does not keep messages apart.
    is_stream: bool,
}

#[derive(Clone, Copy)]
enum Place {
    /// The submitted offset, or `None` for the position of the descriptor. Before the first call, the kind of the
    /// descriptor is unknown.
    Submitted(Option<u64>),
    Offset(u64),
    /// The position of the file at the start of the transfer. The calls use the position of the descriptor.
    Position(u64),
    /// The descriptor accepts offsets, but its position does not matter.
    Device,
    Stream,
}

/// Whether the descriptor is ready. Each call that moves bytes resets the state to `Unknown`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readiness {
    Unknown,
    /// A call failed with `EAGAIN`, so the next call is a wait.
    Awaited,
    /// The wait has ended. Another `EAGAIN` has one of two causes. Either another transfer used the room or the bytes,
    /// or waiting has no effect, because a regular file is always ready.
    Reached,
}

impl<B: Buffer> Transfer<B> {
    /// Makes an empty transfer, which `reset` prepares for use.
    pub(super) fn over() -> Box<Transfer<B>> {
        Box::new(Transfer {
            token: 0,
            descriptor: Descriptor::NONE,
            data: Data::NONE,
            cursor: SegmentCursor::new(),
            place: Place::Submitted(None),
            transferred: 0,
            given: 0,
            readiness: Readiness::Unknown,
            ends_early: false,
            is_stream: false,
        })
    }

    #[inline]
    pub(super) fn reset(&mut self, descriptor: Descriptor, offset: Option<u64>, token: u64) {
        self.token = token;
        self.descriptor = descriptor;
        self.cursor = SegmentCursor::new();
        self.place = Place::Submitted(offset);
        (self.transferred, self.given) = (0, 0);
        self.readiness = Readiness::Unknown;
        (self.ends_early, self.is_stream) = (false, false);
    }

    #[inline]
    pub(super) fn set_data(&mut self, data: Data<B>) {
        let none = std::mem::replace(&mut self.data, data);
        debug_assert!(matches!(&none, Data::Buffers(buffers) if buffers.is_empty()));
        // `none` has nothing to drop.
        std::mem::forget(none);
    }

    pub(super) fn end_early(&mut self) {
        self.ends_early = true;
    }

    pub(super) fn is_done(&self) -> bool {
        match &self.data {
            Data::Queue(queue) => queue.is_empty(),
            Data::Buffers(buffers) => self.cursor.is_at_end(buffers),
        }
    }

    /// Ends a write if one call moved all remaining bytes. Returns whether the write has ended.
    ///
    /// This method needs fewer instructions than [`call_ended`](Transfer::call_ended) in the usual case.
    #[inline]
    pub(super) fn end_whole(&mut self, result: &io::Result<usize>) -> bool {
        let (Ok(moved), Data::Queue(queue)) = (result, &mut self.data) else {
            return false;
        };
        // The result of a wait is not a number of bytes.
        let is_whole =
            self.readiness == Readiness::Unknown && *moved == self.given && *moved == queue.len();
        if is_whole {
            queue.clear();
            self.transferred += *moved as u64;
        }
        is_whole
    }

    /// Handles the result of a call. Returns the result of the transfer if the transfer has ended. `None` asks for
    /// another call.
    pub(super) fn call_ended(
        &mut self,
        result: io::Result<usize>,
        was_cancelled: bool,
        is_of_other_thread: bool,
    ) -> Option<io::Result<()>> {
        let code = result.as_ref().err().and_then(io::Error::raw_os_error);
        match result {
            Ok(_) if self.readiness == Readiness::Awaited => self.readiness = Readiness::Reached,
            Ok(moved) => match self.advance(moved) {
                Ok(false) => {}
                Ok(true) => return Some(Ok(())),
                Err(error) => return Some(Err(error)),
            },
            // A signal, or the end of the thread that submitted the call, ended the call before any byte was moved.
            Err(_) if code == Some(libc::EINTR) => {}
            Err(_) if code == Some(libc::ECANCELED) && is_of_other_thread => {}
            Err(_) if code == Some(libc::EAGAIN) && self.may_wait() => {
                self.readiness = Readiness::Awaited;
            }
            Err(error) => return Some(Err(error)),
        }
        was_cancelled.then(|| Err(io::Error::from_raw_os_error(libc::ECANCELED)))
    }

    /// Returns whether to wait for the descriptor after a call that failed with `EAGAIN`.
    fn may_wait(&self) -> bool {
        let stat = || rustix::fs::fstat(self.descriptor.get().0);
        match self.readiness {
            Readiness::Unknown => true,
            // The call that ended was the wait.
            Readiness::Awaited => false,
            // Only pipes, sockets, eventfds and similar descriptors report readiness.
            Readiness::Reached => stat().is_ok_and(|stat| {
                !matches!(
                    FileType::from_raw_mode(stat.st_mode),
                    FileType::RegularFile
                        | FileType::Directory
                        | FileType::BlockDevice
                        | FileType::CharacterDevice
                )
            }),
        }
    }

    /// Advances by the bytes that a call moved. Returns whether the transfer has ended.
    fn advance(&mut self, moved: usize) -> io::Result<bool> {
        if moved == 0 && matches!(self.data, Data::Buffers(_)) {
            return Ok(true); // the end of the file
        }
        let moved = checked(moved, self.given)?;
        match &mut self.data {
            Data::Queue(queue) => queue.advance(moved),
            Data::Buffers(buffers) => self.cursor.advance(buffers, moved),
        }
        self.transferred += moved as u64;
        self.readiness = Readiness::Unknown;
        match self.place {
            Place::Position(start) if moved < self.given => {
                self.mend_position(start, moved as u64)?;
            }
            _ => {}
        }
        Ok(self.ends_early || self.is_done())
    }

    /// Sets the position of a file to the end of the bytes of a short call.
    ///
    /// After a short call on a regular file, io_uring tries the rest again. If the second try fails, io_uring reports
    /// the bytes of the first try, but does not move the position (`kiocb_done`, Linux 6.18). Without a correction, the
    /// next call would overwrite these bytes.
    fn mend_position(&self, start: u64, moved: u64) -> io::Result<()> {
        let (descriptor, _) = self.descriptor.get();
        // A device may answer `lseek` without a position (inotify, /dev/urandom). io_uring does not try calls on a
        // device again.
        let kind = FileType::from_raw_mode(rustix::fs::fstat(descriptor)?.st_mode);
        if !matches!(kind, FileType::RegularFile | FileType::BlockDevice) {
            return Ok(());
        }
        let end = start + self.transferred;
        let position = rustix::fs::tell(descriptor)?;
        let appends = || -> io::Result<bool> {
            let flags = rustix::fs::fcntl_getfl(descriptor)?;
            Ok(flags.contains(OFlags::APPEND))
        };
        if position == end || appends()? {
            return Ok(());
        }
        if position + moved != end {
            let message = format!(
                "another user moved the position of the file, from {start} to {position}, during the transfer"
            );
            return Err(io::Error::other(message));
        }
        rustix::fs::seek(descriptor, SeekFrom::Start(end))?;
        Ok(())
    }

    #[inline]
    pub(super) fn end(&mut self, result: io::Result<()>) -> Completion<B> {
        let bytes = self.transferred;
        self.descriptor = Descriptor::NONE;
        let result = match (result, &self.data) {
            (Ok(()), _) => Ok(bytes),
            (Err(error), Data::Queue(_)) => Err(TransferError::new(bytes, error)),
            (Err(error), Data::Buffers(_)) => Err(TransferError::reading(bytes, error)),
        };
        Completion {
            token: self.token,
            result,
            data: std::mem::replace(&mut self.data, Data::NONE),
        }
    }
}

impl<B: Buffer> Call for Transfer<B> {
    fn begin<'a>(
        &'a mut self,
        sources: &mut Vec<IoSlice<'a>>,
        targets: &mut Vec<IoSliceMut<'a>>,
    ) -> io::Result<Begun<'a>> {
        let (descriptor, kind) = self.descriptor.get();
        if let Place::Submitted(offset) = self.place {
            self.place = place(descriptor, kind, offset)?;
        }
        let offset = match self.place {
            Place::Offset(start) => Some(offset_of(start, self.transferred)?),
            _ => None,
        };
        let is_awaited = self.readiness == Readiness::Awaited;
        let (mut list, mut used_at_end) = (None, ptr::null());
        let operation = match &mut self.data {
            Data::Queue(_) if is_awaited => Operation::AwaitWritable,
            Data::Buffers(_) if is_awaited => Operation::AwaitReadable,
            Data::Queue(queue) => {
                let limits = Limits::default();
                used_at_end = &raw const **queue;
                list = queue.whole_list(limits);
                self.given = match list {
                    Some(_) => queue.len(),
                    None => queue.fill(limits, sources).bytes,
                };
                let is_whole = self.transferred == 0 && self.given == queue.len();
                if !is_whole && !self.is_stream {
                    refuse_messages(descriptor)?;
                    self.is_stream = true;
                }
                Operation::Write { offset }
            }
            Data::Buffers(buffers) => {
                if matches!(self.place, Place::Stream) && !self.is_stream {
                    refuse_reading_messages(descriptor)?;
                    self.is_stream = true;
                }
                self.given = fill(buffers, self.cursor, Limits::default(), targets);
                Operation::Read { offset }
            }
        };
        Ok(Begun {
            descriptor,
            operation,
            list,
            used_at_end,
        })
    }
}

/// Returns where the transfer starts.
///
/// io_uring ignores the offset of a call on a pipe or a socket. pwritev(2) fails with `ESPIPE` in this case.
fn place(descriptor: BorrowedFd<'_>, kind: Option<Kind>, offset: Option<u64>) -> io::Result<Place> {
    let position = || rustix::fs::tell(descriptor);
    match (kind, offset) {
        (Some(Kind::Stream), Some(_)) => Err(Errno::SPIPE.into()),
        (Some(Kind::Stream), None) => Ok(Place::Stream),
        (Some(Kind::File | Kind::Device), Some(offset)) => Ok(Place::Offset(offset)),
        (Some(Kind::Device), None) => Ok(Place::Device),
        (Some(Kind::File), None) => Ok(Place::Position(position()?)),
        (None, Some(offset)) => position()
            .map(|_| Place::Offset(offset))
            .map_err(io::Error::from),
        (None, None) => match position() {
            Ok(position) => Ok(Place::Position(position)),
            Err(Errno::SPIPE) => Ok(Place::Stream),
            Err(error) => Err(error.into()),
        },
    }
}

fn offset_of(first: u64, transferred: u64) -> io::Result<u64> {
    let next = first.checked_add(transferred);
    // The kernel interprets -1 as the position of the descriptor.
    next.filter(|next| i64::try_from(*next).is_ok())
        .ok_or_else(|| {
            let message = format!("the offset {first} is past the largest file offset, 2^63 - 1");
            io::Error::new(io::ErrorKind::InvalidInput, message)
        })
}

/// Fills `targets` with the buffers of the next call from `cursor` on, and returns the number of bytes.
fn fill<'a, B: Buffer>(
    buffers: &'a mut [B],
    cursor: SegmentCursor,
    limits: Limits,
    targets: &mut Vec<IoSliceMut<'a>>,
) -> usize {
    let mut given = 0;
    let mut skipped = cursor.offset();
    for buffer in buffers.iter_mut().skip(cursor.segment()) {
        if targets.len() == limits.segments || given == limits.bytes {
            break;
        }
        let rest = &mut buffer[std::mem::take(&mut skipped)..];
        let here = rest.len().min(limits.bytes - given);
        if here > 0 {
            targets.push(IoSliceMut::new(&mut rest[..here]));
            given += here;
        }
    }
    given
}
