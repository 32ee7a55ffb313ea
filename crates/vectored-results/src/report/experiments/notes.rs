//! How to read the figures of an experiment.

use vectored_report::{visible, words};

use crate::model::{ExperimentName, PUBLISHED_FILE_BYTES, PageCache, Reproduction};
use crate::report::experiments::layout::Layout;

/// What this run says, then the legend.
pub fn notes(experiment: &Reproduction, layout: &Layout) -> Vec<String> {
    let mut notes: Vec<String> = experiment.notes.iter().map(|text| visible(text)).collect();
    let repeats = experiment.rows.iter().map(|row| row.repeats);
    let repeats = words::counts(repeats, "repeat");
    notes.push(format!(
        "Medians of {repeats}, whose order of rows changes. ÷: the median of the repeats' ratios, with the smallest \
         and the largest of seven, which enclose the true median with 98.4 %. Machines differ: compare ratios, not times."
    ));
    notes.extend(layout.notes.iter().map(|&note| note.to_owned()));
    if experiment.name == ExperimentName::Apue35 {
        notes.extend(copies(experiment));
    }
    notes
}

fn copies(experiment: &Reproduction) -> Vec<String> {
    let setting = &experiment.setting;
    let is_here = |bytes: &u64| {
        let mut rows = experiment.rows.iter();
        rows.any(|row| row.key.buffer_bytes == Some(*bytes))
    };
    let published = experiment.published.iter();
    let published = published.filter_map(|row| row.key.buffer_bytes);
    let left_out = published.filter(|bytes| !is_here(bytes)).map(words::bytes);
    let left_out: Vec<String> = left_out.collect();
    let cache = match experiment.cache {
        PageCache::Hot => {
            "The file was in the page cache before each copy. The book's was not: its wall times include a disk of \
             2005. Use --page-cache cold to evict it."
        }
        PageCache::Cold => {
            "Each row copies its own file, which is evicted before each copy. left: the greatest part that was still in the \
             page cache when a copy began; fetched: the least that a copy read from the device."
        }
    };
    let unlike = format!(
        "The book copied {} B to /dev/null, so its figures are left out. Compare how times change from one buffer size to \
         the next.",
        words::grouped(PUBLISHED_FILE_BYTES)
    );
    let block = setting.st_blksize.map(|block| {
        let ahead = setting.read_ahead_kb;
        let ahead = ahead.map_or_else(|| "unknown".to_owned(), |kb| format!("{kb} KiB"));
        format!("st_blksize {}; read-ahead {ahead}.", words::bytes(block))
    });
    let mut notes = Vec::new();
    notes.extend((!experiment.is_as_published()).then_some(unlike));
    if !left_out.is_empty() {
        notes.push(format!("Left out: buffers of {}.", left_out.join(", ")));
    }
    notes.push(cache.to_owned());
    notes.extend(block);
    notes
}
