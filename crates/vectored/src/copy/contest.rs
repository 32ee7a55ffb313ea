//! Chooses how a long copy copies its next part: in the way that took the least time for earlier parts.
//!
//! - A contest copies some parts by each way in turn.
//! - The fastest way then copies a stretch of many parts.
//! - After the stretch, a duel compares the chosen way with its rival. The rival is the fastest way of another
//!   technique. The comparison is repeated, because the speed of the storage and of the page cache may change.
//! - A new contest begins if the rival is faster, or if parts of a stretch take much longer than in the contest.

use super::Technique;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) technique: Technique,
    /// 0 for a technique without a buffer.
    pub(super) buffer_bytes: usize,
}

/// The ways between two files. Among equally fast ways, the first way is chosen. `copy_file_range` is left out,
/// because it splices through a pipe of 64 KiB if the file system cannot copy files itself. The best buffer
/// depends on the machine: the times of buffers from 128 KiB to 512 KiB differed by factors of up to 1.2.
const WAYS: [Way; 5] = [
    Way {
        technique: Technique::Splice,
        buffer_bytes: 0,
    },
    of_buffer(BUFFER_BYTES),
    of_buffer(256 << 10),
    of_buffer(128 << 10),
    of_buffer(64 << 10),
];

const fn of_buffer(buffer_bytes: usize) -> Way {
    Way {
        technique: Technique::ReadWrite,
        buffer_bytes,
    }
}

pub(super) const BUFFER_BYTES: usize = 512 << 10;

/// A part of this length takes some 100 µs.
pub(super) const TRIAL_BYTES: u64 = 512 << 10;

/// The number of parts of each way in a contest. The least time counts, because an interruption can only lengthen
/// a time.
const TURNS: usize = 3;

/// In the third turn, a way is skipped if its least time exceeds the least time of the fastest way by this
/// factor. No way is skipped in the second turn, because the first turn includes the first access to the buffer.
const SLOW: f64 = 1.2;

/// The length of a part of a stretch, in parts of a contest.
const PART_TRIALS: u64 = 4;

/// The length of a stretch, in parts of a contest: 16 MiB.
const STRETCH_TRIALS: u64 = 32;

/// The length of a stretch after a duel with a slow rival, in parts of a contest: 22 MiB.
const LONG_STRETCH_TRIALS: u64 = 44;

/// The number of parts of each way in a duel. A part of a duel is half as long as a part of a contest.
const DUEL_TURNS: usize = 2;

/// The number of stretches after which a new contest begins.
const STRETCHES: u32 = 16;

/// A new contest begins if the rival takes less than this share of the time of the chosen way.
const FASTER: f64 = 0.95;

/// The chosen way is kept if its time is at most this many times the time of the fastest way.
const TIE: f64 = 1.02;

/// A new contest begins if two successive parts take more than this many times the least time of the chosen way.
const SUDDENLY_SLOW: f64 = 1.5;

#[derive(Clone, Copy, Debug)]
enum State {
    /// Each way copies one part in each turn.
    Contest { turn: usize, way: usize },
    /// The chosen way copies all parts.
    Stretch { left_bytes: u64, slow_parts: u32 },
    /// The chosen way and the rival copy one part each in turn.
    Duel { rival: usize, part: usize },
}

#[derive(Debug)]
pub(super) struct Contest {
    trial_bytes: u64,
    state: State,
    /// The least time of each way in the last contest or duel, in ns a byte. Infinite before the first part of a
    /// way.
    least: [f64; WAYS.len()],
    is_refused: [bool; WAYS.len()],
    chosen: usize,
    stretches: u32,
}

impl Contest {
    pub(super) fn new(trial_bytes: u64) -> Contest {
        Contest {
            trial_bytes,
            state: State::Contest { turn: 0, way: 0 },
            least: [f64::INFINITY; WAYS.len()],
            is_refused: [false; WAYS.len()],
            chosen: 0,
            stretches: 0,
        }
    }

    pub(super) fn next(&self) -> (Way, u64) {
        let (way, bytes) = match self.state {
            State::Contest { way, .. } => (way, self.trial_bytes),
            State::Stretch { left_bytes, .. } => {
                (self.chosen, left_bytes.min(PART_TRIALS * self.trial_bytes))
            }
            State::Duel { rival, part } => {
                (self.duellist(rival, part), self.trial_bytes.div_ceil(2))
            }
        };
        (WAYS[way], bytes)
    }

    pub(super) fn took(&mut self, bytes: u64, ns: u64) {
        let time = ns as f64 / bytes as f64;
        match self.state {
            State::Contest { turn, way } => {
                self.least[way] = self.least[way].min(time);
                self.go_on(turn, way + 1);
            }
            State::Stretch {
                left_bytes,
                slow_parts,
            } => {
                let is_slow = time > SUDDENLY_SLOW * self.least[self.chosen];
                let slow_parts = if is_slow { slow_parts + 1 } else { 0 };
                let left_bytes = left_bytes.saturating_sub(bytes);
                if slow_parts == 2 || left_bytes == 0 && self.stretches == STRETCHES {
                    self.begin();
                } else if left_bytes > 0 {
                    self.state = State::Stretch {
                        left_bytes,
                        slow_parts,
                    };
                } else {
                    self.meet_rival();
                }
            }
            State::Duel { rival, part } => {
                let way = self.duellist(rival, part);
                self.least[way] = self.least[way].min(time);
                if part + 1 < 2 * DUEL_TURNS {
                    self.state = State::Duel {
                        rival,
                        part: part + 1,
                    };
                } else if self.least[rival] < FASTER * self.least[self.chosen] {
                    self.begin();
                } else {
                    let is_slow = self.least[rival] > SLOW * self.least[self.chosen];
                    self.stretch(if is_slow { LONG_STRETCH_TRIALS } else { STRETCH_TRIALS });
                }
            }
        }
    }

