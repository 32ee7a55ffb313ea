//! The pattern of a run: its shortest period, found while the calls come.

/// A step of a pattern: which call, and the class of its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PatternStep {
    pub(crate) call: u8,
    /// Number of binary digits of its bytes, or [`ANY_SIZE`].
    pub(crate) size_class: u8,
}

pub(crate) const ANY_SIZE: u8 = crate::model::Step::ANY_SIZE;

/// Calls that move bytes, and two that come with them. The last stands for all others.
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

/// Whether this is one of the calls that move bytes or an offset, and change no descriptor.
pub(crate) fn moves_bytes(name: &[u8]) -> bool {
    usize::from(call_number(name)) < CALLS.len() - 1
}

pub(crate) fn call_name(number: u8) -> &'static str {
    CALLS[usize::from(number)]
}

/// The size class of a transfer: the number of binary digits of its bytes.
pub(crate) fn size_class(bytes: u64) -> u8 {
    (u64::BITS - bytes.leading_zeros()) as u8
}

/// Steps that are kept to find a period.
const WINDOW: usize = 32;

/// The longest period that can be found.
pub(crate) const PERIOD_MAX: usize = WINDOW / 2;

/// Aperiodic runs up to this length are reported call by call.
const ORDERED_MAX: usize = 3;

/// The pattern of a run: a period, or a set of steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Pattern {
    steps: [PatternStep; PERIOD_MAX],
    count: u8,
}

impl Pattern {
    /// The pattern without steps, which stands for any.
    pub(crate) const ANY: Pattern = Pattern {
        steps: [PatternStep {
            call: 0,
            size_class: 0,
        }; PERIOD_MAX],
        count: 0,
    };

    fn of(steps: impl IntoIterator<Item = PatternStep>) -> Pattern {
        let mut pattern = Pattern::ANY;
        for (place, step) in pattern.steps.iter_mut().zip(steps) {
            *place = step;
            pattern.count += 1;
        }
        pattern
    }

    pub(crate) fn steps(&self) -> &[PatternStep] {
        &self.steps[..usize::from(self.count)]
    }

    /// Its least rotation, which is the same for all rotations of a pattern, and the index in that rotation of the
    /// first step of this pattern.
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

    /// Whether each of its calls is in another pattern.
    pub(crate) fn calls_are_of(&self, other: &Pattern) -> bool {
        let is_of = |step: &PatternStep| other.steps().iter().any(|of| of.call == step.call);
        self.steps().iter().all(is_of)
    }

    /// The offset in `whole`, repeated without end, at which these steps occur, with sizes that differ
    /// by a factor of two at most: records `rec9` and `rec10` come from one loop. Of several offsets the
    /// one with the smallest differences; `gap` is the difference in bytes between a step and one of
    /// `whole`.
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

    /// Inserts a step before or after each of the others; unchanged if that does not fit.
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
    /// Least and greatest bytes of each step of the period.
    ranges: [(u64, u64); PERIOD_MAX],
    count: u64,
    /// Index of the next step in the period, if there is one.
    phase: usize,
    periodicity: Periodicity,
    distinct: DistinctSteps,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Periodicity {
    /// Not known yet: fewer steps than the window holds.
    #[default]
    Open,
    /// A period of `period` steps; `missed` if the last step differed.
    Periodic { period: usize, missed: bool },
    /// No period.
    Free,
}

impl PatternFinder {
    pub(crate) fn clear(&mut self) {
        self.count = 0;
        self.periodicity = Periodicity::Open;
        self.distinct.clear();
    }

