//! The content of the tables, independent of the output format.

use vectored_report::words::ratio_within;
use vectored_report::{Align, Cell, Column, Table, Text, visible, words};

use crate::model::{
    ExperimentName, ExperimentRow, IovecSetup, Measure, Operation, PUBLISHED_FILE_BYTES, PageCache,
    PublishedRow, Ratio, Reproduction, SyncMode, TechniqueName,
};
use crate::report::experiments::tooltips;

/// A table: two lines of heads, and rows of texts.
struct Sheet {
    /// For each column: the group that begins with it, and its name.
    heads: Vec<(String, String)>,
    /// The number of columns on the left that hold names.
    names: usize,
    rows: Vec<Vec<String>>,
}

impl Sheet {
    /// A group lasts until the next one begins.
    fn table(self) -> Table {
        let mut group = String::new();
        let columns = self
            .heads
            .into_iter()
            .enumerate()
            .map(|(index, (begun, name))| {
                if !begun.is_empty() {
                    group = begun;
                }
                let head = format!("{group} {name}");
                Column {
                    head: name.as_str().into(),
                    group: group.as_str().into(),
                    // The first column names the row, also if it holds figures.
                    align: if index < self.names.max(1) { Align::Left } else { Align::Right },
                    drop_order: 0,
                    tooltip: tooltips::of(head.trim()).into(),
                }
            });
        Table {
            title: Text::default(),
            columns: columns.collect(),
            rows: self
                .rows
                .into_iter()
                .map(|row| row.into_iter().map(Cell::from).collect())
                .collect(),
        }
    }

    fn new(names: usize, heads: &[(&str, &str)]) -> Self {
        let owned = |&(group, name): &(&str, &str)| (group.to_owned(), name.to_owned());
        Sheet {
            heads: heads.iter().map(owned).collect(),
            names,
            rows: Vec::new(),
        }
    }
}

/// The title: the experiment in one line, and whether it is reduced or incomplete.
pub fn title(experiment: &Reproduction) -> String {
    let what = match experiment.name {
        ExperimentName::Apue35 => {
            let setting = &experiment.setting;
            let bytes = words::bytes(setting.file_bytes.unwrap_or(0));
            let to = match setting.to.as_deref() {
                Some("null") | None => "/dev/null",
                Some("file") => "a file",
                Some(_) => "a pipe",
            };
            let sync = match setting.sync {
                Some(SyncMode::None) | None => "",
                Some(SyncMode::Dsync) => ", every write durable (O_DSYNC)",
                Some(SyncMode::Sync) => ", every write durable (O_SYNC)",
                Some(SyncMode::Fsync) => ", durable at the end (fsync)",
            };
            let cache = match experiment.cache {
                PageCache::Hot => "hot page cache",
                PageCache::Cold => "cold page cache",
            };
            let program = setting.program.as_ref();
            let program = program.map_or_else(String::new, |typed| format!(", beside '{typed}'"));
            format!("copying a file of {bytes} to {to}{sync}, {cache}{program}")
        }
        ExperimentName::Apue1428 => {
            let calls = experiment.rows.first().and_then(|row| row.calls);
            let calls = words::grouped(calls.unwrap_or(0));
            format!("a header of 100 B and data of 200 B, written {calls} times to one file")
        }
        ExperimentName::Kalinin => {
            let calls = experiment.rows.first().and_then(|row| row.calls);
            let calls = calls.unwrap_or(0);
            format!(
                "1000 elements of each size, {calls} calls of each technique in turn into one file"
            )
        }
        ExperimentName::Mincer => {
            let passes = experiment.rows.first().and_then(|row| row.calls);
            let passes = words::count(passes.unwrap_or(0) as usize, "time");
            format!("buffers one by one, or vectored: written, synced and read back {passes}")
        }
    };
    let reduced = if experiment.reduced { "; REDUCED: smaller than published" } else { "" };
    let stopped = if experiment.complete { "" } else { "; incomplete: stopped before its end" };
    format!("{}: {what}{reduced}{stopped}", experiment.name)
}

