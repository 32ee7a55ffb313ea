//! Copies lists of short segments into one buffer.
//!
//! `cargo xtask instructions` counts the instructions of `--instructions TECHNIQUE BYTES COUNT CALLS`. Without
//! arguments, each technique copies one list.

#[allow(dead_code)] // A private module of the library, compiled here once more.
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

use copy::{Copier, copy_run};
use vectored::Gather;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["--instructions", technique, bytes, count, calls] => {
            let number = |word: &str| word.parse().expect("a number");
            only_copy(technique, number(bytes), number(count), number(calls));
        }
        _ => {
            for technique in ["memcpy", "Gather", Copier::BASELINE.name()] {
                only_copy(technique, 50, 64, 1);
            }
        }
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

/// Copies a list of `count` segments of `bytes` bytes, `calls` times. Panics if this processor has no such technique.
fn only_copy(technique: &str, bytes: usize, count: usize, calls: usize) {
    // A gap after each segment moves the next segment to another offset in a cache line.
    let slot = bytes + 64;
    let memory: Vec<u8> = (0..count * slot).map(|i| (i % 251) as u8).collect();
    let place = |index: usize| &memory[index * slot + index * 7 % 64..][..bytes];
    let segments: Vec<_> = (0..count).map(|index| IoSlice::new(place(index))).collect();
    let mut staging = Vec::with_capacity(memory.len());
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
