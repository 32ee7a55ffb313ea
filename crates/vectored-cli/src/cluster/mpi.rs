//! Ranks that talk by MPI: the MPI process of a rank.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Root, Source};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use vectored_lab::measure::{Group, Pinning, pin_measuring_thread};

use super::served::Service;
use crate::failure::Failure;

/// A communicator. Its error handler is the default: an error ends all ranks.
struct MpiGroup(SimpleCommunicator);

/// The bytes of one message: MPI counts them in an `int`.
const MAX_MESSAGE_BYTES: usize = 1 << 30;

/// The exit status of a Rust program that panicked.
const PANICKED: i32 = 101;

/// The first and the longest sleep of a rank that rests.
const REST: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(5));

/// Joins the other ranks, and makes the calls that the rank, whose connection is standard input, asks for.
pub fn serve() -> Result<(), Failure> {
    let stdin = io::stdin();
    let kind = rustix::fs::fstat(&stdin).map(|stat| FileType::from_raw_mode(stat.st_mode));
    if kind != Ok(FileType::Socket) {
        return Err(Failure::usage(
            "standard input is no socket: `vectored measure` and `vectored advise --merge-ranks` start this command, \
             which is of no use by itself",
        ));
    }
    let stdin = stdin.as_fd().try_clone_to_owned();
    let mut rank = UnixStream::from(stdin.context("cannot use the connection to the rank")?);
    end_with(&rank).context("cannot watch for the end of the rank")?;
    let joined = mpi::initialize_with_threading(Threading::Single);
    // Dropped last: it ends MPI.
    let (universe, _) = joined.context("cannot start MPI")?;
    let group = MpiGroup(universe.world());
    let _guard = AbortOnPanic(&group);
    let service = Service {
        group: &group,
        library: &library(),
        abort: &|| group.0.abort(PANICKED),
        pin: &|cpu| {
            // Elsewhere it disturbs other ranks a little.
            let _ = pin_measuring_thread(Pinning::Cpu(cpu));
        },
    };
    if service.run(&mut rank).is_err() {
        // The rank has ended, and its launcher ends the others. `MPI_Finalize` would wait for them.
        std::process::exit(1);
    }
    Ok(())
}

/// Leaves signals to the rank, and ends when it does: on Linux also within a call of MPI.
fn end_with(rank: &UnixStream) -> io::Result<()> {
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::default())?;
    }
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // The rank may have ended before.
    let mut connection = [PollFd::new(rank, PollFlags::IN)];
    poll(&mut connection, Some(&Timespec::default()))?;
    match connection[0].revents().contains(PollFlags::HUP) {
        true => Err(io::ErrorKind::BrokenPipe.into()),
        false => Ok(()),
    }
}

/// Ends all ranks if this process panics. Without it the unwinding drops the universe, which waits in `MPI_Finalize` for
/// ranks that wait for this one.
struct AbortOnPanic<'a>(&'a MpiGroup);

impl Drop for AbortOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.0.abort(PANICKED);
        }
    }
}

/// The MPI library in words.
fn library() -> String {
    let version = mpi::environment::library_version().unwrap_or_default();
    let first = version.split([',', '\n']).next().unwrap_or_default();
    first.replace('\t', " ").trim_end_matches('\0').to_owned()
}

impl Group for MpiGroup {
    fn rank(&self) -> u32 {
        self.0.rank() as u32
    }

    fn size(&self) -> u32 {
        self.0.size() as u32
    }

    fn broadcast(&self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(MAX_MESSAGE_BYTES) {
            self.0.process_at_rank(0).broadcast_into(part);
        }
    }

    fn barrier(&self) {
        self.0.barrier();
    }

    fn largest(&self, values: &mut [u64]) {
        let own = values.to_vec();
        self.0
            .all_reduce_into(&own[..], values, SystemOperation::max());
    }

    fn gather(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        if self.0.rank() != 0 {
            let first = self.0.process_at_rank(0);
            first.send(&(bytes.len() as u64));
            for part in bytes.chunks(MAX_MESSAGE_BYTES) {
                first.send(part);
            }
            return Vec::new();
        }
        let mut all = vec![bytes.to_vec()];
        for rank in 1..self.0.size() {
            let other = self.0.process_at_rank(rank);
            let (length, _) = other.receive::<u64>();
            let mut theirs = vec![0_u8; length as usize];
            for part in theirs.chunks_mut(MAX_MESSAGE_BYTES) {
                other.receive_into(part);
            }
            all.push(theirs);
        }
        all
    }

    fn rest(&self) {
        let mut request = self.0.immediate_barrier();
        let (mut sleep, longest) = REST;
        while let Err(waiting) = request.test() {
            request = waiting;
            thread::sleep(sleep);
            sleep = longest.min(2 * sleep);
        }
    }

    fn first(&self, count: u32) -> Option<Box<dyn Group>> {
        let color = match self.rank() < count {
            true => mpi::topology::Color::with_value(0),
            false => mpi::topology::Color::undefined(),
        };
        let part = self.0.split_by_color(color)?;
        Some(Box::new(MpiGroup(part)))
    }
}