/// The tables of an experiment.
pub fn sheets(experiment: &Reproduction) -> Vec<Table> {
    let sheets = match experiment.name {
        ExperimentName::Apue35 if experiment.setting.program.is_some() => {
            vec![copies_beside(experiment)]
        }
        ExperimentName::Apue35 => vec![copies(experiment)],
        ExperimentName::Apue1428 => vec![records(experiment), published_records(experiment)],
        ExperimentName::Kalinin => vec![elements(experiment)],
        ExperimentName::Mincer => {
            let has_direct = experiment.rows.iter().any(|row| row.direct);
            let direct = has_direct.then(|| passes(experiment, true));
            [passes(experiment, false)]
                .into_iter()
                .chain(direct)
                .collect()
        }
    };
    sheets.into_iter().map(Sheet::table).collect()
}

fn copies(experiment: &Reproduction) -> Sheet {
    let is_cold = experiment.cache == PageCache::Cold;
    let mut heads = vec![
        ("buffer", "bytes"),
        ("here, seconds:", "user"),
        ("", "system"),
        ("", "clock"),
        ("loops:", "here"),
        ("2005, seconds:", "user"),
        ("", "system"),
        ("", "clock"),
        ("loops:", "2005"),
    ];
    if is_cold {
        heads.extend([("cold:", "left"), ("", "fetched")]);
    }
    let mut sheet = Sheet::new(0, &heads);
    for row in &experiment.rows {
        let published = as_published(experiment, row);
        let name = match row.buffer_bytes {
            Some(bytes) => words::grouped(bytes),
            None => row.technique.clone(),
        };
        let mut cells = vec![
            name,
            fine_seconds(row.user_s),
            fine_seconds(row.system_s),
            fine_seconds(row.clock_s),
            row.loops.map_or_else(none, words::grouped),
        ];
        cells.extend([
            seconds(published.and_then(|row| row.user_s)),
            seconds(published.and_then(|row| row.system_s)),
            seconds(published.and_then(|row| row.clock_s)),
            published
                .and_then(|row| row.loops)
                .map_or_else(none, words::grouped),
        ]);
        if is_cold {
            // The worst of the repeats, since it has to hold for all.
            let left = row.resident_bytes_samples.iter().flatten().max();
            let fetched = row.fetched_bytes_samples.iter().flatten().min();
            cells.push(left.map_or_else(none, |&bytes| words::bytes(bytes)));
            cells.push(fetched.map_or_else(none, |&bytes| words::bytes(bytes)));
        }
        sheet.rows.push(cells);
    }
    sheet
}

