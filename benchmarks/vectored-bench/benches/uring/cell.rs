//! One kind of list, to one target, at one depth.

use std::hint::black_box;
use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

use vectored::uring::{Ring, SharedDescriptor};
use vectored::{QueuePolicy, SegmentQueue};
use vectored_bench::liburing::{CSegment, Liburing, LiburingPeer};
use vectored_lab::stats::{median, paired};

use crate::target::Target;

/// The C program, the same again, the one that copies each list, and `Ring`.
const TECHNIQUES: usize = 4;
const COPYING: usize = 2;
const RING: usize = 3;

pub struct Cell {
    target: Target,
    depth: u32,
    /// Segments of a list, and bytes of each.
    list: (usize, usize),
    /// All segments, one after another.
    content: &'static [u8],
    c: [LiburingPeer; RING],
    ring: Ring,
    fd: SharedDescriptor,
    /// One for each list of a sample.
    queues: Vec<Option<Box<SegmentQueue>>>,
    /// By technique and round, the nanoseconds for making a list and for writing it.
    times: [Vec<[f64; 2]>; TECHNIQUES],
}

impl Cell {
    pub fn new(
        target: Target,
        depth: u32,
        list: (usize, usize),
        liburing: &Liburing,
    ) -> io::Result<Cell> {
        let lists = target.lists(depth);
        let open = |technique| liburing.open(depth, lists, list.0 as u32, technique == COPYING);
        let content: Vec<u8> = (0..list.0 * list.1)
            .map(|at| (at % 251) as u8 + 1)
            .collect();
        let mut cell = Cell {
            depth,
            list,
            // For the queues, which own their segments.
            content: content.leak(),
            c: [open(0)?, open(1)?, open(COPYING)?],
            ring: Ring::new(depth)?,
            fd: SharedDescriptor::new(target.fd.clone())?,
            queues: (0..lists).map(|_| Some(empty_queue())).collect(),
            target,
            times: Default::default(),
        };
        // The first round allocates.
        cell.take_round(&mut fastrand::Rng::with_seed(0))?;
        cell.times = Default::default();
        Ok(cell)
    }

    /// Samples all techniques in random order.
    pub fn take_round(&mut self, random: &mut fastrand::Rng) -> io::Result<()> {
        let places = self.target.places(self.content.len());
        let lists = self.queues.len() as f64;
        let mut turns: [usize; TECHNIQUES] = std::array::from_fn(|index| index);
        random.shuffle(&mut turns);
        for technique in turns {
            let content = black_box(self.content);
            let segments: Vec<CSegment<'_>> =
                content.chunks(self.list.1).map(CSegment::from).collect();
            let began = Instant::now();
            match technique {
                RING => self.fill_queues(),
                c => self.c[c].fill(&segments),
            }
            let filled = Instant::now();
            match technique {
                RING => self.write_by_ring(places)?,
                c => self.c[c].write(self.target.fd.as_fd(), places)?,
            }
            let written = filled.elapsed();
            let nanoseconds = [filled - began, written].map(|time| time.as_nanos() as f64 / lists);
            self.times[technique].push(nanoseconds);
            self.target.drain(self.content)?;
        }
        self.target.compare(self.content)
    }

    fn fill_queues(&mut self) {
        for queue in self.queues.iter_mut().flatten() {
            for segment in black_box(self.content).chunks(self.list.1) {
                queue.push(segment);
            }
        }
    }

    /// Writes the queues, `depth` of them at a time.
    fn write_by_ring(&mut self, places: u32) -> io::Result<()> {
        let list_bytes = self.content.len() as u64;
        let mut next = 0;
        loop {
            while next < self.queues.len() && self.ring.len() < self.depth as usize {
                let queue = self.queues[next].take().expect("it is not in flight");
                let token = next as u64;
                match u64::from(places) {
                    0 => self.ring.submit_write(&self.fd, queue, token),
                    places => {
                        let at = token % places * list_bytes;
                        self.ring.submit_write_at(&self.fd, queue, at, token);
                    }
                }
                next += 1;
            }
            let Some(done) = self.ring.wait()? else {
                return Ok(());
            };
            if done.result? != list_bytes {
                return Err(io::Error::other("a part of a list was written"));
            }
            self.queues[done.token as usize] = done.data.into_queue();
        }
    }

    pub fn print(&self) {
        let (count, bytes) = self.list;
        print!(
            "{:>7} {:>6} {:>9}",
            self.target.kind.name(),
            self.depth,
            format!("{count}x{bytes}")
        );
        let [base, again, copying, ring] = &self.times;
        let write = |times: &[f64; 2]| times[1];
        let all = |times: &[f64; 2]| times[0] + times[1];
        for times in [base, ring] {
            let times: Vec<f64> = times.iter().map(write).collect();
            print!(" {:>9.0}", median(&times).unwrap_or(f64::NAN));
        }
        print!(" {:>22}", ratio(ring, base, write));
        print!(" {:>22}", ratio(again, base, write));
        print!(" {:>22}", ratio(copying, base, write));
        println!(" {:>22}", ratio(ring, base, all));
    }
}

fn ratio(of: &[[f64; 2]], to: &[[f64; 2]], part: fn(&[f64; 2]) -> f64) -> String {
    let logs = of.iter().zip(to).map(|(of, to)| (part(of) / part(to)).ln());
    let logs: Vec<f64> = logs.collect();
    match paired(&logs) {
        Some(stats) => {
            let (low, high) = stats.interval.unwrap_or((0.0, f64::INFINITY));
            format!("{:.3} [{low:.3}, {high:.3}]", stats.ratio)
        }
        None => "-".to_owned(),
    }
}

pub fn print_head() {
    println!(
        "{:>7} {:>6} {:>9} {:>9} {:>9} {:>22} {:>22} {:>22} {:>22}",
        "target",
        "depth",
        "list",
        "C ns",
        "Ring ns",
        "Ring ÷ C",
        "C again ÷ C",
        "C that copies ÷ C",
        "with making, ÷ C"
    );
}

/// One that keeps all segments: the C program copies none.
fn empty_queue() -> Box<SegmentQueue> {
    let mut policy = QueuePolicy::default();
    policy.copy_below_bytes = 0;
    Box::new(SegmentQueue::with_policy(policy))
}
