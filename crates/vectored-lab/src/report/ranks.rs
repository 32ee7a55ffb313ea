//! What the ranks of a cluster achieve, in words and as tables.

use crate::model::{Cell, Rank, RankAdvice, Results, STRAGGLER, TechniqueName};
use crate::report::grid::Grid;
use crate::report::scaling::{Crowd, extremes, list_of};
use crate::text::format;
use crate::text::format::escape_control;

/// The most rows of the table of ranks. With more ranks it shows the slowest.
const MAX_ROWS: usize = 16;

/// The most stragglers that a row names.
const MAX_NAMED: usize = 4;

/// Several ranks, for the sentences on their number.
const RANKS: Crowd = Crowd {
    noun: ("rank", "ranks"),
    count: |cell| cell.conditions.ranks,
    count_in: |conditions| &mut conditions.ranks,
    rate: |technique| Some(technique.ranks.as_ref()?.calls_per_s),
    achieve: ("make", "calls"),
};

/// One entry for each set of conditions other than the number of ranks: which technique is fastest with how many ranks,
/// and how the total throughput changes.
pub fn rank_advice(cells: &[&Cell], rivals: &[TechniqueName]) -> Vec<RankAdvice> {
    let sentences = RANKS.sentences(cells, rivals).into_iter();
    sentences
        .map(|sentences| RankAdvice {
            conditions: sentences.conditions,
            rank_counts: sentences.counts,
            text: sentences.text,
        })
        .collect()
}

/// Each entry of [`Results::rank_advice`] with the place that it is about: `file (ext4)`.
pub(crate) fn answers(results: &Results) -> Vec<(String, String)> {
    let entries = results.rank_advice.iter();
    let texts = entries.map(|advice| (&advice.conditions, &*advice.text));
    RANKS.answers(&results.cells, texts)
}

/// A table for each set of conditions with ranks, and one of the ranks.
pub(crate) fn tables(results: &Results) -> Vec<Grid> {
    let places = RANKS.tables(&results.cells, &HEADS, rows).into_iter();
    places.chain(rank_table(&results.ranks)).collect()
}

const HEADS: [&str; 7] = [
    "list",
    "ranks",
    "technique",
    "fastest rank",
    "slowest rank",
    "calls/s",
    "stragglers",
];

/// A row for each technique; only the first one has the list and the number of ranks.
fn rows(cell: &Cell) -> Vec<Vec<String>> {
    let (mut list, mut count) = (
        list_of(cell),
        cell.conditions.ranks.unwrap_or(1).to_string(),
    );
    let techniques = cell.techniques.iter();
    techniques
        .filter_map(|technique| {
            let figures = technique.ranks.as_ref()?;
            let [fastest, slowest] = extremes(&figures.rank_median_ns);
            Some(vec![
                std::mem::take(&mut list),
                std::mem::take(&mut count),
                technique.name.to_string(),
                fastest,
                slowest,
                format::grouped(figures.calls_per_s as u64),
                named(&figures.stragglers),
            ])
        })
        .collect()
}

/// `–`; `3`; `1, 5, 6, 7 and 12 more`.
fn named(stragglers: &[u32]) -> String {
    let names: Vec<String> = stragglers
        .iter()
        .take(MAX_NAMED)
        .map(u32::to_string)
        .collect();
    match stragglers.len().saturating_sub(MAX_NAMED) {
        _ if stragglers.is_empty() => "–".to_owned(),
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// The ranks, or the slowest if there are many.
fn rank_table(ranks: &[Rank]) -> Option<Grid> {
    if ranks.is_empty() {
        return None;
    }
    let mut shown: Vec<&Rank> = ranks.iter().collect();
    if shown.len() > MAX_ROWS {
        let slowdown = |rank: &Rank| rank.slowdown.unwrap_or(0.0);
        shown.sort_by(|a, b| {
            slowdown(b)
                .total_cmp(&slowdown(a))
                .then(a.rank.cmp(&b.rank))
        });
        shown.truncate(MAX_ROWS);
    }
    let title = match shown.len() == ranks.len() {
        true => "Ranks".to_owned(),
        false => format!("Ranks: the slowest {MAX_ROWS} of {}", ranks.len()),
    };
    let heads = [
        "rank",
        "node",
        "CPU",
        "time ÷ median rank",
        "last in",
        "straggles in",
    ];
    Some(Grid {
        title,
        heads: heads.map(str::to_owned).to_vec(),
        names: 2,
        rows: shown.into_iter().map(rank_row).collect(),
    })
}

fn rank_row(rank: &Rank) -> Vec<String> {
    let unknown = || "–".to_owned();
    vec![
        rank.rank.to_string(),
        escape_control(&rank.host),
        rank.pinned_cpu.map_or_else(unknown, |cpu| cpu.to_string()),
        rank.slowdown
            .map_or_else(unknown, |ratio| format!("{ratio:.2}")),
        rank.last_share.map_or_else(unknown, format::percent),
        match rank.figures {
            0 => unknown(),
            all => format!("{} of {all}", rank.straggles),
        },
    ]
}

/// What the figures of several ranks are.
pub(crate) fn notes(results: &Results) -> Vec<String> {
    if results.ranks.is_empty() {
        return Vec::new();
    }
    let mut notes = vec![
        "Ranks start each sample together, after a barrier, each on a target of its own. The times above, the floor's \
         too, are those of the slowest rank, from its own start to its own end: a program whose ranks wait for each \
         other waits for that one."
            .to_owned(),
        format!(
            "Several ranks: the times are the medians of the fastest and of the slowest rank. Calls per second are \
             those of all ranks together, at the pace of the slowest. A straggler is a rank whose median is more than \
             {STRAGGLER} times that of the median rank. \"Last in\" is the share of its samples in which a rank ended \
             last."
        ),
    ];
    notes.push(
        "Ranks call MPI, which starts threads, and each system call of a process with several threads takes longer: on \
         one machine short calls took 9 to 19 % more. The times are those of an MPI program, and give no cost model."
            .to_owned(),
    );
    if let Some(coordination) = &results.coordination {
        let p99 = coordination
            .p99_ns
            .map(|ns| format!(", and 1 % of the samples more than {}", format::time(ns)));
        notes.push(format!(
            "Beside itself, each of {} samples took {} on rank 0 (median{}) to order it, to meet at the barrier and to \
             exchange the times. None of that is in the times above.",
            format::grouped(coordination.samples),
            format::time(coordination.median_ns),
            p99.unwrap_or_default()
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_stragglers_are_counted_and_many_ranks_shown_by_slowness() {
        assert_eq!(named(&[]), "–");
        assert_eq!(named(&[1, 2, 3, 4]), "1, 2, 3, 4");
        assert_eq!(named(&[1, 2, 3, 4, 7, 9]), "1, 2, 3, 4 and 2 more");
        let ranks = |count| {
            let rank = |rank| Rank {
                rank,
                slowdown: Some(f64::from(rank)),
                ..Rank::default()
            };
            (0..count).map(rank).collect::<Vec<_>>()
        };
        let few = rank_table(&ranks(16)).unwrap();
        assert_eq!((few.rows[0][0].as_str(), few.rows.len()), ("0", 16));
        let many = rank_table(&ranks(1000)).unwrap();
        assert_eq!((many.rows[0][0].as_str(), many.rows.len()), ("999", 16));
        assert_eq!(many.title, "Ranks: the slowest 16 of 1000");
    }
}
