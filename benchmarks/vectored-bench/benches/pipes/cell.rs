//! One kind of list after one pause, sampled by all techniques.

use std::io::{self, IoSlice, PipeReader, PipeWriter, Read};
use std::thread;
use std::time::Duration;

use vectored_results::stats::median;

use crate::channel::Channel;
use crate::techniques::{List, Mover, TECHNIQUES, Technique};

/// The approximate bytes of a sample. For most of these bytes, the pipe is in its steady state.
const SAMPLE_BYTES: usize = 1 << 20;

/// Limits of the number of lists in a sample.
const MIN_LISTS: usize = 16;
const MAX_LISTS: usize = 64;

/// A kind of list after a pause, with the times of each technique by round.
pub struct Cell {
    pub name: String,
    pub list: List,
    lists_in_sample: usize,
    pause: Duration,
    movers: [Mover; TECHNIQUES.len()],
    samples: [Vec<f64>; TECHNIQUES.len()],
}

impl Cell {
    pub fn new(count: usize, segment_bytes: usize, pause_us: f64) -> Cell {
        Cell {
            name: format!("{count}x{segment_bytes}"),
            list: List::new(count, segment_bytes),
            lists_in_sample: (SAMPLE_BYTES / (count * segment_bytes)).clamp(MIN_LISTS, MAX_LISTS),
            pause: Duration::from_nanos((pause_us * 1e3) as u64),
            movers: TECHNIQUES.map(|(technique, _)| Mover::new(technique)),
            samples: TECHNIQUES.map(|_| Vec::new()),
        }
    }

    pub fn take_round(
        &mut self,
        channel: &mut Channel,
        random: &mut fastrand::Rng,
    ) -> io::Result<()> {
        let segments = self.list.segments();
        let mut turns: [usize; TECHNIQUES.len()] = std::array::from_fn(|index| index);
        random.shuffle(&mut turns);
        for index in turns {
            let mover = &mut self.movers[index];
            let ns = channel.sample(mover, &segments, self.lists_in_sample, self.pause)?;
            self.samples[index].push(ns);
        }
        Ok(())
    }

    /// The median time of a technique in these rounds, in ns.
    pub fn median(&self, technique: Technique, rounds: &[usize]) -> f64 {
        let samples = &self.samples[index_of(technique)];
        let samples: Vec<f64> = rounds.iter().map(|&round| samples[round]).collect();
        median(&samples).expect("there is a round")
    }

    /// The median over these rounds of the time of `this` ÷ the time of `other` in the round.
    pub fn ratio(&self, this: Technique, other: Technique, rounds: &[usize]) -> f64 {
        let (this, other) = (
            &self.samples[index_of(this)],
            &self.samples[index_of(other)],
        );
        let ratios: Vec<f64> = rounds
            .iter()
            .map(|&round| this[round] / other[round])
            .collect();
        median(&ratios).expect("there is a round")
    }

    /// The ratio of a technique to the better of one `writev` and of `writev` in calls of 8 KiB.
    pub fn ratio_to_best(&self, this: Technique, rounds: &[usize]) -> f64 {
        let to = |other| self.ratio(this, other, rounds);
        to(Technique::Writev).max(to(Technique::WritevByChunks))
    }
}

fn index_of(technique: Technique) -> usize {
    let found = TECHNIQUES.iter().position(|&(one, _)| one == technique);
    found.expect("each technique is in the table")
}

/// Sends the list four times by each technique and compares what arrives.
pub fn verify(segments: &[IoSlice<'_>]) -> io::Result<()> {
    let expected: Vec<u8> = segments
        .iter()
        .flat_map(|segment| segment.to_vec())
        .collect();
    for (technique, name) in TECHNIQUES {
        let (mut reader, mut pipe): (PipeReader, PipeWriter) = io::pipe()?;
        let reading = thread::spawn(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).map(|_| all)
        });
        let mut mover = Mover::new(technique);
        for _ in 0..4 {
            mover.write(&mut pipe, segments)?;
        }
        drop(pipe);
        let arrived = reading.join().expect("the reader does not panic")?;
        if arrived != expected.repeat(4) {
            return Err(io::Error::other(format!("{name} moved other bytes")));
        }
    }
    Ok(())
}
