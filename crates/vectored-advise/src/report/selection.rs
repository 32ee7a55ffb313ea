//! The content of a report, before it is laid out.

use vectored_report::words;

use crate::model::{Advisory, DescriptorUse, Finding, Uncounted};
use crate::report::answer::answer;
use crate::report::figures::{seconds, shortened};
use crate::report::notes::notes;
use crate::report::rows::{
    Item, Listed, SHOWN_CHARACTERS, SHOWN_PATTERN, Used, item, listed_location, listed_reason, used,
};

/// Sources that are named; the JSON has all.
const NAMED_SOURCES: usize = 4;

/// Files and descriptors that are shown.
const SHOWN_USES: usize = 8;

/// Fewest calls of a file or descriptor that is shown; it also has at least 1 % of all calls.
const MIN_CALLS: u64 = 100;

/// Findings below this share of all savings and waits are summed up.
const MIN_PART: f64 = 0.01;

/// The content of a report.
pub struct Selection {
    /// The answer, in a sentence or two.
    pub answer: String,
    /// The size of the log.
    pub extent: String,
    /// The findings that are shown, the largest saving first.
    pub items: Vec<Item>,
    /// Further findings.
    pub more: Option<String>,
    /// Findings that are not counted.
    pub listed: Vec<Listed>,
    /// Further ones.
    pub more_listed: Option<String>,
    /// The files and descriptors with the most calls.
    pub uses: Vec<Used>,
    /// Further ones.
    pub more_uses: Option<String>,
    /// Notes that are needed to judge the figures.
    pub notes: Vec<String>,
}

/// The content of a report, with up to `top` findings and `top` uncounted ones.
pub fn selection(advisory: &Advisory, top: usize) -> Selection {
    // Findings that hardly matter are summed up, unless none matters more.
    let least_s = (advisory.saving_s + advisory.stalled_s) * MIN_PART;
    let matters = |one: &Finding| one.saving_s > 0.0 && one.saving_s >= least_s;
    let mattering = advisory.findings.iter().filter(|one| matters(one)).count();
    let shown = &advisory.findings[..mattering.max(1).min(top).min(advisory.findings.len())];
    let rest = &advisory.findings[shown.len()..];
    let listed: Vec<&Uncounted> = listed_that_matter(advisory).take(top.div_ceil(2)).collect();
    let uses = notable(advisory);
    let mut items: Vec<Item> = shown.iter().map(|one| item(advisory, one)).collect();
    for index in 1..items.len() {
        let (before, item) = items.split_at_mut(index);
        let item = &mut item[0];
        let same = before.iter().position(|one| one.remedy == item.remedy);
        if let Some(same) = same.filter(|_| item.remedy.is_some()) {
            item.action += &format!(" How: as in finding {}.", same + 1);
            item.remedy = None;
        }
    }
    Selection {
        answer: answer(advisory),
        extent: extent(advisory),
        items,
        more: rest.first().filter(|one| one.saving_s > 0.0).map(|_| {
            let saving: Vec<f64> = rest.iter().map(|one| one.saving_s).collect();
            let saving: Vec<f64> = saving.into_iter().filter(|saving| *saving > 0.0).collect();
            format!(
                "{} would save {}{}.",
                words::count(saving.len(), "more finding"),
                seconds(saving.iter().fold(0.0, |sum, one| sum + one)),
                if saving.len() == 1 { "" } else { " in total" },
            )
        }),
        listed: listed
            .iter()
            .map(|one| Listed {
                pattern: shortened(&one.pattern, SHOWN_PATTERN),
                location: listed_location(one),
                reason: listed_reason(one),
            })
            .collect(),
        more_listed: match advisory.uncounted.len() - listed.len() {
            0 => None,
            more if listed.is_empty() => Some(format!(
                "Not counted: {}, see the JSON.",
                words::count(more, "small finding")
            )),
            more => Some(format!(
                "{}: see the JSON.",
                words::count(more, "smaller one")
            )),
        },
        uses: uses.iter().map(|one| used(advisory, one)).collect(),
        more_uses: match advisory.descriptors.len() - uses.len() {
            _ if uses.is_empty() => None,
            more => more_in_json(more, "descriptor"),
        },
        notes: notes(advisory),
    }
}

/// Listed findings of at least 1 % of the largest saving; where no saving is known, of at least 1 % of the most calls.
fn listed_that_matter(advisory: &Advisory) -> impl Iterator<Item = &Uncounted> {
    let listed = || advisory.uncounted.iter();
    let most_s = listed().filter_map(|one| one.at_most_s);
    let most_s = most_s.fold(advisory.saving_s.max(advisory.stalled_s), f64::max);
    let counted = advisory.findings.iter().map(|one| &one.tally);
    let most_calls = counted.chain(listed().map(|one| &one.tally));
    let most_calls = most_calls.map(|tally| tally.calls).max().unwrap_or(0);
    listed().filter(move |one| match one.at_most_s.filter(|most| *most > 0.0) {
        Some(saving_s) => saving_s >= most_s * MIN_PART,
        None => one.tally.calls >= most_calls / 100,
    })
}

fn extent(advisory: &Advisory) -> String {
    let named = advisory.sources.iter().take(NAMED_SOURCES);
    let mut sources: Vec<String> = named
        .map(|name| shortened(name, SHOWN_CHARACTERS))
        .collect();
    let rest = advisory.sources.len().saturating_sub(NAMED_SOURCES);
    if rest > 0 {
        sources.push(format!("{rest} more"));
    }
    let begin = if sources.is_empty() {
        String::new()
    } else {
        format!("{}: ", sources.join(", "))
    };
    let end = if advisory.complete { "" } else { " The log was not read to its end." };
    let calls = |number, one| {
        let ending = if number == 1 { "" } else { "s" };
        format!("{} {one}{ending}", words::grouped(number))
    };
    format!(
        "{begin}{}, {}{}, of which {} move {}.{end}",
        match advisory.processes {
            1 => "1 process".to_owned(),
            processes => format!("{} processes", words::grouped(processes)),
        },
        calls(advisory.calls, "system call"),
        // A command is traced without the calls that cannot matter.
        if advisory.is_command || advisory.watch.is_some() {
            " without getpid and the like"
        } else {
            " in the log"
        },
        words::grouped(advisory.transfers),
        words::memory(advisory.bytes)
    )
}

fn more_in_json(more: usize, one: &str) -> Option<String> {
    match more {
        0 => None,
        1 => Some(format!("The JSON has 1 more {one}.")),
        more => Some(format!("The JSON has {more} more {one}s.")),
    }
}

/// Files and descriptors with enough calls to matter.
fn notable(advisory: &Advisory) -> Vec<&DescriptorUse> {
    let least = MIN_CALLS.max(advisory.transfers / 100);
    let uses = advisory.descriptors.iter();
    uses.filter(|one| one.calls >= least)
        .take(SHOWN_USES)
        .collect()
}