/// The book's times, ours and those of a program of the user.
fn copies_beside(experiment: &Reproduction) -> Sheet {
    let heads = [
        ("buffer", "bytes"),
        ("2005:", "CPU"),
        ("", "clock"),
        ("vectored copy:", "CPU"),
        ("", "clock"),
        ("", "reads"),
        ("program:", "CPU"),
        ("", "clock"),
        ("", "reads"),
        ("", "÷ ours"),
    ];
    let mut sheet = Sheet::new(0, &heads);
    let [ours, theirs] = ["read-write", "program"].map(|technique| {
        let rows = experiment.rows.iter().enumerate();
        let rows = rows.filter(move |(_, row)| row.technique == technique);
        rows.collect::<Vec<_>>()
    });
    let figures = |row: Option<&ExperimentRow>| {
        [
            fine_seconds(row.and_then(|row| row.cpu_s)),
            fine_seconds(row.and_then(|row| row.clock_s)),
            row.and_then(|row| row.loops)
                .map_or_else(none, words::grouped),
        ]
    };
    let mut line = |ours: Option<&ExperimentRow>, theirs: Option<(usize, &ExperimentRow)>| {
        let either = ours.or(theirs.map(|(_, row)| row));
        let published = ours.and_then(|row| as_published(experiment, row));
        let name = match either.map(|row| (row.buffer_bytes, row.copied_bytes)) {
            Some((Some(bytes), None)) => words::grouped(bytes),
            Some((Some(bytes), Some(_))) => format!("{} *", words::grouped(bytes)),
            Some((None, Some(0))) => "empty file".to_owned(),
            _ => "its own".to_owned(),
        };
        let mut cells = vec![
            name,
            seconds(published.and_then(|row| row.cpu_s)),
            seconds(published.and_then(|row| row.clock_s)),
        ];
        cells.extend(figures(ours));
        cells.extend(figures(theirs.map(|(_, row)| row)));
        let ratio =
            theirs.and_then(|(index, _)| ratio_of(experiment, index, experiment.compared()));
        cells.push(ratio.map_or_else(none, with_interval));
        sheet.rows.push(cells);
    };
    for (_, row) in &ours {
        let same = |(_, other): &&(usize, &ExperimentRow)| {
            (other.buffer_bytes, other.copied_bytes) == (row.buffer_bytes, row.copied_bytes)
        };
        line(Some(row), theirs.iter().find(same).copied());
    }
    let of_its_own = theirs.iter().find(|(_, row)| is_of_its_own(row));
    if let Some(row) = of_its_own {
        line(None, Some(*row));
    }
    sheet
}

/// Whether it is a copy of the whole file by a program that is not told the size of its buffer.
pub fn is_of_its_own(row: &ExperimentRow) -> bool {
    (row.technique.as_str(), row.buffer_bytes, row.copied_bytes) == ("program", None, None)
}

fn records(experiment: &Reproduction) -> Sheet {
    let mut heads = vec![
        ("".to_owned(), "technique".to_owned()),
        ("seconds:".to_owned(), "user".to_owned()),
        (String::new(), "system".to_owned()),
        (String::new(), "clock".to_owned()),
        ("CPU ÷ copying:".to_owned(), "here".to_owned()),
    ];
    let sources = sources(&experiment.published);
    let mut edition = "";
    for source in &sources {
        let (year, system) = source.split_once(", ").unwrap_or((source, ""));
        let system = system.split(" (").next().unwrap_or_default();
        let group = if year == edition { String::new() } else { format!("{year}:") };
        edition = year;
        heads.push((group, system.to_owned()));
    }
    let mut sheet = Sheet {
        heads,
        names: 1,
        rows: Vec::new(),
    };
    for (index, row) in experiment.rows.iter().enumerate() {
        let ratio = ratio_of(experiment, index, Measure::Cpu);
        let mut cells = vec![
            row.technique.clone(),
            fine_seconds(row.user_s),
            fine_seconds(row.system_s),
            fine_seconds(row.clock_s),
            match (ratio, row.technique.as_str()) {
                (Some(ratio), _) => with_interval(ratio),
                (None, "copy-then-write") => "1".to_owned(),
                (None, _) => none(),
            },
        ];
        for source in &sources {
            let published = ratio.and_then(|ratio| {
                let of_source = ratio.published.iter().find(|other| other.source == *source);
                of_source.map(|published| published.ratio)
            });
            let is_base = row.technique == "copy-then-write";
            cells.push(match published {
                Some(ratio) => format!("{ratio:.2}"),
                None if is_base => "1".to_owned(),
                None => none(),
            });
        }
        sheet.rows.push(cells);
    }
    sheet
}

fn published_records(experiment: &Reproduction) -> Sheet {
    let heads = [
        ("", "published"),
        ("", "technique"),
        ("seconds:", "user"),
        ("", "system"),
        ("", "clock"),
    ];
    let mut sheet = Sheet::new(2, &heads);
    for row in &experiment.published {
        sheet.rows.push(vec![
            row.source.clone(),
            row.technique.clone(),
            seconds(row.user_s),
            seconds(row.system_s),
            seconds(row.clock_s),
        ]);
    }
    sheet
}

