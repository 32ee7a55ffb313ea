//! One comparison: a target, messages, and two ways to write them.

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use vectored::SegmentQueue;
use vectored::limits::MAX_CALL_BYTES;
use vectored::queue::QueuePolicy;

use crate::channel::Channel;

/// The head and the tail of a message, which are always copied.
const HEAD: &[u8] = b"$0000000000000016384\r\n";
const TAIL: &[u8] = b"\r\n";

/// The writes of a technique in a round.
const TURNS: u32 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Copy or keep values of these bytes, `values` of them in one call.
    Push { values: usize },
    /// Copy `messages` messages, which have these bytes in all, into one call. Or keep each message, and make a call for each.
    Join { messages: usize },
}

/// The caches that hold the values when they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The values were read just before, as if they had just arrived.
    Fresh,
    /// Other memory was read after the values.
    Cold,
}

/// One of the two ways of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Copy,
    Reference,
}

pub struct Cell {
    pub question: Question,
    pub state: State,
    pub bytes: usize,
    /// The times of a turn in ns: copied, and referenced. By round.
    pub times_ns: Vec<[f64; 2]>,
    /// Whether the target took a turn without blocking.
    pub fits: bool,
}

/// The memory that a server has besides the queue.
pub struct Memory {
    /// Read before each turn.
    pub other: Vec<u8>,
    pub pool_bytes: usize,
}

impl Cell {
    pub fn new(question: Question, state: State, bytes: usize) -> Cell {
        Cell {
            question,
            state,
            bytes,
            times_ns: Vec::new(),
            fits: true,
        }
    }

    /// The values of a turn, and the bytes of each.
    pub fn values(&self) -> (usize, usize) {
        match self.question {
            Question::Push { values } => (values, self.bytes),
            Question::Join { messages } => (messages, (self.bytes / messages).max(1)),
        }
    }

    /// Times both ways in random order.
    pub fn take_round(
        &mut self,
        channel: &mut Channel,
        memory: &Memory,
        random: &mut Rng,
    ) -> io::Result<()> {
        if !self.fits {
            return Ok(());
        }
        let (count, value_bytes) = self.values();
        let values: Vec<Arc<[u8]>> = (0..(memory.pool_bytes / value_bytes).max(count))
            .map(|at| vec![at as u8; value_bytes].into())
            .collect();
        let mut turn_of = |way: Way, random: &mut Rng| -> io::Result<Option<Duration>> {
            let mut queue = SegmentQueue::with_policy(policy(way));
            // The first turn allocates.
            let mut took = Duration::ZERO;
            for turn in 0..=TURNS {
                let chosen: Vec<&Arc<[u8]>> = (0..count)
                    .map(|_| &values[random.usize(..values.len())])
                    .collect();
                read_all(&memory.other);
                if self.state == State::Fresh {
                    chosen.iter().for_each(|value| read_all(value));
                }
                let began = Instant::now();
                let written = self.write(&mut queue, &chosen, way, channel);
                let elapsed = began.elapsed();
                match written {
                    Ok(bytes) => {
                        let arrived = channel.drain(bytes)?;
                        verify(arrived, self.question, &chosen);
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                    Err(error) => return Err(error),
                }
                if turn > 0 {
                    took += elapsed;
                }
            }
            Ok(Some(took))
        };
        let copies_first = random.bool();
        let mut times = [0.0; 2];
        for copies in [copies_first, !copies_first] {
            let way = if copies { Way::Copy } else { Way::Reference };
            match turn_of(way, random)? {
                Some(took) => {
                    times[usize::from(!copies)] = took.as_nanos() as f64 / f64::from(TURNS);
                }
                None => {
                    // The channel still has the bytes of a part of the turn.
                    *channel = channel.reopened()?;
                    self.fits = false;
                    self.times_ns.clear();
                    return Ok(());
                }
            }
        }
        self.times_ns.push(times);
        Ok(())
    }

    fn write(
        &self,
        queue: &mut SegmentQueue,
        values: &[&Arc<[u8]>],
        way: Way,
        channel: &Channel,
    ) -> io::Result<usize> {
        let mut written = 0;
        for &value in values {
            match self.question {
                Question::Push { .. } => {
                    queue.put_slice(HEAD);
                    queue.push(Arc::clone(value));
                    queue.put_slice(TAIL);
                }
                Question::Join { .. } => {
                    queue.push(Arc::clone(value));
                    if way == Way::Reference {
                        written += write_whole(queue, channel)?;
                    }
                }
            }
        }
        if !queue.is_empty() {
            written += write_whole(queue, channel)?;
        }
        Ok(written)
    }
}

/// Writes the queue by one call. A short write is an error: its time would be compared with the time of a whole write.
fn write_whole(queue: &mut SegmentQueue, channel: &Channel) -> io::Result<usize> {
    let written = queue.write_some(channel.fd())?;
    if queue.is_empty() {
        Ok(written)
    } else {
        queue.clear();
        Err(io::ErrorKind::WouldBlock.into())
    }
}

fn policy(way: Way) -> QueuePolicy {
    let mut policy = QueuePolicy::default();
    policy.copy_below_bytes = match way {
        Way::Copy => usize::MAX,
        Way::Reference => 0,
    };
    policy.chunk_bytes = MAX_CALL_BYTES;
    policy.retained_bytes = 4 << 20;
    policy
}

fn read_all(bytes: &[u8]) {
    let lines = bytes.iter().step_by(64);
    black_box(lines.fold(0_u8, |sum, byte| sum ^ byte));
}

/// Compares the bytes of a stream with the written bytes.
fn verify(arrived: &[u8], question: Question, values: &[&Arc<[u8]>]) {
    if arrived.is_empty() {
        return;
    }
    let mut rest = arrived;
    let mut expect = |bytes: &[u8]| {
        let (found, behind) = rest.split_at(bytes.len());
        assert!(found == bytes, "other bytes arrived");
        rest = behind;
    };
    for value in values {
        match question {
            Question::Push { .. } => [HEAD, value, TAIL].into_iter().for_each(&mut expect),
            Question::Join { .. } => expect(value),
        }
    }
    assert!(rest.is_empty());
}
