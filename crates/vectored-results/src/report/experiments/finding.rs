//! The finding of an experiment in one sentence: only what its intervals support.

use vectored_report::sort;
use vectored_report::words::{self, enumerated};

use crate::model::{
    ExperimentCrossover, ExperimentName, ExperimentRow, Measure, Operation, PageCache, Ratio,
    Reproduction,
};
use crate::report::experiments::sheets::{
    is_of_its_own, is_one_by_one, other_buffer, ratio_of, with_interval,
};

/// Times within this ratio count as flat: so do most of the published times of Figure 3.5 beyond the
/// block size.
const FLAT: f64 = 1.10;

/// The finding of an experiment, from its rows and ratios. Empty if too little was measured.
pub fn finding(experiment: &Reproduction) -> String {
    let sentence = match experiment.name {
        ExperimentName::Apue35 if !is_measured(experiment) => not_measured(experiment),
        ExperimentName::Apue35 if experiment.setting.program.is_some() => Some(beside(experiment)),
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

/// The side of 1 on which the interval of a ratio lies.
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

/// The reciprocal of a ratio: its rows are exchanged.
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
    let book = on_linux.iter();
    let book = book.map(|(year, published)| format!("{} in {year}", words::ratio(*published)));
    let book = format!(
        "the book, on Linux: {}",
        book.collect::<Vec<_>>().join(", ")
    );
    let first = match side(writev) {
        Side::More => {
            let times = with_interval(writev);
            format!(
                "Copying still beats writev at 300 B: writev takes {times} the CPU time ({book})"
            )
        }
        Side::Less => {
            let times = with_interval(&inverse(writev));
            format!(
                "writev beats copying at 300 B, unlike in the book: copying takes {times} the CPU time \
                 (writev ÷ copying in {book})"
            )
        }
        Side::Open => {
            let times = with_interval(writev);
            format!(
                "Whether copying beats writev at 300 B is not decided: writev takes {times} the CPU \
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
        .map(|published| words::ratio(published.ratio));
    let times = times.collect::<Vec<_>>().join(" and ");
    Some(match side(each) {
        Side::Open => first,
        _ => format!(
            "{first}; two writes take {} the CPU time of copying and one write (the book: {times})",
            with_interval(each)
        ),
    })
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
    sort::sort_by_key(&mut ratios, |ratio| bytes(ratio));
    let (first, last) = (ratios.first()?, ratios.last()?);
    let range = format!(
        "from {} to {} an element",
        words::bytes(bytes(first) as u64),
        words::bytes(bytes(last) as u64)
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
        Side::More => format!("; at the largest, writev takes {}", with_interval(last)),
        Side::Less => {
            let times = with_interval(&inverse(last));
            format!("; at the largest, copying takes {times}")
        }
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
        let list = words::list(&[(row.segment_count?, row.segment_bytes?)]);
        let setup = match row.iovec_setup {
            Some(crate::model::IovecSetup::Once) => " with the array set up once",
            _ => "",
        };
        let notes = match ratio.published.first() {
            Some(published) => format!("; the notes: {}", words::ratio(published.ratio)),
            None => String::new(),
        };
        let times = with_interval(ratio);
        let verdict = verdict(experiment, ratio);
        vectored = &experiment.rows[ratio.over].technique;
        let figures = format!("{times} the time{setup} ({verdict}{notes})");
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

/// The cost of asynchronous transfers relative to `writev`, with the array filled in each call.
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
            let list = words::list(&[(count, bytes)]);
            let (times, verdict) = (with_interval(ratio), verdict(experiment, ratio));
            let name = &row.technique;
            text += &format!(
                "; by {name}{direct}, a list of {list} takes {times} the time ({verdict})"
            );
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
    let claims = [flattening(experiment), read_ahead(experiment)];
    let mut claims: Vec<String> = claims.into_iter().flatten().collect();
    if claims.is_empty() {
        claims.push(
            "The book's claims are not tested by these rows: the first needs buffers of \
             st_blksize and of sixteen times that, the second a cold page cache, and buffers \
             of 128 KiB and more"
                .to_owned(),
        );
    }
    claims.extend(fastest(experiment));
    Some(claims.join("; "))
}

/// How much longer than the fastest buffer a buffer may take that is near it.
const NEAR: f64 = 1.05;

/// The smallest buffer within 5 % of the fastest, by the median time without the start of the process. `None` if a row is
/// not measured, a copy of the whole file takes too little to be told from the noise of the starts, or the program does not
/// read with its buffer.
pub fn smallest_near_fastest(experiment: &Reproduction, technique: &str) -> Option<u64> {
    if !is_measured(experiment) || technique == "program" && other_buffer(experiment).is_some() {
        return None;
    }
    let mut timed: Vec<(u64, f64)> = Vec::new();
    for row in &experiment.rows {
        let Some(bytes) = row.buffer_bytes.filter(|_| row.technique == technique) else {
            continue;
        };
        match experiment.copying_s(row, experiment.compared()) {
            Some(s) => timed.push((bytes, s)),
            // Too slow a buffer to copy more.
            None if row.copied_bytes.is_some() => {}
            None => return None,
        }
    }
    let fastest_s = timed.iter().map(|timed| timed.1).reduce(f64::min)?;
    let near = timed.iter().filter(|timed| timed.1 <= fastest_s * NEAR);
    near.map(|timed| timed.0).min()
}

/// Whether there are rows, and every one has a repeat.
fn is_measured(experiment: &Reproduction) -> bool {
    let rows = &experiment.rows;
    !rows.is_empty() && rows.iter().all(|row| row.repeats > 0)
}

/// The answer for a technique in words.
fn near_in_words(experiment: &Reproduction, technique: &str) -> String {
    let sizes = || experiment.rows.iter().filter_map(|row| row.buffer_bytes);
    let is_ignored = technique == "program" && other_buffer(experiment).is_some();
    let Some(bytes) = smallest_near_fastest(experiment, technique) else {
        return if is_ignored { "none" } else { "not resolved" }.to_owned();
    };
    let size = words::bytes(bytes);
    match (sizes().min(), sizes().max()) {
        (smallest, largest) if smallest == largest => size,
        (smallest, _) if smallest == Some(bytes) => format!("{size} (the smallest measured)"),
        (_, largest) if largest == Some(bytes) => {
            format!("{size} (the largest measured: the time still falls there)")
        }
        _ => size,
    }
}

/// What to say of a run that was stopped before each row had a repeat.
fn not_measured(experiment: &Reproduction) -> Option<String> {
    let measured = experiment.rows.iter().filter(|row| row.repeats > 0).count();
    let rows = experiment.rows.len();
    (measured > 0).then(|| format!("There is no finding: {measured} of {rows} rows were measured"))
}

/// What to say of a program of the user beside `vectored copy`.
fn beside(experiment: &Reproduction) -> String {
    let compared = experiment.compared();
    let time = compared.in_words();
    let ours = near_in_words(experiment, "read-write");
    let its_own = experiment.rows.iter().find(|row| is_of_its_own(row));
    let near = smallest_near_fastest(experiment, "program");
    let mut sentence = match its_own {
        Some(row) => {
            let takes = experiment.copying_s(row, compared);
            let takes = takes.map_or_else(
                || format!("{time} that is not resolved"),
                |s| format!("{} of {time}", words::time(s * 1e9)),
            );
            format!(
                "The program, which is not told the size of a buffer, takes {takes} for copying; the smallest buffer within \
                 5 % of the fastest is {ours} for vectored copy"
            )
        }
        None => {
            let theirs = near_in_words(experiment, "program");
            format!(
                "The smallest buffer within 5 % of the fastest is {theirs} for the program, {ours} for vectored copy"
            )
        }
    };
    if sentence.contains("not resolved") {
        let remedy = if experiment.reduced {
            "omit --quick"
        } else {
            "copy more, as with --file-size 1GiB"
        };
        sentence += &format!(
            ". Not resolved: copying takes less than twice the spread of the starts of a process: {remedy}"
        );
    }
    if its_own.is_none() && other_buffer(experiment).is_some() {
        sentence += ". The program does not read with the buffer that it is told";
    }
    let is_it = |row: &ExperimentRow| row.technique == "program" && row.buffer_bytes == near;
    let row = experiment
        .rows
        .iter()
        .position(is_it)
        .filter(|_| near.is_some());
    if let Some((ratio, bytes)) = row
        .and_then(|row| ratio_of(experiment, row, compared))
        .zip(near)
    {
        let near = words::bytes(bytes);
        let times = with_interval(ratio);
        sentence +=
            &format!("; with {near}, the program takes {times} the {time} of vectored copy");
    }
    sentence
}

/// The fastest of several buffers by the median wall time, and the others that are close to it.
fn fastest(experiment: &Reproduction) -> Option<String> {
    let timed = experiment.rows.iter();
    let timed = timed.filter_map(|row| Some((row.buffer_bytes?, row.clock_s?)));
    let mut timed: Vec<(u64, f64)> = timed.collect();
    sort::sort_by(&mut timed, |a, b| a.1.total_cmp(&b.1));
    let (&(bytes, s), others) = timed.split_first()?;
    let close = others.iter().filter(|(_, other)| *other <= s * FLAT);
    let mut close: Vec<u64> = close.map(|(bytes, _)| *bytes).collect();
    close.sort_unstable();
    let close: Vec<String> = close.into_iter().map(words::bytes).collect();
    let within = match (others.is_empty(), close.is_empty()) {
        (true, _) => return None,
        (_, true) => "no other is within 10 %".to_owned(),
        _ => format!("within 10 % of it: {}", enumerated(&close)),
    };
    let fastest = words::bytes(bytes);
    Some(format!(
        "the fastest buffer by median wall time is {fastest}; {within}"
    ))
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
    let (at, against) = (words::bytes(block), words::bytes(16 * block));
    let times = with_interval(ratio);
    let book = match ratio.published.first() {
        Some(published) => format!(" (the book: {})", words::ratio(published.ratio)),
        None => String::new(),
    };
    let figures = format!("{at} takes {times} the CPU time of {against}{book}");
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
    sort::sort_by_key(&mut ratios, |ratio| bytes(ratio));
    let ratio = ratios.last()?;
    let largest = words::bytes(bytes(ratio));
    let times = with_interval(ratio);
    let book = match ratio.published.first() {
        Some(published) => format!("; the book: {}", words::ratio(published.ratio)),
        None => String::new(),
    };
    let figures = format!("{largest} takes {times} the wall time of 128 KiB{book}");
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
