//! How the crossovers of a run compare with those of known machines.

use crate::model::{
    KnownCrossovers, Machine, MachineComparison, MachineGroup, Results, SharedCrossover,
};
use crate::report::advice_figures::in_one_unit;
use crate::report::fleet::extract::extract;
use crate::report::fleet::words::{UNKNOWN, is_one_file_system};
use crate::report::machine_tables::is_copy_to_gather;
use crate::report::shape_text::shape_in_words;
use crate::report::target_names::{SectionKey, Titles};
use crate::text::format::{self, escape_control};

/// One entry for each list whose crossover from copying to gathering was found here, and whose crossover a known result
/// has under the same conditions: on a file, of the same type of file system. Results of this type of processor are kept
/// apart from those of others, since they are no other machine to compare with. A result whose processor is not known
/// may be of this type, and is left out. So is one without a crossover whose sizes do not reach to both sides of the
/// crossover here: it may have one beyond them.
pub fn compare_with(results: &Results, known: &[Machine]) -> Vec<MachineComparison> {
    let here = extract(results).machine;
    let titles = Titles::among(&results.cells);
    let mut all = Vec::new();
    for group in &here.groups {
        let found = group.crossovers.iter();
        for crossover in found.filter(|one| is_copy_to_gather(one.below, one.above)) {
            let same = || known.iter().filter(|other| is_same_type(&here, other));
            let others = || known.iter().filter(|other| is_other_type(&here, other));
            let [same, others] = [
                known_of(same(), group, crossover),
                known_of(others(), group, crossover),
            ];
            if same.crossovers + others.crossovers == 0 {
                continue;
            }
            let title = titles.of(SectionKey::of_machine(&group.conditions));
            all.push(MachineComparison {
                conditions: group.conditions.conditions(),
                segment_count: crossover.segment_count,
                swept_mix: crossover.swept_mix.clone(),
                at_bytes: crossover.at_bytes,
                text: text(&title, group, crossover, &same, &others),
                same_processor: same,
                other_processors: others,
            });
        }
    }
    all
}

/// The comparisons to print: those whose crossover is farthest from the known ones, at most two, as `(place, text)`.
pub(crate) fn answers(results: &Results) -> Vec<(String, String)> {
    const MAX_ANSWERS: usize = 2;
    let mut all: Vec<&MachineComparison> = results.machine_comparisons.iter().collect();
    all.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
    let rest = all.len().saturating_sub(MAX_ANSWERS);
    let mut answers: Vec<(String, String)> = Vec::new();
    for comparison in all.into_iter().take(MAX_ANSWERS) {
        answers.push(("Known results".to_owned(), escape_control(&comparison.text)));
    }
    if let Some((_, last)) = answers.last_mut()
        && rest > 0
    {
        *last += &format!(" ({rest} more in the JSON, nearer to the known ones.)");
    }
    answers
}

/// How far a crossover is from the range of the known ones: the logarithm of the ratio, 0 within the range. Other
/// processors count if there are any.
fn distance(comparison: &MachineComparison) -> f64 {
    let others = &comparison.other_processors;
    let known = match others.crossovers {
        0 => &comparison.same_processor,
        _ => others,
    };
    let (Some(low), Some(high)) = (known.low_bytes, known.high_bytes) else {
        return 0.0;
    };
    let at = comparison.at_bytes;
    (low / at).max(at / high).max(1.0).ln()
}

/// The same model of a processor may have other caches: a hypervisor hides the number.
fn is_same_type(here: &Machine, other: &Machine) -> bool {
    let of = |machine: &Machine| {
        let kind = machine.kind.clone();
        (
            kind.processor,
            kind.architecture,
            kind.l1d_bytes,
            kind.l2_bytes,
        )
    };
    here.kind.processor != UNKNOWN && of(here) == of(other)
}

fn is_other_type(here: &Machine, other: &Machine) -> bool {
    let is_known = |machine: &Machine| machine.kind.processor != UNKNOWN;
    is_known(here) && is_known(other) && !is_same_type(here, other)
}

