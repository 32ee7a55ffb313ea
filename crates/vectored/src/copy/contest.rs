//! How the next part of a long copy is copied: in the way that took the least time for earlier parts.
//!
//! At first each way copies some parts in turn, and the fastest goes on. After each stretch the present way is measured
//! again beside a rival, the fastest way of another technique, since page cache, throttling and storage change. If the
//! rival is faster by then, or a part takes much longer than in the contest, all ways are tried again.

use super::Technique;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) technique: Technique,
    /// Bytes of the buffer; 0 without a buffer.
    pub(super) buffer_bytes: usize,
}

/// The ways between two files. If several ways are equally fast, the first of them goes on. `copy_file_range` is not
/// among them: it splices through a pipe of 64 KiB if the file system cannot copy files itself. The best buffer differs
/// by machine: the times of buffers from 128 KiB to 512 KiB differed by factors of 0.9 to 1.2.
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

/// The bytes of a part in a contest, which takes some 100 µs.
pub(super) const TRIAL_BYTES: u64 = 512 << 10;

/// The number of parts of each way in a contest. The least time counts: an interruption only adds to a time.
const TURNS: usize = 3;

/// A way that took this many times as long as the fastest is left out of the turns after the second. (The first access to
/// the buffer is part of the first turn.)
const SLOW: f64 = 1.2;

/// The length of a part of a stretch, in parts of a contest.
const PART_TRIALS: u64 = 4;

/// The length of a stretch, from one comparison with another technique to the next, in parts of a contest: 16 MiB.
const STRETCH_TRIALS: u64 = 32;

/// The length of a stretch after a comparison with a slow technique, in parts of a contest.
const LONG_STRETCH_TRIALS: u64 = 44;

/// A comparison has this many parts by each of the two ways. These parts are half as long as the parts of a contest.
const DUEL_TURNS: usize = 2;

/// The number of stretches after which all ways are tried again.
const STRETCHES: u32 = 16;

/// A rival that takes less than this share of the time calls for a contest.
const FASTER: f64 = 0.95;

/// The present way goes on if it takes at most this many times as long as the fastest.
const TIE: f64 = 1.02;

/// If two parts in a row take this many times as long as the same way took in the contest, another contest begins.
const SUDDENLY_SLOW: f64 = 1.5;

#[derive(Clone, Copy, Debug)]
enum State {
    /// All ways, one part each in a turn.
    Contest { turn: usize, way: usize },
    /// The fastest way goes on.
    Stretch { left_bytes: u64, slow_parts: u32 },
    /// The present way, and the fastest way of another technique, in turn.
    Duel { rival: usize, part: usize },
}

#[derive(Debug)]
pub(super) struct Contest {
    trial_bytes: u64,
    state: State,
    /// The least time of each way in the contest or duel, in ns a byte; infinite before a part.
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

    /// Notes that the kernel has refused the technique of the part: the technique is not tried again.
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

    /// Continues a contest, with this way or a later way.
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

    /// Compares with the fastest way of another technique, if there is one.
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

    /// The fastest of these ways that is not refused. If all are refused, the chosen way, which need not be in `WAYS`.
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

    /// Copies `bytes` bytes. `ns` gives the time of a byte by a way. Returns the bytes of each way.
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

    /// The time of each way in ns a byte: least for `fastest`.
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
            // The change comes in every place of a stretch.
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
