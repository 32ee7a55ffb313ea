//! Random transfers, many at once on one ring. The transfers are moved in parts, cancelled, or dropped with the ring.
//! They use files with and without the page cache. The memory of transfers is watched after they have ended.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Once};

use fastrand::Rng;
use rustix::fs::OFlags;
use vectored::SegmentQueue;
use vectored::files::AlignedBuffer;
use vectored::queue::QueuePolicy;
use vectored::queue::Segment;
use vectored::uring::{Completion, Data, Ring, SharedDescriptor};

use crate::host::{report_skip, set_nonblocking, shrink_pipe};
use crate::model::bytes_lost;
use crate::outcome::Counts;

/// The content of the buffers of a read that has not begun.
const UNREAD: u8 = 0xee;

/// The content of memory that the kernel must not use any more.
const CANARY: u8 = 0xa5;

const BLOCK: usize = 4096;

/// The number of bytes of the file for each transfer.
const REGION: u64 = 49 * BLOCK as u64;

fn filled(bytes: usize, alignment: usize, content: u8) -> AlignedBuffer {
    let mut buffer = AlignedBuffer::zeroed(bytes, alignment);
    buffer.fill(content);
    buffer
}

/// Runs transfers on pipes, sockets and a file in `directory` until all have ended, or the ring is dropped.
pub fn session(rng: &mut Rng, directory: &Path) -> io::Result<Counts> {
    let files = Files::new(directory)?;
    let mut ring = Ring::with_buffers(1 << rng.u32(..7))?;
    let mut flights = Vec::new();
    for token in 0..rng.u64(1..40) {
        let flight = Flight::any(rng, token, &files)?;
        flight.submit(rng, &mut ring)?;
        flights.push(flight);
    }
    let mut counts = Counts::default();
    // Buffers that were given back, full of canaries.
    let mut watched: Vec<AlignedBuffer> = Vec::new();
    let mut turns_left = rng.usize(..400);
    while !flights.is_empty() && turns_left > 0 {
        turns_left -= 1;
        let chosen = rng.usize(..flights.len());
        match rng.u32(..8) {
            0 => {
                let flight = &mut flights[chosen];
                flight.is_cancelled |= ring.cancel(flight.token)? > 0;
            }
            1 => ring.start()?,
            _ => {
                let most = 1 << rng.u32(..20);
                flights[chosen].move_some(most)?;
            }
        }
        while let Some(done) = ring.try_wait()? {
            let at = flights.iter().position(|flight| flight.token == done.token);
            let flight = flights.swap_remove(at.expect("a transfer ends once"));
            counts.faults += u64::from(flight.is_cancelled);
            let moved = match &done.result {
                Ok(bytes) => *bytes,
                Err(error) => error.transferred(),
            };
            counts.arrived += moved;
            counts.lost += flight.ended(done, moved as usize, &mut watched)?;
        }
    }
    drop(ring);
    for flight in flights {
        counts.faults += 1;
        counts.lost += flight.dropped(&mut watched)?;
    }
    let changed =
        |buffer: &AlignedBuffer| buffer.iter().filter(|byte| **byte != CANARY).count() as u64;
    counts.lost += watched.iter().map(changed).sum::<u64>();
    Ok(counts)
}

/// A transfer of the ring, and the other side of its descriptor.
struct Flight {
    token: u64,
    is_write: bool,
    /// The bytes that are written, or can be read: these may be more than the buffers hold.
    data: Vec<u8>,
    sizes: Vec<usize>,
    side: Side,
    is_direct: bool,
    is_cancelled: bool,
}

enum Side {
    /// The descriptor that the ring uses, the other end, and what the test has received or sent.
    Stream {
        ours: SharedDescriptor,
        our_fd: Arc<OwnedFd>,
        other: File,
        received: Vec<u8>,
        sent: usize,
    },
    /// A file from this offset on. The ring may use the descriptor with `O_DIRECT`.
    File {
        ours: Arc<File>,
        file: Arc<File>,
        offset: u64,
    },
}