fn known_of<'a>(
    machines: impl Iterator<Item = &'a Machine>,
    group: &MachineGroup,
    crossover: &SharedCrossover,
) -> KnownCrossovers {
    let mut known = KnownCrossovers::default();
    for machine in machines {
        let is_here = |other: &&MachineGroup| {
            other.conditions == group.conditions && is_on_the_same(other, group)
        };
        let groups: Vec<&MachineGroup> = machine.groups.iter().filter(is_here).collect();
        let all = groups.iter().flat_map(|group| &group.crossovers);
        let like_this = all.filter(|other| {
            other.shape() == crossover.shape()
                && (other.below, other.above) == (crossover.below, crossover.above)
        });
        let Some(at) = like_this.map(|other| other.at_bytes).reduce(f64::max) else {
            known.results += usize::from(encloses(&groups, crossover));
            continue;
        };
        known.results += 1;
        known.crossovers += 1;
        known.low_bytes = Some(known.low_bytes.map_or(at, |low| low.min(at)));
        known.high_bytes = Some(known.high_bytes.map_or(at, |high| high.max(at)));
    }
    known
}

/// Whether two files are on the same type of file system. One whose type is not known is the same as none.
fn is_on_the_same(other: &MachineGroup, group: &MachineGroup) -> bool {
    match (&other.file_system, &group.file_system) {
        (Some(there), Some(here)) => there == here && is_one_file_system(here),
        (None, None) => !group.conditions.target.is_file(),
        _ => false,
    }
}

/// Whether lists like those of the crossover were measured at sizes on both sides of it.
fn encloses(groups: &[&MachineGroup], crossover: &SharedCrossover) -> bool {
    let cells = groups.iter().flat_map(|group| &group.cells);
    let alike = cells.filter(|cell| cell.shape() == crossover.shape());
    let sizes: Vec<f64> = alike
        .filter_map(|cell| Some(cell.swept_bytes()? as f64))
        .collect();
    let at = crossover.at_bytes;
    sizes.iter().any(|&bytes| bytes <= at) && sizes.iter().any(|&bytes| bytes >= at)
}

/// `unix, 16 segments: copy below 2.05 KiB here; below 1.40 to 3.10 KiB in 3 results of other types.`
fn text(
    title: &str,
    group: &MachineGroup,
    crossover: &SharedCrossover,
    same: &KnownCrossovers,
    others: &KnownCrossovers,
) -> String {
    let file_system = group.file_system.as_ref().map(|name| format!(" ({name})"));
    let (at, _, _, unit) = in_one_unit([crossover.at_bytes; 3]);
    let of = |known: &KnownCrossovers, [one, several]: [&str; 2]| {
        let count = if known.crossovers > 0 {
            known.crossovers
        } else {
            known.results
        };
        let whose = if count == 1 { one } else { several };
        let results = format::count(count, "result");
        match (known.low_bytes, known.high_bytes) {
            _ if known.results == 0 => None,
            (Some(low), Some(high)) => {
                let (first, _, last, unit) = in_one_unit([low, low, high]);
                let sizes = match first == last {
                    true => format!("{first} {unit}"),
                    false => format!("{first} to {last} {unit}"),
                };
                let none = match known.results - known.crossovers {
                    0 => String::new(),
                    without => format!(" ({without} without a crossover)"),
                };
                Some(format!("below {sizes} in {results} of {whose}{none}"))
            }
            _ => Some(format!("no such crossover in {results} of {whose}")),
        }
    };
    let known = [
        of(same, ["this type of processor"; 2]),
        of(others, ["another type", "other types"]),
    ];
    let known: Vec<String> = known.into_iter().flatten().collect();
    format!(
        "{title}{}, {}: copy below {at} {unit} here; {}.",
        file_system.unwrap_or_default(),
        shape_in_words(crossover.shape()),
        known.join("; ")
    )
}
