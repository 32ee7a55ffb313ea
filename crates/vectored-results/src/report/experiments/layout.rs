//! What the report of each experiment shows, as data.

use vectored_report::words;

use crate::model::{ExperimentName, ExperimentRow, IovecSetup, Measure, Operation, Reproduction};
use crate::report::experiments::figure::{Figure, technique_in_words};

type Name = fn(&ExperimentRow) -> String;

pub struct Layout {
    /// The columns that name a line, each with its head. Rows of the same names share a line.
    pub names: &'static [(&'static str, Name)],
    pub group: Name,
    /// The figures of each group. A column without any figure, or only with figures of bases, is left out.
    pub figures: &'static [Figure],
    /// Whether times are in seconds, as in the publication. Otherwise each time has its own unit.
    pub in_seconds: bool,
    pub chart: &'static str,
    /// The figures that the chart draws by size; none if there is no chart.
    pub drawn: &'static [Figure],
    pub notes: &'static [&'static str],
}

const CPU: Figure = Figure::Ratio(Measure::Cpu);
const WALL: Figure = Figure::Ratio(Measure::Clock);

const COPIES: Layout = Layout {
    names: &[("buffer bytes", buffer)],
    group: source,
    figures: &[
        Figure::User,
        Figure::System,
        Figure::Wall,
        Figure::Loops,
        Figure::Left,
        Figure::Fetched,
    ],
    in_seconds: true,
    chart: "Seconds a copy, by the size of the buffer",
    drawn: &[Figure::Cpu, Figure::Wall],
    notes: &[
        "Times include the start and the end of the copying process, which the row \"empty file\" shows. reads: successful \
         reads; the book's are as printed.",
        "The kernel splits user and system time by clock ticks, which is coarse in rows under a second; their sum is exact.",
    ],
};

const BESIDE: Layout = Layout {
    group: copier,
    figures: &[Figure::Cpu, Figure::Wall, Figure::Loops, CPU, WALL],
    chart: "Time of a copy without the start, by the size of the buffer",
    drawn: &[Figure::Copying],
    notes: &[
        "Times include the start and the end of the copying process, which the row \"empty file\" shows. The ratio, the finding \
         and the chart are without the start. There is no ratio if copying takes less than twice the spread of the starts.",
        "reads: calls that the kernel counted, without those of the start. *: so small a buffer copied only the first part of \
         the file. Its times, but for the start, are scaled to the whole file, or left out (–) if they are less than twice \
         the start. Its reads are not scaled.",
    ],
    ..COPIES
};

const RECORDS: Layout = Layout {
    names: &[("technique", technique)],
    group: source,
    figures: &[Figure::User, Figure::System, Figure::Wall, CPU],
    in_seconds: true,
    chart: "",
    drawn: &[],
    notes: &["Times are those of a new file, whose length and bytes are checked."],
};

const ELEMENTS: Layout = Layout {
    names: &[("element", element)],
    group: source_and_technique,
    figures: &[Figure::Cpu, Figure::Wall, CPU, WALL],
    in_seconds: false,
    chart: "Time of writev ÷ time of copying, by the size of an element: below 1× writev wins",
    drawn: &[CPU, WALL],
    notes: &[
        "Times are means of a call, with filling the array of iovec or copying every element.",
    ],
};

const PASSES: Layout = Layout {
    names: &[
        ("buffers", list),
        ("operation", |row| {
            row.key.operation.map_or("", Operation::name).to_owned()
        }),
        ("array", |row| {
            row.key.iovec_setup.map_or("", IovecSetup::name).to_owned()
        }),
        ("technique", technique),
    ],
    group: source,
    figures: &[Figure::Wall, Figure::PassMedian, Figure::Rate, WALL],
    in_seconds: false,
    chart: "",
    drawn: &[],
    notes: &[
        "wall: the mean time of a pass; median: over all passes. array: filled within the timed call, or once before it. The \
         published notes give rates and times in inconsistent units: compare times.",
    ],
};

impl Layout {
    pub fn of(experiment: &Reproduction) -> Layout {
        match experiment.name {
            ExperimentName::Apue35 if experiment.setting.program.is_some() => BESIDE,
            ExperimentName::Apue35 => COPIES,
            ExperimentName::Apue1428 => RECORDS,
            ExperimentName::Kalinin => ELEMENTS,
            ExperimentName::Mincer => PASSES,
        }
    }

    pub fn is_ratio(&self) -> bool {
        matches!(self.drawn, [Figure::Ratio(_), ..])
    }

    pub fn names(&self, row: &ExperimentRow) -> Vec<String> {
        self.names.iter().map(|(_, name)| name(row)).collect()
    }
}

pub fn comparable(experiment: &Reproduction) -> &[ExperimentRow] {
    if experiment.name == ExperimentName::Apue35 && !experiment.is_as_published() {
        return &[];
    }
    &experiment.published
}

/// Whether the row is a copy of the whole file by a program that is not told the size of its buffer.
pub fn is_of_its_own(row: &ExperimentRow) -> bool {
    let key = &row.key;
    (key.technique.as_str(), key.buffer_bytes, row.copied_bytes) == ("program", None, None)
}

fn source(row: &ExperimentRow) -> String {
    row.source.clone()
}

fn copier(row: &ExperimentRow) -> String {
    if row.is_here() {
        technique_in_words(&row.key.technique).to_owned()
    } else {
        source(row)
    }
}

fn source_and_technique(row: &ExperimentRow) -> String {
    let source = if row.is_here() { "" } else { &row.source };
    let technique = technique_in_words(&row.key.technique);
    format!("{source} {technique}").trim_start().to_owned()
}

fn buffer(row: &ExperimentRow) -> String {
    match row.key.buffer_bytes {
        Some(bytes) => words::grouped(bytes),
        None if row.is_start() => "empty file".to_owned(),
        None if is_of_its_own(row) => "its own".to_owned(),
        None => technique(row),
    }
}

fn technique(row: &ExperimentRow) -> String {
    row.key.technique.clone()
}

fn element(row: &ExperimentRow) -> String {
    words::bytes(row.key.segment_bytes.unwrap_or(0) as u64)
}

pub fn list(row: &ExperimentRow) -> String {
    let (count, bytes) = (row.key.segment_count, row.key.segment_bytes);
    words::list(&[(count.unwrap_or(0), bytes.unwrap_or(0))])
}
