//! The finding of an experiment in one sentence: only what its intervals support.

use crate::model::{
    ExperimentCrossover, ExperimentName, ExperimentRow, Measure, Operation, PageCache, Ratio,
    Reproduction,
};
use crate::report::experiments::sheets::{is_one_by_one, more, ratio_of};
use crate::text::format::{bytes_in_words, list_in_words};

/// Times within this ratio count as flat: so do most of the published times of Figure 3.5 beyond the
/// block size.
const FLAT: f64 = 1.10;

/// The finding of an experiment, from its rows and ratios. Empty if too little was measured.
pub fn finding(experiment: &Reproduction) -> String {
    let sentence = match experiment.name {
        ExperimentName::Apue35 => copies(experiment),
        ExperimentName::Apue1428 => records(experiment),
        ExperimentName::Kalinin => elements(experiment),
        ExperimentName::Mincer => passes(experiment),
    };
    match sentence {
        Some(sentence) if experiment.reduced => {
            format!("At a reduced size, so only an indication. {sentence}.")
        }
        Some(sentence) => format!("{sentence}."),
        None => String::new(),
    }
}

/// On which side of 1 the interval of a ratio lies.
enum Side {
    More,
    Less,
    Open,
}

fn side(ratio: &Ratio) -> Side {
    match (ratio.ratio_low, ratio.ratio_high) {
        (Some(low), _) if low > 1.0 => Side::More,
        (_, Some(high)) if high < 1.0 => Side::Less,
        _ => Side::Open,
    }
}

/// The same ratio with its rows exchanged.
fn inverse(ratio: &Ratio) -> Ratio {
    Ratio {
        of: ratio.over,
        over: ratio.of,
        ratio: 1.0 / ratio.ratio,
        ratio_low: ratio.ratio_high.map(|high| 1.0 / high),
        ratio_high: ratio.ratio_low.map(|low| 1.0 / low),
        ..ratio.clone()
    }
}

fn records(experiment: &Reproduction) -> Option<String> {
    let of = |technique: &str| {
        let mut rows = experiment.rows.iter();
        rows.position(|row| row.technique == technique)
    };
    let writev = ratio_of(experiment, of("writev")?, Measure::Cpu)?;
    let on_linux: Vec<(&str, f64)> = writev
        .published
        .iter()
        .filter(|published| published.source.contains("Linux"))
        .map(|published| (year(&published.source), published.ratio))
        .collect();
    let percents = on_linux.iter().map(|(year, ratio)| {
        let by = 100.0 * (ratio - 1.0);
        format!("{by:.0} % in {year}")
    });
    let book = format!(
        "the book, on Linux: {}",
        percents.collect::<Vec<_>>().join(", ")
    );
    let first = match side(writev) {
        Side::More => {
            let by = more(writev);
            format!("Copying still beats writev by {by} of CPU time at 300 B ({book})")
        }
        Side::Less => {
            let by = more(&inverse(writev));
            format!(
                "writev beats copying by {by} of CPU time at 300 B, unlike in the book ({book})"
            )
        }
        Side::Open => {
            let by = more(writev);
            format!(
                "Whether copying beats writev at 300 B is not decided: writev takes {by} more CPU \
                 time ({book})"
            )
        }
    };
    let Some(each) = ratio_of(experiment, of("write-each")?, Measure::Cpu) else {
        return Some(first);
    };
    let times = each
        .published
        .iter()
        .filter(|published| published.source.contains("Linux"))
        .map(|published| format!("{:.1}", published.ratio));
    let times = times.collect::<Vec<_>>().join(" and ");
    Some(match side(each) {
        Side::Open => first,
        _ => format!(
            "{first}; two writes take {} as much CPU time as copying and one write (the book: {times})",
            times_in_words(each)
        ),
    })
}

/// `1.8 [1.7, 1.9] times`.
fn times_in_words(ratio: &Ratio) -> String {
    let middle = format!("{:.2}", ratio.ratio);
    match ratio.ratio_low.zip(ratio.ratio_high) {
        Some((low, high)) => format!("{middle} [{low:.2}, {high:.2}] times"),
        None => format!("{middle} times"),
    }
}

fn year(source: &str) -> &str {
    source.split(',').next().unwrap_or(source)
}