    #[inline]
    pub(crate) fn push(&mut self, step: PatternStep, bytes: u64) {
        self.distinct.push(step, bytes);
        match &mut self.periodicity {
            Periodicity::Free => {}
            Periodicity::Periodic { missed: true, .. } => self.periodicity = Periodicity::Free,
            Periodicity::Periodic { period, missed } => {
                // A counter, since a division would take as long as the rest.
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

    /// The shortest period of all steps, or of all but the last; without a period the set of calls, of
    /// any size, since a list of steps would look like a period.
    pub(crate) fn pattern(&self) -> Pattern {
        let known = &self.first[..(self.count as usize).min(WINDOW)];
        let periodicity = match self.periodicity {
            Periodicity::Open => periodicity(known),
            other => other,
        };
        match periodicity {
            Periodicity::Periodic { period, .. } => Pattern::of(known[..period].iter().copied()),
            _ if known.len() <= ORDERED_MAX => Pattern::of(known.iter().copied()),
            _ => self.distinct.pattern(),
        }
    }

    /// Least and greatest bytes of a step, at any index.
    pub(crate) fn range(&self, step: PatternStep) -> (u64, u64) {
        self.distinct.range(step)
    }

    /// Least and greatest bytes of each step of the period, if there is one.
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

/// The shortest period that occurs at least twice, of all steps or of all but the last.
fn periodicity(steps: &[PatternStep]) -> Periodicity {
    let period_of = |steps: &[PatternStep]| {
        let repeats = |&period: &usize| steps[period..] == steps[..steps.len() - period];
        (1..=PERIOD_MAX.min(steps.len() / 2)).find(repeats)
    };
    // Three steps a, a, b are a record, unless the last is cut short.
    let but_last = match steps {
        [_, two, last] if last.call != two.call || last.size_class > two.size_class => &[],
        _ => &steps[..steps.len().saturating_sub(1)],
    };
    let (whole, missed) = (period_of(steps), false);
    match whole.map(|period| Periodicity::Periodic { period, missed }) {
        Some(periodicity) => periodicity,
        None => period_of(but_last).map_or(Periodicity::Free, |period| Periodicity::Periodic {
            period,
            missed: true,
        }),
    }
}

/// Distinct steps that are counted separately.
const DISTINCT_MAX: usize = 16;

/// Distinct steps and the range of their bytes; by call alone once there are too many.
#[derive(Clone, Debug, Default)]
struct DistinctSteps {
    seen: Vec<(PatternStep, u64, u64)>,
    by_call: bool,
}

impl DistinctSteps {
    fn clear(&mut self) {
        self.seen.clear();
        self.by_call = false;
    }

    #[inline]
    fn push(&mut self, step: PatternStep, bytes: u64) {
        let step = if self.by_call { any_size(step) } else { step };
        if !join(&mut self.seen, step, bytes, bytes) {
            self.push_new(step, bytes);
        }
    }

    #[cold]
    fn push_new(&mut self, step: PatternStep, bytes: u64) {
        if insert(&mut self.seen, step, bytes, bytes) || self.by_call {
            return;
        }
        self.by_call = true;
        self.seen = by_call(&self.seen);
        insert(&mut self.seen, any_size(step), bytes, bytes);
    }

    fn pattern(&self) -> Pattern {
        let mut steps: Vec<PatternStep> = by_call(&self.seen).iter().map(|seen| seen.0).collect();
        vectored_report::sort::sort(&mut steps);
        Pattern::of(steps)
    }

    fn range(&self, step: PatternStep) -> (u64, u64) {
        let same = |seen: &&(PatternStep, u64, u64)| seen.0 == step;
        let of_call = |seen: &&(PatternStep, u64, u64)| seen.0.call == step.call;
        if let Some(&(_, least, most)) = self.seen.iter().find(same) {
            return (least, most);
        }
        let ranges = self.seen.iter().filter(of_call);
        let join = |(low, high): (u64, u64), seen: &(PatternStep, u64, u64)| {
            (low.min(seen.1), high.max(seen.2))
        };
        ranges.fold((u64::MAX, 0), join)
    }
}

fn any_size(step: PatternStep) -> PatternStep {
    PatternStep {
        size_class: ANY_SIZE,
        ..step
    }
}

fn by_call(seen: &[(PatternStep, u64, u64)]) -> Vec<(PatternStep, u64, u64)> {
    let mut calls = Vec::with_capacity(DISTINCT_MAX);
    for &(step, least, most) in seen {
        insert(&mut calls, any_size(step), least, most);
    }
    calls
}

/// Adds to a known step; false if it is new.
#[inline]
fn join(seen: &mut [(PatternStep, u64, u64)], step: PatternStep, least: u64, most: u64) -> bool {
    let Some(found) = seen.iter_mut().find(|found| found.0 == step) else {
        return false;
    };
    found.1 = found.1.min(least);
    found.2 = found.2.max(most);
    true
}

/// Adds to a known or a new step; false if there is no room.
fn insert(
    seen: &mut Vec<(PatternStep, u64, u64)>,
    step: PatternStep,
    least: u64,
    most: u64,
) -> bool {
    if join(seen, step, least, most) {
        return true;
    }
    let has_room = seen.len() < DISTINCT_MAX;
    if has_room {
        seen.push((step, least, most));
    }
    has_room
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
