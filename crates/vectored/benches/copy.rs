//! Copying lists of short segments into one buffer, against a `memcpy` for each:
//! `cargo bench -p vectored --bench copy`.
//!
//! All techniques take turns within each round; the ratio is the median over the rounds.
//! With `--test`, a few rounds of each. `--instructions TECHNIQUE BYTES COUNT CALLS` only copies, for
//! a program that counts instructions: `cargo xtask instructions`.

#[allow(dead_code)] // The module of the library itself, which does not offer it to others.
#[path = "../src/sys/copy/mod.rs"]
mod copy;

#[allow(dead_code)]
#[path = "../src/sys/entry.rs"]
mod entry;

#[allow(dead_code)]
#[path = "../src/sys/span.rs"]
mod span;

use std::fs::File;
use std::hint::black_box;
use std::io::IoSlice;
use std::time::Instant;

use copy::{Copier, copy_run};
use vectored::Gather;

const SIZES: [usize; 28] = [
    1, 2, 3, 4, 6, 8, 12, 15, 16, 20, 24, 31, 32, 33, 40, 50, 64, 65, 96, 128, 129, 192, 200, 256,
    300, 400, 512, 1000,
];
const COUNTS: [usize; 4] = [8, 16, 64, 1000];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["--instructions", technique, bytes, count, calls] => {
            let number = |word: &str| word.parse().expect("a number");
            only_copy(technique, number(bytes), number(count), number(calls));
        }
        _ => compare(if words.contains(&"--test") { 3 } else { 301 }),
    }
}

/// Segments of these sizes, anywhere in a memory of their own.
struct Source {
    memory: Vec<u8>,
    sizes: Vec<usize>,
}

impl Source {
    fn new(sizes: Vec<usize>) -> Source {
        let bytes: usize = sizes.iter().map(|size| size + 64).sum();
        let memory = (0..bytes).map(|i| (i % 251) as u8).collect();
        Source { memory, sizes }
    }

    fn uniform(count: usize, bytes: usize) -> Source {
        Source::new(vec![bytes; count])
    }

    /// Sizes from 1 to 50 bytes that no branch predictor knows by heart.
    fn mixed(count: usize) -> Source {
        let mut state = 20_010_101_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize % 50 + 1
        };
        Source::new((0..count).map(|_| next()).collect())
    }

    fn segments(&self) -> Vec<IoSlice<'_>> {
        let mut at = 0;
        let mut place = |(index, size): (usize, &usize)| {
            let start = at + index * 7 % 64;
            at += size + 64;
            IoSlice::new(&self.memory[start..start + size])
        };
        self.sizes.iter().enumerate().map(&mut place).collect()
    }
}

fn copy_plain(segments: &[IoSlice<'_>], staging: &mut Vec<u8>) {
    staging.clear();
    for segment in segments {
        staging.extend_from_slice(segment);
    }
    black_box(staging.as_ptr());
}

fn copy_by(copier: Copier, segments: &[IoSlice<'_>], staging: &mut Vec<u8>) {
    staging.clear();
    let copied = copy_run(copier, segments, usize::MAX, staging.spare_capacity_mut());
    black_box((copied, staging.as_ptr()));
}

fn compare(rounds: usize) {
    let copiers = Copier::all();
    print!("{:>6} {:>7} {:>12}", "count", "bytes", "memcpy ns");
    for copier in &copiers {
        print!(" {:>9}", copier.name());
    }
    println!("   (÷ memcpy; ns a segment)");
    let mut all: Vec<(usize, Vec<f64>)> = Vec::new();
    for count in COUNTS {
        let uniform = SIZES.map(|bytes| (bytes.to_string(), Source::uniform(count, bytes)));
        let mixed = ("1..=50".to_owned(), Source::mixed(count));
        for (name, source) in uniform.into_iter().chain([mixed]) {
            let (plain_ns, ratios) = measure(&source, &copiers, rounds);
            print!("{count:>6} {name:>7} {plain_ns:>12.2}");
            for ratio in &ratios {
                print!(" {ratio:>9.3}");
            }
            println!();
            if name.parse().is_ok_and(|bytes: usize| bytes <= 50) {
                all.push((count, ratios));
            }
        }
    }
    println!("geometric means of the uniform lists up to 50 bytes:");
    for count in COUNTS {
        print!("{count:>6} {:>20}", "");
        for index in 0..copiers.len() {
            let logs = all.iter().filter(|(at, _)| *at == count);
            let logs: Vec<f64> = logs.map(|(_, ratios)| ratios[index].ln()).collect();
            print!(
                " {:>9.3}",
                (logs.iter().sum::<f64>() / logs.len() as f64).exp()
            );
        }
        println!();
    }
}

/// The time of a `memcpy` for each segment, in ns a segment, and the time of each copier as a ratio.
fn measure(source: &Source, copiers: &[Copier], rounds: usize) -> (f64, Vec<f64>) {
    let segments = source.segments();
    let mut staging = Vec::with_capacity(source.memory.len());
    // About 20 µs for each sample.
    let calls = 8_000_usize.div_ceil(segments.len());
    let mut time = |way: usize| {
        let began = Instant::now();
        for _ in 0..calls {
            match way.checked_sub(1) {
                None => copy_plain(black_box(&segments), &mut staging),
                Some(index) => copy_by(copiers[index], black_box(&segments), &mut staging),
            }
        }
        began.elapsed().as_nanos() as f64 / (calls * segments.len()) as f64
    };
    let ways = copiers.len() + 1;
    let mut samples = vec![Vec::new(); ways];
    for round in 0..=rounds {
        for turn in 0..ways {
            // Each way begins some rounds, and follows each other way.
            let way = if round % 2 == 0 { turn } else { ways - 1 - turn };
            let way = (way + round) % ways;
            let ns = time(way);
            // The first round warms up.
            if round > 0 {
                samples[way].push(ns);
            }
        }
    }
    let ratio = |index: usize| {
        let pairs = samples[index].iter().zip(&samples[0]);
        median(pairs.map(|(ours, plain)| ours / plain).collect())
    };
    let ratios = (1..ways).map(ratio).collect();
    (median(samples[0].clone()), ratios)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Copies lists of `count` times `bytes`, `calls` times. A way that is not to be had here is an error.
fn only_copy(technique: &str, bytes: usize, count: usize, calls: usize) {
    let source = Source::uniform(count, bytes);
    let segments = source.segments();
    let mut staging = Vec::with_capacity(source.memory.len());
    let copier = Copier::all()
        .into_iter()
        .find(|copier| copier.name() == technique);
    let mut gather = Gather::default();
    let null = File::create("/dev/null").expect("/dev/null");
    for _ in 0..calls {
        match (technique, copier) {
            ("memcpy", _) => copy_plain(black_box(&segments), &mut staging),
            ("Gather", _) => {
                let written = gather.write_all(&null, black_box(&segments));
                assert_eq!(written.expect("/dev/null"), (bytes * count) as u64);
            }
            (_, Some(copier)) => copy_by(copier, black_box(&segments), &mut staging),
            (_, None) => {
                eprintln!("error: this processor has no {technique}");
                std::process::exit(3);
            }
        }
    }
}