fn elements(experiment: &Reproduction) -> Option<String> {
    let mut ratios: Vec<&Ratio> = experiment
        .ratios
        .iter()
        .filter(|ratio| ratio.measure == Measure::Cpu)
        .collect();
    let bytes = |ratio: &Ratio| experiment.rows[ratio.of].segment_bytes.unwrap_or(0);
    ratios.sort_by_key(|ratio| bytes(ratio));
    let (first, last) = (ratios.first()?, ratios.last()?);
    let range = format!(
        "from {} to {} an element",
        bytes_in_words(bytes(first) as u64),
        bytes_in_words(bytes(last) as u64)
    );
    let then = published_crossover(experiment)
        .map(|(low, high)| format!("; in 2001 the crossover lay between {low} and {high} B"))
        .unwrap_or_default();
    let here: Vec<&ExperimentCrossover> = experiment
        .crossovers
        .iter()
        .filter(|crossover| crossover.measure == Measure::Cpu)
        .collect();
    let sure = |is: fn(&Ratio) -> bool| ratios.iter().filter(|ratio| is(ratio)).count();
    let copying = sure(|ratio| matches!(side(ratio), Side::More));
    let gathering = sure(|ratio| matches!(side(ratio), Side::Less));
    let at_last = match side(last) {
        Side::More => format!(", at the largest by {}", more(last)),
        Side::Less => format!(", at the largest by {}", more(&inverse(last))),
        Side::Open => String::new(),
    };
    let sentence = match here.as_slice() {
        [] if copying == ratios.len() => {
            format!("Copying takes less CPU time than writev at every size {range}{at_last}")
        }
        [] if gathering == ratios.len() => {
            format!("writev takes less CPU time than copying at every size {range}{at_last}")
        }
        [] => {
            let of = ratios.len();
            format!(
                "No crossover is significant {range}: copying takes significantly less CPU time at \
                 {copying} of {of} sizes, writev at {gathering}"
            )
        }
        [crossover] => format!(
            "{} takes less CPU time below {:.0} B an element, {} above: the crossover lies between \
             {:.0} and {:.0} B",
            capital(word_of(&crossover.below)),
            crossover.at_bytes,
            word_of(&crossover.above),
            crossover.low_bytes,
            crossover.high_bytes,
        ),
        several => {
            let places = several.iter().map(|crossover| {
                format!(
                    "to {} at {:.0} B [{:.0}, {:.0}]",
                    word_of(&crossover.above),
                    crossover.at_bytes,
                    crossover.low_bytes,
                    crossover.high_bytes,
                )
            });
            format!(
                "{} crossovers in CPU time {range}: {}",
                several.len(),
                places.collect::<Vec<_>>().join(", ")
            )
        }
    };
    Some(sentence + &then)
}

fn word_of(technique: &str) -> &str {
    match technique {
        "copy-then-write" => "copying",
        other => other,
    }
}

fn capital(word: &str) -> String {
    match word {
        "copying" => "Copying".to_owned(),
        other => other.to_owned(),
    }
}

/// The last published size at which copying took no more time, and the first at which writev took less.
fn published_crossover(experiment: &Reproduction) -> Option<(usize, usize)> {
    let rows = &experiment.published;
    let time = |technique: &str, bytes| {
        let is_it = |row: &&crate::model::PublishedRow| {
            row.technique == technique && row.segment_bytes == bytes
        };
        rows.iter().find(is_it)?.cpu_s
    };
    let mut sizes: Vec<usize> = rows.iter().filter_map(|row| row.segment_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let writev_wins = |&bytes: &usize| {
        let pair = time("writev", Some(bytes)).zip(time("copy-then-write", Some(bytes)));
        pair.is_some_and(|(writev, copying)| writev < copying)
    };
    let high = sizes.iter().position(writev_wins)?;
    let low = high.checked_sub(1)?;
    Some((sizes[low], sizes[high]))
}

fn passes(experiment: &Reproduction) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut last_list = String::new();
    // The one call for a list: writev, or on Windows write-file-gather.
    let mut vectored = "writev";
    for ratio in &experiment.ratios {
        let row = &experiment.rows[ratio.of];
        if row.operation != Some(Operation::Write) || !is_one_by_one(row) || row.direct {
            continue;
        }
        let list = list_in_words(&[(row.segment_count?, row.segment_bytes?)]);
        let setup = match row.iovec_setup {
            Some(crate::model::IovecSetup::Once) => " with the array set up once",
            _ => "",
        };
        let notes = match ratio.published.first() {
            Some(published) => format!("; the notes: {:.2}", published.ratio),
            None => String::new(),
        };
        let times = times_in_words(ratio);
        let verdict = verdict(experiment, ratio);
        vectored = &experiment.rows[ratio.over].technique;
        let figures = format!("{times} as long{setup} ({verdict}{notes})");
        match parts.last_mut() {
            Some(last) if last_list == list => *last += &format!(", {figures}"),
            _ => parts.push(format!("a list of {list} takes {figures}")),
        }
        last_list = list;
    }
    (!parts.is_empty()).then(|| {
        format!(
            "Written one by one instead of by {vectored}, {}{}",
            parts.join("; "),
            asynchronous_passes(experiment)
        )
    })
}

