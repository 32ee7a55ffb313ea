//! `net.Buffers` of Go, in a process of its own.
//!
//! The process runs for the whole measurement. For each sample it receives the segments and the descriptor, times its own
//! calls, and answers with the time.

use std::cell::RefCell;
use std::io::{self, BufWriter, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;

use rustix::fs::{FileType, OFlags};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use vectored_machine::Clock;
use vectored_measure::measure::{Lists, Mover, Timed, Timing};

use super::peer::ONE_CALL;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/go");

/// The Go process.
#[derive(Debug)]
pub struct GoProgram {
    socket: UnixStream,
    child: RefCell<Child>,
}

impl GoProgram {
    /// Compiles the program and starts it.
    ///
    /// # Errors
    ///
    /// Why it cannot be compiled or started.
    pub fn start() -> Result<Self, String> {
        let program = compile()?;
        let start = || {
            let (ours, its) = UnixStream::pair()?;
            // The child inherits the pinning of this process to the CPU that measures.
            let child = Command::new(&program)
                .stdin(Stdio::from(OwnedFd::from(its)))
                .stdout(Stdio::null())
                .spawn();
            // The running process does not need its file any more.
            if let Some(folder) = program.parent() {
                std::fs::remove_dir_all(folder)?;
            }
            let child = child?;
            Ok(GoProgram {
                socket: ours,
                child: RefCell::new(child),
            })
        };
        start().map_err(|error: io::Error| format!("cannot start '{}': {error}", program.display()))
    }

    fn run(&self, fd: BorrowedFd<'_>, segments: &[&[u8]], batch: Timed) -> io::Result<Timing> {
        let flags = rustix::fs::fcntl_getfl(fd)?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode);
        let order = Order {
            is_socket: kind == FileType::Socket,
            // A non-blocking descriptor has no reader during the sample.
            stays_full: flags.contains(OFlags::NONBLOCK),
            batch,
            segments,
        };
        let outcome = order
            .send(&self.socket, fd)
            .and_then(|()| answer(&self.socket));
        // Go made the descriptor non-blocking. Its descriptor and ours share this flag.
        rustix::fs::fcntl_setfl(fd, flags)?;
        outcome
    }
}

impl Drop for GoProgram {
    fn drop(&mut self) {
        // The process ends when its socket is closed.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        let _ = self.child.borrow_mut().wait();
    }
}

fn compile() -> Result<PathBuf, String> {
    let folder = std::env::temp_dir().join(format!("vectored-bench-go-{}", std::process::id()));
    let program = folder.join("net_buffers");
    let output = Command::new("go")
        .args(["build", "-o"])
        .arg(&program)
        .arg(".")
        .current_dir(Path::new(SOURCE))
        // Nothing is downloaded: the program needs the standard library only.
        .envs([
            ("GOTOOLCHAIN", "local"),
            ("GOPROXY", "off"),
            ("GOFLAGS", ""),
        ])
        .output()
        .map_err(|error| format!("cannot run go: {error}"))?;
    if output.status.success() {
        Ok(program)
    } else {
        Err(format!(
            "go build failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ))
    }
}

/// One request to the process. `go/net_buffers.go` describes the format.
struct Order<'a> {
    is_socket: bool,
    stays_full: bool,
    batch: Timed,
    segments: &'a [&'a [u8]],
}

impl Order<'_> {
    fn send(&self, socket: &UnixStream, target: BorrowedFd<'_>) -> io::Result<()> {
        let header: Vec<u8> = [
            u64::from(self.is_socket),
            self.batch.calls.into(),
            u64::from(self.batch.untimed_first),
            self.segments.len() as u64,
            u64::from(self.stays_full),
        ]
        .into_iter()
        .flat_map(u64::to_le_bytes)
        .collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut rights = SendAncillaryBuffer::new(&mut space);
        let descriptors = [target];
        if !rights.push(SendAncillaryMessage::ScmRights(&descriptors)) {
            return Err(io::Error::other("no room for a descriptor"));
        }
        let sent = sendmsg(
            socket,
            &[IoSlice::new(&header)],
            &mut rights,
            SendFlags::empty(),
        )?;
        if sent != header.len() {
            return Err(io::Error::other("a part of an order was sent"));
        }
        let mut writer = BufWriter::with_capacity(1 << 16, socket);
        for segment in self.segments {
            writer.write_all(&(segment.len() as u64).to_le_bytes())?;
        }
        for segment in self.segments {
            writer.write_all(segment)?;
        }
        writer.flush()
    }
}

fn answer(mut socket: &UnixStream) -> io::Result<Timing> {
    let mut numbers = [0; 32];
    socket.read_exact(&mut numbers)?;
    let number = |index: usize| {
        let bytes = numbers[8 * index..][..8].try_into();
        u64::from_le_bytes(bytes.expect("eight bytes"))
    };
    let mut message = vec![0; number(3) as usize];
    socket.read_exact(&mut message)?;
    match number(0) {
        0 => Ok(Timing {
            elapsed_ns: number(1),
            cpu_ns: number(2),
        }),
        1 => Err(io::ErrorKind::WouldBlock.into()),
        _ => Err(io::Error::other(
            String::from_utf8_lossy(&message).into_owned(),
        )),
    }
}

/// `WriteTo` of a `net.Buffers`: one `writev` on a connection, and one `Write` for each buffer on any other
/// writer, such as a file or a pipe.
pub struct GoNetBuffers {
    program: Rc<GoProgram>,
}

impl GoNetBuffers {
    pub fn new(program: Rc<GoProgram>) -> Self {
        GoNetBuffers { program }
    }
}

impl Mover for GoNetBuffers {
    fn prepare(&mut self, _segments: &[&[u8]], _start_bytes: usize) {}

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        self.program.run(fd, segments, ONE_CALL)?;
        Ok(())
    }

    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &Lists<'_>,
        batch: Timed,
        _clock: &dyn Clock,
    ) -> io::Result<Timing> {
        let has_one_list = lists.segments().len() == lists.first().len();
        if batch.fsync || !has_one_list {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut timing = self.program.run(fd.as_fd(), lists.first(), batch)?;
        timing.cpu_ns = timing.cpu_ns * u64::from(batch.calls) / u64::from(batch.all_calls());
        Ok(timing)
    }
}