fn elements(experiment: &Reproduction) -> Sheet {
    let heads = [
        ("", "element"),
        ("CPU time:", "writev"),
        ("", "copying"),
        ("", "ratio"),
        ("wall time:", "writev"),
        ("", "copying"),
        ("", "ratio"),
        ("2001, CPU:", "writev"),
        ("", "copying"),
        ("", "ratio"),
    ];
    let mut sheet = Sheet::new(0, &heads);
    // Rows come in pairs: writev, then copying.
    for (index, pair) in experiment.rows.chunks_exact(2).enumerate() {
        let ratio = |measure| ratio_of(experiment, 2 * index, measure);
        let published = |row| published_of(row, &experiment.published).and_then(|row| row.cpu_s);
        let [writev, copying] = [published(&pair[0]), published(&pair[1])];
        let milliseconds = |s: Option<f64>| s.map_or_else(none, |s| format!("{:.2} ms", s * 1e3));
        let shown = |measure| ratio(measure).map_or_else(none, with_interval);
        sheet.rows.push(vec![
            words::bytes(pair[0].segment_bytes.unwrap_or(0) as u64),
            time(pair[0].cpu_s),
            time(pair[1].cpu_s),
            shown(Measure::Cpu),
            time(pair[0].clock_s),
            time(pair[1].clock_s),
            shown(Measure::Clock),
            milliseconds(writev),
            milliseconds(copying),
            (writev.zip(copying))
                .map_or_else(none, |(writev, copying)| format!("{:.2}", writev / copying)),
        ]);
    }
    sheet
}

fn passes(experiment: &Reproduction, direct: bool) -> Sheet {
    let heads = [
        (if direct { "O_DIRECT:" } else { "" }, "buffers"),
        ("", ""),
        ("", "array"),
        ("", "technique"),
        ("here:", "mean"),
        ("", "median"),
        ("", "MB/s"),
        ("", "÷ vectored"),
        ("notes:", "mean"),
        ("", "÷ vectored"),
    ];
    let mut sheet = Sheet::new(4, &heads);
    for ratio in &experiment.ratios {
        // The vectored row stands once, after that of one by one.
        if experiment.rows[ratio.of].direct != direct {
            continue;
        }
        let is_first = is_one_by_one(&experiment.rows[ratio.of]);
        let with_vectored = is_first.then_some(ratio.over);
        for index in std::iter::once(ratio.of).chain(with_vectored) {
            let row = &experiment.rows[index];
            let is_other = index == ratio.of;
            let count = row.segment_count.unwrap_or(0);
            let of_published = ratio.published.first().map(|published| published.ratio);
            let published = published_of(row, &experiment.published).and_then(|row| row.clock_s);
            let rate = row.bytes_per_s.map(|rate| format!("{:.0}", rate / 1e6));
            let published_ratio = match (is_other, of_published) {
                (true, Some(ratio)) => format!("{ratio:.2}"),
                (false, Some(_)) => "1".to_owned(),
                (_, None) => none(),
            };
            sheet.rows.push(vec![
                words::list(&[(count, row.segment_bytes.unwrap_or(0))]),
                row.operation.map_or("", Operation::name).to_owned(),
                row.iovec_setup.map_or("", IovecSetup::name).to_owned(),
                row.technique.clone(),
                time(row.clock_s),
                time(row.pass_median_s),
                rate.unwrap_or_else(none),
                if is_other { with_interval(ratio) } else { "1".to_owned() },
                time(published),
                published_ratio,
            ]);
        }
    }
    sheet
}

/// Whether its buffers were moved one by one.
pub fn is_one_by_one(row: &ExperimentRow) -> bool {
    [
        TechniqueName::WRITE_EACH.as_str(),
        TechniqueName::READ_EACH.as_str(),
    ]
    .contains(&row.technique.as_str())
}