/// What asynchronous transfers cost instead of `writev`, with the array filled in each call.
fn asynchronous_passes(experiment: &Reproduction) -> String {
    let mut text = String::new();
    for ratio in &experiment.ratios {
        let row = &experiment.rows[ratio.of];
        let direct = if row.direct { " with O_DIRECT" } else { "" };
        let is_filled = row.iovec_setup == Some(crate::model::IovecSetup::Timed);
        if row.operation != Some(Operation::Write) || !is_filled || is_one_by_one(row) {
            continue;
        }
        if let (Some(count), Some(bytes)) = (row.segment_count, row.segment_bytes) {
            let list = list_in_words(&[(count, bytes)]);
            let (times, verdict) = (times_in_words(ratio), verdict(experiment, ratio));
            let name = &row.technique;
            text +=
                &format!("; by {name}{direct}, a list of {list} takes {times} as long ({verdict})");
        }
    }
    text
}

fn verdict(experiment: &Reproduction, ratio: &Ratio) -> String {
    let vectored = &experiment.rows[ratio.over].technique;
    match side(ratio) {
        Side::More => format!("{vectored} gains"),
        Side::Less => format!("{vectored} loses"),
        Side::Open => "not decided".to_owned(),
    }
}

fn copies(experiment: &Reproduction) -> Option<String> {
    let mut sampled = experiment.rows.iter().map(|row| row.repeats);
    if sampled.all(|repeats| repeats == 0) {
        return None;
    }
    let claims = [flattening(experiment), read_ahead(experiment)];
    let claims: Vec<String> = claims.into_iter().flatten().collect();
    Some(match claims.is_empty() {
        true => "The book's claims are not tested by these rows: the first needs buffers of \
                 st_blksize and of sixteen times that, the second a cold page cache, and buffers \
                 of 128 KiB and more"
            .to_owned(),
        false => claims.join("; "),
    })
}

/// Whether system time is flat from `st_blksize` on. CPU time is compared, since the kernel's split into
/// user and system time is coarse for so short a time, and a copy with such buffers spends hardly any in
/// user mode. The buffer of sixteen blocks, chosen beforehand, stands for all larger ones.
fn flattening(experiment: &Reproduction) -> Option<String> {
    let block = experiment.setting.st_blksize?;
    let bytes = |ratio: &Ratio| experiment.rows[ratio.over].buffer_bytes;
    let is_at_block = |row: &ExperimentRow| row.buffer_bytes == Some(block);
    let mut ratios = experiment.ratios.iter();
    let ratio = ratios.find(|ratio| {
        ratio.measure == Measure::Cpu
            && is_at_block(&experiment.rows[ratio.of])
            && bytes(ratio) == Some(16 * block)
    })?;
    let (at, against) = (bytes_in_words(block), bytes_in_words(16 * block));
    let by = more(ratio);
    let book = match ratio.published.first() {
        Some(published) => format!(" (the book: {})", more_or_less(published.ratio)),
        None => String::new(),
    };
    let figures = format!("{at} takes {by} more CPU time than {against}{book}");
    Some(match (ratio.ratio_low, ratio.ratio_high) {
        (_, Some(high)) if high < FLAT => {
            format!("System time flattens at st_blksize as the book says: {figures}")
        }
        (Some(low), _) if low > FLAT => {
            format!("System time does not flatten at st_blksize: {figures}")
        }
        _ => format!("Whether system time flattens at st_blksize is not decided: {figures}"),
    })
}

/// `7 % more`, `10 % less`.
fn more_or_less(ratio: f64) -> String {
    let percent = 100.0 * (ratio - 1.0);
    let word = if percent < 0.0 { "less" } else { "more" };
    format!("{:.0} % {word}", percent.abs())
}

/// Whether read-ahead has an effect past 128 KiB. Only for a file that is read from its device.
fn read_ahead(experiment: &Reproduction) -> Option<String> {
    if experiment.cache != PageCache::Cold {
        return None;
    }
    let mut ratios: Vec<&Ratio> = experiment
        .ratios
        .iter()
        .filter(|ratio| ratio.measure == Measure::Clock)
        .collect();
    let bytes = |ratio: &Ratio| experiment.rows[ratio.of].buffer_bytes.unwrap_or(0);
    ratios.sort_by_key(|ratio| bytes(ratio));
    let ratio = ratios.last()?;
    let largest = bytes_in_words(bytes(ratio));
    let by = more(ratio);
    let book = match ratio.published.first() {
        Some(published) => format!("; the book: {}", more_or_less(published.ratio)),
        None => String::new(),
    };
    let figures = format!("{largest} takes {by} more wall time than 128 KiB{book}");
    Some(match (ratio.ratio_low, ratio.ratio_high) {
        (Some(low), Some(high)) if low > 1.0 / FLAT && high < FLAT => {
            format!("past 128 KiB read-ahead has no further effect ({figures})")
        }
        (Some(low), _) if low > 1.0 => format!("past 128 KiB reading slows down ({figures})"),
        (_, Some(high)) if high < 1.0 => {
            format!("past 128 KiB reading still gets faster ({figures})")
        }
        _ => format!("whether read-ahead matters past 128 KiB is not decided ({figures})"),
    })
}
