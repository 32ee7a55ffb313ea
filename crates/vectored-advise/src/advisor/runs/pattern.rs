//! The pattern of a run: the shortest period, found while the calls come.

use crate::model::Step;

/// A step of a pattern: the call, and the class of its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PatternStep {
    pub(crate) call: u8,
    /// Number of binary digits of its bytes, or [`ANY_SIZE`].
    pub(crate) size_class: u8,
}

pub(crate) const ANY_SIZE: u8 = Step::ANY_SIZE;

impl PatternStep {
    pub(crate) fn named(&self) -> Step {
        Step {
            call: CALLS[usize::from(self.call)].to_owned(),
            size_class: self.size_class,
        }
    }
}

/// Calls that move bytes, and the calls `lseek` and `fsync` beside them. The last entry stands for all other calls.
const CALLS: [&str; 21] = [
    "lseek", "fsync", "write", "writev", "pwrite64", "pwritev", "pwritev2", "send", "sendto",
    "sendmsg", "sendmmsg", "read", "readv", "pread64", "preadv", "preadv2", "recv", "recvfrom",
    "recvmsg", "recvmmsg", "other",
];

pub(crate) const LSEEK: u8 = 0;

pub(crate) const FSYNC: u8 = 1;

#[inline]
pub(crate) fn call_number(name: &[u8]) -> u8 {
    match name {
        b"write" => 2,
        b"read" => 11,
        _ => {
            let place = CALLS.iter().position(|call| call.as_bytes() == name);
            place.unwrap_or(CALLS.len() - 1) as u8
        }
    }
}

/// Whether `name` is a call that moves bytes or an offset, and changes no descriptor.
pub(crate) fn moves_bytes(name: &[u8]) -> bool {
    usize::from(call_number(name)) < CALLS.len() - 1
}

pub(crate) fn size_class(bytes: u64) -> u8 {
    (u64::BITS - bytes.leading_zeros()) as u8
}

/// The number of first steps that are kept to find a period.
const WINDOW: usize = 32;

pub(crate) const PERIOD_MAX: usize = WINDOW / 2;

/// The longest run without a period that is reported call by call.
const ORDERED_MAX: usize = 3;

/// The pattern of a run: a period, or a set of steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Pattern {
    steps: [PatternStep; PERIOD_MAX],
    count: u8,
}

impl Pattern {
    fn of(steps: impl IntoIterator<Item = PatternStep>) -> Pattern {
        let mut pattern = Pattern::default();
        for (place, step) in pattern.steps.iter_mut().zip(steps) {
            *place = step;
            pattern.count += 1;
        }
        pattern
    }

    pub(crate) fn steps(&self) -> &[PatternStep] {
        &self.steps[..usize::from(self.count)]
    }

    /// The least rotation of the pattern, and the index of the pattern's first step in that rotation. All rotations of
    /// a pattern have the same least rotation.
    pub(crate) fn canonical(self) -> (Pattern, usize) {
        let steps = self.steps();
        let rotated = |by: usize| steps[by..].iter().chain(&steps[..by]);
        let least = (0..steps.len()).min_by(|&one, &other| rotated(one).cmp(rotated(other)));
        match least {
            None | Some(0) => (self, 0),
            Some(by) => (Pattern::of(rotated(by).copied()), steps.len() - by),
        }
    }

    pub(crate) fn is_of_any_size(&self) -> bool {
        self.steps().iter().any(|step| step.size_class == ANY_SIZE)
    }

    pub(crate) fn calls_are_of(&self, other: &Pattern) -> bool {
        let is_of = |step: &PatternStep| other.steps().iter().any(|of| of.call == step.call);
        self.steps().iter().all(is_of)
    }

    /// The offset in an endless repetition of `whole` at which these steps occur. Sizes may differ by a factor of two:
    /// records `rec9` and `rec10` come from one loop. If there are several such offsets, the offset with the smallest
    /// differences. `gap` is the difference in bytes between a step and a step of `whole`.
    pub(crate) fn place_in(
        &self,
        whole: &Pattern,
        gap: impl Fn(usize, usize) -> u64,
    ) -> Option<usize> {
        let whole = whole.steps();
        let distance = |from: usize| {
            let repeated = whole.iter().cycle().skip(from);
            std::iter::zip(self.steps(), repeated).try_fold(0_u32, |sum, (one, other)| {
                let apart = one.size_class.abs_diff(other.size_class);
                let is_near = one.call == other.call && apart <= 1;
                is_near.then_some(sum + u32::from(apart))
            })
        };
        let gaps = |from: usize| {
            let steps = 0..self.steps().len();
            steps.fold(0_u64, |sum, step| {
                sum.saturating_add(gap(step, (from + step) % whole.len()))
            })
        };
        let near = (0..whole.len()).filter_map(|from| Some((gaps(from), distance(from)?, from)));
        near.min().map(|(.., from)| from)
    }

    /// Inserts `extra` before or after each step. If the result is too long, returns the pattern unchanged.
    pub(crate) fn with(self, extra: PatternStep, before: bool) -> Pattern {
        if self.steps().len() * 2 > PERIOD_MAX {
            return self;
        }
        Pattern::of(
            self.steps()
                .iter()
                .flat_map(|&step| if before { [extra, step] } else { [step, extra] }),
        )
    }
}

/// Finds the pattern of a run, in memory that does not grow with the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct PatternFinder {
    first: [PatternStep; WINDOW],
    first_bytes: [u64; WINDOW],
    /// The least and the greatest bytes of each step of the period.
    ranges: [(u64, u64); PERIOD_MAX],
    count: u64,
    /// If there is a period: the index of its next step.
    phase: usize,
    periodicity: Periodicity,
    /// Each call with its least and its greatest bytes.
    calls: Vec<(u8, (u64, u64))>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Periodicity {
    /// Not known yet: the run has fewer steps than the window.
    #[default]
    Open,
    /// A period of `period` steps; `missed` if the last step differed.
    Periodic {
        period: usize,
        missed: bool,
    },
    Free,
}