/// What this run says, then the legend.
pub fn notes(experiment: &Reproduction) -> Vec<String> {
    let own = experiment.notes.iter();
    let mut notes: Vec<String> = own.map(|text| visible(text)).collect();
    notes.extend(match experiment.name {
        ExperimentName::Apue35 if experiment.setting.program.is_some() => notes_beside(experiment),
        ExperimentName::Apue35 => notes_of_copies(experiment),
        ExperimentName::Apue1428 => notes_of_records(experiment),
        ExperimentName::Kalinin => notes_of_elements(experiment),
        ExperimentName::Mincer => notes_of_passes(experiment),
    });
    if !experiment.missing.is_empty() {
        notes.push(format!("Not measured: {}.", experiment.missing.join(", ")));
    }
    notes
}

fn notes_of_copies(experiment: &Reproduction) -> Vec<String> {
    let setting = &experiment.setting;
    let is_small = |row: &ExperimentRow| row.buffer_bytes.is_some_and(|bytes| bytes < 64);
    let few = if experiment.rows.iter().any(is_small) {
        ", of 3 repeats below 64 B"
    } else {
        ""
    };
    let mut notes = vec![
        format!(
            "Seconds for each copy: medians of {} repeats in changing order{few}. Loops are successful reads; the \
             book's are as printed.",
            setting.repeats
        ),
        "The kernel splits user and system time by clock ticks, which is coarse in rows under a second; their sum is \
         exact."
            .to_owned(),
    ];
    notes.extend(unlike_published(experiment));
    notes.extend(left_out(experiment));
    notes.extend(setting.start_s.map(|start_s| {
        format!(
            "Each row includes {} for starting and ending a process, measured by copying an empty file.",
            words::time(start_s * 1e9)
        )
    }));
    notes.extend(surroundings(experiment));
    if experiment.cache == PageCache::Cold {
        notes.push(
            "left: the maximum still in the page cache when a copy began; fetched: the minimum that a copy read from the \
             device."
                .to_owned(),
        );
    }
    notes
}

/// Why the published figures are left out.
fn unlike_published(experiment: &Reproduction) -> Option<String> {
    let bytes = words::grouped(PUBLISHED_FILE_BYTES);
    (!experiment.is_as_published()).then(|| {
        format!(
            "The book copied {bytes} B to /dev/null, so its figures are left out. Compare how times change from one buffer \
             size to the next."
        )
    })
}

/// The page cache, the block size and the read-ahead.
fn surroundings(experiment: &Reproduction) -> Vec<String> {
    let setting = &experiment.setting;
    let cache = match experiment.cache {
        PageCache::Hot => {
            "The file was in the page cache before each copy. The book's was not: its wall times include a disk of \
             2005. Use --page-cache cold to evict it."
        }
        PageCache::Cold => "Every row has a file of its own, evicted before each copy.",
    };
    let mut notes = vec![cache.to_owned()];
    notes.extend(setting.st_blksize.map(|block| {
        let ahead = setting.read_ahead_kb;
        let ahead = ahead.map_or_else(|| "unknown".to_owned(), |kb| format!("{kb} KiB"));
        format!("st_blksize {}; read-ahead {ahead}.", words::bytes(block))
    }));
    notes
}