impl Flight {
    fn any(rng: &mut Rng, token: u64, files: &Files) -> io::Result<Flight> {
        let direct = files.direct.as_ref().filter(|_| rng.u32(..5) == 0);
        let most = rng.choice([4, 300, 9000]).unwrap_or(300);
        let count = match rng.u32(..12) {
            0 => 1025,
            _ => rng.usize(1..20),
        };
        let sizes: Vec<usize> = match direct {
            None => (0..count)
                .map(|_| rng.usize(..=most.min(REGION as usize / count / 2)))
                .collect(),
            Some(_) => (0..rng.usize(1..12))
                .map(|_| BLOCK * rng.usize(..=4))
                .collect(),
        };
        let is_write = rng.bool();
        let total: usize = sizes.iter().sum();
        let surplus = if is_write { 0 } else { rng.usize(..2000) };
        let first = rng.u8(..);
        let data: Vec<u8> = (0..total + surplus)
            .map(|at| (at % 251) as u8 ^ first)
            .collect();
        let side = if direct.is_some() || rng.u32(..3) == 0 {
            let offset = token * REGION;
            if !is_write {
                files.file.write_all_at(&data, offset)?;
            }
            Side::File {
                ours: Arc::clone(direct.unwrap_or(&files.file)),
                file: Arc::clone(&files.file),
                offset,
            }
        } else {
            let (reader, writer): (OwnedFd, OwnedFd) = if rng.bool() {
                let (reader, writer) = UnixStream::pair()?;
                (reader.into(), writer.into())
            } else {
                let (reader, writer) = io::pipe()?;
                shrink_pipe(&writer)?;
                (reader.into(), writer.into())
            };
            let (ours, other) = if is_write { (writer, reader) } else { (reader, writer) };
            set_nonblocking(&other)?;
            if rng.bool() {
                set_nonblocking(&ours)?;
            }
            let our_fd = Arc::new(ours);
            Side::Stream {
                ours: SharedDescriptor::new(Arc::clone(&our_fd))?,
                our_fd,
                other: other.into(),
                received: Vec::new(),
                sent: 0,
            }
        };
        Ok(Flight {
            token,
            is_write,
            data,
            sizes,
            side,
            is_direct: direct.is_some(),
            is_cancelled: false,
        })
    }

    fn submit(&self, rng: &mut Rng, ring: &mut Ring<AlignedBuffer>) -> io::Result<()> {
        let mut policy = QueuePolicy::default();
        policy.copy_below_bytes = if self.is_direct { 0 } else { rng.usize(..1000) };
        let mut queue = SegmentQueue::with_policy(policy);
        let alignment = if self.is_direct { BLOCK } else { 1 << rng.u32(..7) };
        let mut rest = &self.data[..];
        for size in &self.sizes {
            let (segment, behind) = rest.split_at(*size);
            let mut owned = AlignedBuffer::zeroed(*size, alignment);
            owned.copy_from_slice(segment);
            queue.push(Segment::from_owner(owned));
            rest = behind;
        }
        let buffers = || {
            let sizes = self.sizes.iter();
            sizes.map(|size| filled(*size, alignment, UNREAD)).collect()
        };
        match (&self.side, self.is_write) {
            (Side::Stream { ours, .. }, true) => ring.submit_write(ours, queue, self.token),
            (Side::Stream { ours, .. }, false) => ring.submit_read(ours, buffers(), self.token),
            (Side::File { ours, offset, .. }, true) => {
                ring.submit_write_at(Arc::clone(ours), queue, *offset, self.token);
            }
            (Side::File { ours, offset, .. }, false) => {
                ring.submit_read_at(Arc::clone(ours), buffers(), *offset, self.token);
            }
        }
        if rng.u32(..4) == 0 {
            ring.start()?;
        }
        Ok(())
    }

    /// Lets the other end of a stream take or give up to `most` bytes.
    fn move_some(&mut self, most: usize) -> io::Result<()> {
        let Side::Stream {
            other,
            received,
            sent,
            ..
        } = &mut self.side
        else {
            return Ok(());
        };
        if self.is_write {
            let mut buffer = vec![0; most];
            if let Some(bytes) = unless_blocked(other.read(&mut buffer))? {
                received.extend_from_slice(&buffer[..bytes]);
            }
        } else {
            let end = self.data.len().min(*sent + most);
            *sent += unless_blocked(other.write(&self.data[*sent..end]))?.unwrap_or(0);
        }
        Ok(())
    }

