//! The lists of a sample, written by the function that `--technique io-uring` of `vectored measure` calls.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use vectored::uring::{Data, Ring, SharedDescriptor};
use vectored_measure::in_flight::{Place, move_by_ring, uncopied_queue};

/// A ring with lists that own their memory.
pub struct RingPeer {
    ring: Ring,
    fd: SharedDescriptor,
    lists: VecDeque<Data>,
}

impl RingPeer {
    /// A ring that writes `lists` lists to a descriptor, at most `depth` of them at a time.
    pub fn open(depth: u32, lists: u32, fd: &Arc<OwnedFd>) -> io::Result<RingPeer> {
        Ok(RingPeer {
            ring: Ring::new(depth)?,
            fd: SharedDescriptor::new(Arc::clone(fd))?,
            lists: (0..lists).map(|_| Data::Queue(uncopied_queue())).collect(),
        })
    }

    /// Fills each list with these segments.
    pub fn fill(&mut self, segments: impl Iterator<Item = &'static [u8]> + Clone) {
        for list in &mut self.lists {
            if let Data::Queue(queue) = list {
                for segment in segments.clone() {
                    queue.push(segment);
                }
            }
        }
    }

    /// Writes all lists. [Fill](RingPeer::fill) them again before the next call.
    pub fn write(&mut self, place: Place) -> io::Result<()> {
        let how = (place, self.lists.len() as u64, self.ring.depth() as usize);
        move_by_ring(
            &mut self.ring,
            &self.fd,
            how,
            &mut self.lists,
            |lists, _| lists.pop_front().expect("a list for each transfer"),
            &mut |_| (),
        )?;
        Ok(())
    }
}
