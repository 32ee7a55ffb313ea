//! A pipe with a reader on another CPU.

use std::hint::spin_loop;
use std::io::{self, IoSlice, PipeWriter, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};

use crate::techniques::Mover;

/// After this time without bytes the reader is asleep in its call.
const SETTLE: Duration = Duration::from_micros(20);

/// A pipe that a thread on another CPU reads.
pub struct Channel {
    pipe: PipeWriter,
    sent_bytes: u64,
    read_bytes: Arc<AtomicU64>,
}

impl Channel {
    pub fn open(cpu: usize, call_bytes: usize) -> io::Result<Channel> {
        let (mut reader, pipe) = io::pipe()?;
        let read_bytes = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&read_bytes);
        // The thread ends when the pipe is closed.
        thread::spawn(move || {
            let mut buffer = vec![0; call_bytes];
            pin(cpu).expect("the CPU was allowed when the bench began");
            loop {
                match reader.read(&mut buffer).expect("a pipe can be read") {
                    0 => return,
                    bytes => counter.fetch_add(bytes as u64, Ordering::Release),
                };
            }
        });
        Ok(Channel {
            pipe,
            sent_bytes: 0,
            read_bytes,
        })
    }

    /// The time of one list, in ns: the mean over `lists`, each after `pause`.
    pub fn sample(
        &mut self,
        mover: &mut Mover,
        segments: &[IoSlice<'_>],
        lists: usize,
        pause: Duration,
    ) -> io::Result<f64> {
        while self.read_bytes.load(Ordering::Acquire) < self.sent_bytes {
            spin_loop();
        }
        wait(Instant::now(), SETTLE);
        let bytes: usize = segments.iter().map(|segment| segment.len()).sum();
        self.sent_bytes += (bytes * lists) as u64;
        if pause.is_zero() {
            // No clock is read between the lists.
            let began = Instant::now();
            for _ in 0..lists {
                mover.write(&mut self.pipe, segments)?;
            }
            return Ok(began.elapsed().as_nanos() as f64 / lists as f64);
        }
        let mut took = Duration::ZERO;
        let mut ended = Instant::now();
        for _ in 0..lists {
            let began = wait(ended, pause);
            mover.write(&mut self.pipe, segments)?;
            ended = Instant::now();
            took += ended - began;
        }
        Ok(took.as_nanos() as f64 / lists as f64)
    }
}

/// Waits busily until `pause` has passed since `from`. Returns the time then.
fn wait(from: Instant, pause: Duration) -> Instant {
    loop {
        let now = Instant::now();
        if now - from >= pause {
            return now;
        }
        spin_loop();
    }
}

/// Pins the calling thread to `cpu`.
pub fn pin(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}
