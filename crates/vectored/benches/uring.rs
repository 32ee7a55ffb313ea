//! Gathered writes by `Ring`, against plain calls one after another:
//! `cargo bench -p vectored --features uring --bench uring`.
//!
//! Both take turns within each round; the ratio is the median of those of the rounds, below 1 where the ring is faster.
//! The plain calls write a list of `IoSlice`s that is made once; the ring gets a queue that is filled anew each time, from
//! static segments. With `--test`, a few rounds of each.

use std::fs::File;
use std::hint::black_box;
use std::io::IoSlice;
use std::sync::Arc;
use std::time::Instant;

use vectored::uring::Ring;
use vectored::{QueuePolicy, SegmentQueue, write_all_vectored_at};

/// Segments of a list, and bytes of each.
const LISTS: [(usize, usize); 5] = [(1, 100), (2, 1000), (16, 4096), (1000, 1024), (10, 102_400)];
const DEPTHS: [u32; 3] = [1, 8, 64];

static BYTES: [u8; 102_400] = [7; 102_400];

fn main() {
    let is_test = std::env::args().any(|word| word == "--test");
    let rounds = if is_test { 3 } else { 201 };
    if let Err(error) = Ring::new(1) {
        println!("nothing is measured: {error}");
        return;
    }
    println!(
        "{:>9} {:>8} {:>9} {:>6} {:>12} {:>12} {:>6}",
        "target", "segments", "bytes", "depth", "plain ns", "ring ns", "ratio"
    );
    let path = std::env::temp_dir().join(format!("vectored-bench-{}", std::process::id()));
    let mut options = File::options();
    let file = options.read(true).write(true).create_new(true).open(&path);
    let file = Arc::new(file.expect("a new file"));
    std::fs::remove_file(&path).expect("the file is removed");
    let null = Arc::new(File::create("/dev/null").expect("/dev/null"));
    for (target, file) in [("/dev/null", null), ("file", file)] {
        for (count, bytes) in LISTS {
            for depth in DEPTHS {
                let (plain, ring, ratio) = compare(&file, count, bytes, depth, rounds);
                println!(
                    "{target:>9} {count:>8} {bytes:>9} {depth:>6} {plain:>12.0} {ring:>12.0} {ratio:>6.2}"
                );
            }
        }
    }
}

/// Nanoseconds of a list by plain calls and by the ring, and the median of the ratios of the rounds.
fn compare(
    file: &Arc<File>,
    count: usize,
    bytes: usize,
    depth: u32,
    rounds: usize,
) -> (f64, f64, f64) {
    let mut ring = Ring::new(depth).expect("a ring");
    let slices = vec![IoSlice::new(&BYTES[..bytes]); count];
    let list_bytes = (count * bytes) as u64;
    // At most 32 MiB, and 64 lists.
    let places = (32 << 20) / list_bytes;
    let lists = 64;
    let mut queues: Vec<Box<SegmentQueue>> = (0..lists).map(|_| empty_queue()).collect();
    let mut times: Vec<(f64, f64)> = Vec::new();
    for round in 0..rounds + 1 {
        let mut plain = 0.0;
        let mut by_ring = 0.0;
        for turn in 0..2 {
            let began = Instant::now();
            if (turn + round) % 2 == 0 {
                for list in 0..lists {
                    let at = list % places * list_bytes;
                    let written = write_all_vectored_at(&**file, black_box(&slices), at);
                    assert_eq!(written.expect("a write"), list_bytes);
                }
                plain = began.elapsed().as_nanos() as f64 / lists as f64;
            } else {
                write_by_ring(&mut ring, file, &mut queues, count, bytes, places);
                by_ring = began.elapsed().as_nanos() as f64 / lists as f64;
            }
        }
        // The first round allocates.
        if round > 0 {
            times.push((plain, by_ring));
        }
    }
    let median = |of: fn(&(f64, f64)) -> f64| {
        let mut all: Vec<f64> = times.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    (
        median(|times| times.0),
        median(|times| times.1),
        median(|times| times.1 / times.0),
    )
}

fn empty_queue() -> Box<SegmentQueue> {
    let mut policy = QueuePolicy::default();
    policy.copy_below_bytes = 0;
    Box::new(SegmentQueue::with_policy(policy))
}

/// Keeps as many transfers in flight as the ring takes.
#[expect(clippy::vec_box, reason = "a ring gives boxes back")]
fn write_by_ring(
    ring: &mut Ring,
    file: &Arc<File>,
    queues: &mut Vec<Box<SegmentQueue>>,
    count: usize,
    bytes: usize,
    places: u64,
) {
    let depth = ring.depth() as usize;
    let all = queues.len() as u64;
    let mut submitted = 0;
    let mut done = Vec::with_capacity(queues.len());
    loop {
        while ring.len() < depth
            && let Some(mut queue) = queues.pop()
        {
            for _ in 0..count {
                queue.push(&BYTES[..bytes]);
            }
            let at = submitted % places * (count * bytes) as u64;
            ring.submit_write_at(Arc::clone(file), queue, at, submitted);
            submitted += 1;
        }
        let Some(completion) = ring.wait().expect("the ring works") else {
            break;
        };
        assert_eq!(completion.result.expect("a write"), (count * bytes) as u64);
        done.extend(completion.data.into_queue());
    }
    assert_eq!(done.len() as u64, all);
    *queues = done;
}