impl PatternFinder {
    #[inline]
    pub(crate) fn push(&mut self, step: PatternStep, bytes: u64) {
        match self.calls.iter_mut().find(|known| known.0 == step.call) {
            Some((_, range)) => widen(range, bytes),
            None => self.calls.push((step.call, (bytes, bytes))),
        }
        match &mut self.periodicity {
            Periodicity::Free => {}
            Periodicity::Periodic { missed: true, .. } => self.periodicity = Periodicity::Free,
            Periodicity::Periodic { period, missed } => {
                // A counter, since a division would take as long as all the rest.
                *missed = self.first[self.phase] != step;
                if !*missed {
                    widen(&mut self.ranges[self.phase], bytes);
                }
                self.phase += 1;
                if self.phase == *period {
                    self.phase = 0;
                }
            }
            Periodicity::Open => {
                self.first[self.count as usize] = step;
                self.first_bytes[self.count as usize] = bytes;
                if self.count as usize + 1 == WINDOW {
                    self.periodicity = periodicity(&self.first);
                    if let Periodicity::Periodic { period, .. } = self.periodicity {
                        self.phase = WINDOW % period;
                        self.ranges = ranges(&self.first_bytes, period);
                    }
                }
            }
        }
        self.count += 1;
    }

    /// The shortest period of all steps, or of all steps but the last. Without a period: the set of calls, each of any
    /// size, since a list of steps would look like a period.
    pub(crate) fn pattern(&self) -> Pattern {
        let known = &self.first[..(self.count as usize).min(WINDOW)];
        let periodicity = match self.periodicity {
            Periodicity::Open => periodicity(known),
            other => other,
        };
        match periodicity {
            Periodicity::Periodic { period, .. } => Pattern::of(known[..period].iter().copied()),
            _ if known.len() <= ORDERED_MAX => Pattern::of(known.iter().copied()),
            _ => {
                let any_size = |known: &(u8, (u64, u64))| PatternStep {
                    call: known.0,
                    size_class: ANY_SIZE,
                };
                let mut steps: Vec<PatternStep> = self.calls.iter().map(any_size).collect();
                vectored_report::sort::sort(&mut steps);
                Pattern::of(steps)
            }
        }
    }

    pub(crate) fn range(&self, call: u8) -> (u64, u64) {
        let known = self.calls.iter().find(|known| known.0 == call);
        known.map_or(NO_BYTES, |known| known.1)
    }

    /// If there is a period: the least and the greatest bytes of each of its steps.
    pub(crate) fn period_ranges(&self) -> Option<Vec<(u64, u64)>> {
        let count = (self.count as usize).min(WINDOW);
        let (ranges, period) = match self.periodicity {
            Periodicity::Free => return None,
            Periodicity::Periodic { period, .. } => (self.ranges, period),
            Periodicity::Open => match periodicity(&self.first[..count]) {
                Periodicity::Periodic { period, missed } => {
                    let known = count - usize::from(missed);
                    (ranges(&self.first_bytes[..known], period), period)
                }
                _ if count <= ORDERED_MAX => (ranges(&self.first_bytes[..count], count), count),
                _ => return None,
            },
        };
        Some(ranges[..period].to_vec())
    }
}

const NO_BYTES: (u64, u64) = (u64::MAX, 0);

fn ranges(bytes: &[u64], period: usize) -> [(u64, u64); PERIOD_MAX] {
    let mut ranges = [NO_BYTES; PERIOD_MAX];
    for (place, &bytes) in bytes.iter().enumerate() {
        widen(&mut ranges[place % period], bytes);
    }
    ranges
}

fn widen(range: &mut (u64, u64), bytes: u64) {
    *range = (range.0.min(bytes), range.1.max(bytes));
}

/// The shortest period, of all steps or of all steps but the last. The period must occur at least twice.
fn periodicity(steps: &[PatternStep]) -> Periodicity {
    let period_of = |steps: &[PatternStep]| {
        let repeats = |&period: &usize| steps[period..] == steps[..steps.len() - period];
        (1..=PERIOD_MAX.min(steps.len() / 2)).find(repeats)
    };
    // Three steps a, a, b are one record, unless b is an a that was cut short.
    let but_last = match steps {
        [_, two, last] if last.call != two.call || last.size_class > two.size_class => &[],
        _ => &steps[..steps.len().saturating_sub(1)],
    };
    let whole = period_of(steps).map(|period| (period, false));
    let found = whole.or_else(|| Some((period_of(but_last)?, true)));
    found.map_or(Periodicity::Free, |(period, missed)| {
        Periodicity::Periodic { period, missed }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_rotations_have_one_canonical_form(
            steps in proptest::collection::vec((0_u8..3, 0_u8..3), 0..=PERIOD_MAX),
            by in 0_usize..PERIOD_MAX,
        ) {
            let steps: Vec<PatternStep> = steps
                .into_iter()
                .map(|(call, size_class)| PatternStep { call, size_class })
                .collect();
            let mut rotated = steps.clone();
            rotated.rotate_left(by % steps.len().max(1));
            let (canonical, start) = Pattern::of(rotated.iter().copied()).canonical();
            prop_assert_eq!(canonical, Pattern::of(steps.iter().copied()).canonical().0);
            let mut back = canonical.steps().to_vec();
            back.rotate_left(start);
            prop_assert_eq!(back, rotated);
        }
    }
}