    pub(super) fn refuse(&mut self) {
        let (refused, _) = self.next();
        for (way, is_refused) in std::iter::zip(WAYS, &mut self.is_refused) {
            *is_refused |= way.technique == refused.technique;
        }
        self.begin();
    }

    fn duellist(&self, rival: usize, part: usize) -> usize {
        if part % 2 == 0 { rival } else { self.chosen }
    }

    fn begin(&mut self) {
        self.least = [f64::INFINITY; WAYS.len()];
        self.stretches = 0;
        self.go_on(0, 0);
    }

    /// Continues with the first way from `way` on that is not skipped.
    fn go_on(&mut self, turn: usize, way: usize) {
        let fastest = self.fastest(|_| true);
        let is_in_turn = |&way: &usize| {
            let is_slow = turn >= 2 && self.least[way] > SLOW * self.least[fastest];
            !self.is_refused[way] && !is_slow
        };
        if let Some(way) = (way..WAYS.len()).find(is_in_turn) {
            self.state = State::Contest { turn, way };
        } else if turn + 1 < TURNS {
            self.go_on(turn + 1, 0);
        } else {
            if self.least[self.chosen] > TIE * self.least[fastest] {
                self.chosen = fastest;
            }
            self.stretch(STRETCH_TRIALS);
        }
    }

    fn stretch(&mut self, trials: u64) {
        self.stretches += 1;
        self.state = State::Stretch {
            left_bytes: trials * self.trial_bytes,
            slow_parts: 0,
        };
    }

    /// Begins a duel, or a new stretch if no rival exists.
    fn meet_rival(&mut self) {
        let technique = WAYS[self.chosen].technique;
        let rival = self.fastest(|way| WAYS[way].technique != technique);
        let is_there = WAYS[rival].technique != technique && !self.is_refused[rival];
        if is_there {
            self.least[rival] = f64::INFINITY;
            self.least[self.chosen] = f64::INFINITY;
            self.state = State::Duel { rival, part: 0 };
        } else {
            self.stretch(STRETCH_TRIALS);
        }
    }

    /// Ways that the kernel refused are left out. If no way is left, returns the chosen way.
    fn fastest(&self, is_one: impl Fn(usize) -> bool) -> usize {
        let ways = (0..WAYS.len()).filter(|way| !self.is_refused[*way] && is_one(*way));
        ways.min_by(|one, other| self.least[*one].total_cmp(&self.least[*other]))
            .unwrap_or(self.chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Returns the bytes of each way. `ns` returns the time of a byte.
    fn copied(
        contest: &mut Contest,
        bytes: u64,
        ns: impl Fn(Way, u64) -> f64,
    ) -> [u64; WAYS.len()] {
        let (mut by, mut done) = ([0; WAYS.len()], 0);
        while done < bytes {
            let (way, part) = contest.next();
            let index = WAYS.iter().position(|one| *one == way).unwrap();
            by[index] += part;
            contest.took(part, (part as f64 * ns(way, done)) as u64);
            done += part;
        }
        by
    }

    /// The time of a byte in ns.
    fn ns(fastest: usize) -> impl Fn(Way, u64) -> f64 {
        move |way, _| if way == WAYS[fastest] { 0.2 } else { 0.25 }
    }

    #[test]
    fn the_fastest_way_copies_nearly_all() {
        for fastest in 0..WAYS.len() {
            let by = copied(&mut Contest::new(TRIAL_BYTES), 1024 * MIB, ns(fastest));
            assert!(by[fastest] > 970 * MIB, "{fastest}: {by:?}");
        }
    }

    #[test]
    fn interruptions_of_some_parts_change_nothing() {
        for fastest in 0..WAYS.len() {
            let of = ns(fastest);
            let by = copied(&mut Contest::new(TRIAL_BYTES), 256 * MIB, |way, done| {
                let is_interrupted = done / (512 << 10) % 4 == 1;
                if is_interrupted { 3.0 } else { of(way, done) }
            });
            assert!(by[fastest] > 160 * MIB, "{fastest}: {by:?}");
        }
    }

    #[test]
    fn a_technique_that_becomes_slow_or_fast_is_left_or_taken_within_32_mib() {
        for (before, after) in [(0.1, 0.5), (0.5, 0.1)] {
            for at in 0..20 {
                let mut contest = Contest::new(TRIAL_BYTES);
                let of = |cost: f64| {
                    move |way: Way, _| {
                        if way.technique == Technique::Splice { cost } else { 0.2 }
                    }
                };
                copied(&mut contest, (30 + at) * MIB, of(before));
                copied(&mut contest, 32 * MIB, of(after));
                let is_taken =
                    contest.chosen == 0 && !matches!(contest.state, State::Contest { .. });
                assert_eq!(is_taken, after < 0.2, "{at}");
            }
        }
    }

    #[test]
    fn what_is_refused_is_not_tried_again() {
        let mut contest = Contest::new(TRIAL_BYTES);
        while contest.next().0.technique != Technique::Splice {
            contest.took(1, 1);
        }
        contest.refuse();
        let by = copied(&mut contest, 512 * MIB, ns(2));
        assert_eq!(by[0], 0);
        assert!(by[2] > 480 * MIB, "{by:?}");
    }
}
