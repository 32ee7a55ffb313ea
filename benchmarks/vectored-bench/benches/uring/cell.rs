//! One kind of list, to one target, at one depth.

use std::hint::black_box;
use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

use vectored_bench::liburing::{CSegment, Liburing, LiburingPeer};
use vectored_results::stats::{median, paired};

use crate::ring::RingPeer;
use crate::target::Target;

/// The C program, the same program again, the C program that copies each list, and `Ring`.
const TECHNIQUES: usize = 4;
const COPYING: usize = 2;
const RING: usize = 3;

pub struct Cell {
    target: Target,
    depth: u32,
    /// The lists of a sample.
    lists: u32,
    /// Segments of a list, and bytes of each.
    list: (usize, usize),
    /// All segments, one after another.
    content: &'static [u8],
    c: [LiburingPeer; RING],
    ring: RingPeer,
    /// The nanoseconds for making a list and for writing it, by technique and round.
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
            lists,
            list,
            // For the queues, which own their segments.
            content: content.leak(),
            c: [open(0)?, open(1)?, open(COPYING)?],
            ring: RingPeer::open(depth, lists, &target.fd)?,
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
        let mut turns: [usize; TECHNIQUES] = std::array::from_fn(|index| index);
        random.shuffle(&mut turns);
        for technique in turns {
            let content = black_box(self.content);
            let segments: Vec<CSegment<'_>> =
                content.chunks(self.list.1).map(CSegment::from).collect();
            let began = Instant::now();
            match technique {
                RING => self.ring.fill(content.chunks(self.list.1)),
                c => self.c[c].fill(&segments),
            }
            let filled = Instant::now();
            match technique {
                RING => self.ring.write(self.target.place())?,
                c => self.c[c].write(self.target.fd.as_fd(), self.target.places(self.lists))?,
            }
            let written = filled.elapsed();
            let times = [filled - began, written];
            let nanoseconds = times.map(|time| time.as_nanos() as f64 / f64::from(self.lists));
            self.times[technique].push(nanoseconds);
            self.target.drain(self.content)?;
        }
        self.target.compare(self.content)
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