fn notes_beside(experiment: &Reproduction) -> Vec<String> {
    let rows = &experiment.rows;
    let repeats = rows.iter().map(|row| row.repeats);
    let repeats = match (repeats.clone().min(), repeats.max()) {
        (Some(fewest), Some(most)) if fewest < most => format!("{fewest} to {most}"),
        (_, most) => most.unwrap_or(0).to_string(),
    };
    let mut notes = vec![format!(
        "Seconds for each copy of a file of lines: medians of {repeats} repeats in changing order. CPU: user and system \
         time. reads: calls that the kernel counted, without those of the start. ÷ ours: {} ÷ that of vectored copy, both \
         without the start and the end of the process, with the interval of the median; none if copying takes less than \
         twice the spread of the starts.",
        experiment.compared().in_words()
    )];
    let is_part = |row: &ExperimentRow| row.copied_bytes.is_some_and(|bytes| bytes > 0);
    if rows.iter().any(is_part) {
        notes.push(
            "*: so small a buffer copied only the first part of the file. Its times, but for the start, are scaled to the \
             whole file, or left out (–) if they are less than twice the start. Its reads are not scaled."
                .to_owned(),
        );
    }
    let compared = experiment.compared();
    let start = |technique: &str| {
        let row = experiment.start_of(technique);
        let [middle, spread] = [
            row.and_then(|row| row.seconds(compared)),
            row.and_then(|row| row.spread_s(compared)),
        ];
        format!("{} (spread {})", time(middle), time(spread))
    };
    notes.push(format!(
        "Each row includes the start and the end of a process, measured by copying an empty file: {} {} of vectored copy, \
         {} of the program. The finding, ÷ ours and the chart are without it.",
        compared.in_words(),
        start("read-write"),
        start("program")
    ));
    notes.extend(unlike_published(experiment));
    notes.extend(left_out(experiment));
    notes.extend(surroundings(experiment));
    notes
}

/// The row in which a program is farthest from reading with the buffer that it was told, if it is not near it.
pub fn other_buffer(experiment: &Reproduction) -> Option<String> {
    let file_bytes = experiment.setting.file_bytes?;
    let of_row = |row: &ExperimentRow| {
        let (buffer, reads) = (row.buffer_bytes?, row.loops?);
        let bytes = row.copied_bytes.unwrap_or(file_bytes);
        let expected = bytes.div_ceil(buffer);
        let is_near = reads.abs_diff(expected) <= 2 + expected / 10;
        let far = (reads.max(1) as f64 / expected as f64).ln().abs();
        (!is_near).then_some((far, buffer, reads, expected, bytes))
    };
    let theirs = experiment.rows.iter();
    let theirs = theirs.filter(|row| row.technique == "program");
    let farthest = theirs
        .filter_map(of_row)
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (_, buffer, reads, expected, bytes) = farthest;
    let made = match reads {
        0 => "it made no calls that read".to_owned(),
        reads => format!(
            "it made {} reads, of {} each",
            words::grouped(reads),
            words::about(bytes as f64 / reads as f64)
        ),
    };
    Some(format!(
        "The program does not read with the buffer that it is told: told {}, {made}, instead of {} reads. A library \
         between may have a buffer of its own.",
        words::bytes(buffer),
        words::grouped(expected)
    ))
}

fn notes_of_records(experiment: &Reproduction) -> Vec<String> {
    vec![
        format!(
            "Seconds for each file: medians of {} repeats in changing order, each into a new file whose length and \
             bytes are checked. clock: wall time. CPU: user and system time together.",
            experiment.setting.repeats
        ),
        "[low, high]: interval of the median ratio, the smallest and the largest of seven repeats (98.4 %). Machines \
         differ: compare ratios, not seconds."
            .to_owned(),
    ]
}

fn notes_of_elements(experiment: &Reproduction) -> Vec<String> {
    vec![format!(
        "Time of a call, including filling the iovec array or copying every element: the mean over all calls, as \
         median of {} repeats in changing order. ratio: writev ÷ copying, with the interval of its median, the \
         smallest and the largest of seven (98.4 %).",
        experiment.setting.repeats
    )]
}

