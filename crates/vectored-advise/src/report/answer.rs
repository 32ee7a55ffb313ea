//! The answer: what merging would save altogether.

use vectored_report::words;

use crate::advisor::UNPRICED;
use crate::advisor::findings::advise::LITTLE_S;
use crate::advisor::findings::price::transfers;
use crate::advisor::runs::barriers::SLOW_PEERS;
use crate::advisor::wording::sentences::is_paced;
use crate::model::{Advisory, Finding, FindingKind, Tally, Uncounted};
use crate::report::figures::{seconds, span};

/// The answer: the largest saving, or that there is nothing to gain. A larger saving that is listed and not counted
/// follows. If the counted saving is little, the listed saving comes first.
pub fn answer(advisory: &Advisory) -> String {
    let possible = [possible_stalls(advisory), listed_calls(advisory)];
    let possible = possible.into_iter().flatten();
    let possible = possible.max_by(|one, other| one.0.total_cmp(&other.0));
    let is_stall = advisory.stalled_s > advisory.saving_s;
    let counted_s = advisory.stalled_s.max(advisory.saving_s);
    let Some((_, possible)) = possible.filter(|(most_s, _)| *most_s > counted_s) else {
        return if is_stall { stalls(advisory) } else { counted(advisory) };
    };
    if counted_s <= 0.0 {
        format!("No certain saving, but {possible}.")
    } else if !is_stall && is_doubtful_or_little(advisory) {
        format!(
            "Little to gain for certain ({}), but {possible}.",
            seconds(counted_s)
        )
    } else {
        let certain = if is_stall { stalls(advisory) } else { counted(advisory) };
        format!("{certain} Besides, {possible}.")
    }
}

/// The most that the listed calls would save, and a sentence with that time; `None` below `LITTLE_S`.
fn listed_calls(advisory: &Advisory) -> Option<(f64, String)> {
    let merged = |one: &&Uncounted| !one.key.kind.is_stall();
    let listed = advisory.uncounted.iter().filter(merged);
    let (calls, most_s) = listed.fold((0_u64, 0.0), |(calls, most_s), one| {
        let most_s = most_s + one.at_most_s.unwrap_or(0.0);
        (calls.saturating_add(one.tally.calls), most_s)
    });
    let text = format!(
        "the {} calls that are listed and not counted would save at most {}",
        words::grouped(calls),
        seconds(most_s),
    );
    (most_s >= LITTLE_S).then_some((most_s, text))
}

fn possible_stalls(advisory: &Advisory) -> Option<(f64, String)> {
    let listed = advisory.uncounted.iter();
    let listed = listed.filter(|one| !SLOW_PEERS.contains(&one.reason.as_str()));
    let listed = listed.filter_map(|one| Some((one.tally.stall?.stalls, one.at_most_s?)));
    let (answers, most_s) = listed.fold((0_u64, 0.0), |sum, one| {
        (sum.0.saturating_add(one.0), sum.1 + one.1)
    });
    let text = format!(
        "{} over TCP may have waited for a delayed acknowledgement, {} at most",
        words::count(usize::try_from(answers).unwrap_or(usize::MAX), "answer"),
        seconds(most_s),
    );
    (answers > 0).then_some((most_s, text))
}

fn stalls(advisory: &Advisory) -> String {
    let has = |kind| advisory.findings.iter().any(|one| one.key.kind == kind);
    let (what, why) = match (has(FindingKind::Stall), has(FindingKind::PeerStall)) {
        (true, false) => (
            "One write for each message over TCP, or TCP_NODELAY,",
            "since the message before each was written in parts",
        ),
        (true, true) => (
            "One write for each message over TCP, at both ends, or TCP_NODELAY there,",
            "since each came in parts, or the message before it was written in parts",
        ),
        _ => (
            "One write for each answer by the end of TCP that sends it, or TCP_NODELAY there,",
            "since each came in parts",
        ),
    };
    format!(
        "{what} would save {}: {} waited for a delayed acknowledgement, {why}.",
        seconds(advisory.stalled_s),
        words::count(
            usize::try_from(advisory.stalls).unwrap_or(usize::MAX),
            "answer"
        ),
    )
}

