//! Ranks that communicate by MPI.

use std::thread;
use std::time::Duration;

use anyhow::Context;
use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::environment::Universe;
use mpi::topology::{Color, SimpleCommunicator};
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Root, Source};
use vectored_measure::measure::Group;

use crate::failure::Failure;

/// The communicator keeps MPI's default error handler: an error ends all ranks.
pub struct MpiGroup {
    communicator: SimpleCommunicator,
    /// Only the group of all ranks has a universe. Dropping the universe finalizes MPI. Fields are dropped in
    /// their order, so the communicator must be declared first.
    _universe: Option<Universe>,
}

/// The most bytes of one message: MPI counts the bytes in an `int`.
const MAX_MESSAGE_BYTES: usize = 1 << 30;

/// The exit status of a Rust program after a panic.
const PANICKED: i32 = 101;

/// The first sleep and the longest sleep of a waiting rank.
const REST: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(5));

/// Joins the other ranks.
///
/// The caller must not be pinned yet, because MPI's threads inherit the CPUs of the calling thread.
pub fn join() -> Result<MpiGroup, Failure> {
    // Only one thread calls MPI. Other threads read and write.
    let joined = mpi::initialize_with_threading(Threading::Funneled);
    let (universe, _) = joined.context("cannot start MPI")?;
    Ok(MpiGroup {
        communicator: universe.world(),
        _universe: Some(universe),
    })
}

impl Drop for MpiGroup {
    fn drop(&mut self) {
        // `MPI_Finalize` would block, because the other ranks wait for this rank. Abort ends all ranks.
        if thread::panicking() {
            self.communicator.abort(PANICKED);
        }
    }
}

pub fn library() -> String {
    let version = mpi::environment::library_version().unwrap_or_default();
    let first = version.split([',', '\n']).next().unwrap_or_default();
    first.replace('\t', " ").trim_end_matches('\0').to_owned()
}

impl Group for MpiGroup {
    fn rank(&self) -> u32 {
        self.communicator.rank() as u32
    }

    fn size(&self) -> u32 {
        self.communicator.size() as u32
    }

    fn broadcast(&self, bytes: &mut Vec<u8>) {
        let first = self.communicator.process_at_rank(0);
        let mut length = bytes.len() as u64;
        first.broadcast_into(&mut length);
        bytes.resize(length as usize, 0);
        for part in bytes.chunks_mut(MAX_MESSAGE_BYTES) {
            first.broadcast_into(part);
        }
    }

    fn barrier(&self) {
        self.communicator.barrier();
    }

    fn largest(&self, values: &mut [u64]) {
        let own = values.to_vec();
        self.communicator
            .all_reduce_into(&own[..], values, SystemOperation::max());
    }

    fn gather(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        if self.rank() != 0 {
            let first = self.communicator.process_at_rank(0);
            first.send(&(bytes.len() as u64));
            for part in bytes.chunks(MAX_MESSAGE_BYTES) {
                first.send(part);
            }
            return Vec::new();
        }
        let mut all = vec![bytes.to_vec()];
        for rank in 1..self.communicator.size() {
            let other = self.communicator.process_at_rank(rank);
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
        let mut request = self.communicator.immediate_barrier();
        let (mut sleep, longest) = REST;
        while let Err(waiting) = request.test() {
            request = waiting;
            thread::sleep(sleep);
            sleep = longest.min(2 * sleep);
        }
    }

    fn first(&self, count: u32) -> Option<Box<dyn Group>> {
        let color = if self.rank() < count { Color::with_value(0) } else { Color::undefined() };
        Some(Box::new(MpiGroup {
            communicator: self.communicator.split_by_color(color)?,
            _universe: None,
        }))
    }
}