fn notes_of_passes(experiment: &Reproduction) -> Vec<String> {
    let mut notes = vec![
        format!(
            "Wall time of a pass. mean: of the passes of a repeat, as median of {} repeats in changing order; median: \
             over all passes. ÷ vectored: with the interval of its median, the smallest and the largest of seven \
             (98.4 %).",
            experiment.setting.repeats
        ),
        "array: filled within the timed call, or once before it. The published notes give rates and times in \
         inconsistent units: compare times."
            .to_owned(),
    ];
    let vectored = [TechniqueName::WRITEV, TechniqueName::READV].map(TechniqueName::as_str);
    let is_asynchronous =
        |row: &ExperimentRow| !is_one_by_one(row) && !vectored.contains(&row.technique.as_str());
    if experiment.rows.iter().any(is_asynchronous) {
        notes.push(
            "io-uring, linux-aio: the whole list is one asynchronous transfer, and the program waits for its end. The \
             queue of io-uring is consumed when it is written, so it has no rows of an array that is filled once."
                .to_owned(),
        );
    }
    if experiment.rows.iter().any(|row| row.direct) {
        notes.push(
            "O_DIRECT: the file was open with that flag, so the bytes went to the device and came from it, not \
             through the page cache."
                .to_owned(),
        );
    }
    notes
}

/// The published buffer sizes that were not measured.
fn left_out(experiment: &Reproduction) -> Option<String> {
    let is_here = |bytes: &u64| {
        let mut rows = experiment.rows.iter();
        rows.any(|row| row.buffer_bytes == Some(*bytes))
    };
    let published = experiment.published.iter();
    let missing: Vec<String> = published
        .filter_map(|row| row.buffer_bytes)
        .filter(|bytes| !is_here(bytes))
        .map(words::bytes)
        .collect();
    match missing.as_slice() {
        [] => None,
        missing => Some(format!("Left out: buffers of {}.", missing.join(", "))),
    }
}

/// The publications, each once, in their order.
pub fn sources(published: &[PublishedRow]) -> Vec<String> {
    let mut sources: Vec<String> = Vec::new();
    for row in published {
        if !sources.contains(&row.source) {
            sources.push(row.source.clone());
        }
    }
    sources
}

/// The first published row with the same parameters.
pub fn published_of<'a>(
    row: &ExperimentRow,
    published: &'a [PublishedRow],
) -> Option<&'a PublishedRow> {
    published.iter().find(|other| {
        // No publication used O_DIRECT.
        !row.direct
            && other.technique == row.technique
            && other.operation == row.operation
            && other.iovec_setup == row.iovec_setup
            && other.segment_count == row.segment_count
            && other.segment_bytes == row.segment_bytes
            && other.buffer_bytes == row.buffer_bytes
    })
}

/// The published row of a copy, if their seconds can be compared.
fn as_published<'a>(experiment: &'a Reproduction, row: &ExperimentRow) -> Option<&'a PublishedRow> {
    let published = published_of(row, &experiment.published);
    published.filter(|_| experiment.is_as_published())
}

/// The ratio of this row over another.
pub fn ratio_of(experiment: &Reproduction, of: usize, measure: Measure) -> Option<&Ratio> {
    let mut ratios = experiment.ratios.iter();
    ratios.find(|ratio| ratio.of == of && ratio.measure == measure)
}

/// `1.34× [1.30, 1.38]`.
pub fn with_interval(ratio: &Ratio) -> String {
    ratio_within(ratio.ratio, ratio.ratio_low.zip(ratio.ratio_high))
}

fn time(s: Option<f64>) -> String {
    s.map_or_else(none, |s| words::time(s * 1e9))
}

/// Seconds in the format of the books.
fn seconds(s: Option<f64>) -> String {
    s.map_or_else(none, |s| format!("{s:.2}"))
}

/// Milliseconds have a digit after them.
fn fine_seconds(s: Option<f64>) -> String {
    s.map_or_else(none, |s| {
        let places = if s < 0.0995 { 4 } else { 3 };
        format!("{s:.places$}")
    })
}

fn none() -> String {
    "–".to_owned()
}