    /// Compares what a transfer moved, and returns the number of wrong bytes. The buffers of the transfer get
    /// canaries.
    fn ended(
        self,
        done: Completion<AlignedBuffer>,
        moved: usize,
        watched: &mut Vec<AlignedBuffer>,
    ) -> io::Result<u64> {
        let whole: usize = self.sizes.iter().sum();
        match &done.result {
            Ok(_) => assert_eq!(moved, whole, "a part of a transfer"),
            Err(error) => {
                let code = error.io_error().raw_os_error();
                assert!(
                    self.is_cancelled && code == Some(libc::ECANCELED),
                    "{error}"
                );
            }
        }
        let mut lost = match done.data {
            Data::Queue(queue) => {
                let left: Vec<u8> = queue.segments().flatten().copied().collect();
                bytes_lost(&self.data[moved..], &left)
            }
            Data::Buffers(mut buffers) => {
                let all: Vec<u8> = buffers.iter().flat_map(|buffer| buffer.to_vec()).collect();
                let is_unread = |byte: &&u8| **byte != UNREAD;
                let touched = all[moved..].iter().filter(is_unread).count() as u64;
                buffers.iter_mut().for_each(|buffer| buffer.fill(CANARY));
                watched.append(&mut buffers);
                bytes_lost(&self.data[..moved], &all[..moved]) + touched
            }
            _ => panic!("neither a queue nor buffers"),
        };
        lost += match &self.side {
            _ if self.is_write => bytes_lost(&self.data[..moved], &self.arrived(moved)?),
            Side::Stream { our_fd, sent, .. } => {
                bytes_lost(&self.data[moved..*sent], &drain_fd(our_fd)?)
            }
            Side::File { .. } => 0,
        };
        Ok(lost)
    }

    /// Checks a transfer whose ring was dropped, like [`ended`](Flight::ended).
    fn dropped(mut self, watched: &mut Vec<AlignedBuffer>) -> io::Result<u64> {
        // The allocator gives out the memory of the transfer again.
        watched.extend(self.sizes.iter().map(|size| filled(*size, 1, CANARY)));
        if self.is_write {
            let arrived = self.arrived(self.data.len())?;
            // Bytes of a file that were not written are a hole.
            let is_hole = |byte: u8| byte == 0 && matches!(self.side, Side::File { .. });
            let pairs = arrived.iter().zip(&self.data);
            let wrong = pairs.filter(|(found, data)| found != data && !is_hole(**found));
            let surplus = arrived.len().saturating_sub(self.data.len());
            return Ok((wrong.count() + surplus) as u64);
        }
        let Side::Stream {
            our_fd,
            other,
            sent,
            ..
        } = &mut self.side
        else {
            return Ok(0);
        };
        let left = drain_fd(our_fd)?;
        let lost = bytes_lost(&self.data[*sent - left.len()..*sent], &left);
        other.write_all(b"later")?;
        Ok(lost + bytes_lost(b"later", &drain_fd(our_fd)?))
    }

    /// What a write has brought to the other side. Of a file, at most `most` bytes are returned.
    fn arrived(&self, most: usize) -> io::Result<Vec<u8>> {
        match &self.side {
            Side::Stream {
                other, received, ..
            } => Ok([&received[..], &drain(other)?].concat()),
            Side::File { file, offset, .. } => {
                let mut found = vec![0; most];
                let bytes = file.read_at(&mut found, *offset)?;
                found.truncate(bytes);
                Ok(found)
            }
        }
    }
}

struct Files {
    file: Arc<File>,
    /// The file, opened with `O_DIRECT`. `None`, which is reported, if the file system refuses `O_DIRECT`.
    direct: Option<Arc<File>>,
}

impl Files {
    fn new(directory: &Path) -> io::Result<Files> {
        let path = directory.join(format!("vectored-session-{}", std::process::id()));
        let mut options = File::options();
        options.read(true).write(true);
        let file = options.clone().create_new(true).open(&path)?;
        let flags = OFlags::DIRECT.bits() as i32;
        let direct = options.custom_flags(flags).open(&path);
        fs::remove_file(&path)?;
        if let Err(error) = &direct {
            static REPORTED: Once = Once::new();
            let why = format!("no O_DIRECT in {}: {error}", directory.display());
            REPORTED.call_once(|| report_skip("transfers of a ring past the page cache", &why));
        }
        Ok(Files {
            file: Arc::new(file),
            direct: direct.ok().map(Arc::new),
        })
    }
}

fn unless_blocked(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

fn drain(mut from: &File) -> io::Result<Vec<u8>> {
    let (mut all, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    while let Some(bytes @ 1..) = unless_blocked(from.read(&mut buffer))? {
        all.extend_from_slice(&buffer[..bytes]);
    }
    Ok(all)
}

fn drain_fd(fd: &OwnedFd) -> io::Result<Vec<u8>> {
    set_nonblocking(fd)?;
    drain(&File::from(fd.try_clone()?))
}