fn counted(advisory: &Advisory) -> String {
    let unread = advisory.skipped.iter().map(|skipped| skipped.lines);
    let unread = unread.fold(0, u64::saturating_add);
    if calls(advisory).all(|one| one.saving_s <= 0.0) {
        if advisory.uncounted.iter().any(|one| one.reason == UNPRICED) {
            return format!(
                "No known saving: of {} calls that move bytes, some could be merged, but what they \
                 cost is not known.",
                words::grouped(advisory.transfers)
            );
        }
        let listed = advisory.uncounted.iter();
        let listed = listed.map(|one| transfers(&one.key, &one.tally));
        let listed = listed.fold(0, u64::saturating_add);
        let saves_nothing = |one: &Uncounted| one.at_most_s == Some(0.0);
        let saves_nothing = advisory.uncounted.iter().all(saves_nothing);
        return match (advisory.transfers, saves_nothing) {
            (0, _) if unread > 0 => format!(
                "Nothing is known: {} of the log could not be read, and no other call moves bytes.",
                words::count(usize::try_from(unread).unwrap_or(usize::MAX), "line")
            ),
            (0, _) => "Nothing to gain: the log has no call that moves bytes.".to_owned(),
            (1, true) => "Nothing to gain: there is one call that moves bytes.".to_owned(),
            (_, true) if calls(advisory).next().is_none() && advisory.uncounted.is_empty() => {
                format!(
                    "Nothing to gain: none of {} calls that move bytes could be merged with others.",
                    words::grouped(advisory.transfers)
                )
            }
            (_, true) => format!(
                "Nothing to gain: of {} calls that move bytes, merging those that could be saves \
                 nothing.",
                words::grouped(advisory.transfers)
            ),
            (_, false) => format!(
                "No certain saving: of {} calls that move bytes, {} could be merged, but that could \
                 change what the program does.",
                words::grouped(advisory.transfers),
                words::grouped(listed)
            ),
        };
    }
    let (saving, interval) = span(
        advisory.saving_s,
        advisory.saving_low_s,
        advisory.saving_high_s,
    );
    let saving_ones: Vec<&Finding> = calls(advisory).filter(|one| one.saving_s > 0.0).collect();
    let what = what_saves(&saving_ones);
    let begin = if advisory.saving_low_s <= 0.0 {
        format!("No certain saving: {what} would save")
    } else if is_doubtful_or_little(advisory) {
        format!("Little to gain: {what} would save")
    } else {
        format!("{} would save", words::capital(what))
    };
    let total = |of: &dyn Fn(&Tally) -> u64| {
        let all = saving_ones.iter().map(|one| of(&one.tally));
        words::grouped(all.fold(0, u64::saturating_add))
    };
    let left = total(&|tally| tally.merged_calls);
    let calls = total(&|tally| tally.calls);
    let of_calls = if left == "1" { "call" } else { "calls" };
    if left == calls {
        return format!("{begin} {saving} {interval}.");
    }
    let mut ones = saving_ones.iter();
    let few = if ones.any(|one| is_paced(&one.key, &one.tally)) { "as few as " } else { "" };
    format!("{begin} {saving} {interval}: {few}{left} {of_calls} instead of {calls}.")
}

/// Whether an edit of the program itself is worth a proof.
pub fn is_worth_an_edit(advisory: &Advisory) -> bool {
    let is_own_stall = |one: &Finding| one.key.kind == FindingKind::Stall;
    advisory.findings.iter().any(is_own_stall)
        || calls(advisory).any(|one| one.saving_s > 0.0) && !is_doubtful_or_little(advisory)
}

/// Whether merging calls may save nothing, or next to nothing.
fn is_doubtful_or_little(advisory: &Advisory) -> bool {
    advisory.saving_low_s <= 0.0 || advisory.saving_s < LITTLE_S
}

fn calls(advisory: &Advisory) -> impl Iterator<Item = &Finding> {
    let findings = advisory.findings.iter();
    findings.filter(|one| !one.key.kind.is_stall())
}

fn what_saves(findings: &[&Finding]) -> &'static str {
    let reads = |kind| matches!(kind, FindingKind::SmallReads | FindingKind::PositionalReads);
    let copies = |one: &&Finding| one.key.kind == FindingKind::TinySegments;
    if findings.iter().any(copies) {
        return "merging or copying calls";
    }
    match findings.iter().filter(|one| reads(one.key.kind)).count() {
        0 => "gathering",
        all if all == findings.len() => "reading more at once",
        _ => "merging calls",
    }
}
