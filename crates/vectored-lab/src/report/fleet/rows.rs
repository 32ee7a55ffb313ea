//! Extracts as rows: one for each machine and file system, in the order of processor, kernel and file system.

use crate::model::{ListShape, Machine, MachineGroup, SharedCrossover, Technique, Verdict};
use crate::model::{MachineCell, Virtualization};
use crate::report::advice_figures::in_one_unit;
use crate::report::crossover_text::no_crossover_of;
use crate::report::target_names::{SectionKey, Titles};
use crate::text::format;

/// The part of an extract that is under the conditions of one section.
pub(crate) struct FleetRow<'a> {
    pub machine: &'a Machine,
    /// Of one file system, and of one device. They differ in how the target was emptied.
    pub groups: Vec<&'a MachineGroup>,
}

/// One table: the conditions, and the machines that were measured under them.
pub(crate) struct FleetSection<'a> {
    pub title: String,
    pub is_of_file: bool,
    pub rows: Vec<FleetRow<'a>>,
}

/// The sections of these extracts.
pub(crate) fn sections(machines: &[Machine]) -> Vec<FleetSection<'_>> {
    let groups = || machines.iter().flat_map(|machine| &machine.groups);
    let mut keys: Vec<SectionKey<'static>> = groups()
        .filter(|group| !group.cells.is_empty())
        .map(|group| SectionKey::of_machine(&group.conditions))
        .collect();
    keys.sort_unstable();
    keys.dedup();
    let titles = Titles::among_keys(keys.iter().copied());
    let section = |key: SectionKey<'static>| FleetSection {
        title: titles.of(key),
        is_of_file: key.is_of_file(),
        rows: rows(machines, key),
    };
    keys.into_iter().map(section).collect()
}

fn rows<'a>(machines: &'a [Machine], key: SectionKey<'static>) -> Vec<FleetRow<'a>> {
    let mut rows: Vec<FleetRow<'_>> = Vec::new();
    for machine in machines {
        let here = rows.len();
        let is_here = |group: &&MachineGroup| SectionKey::of_machine(&group.conditions) == key;
        for group in machine.groups.iter().filter(is_here) {
            let place = |group: &MachineGroup| (group.file_system.clone(), group.device);
            let same = rows[here..]
                .iter_mut()
                .find(|row| place(row.groups[0]) == place(group));
            match same {
                Some(row) => row.groups.push(group),
                None => rows.push(FleetRow {
                    machine,
                    groups: vec![group],
                }),
            }
        }
    }
    rows.retain(|row| row.cells().next().is_some());
    rows.sort_by_key(FleetRow::order);
    rows
}

impl<'a> FleetRow<'a> {
    /// The cells, in their order.
    pub fn cells(&self) -> impl Iterator<Item = &'a MachineCell> {
        self.groups.iter().flat_map(|group| &group.cells)
    }

    fn order(&self) -> (&'a str, Vec<u32>, Option<&'a str>, &'a str) {
        let kind = &self.machine.kind;
        // 6.9 comes before 6.18.
        let numbers = kind
            .kernel
            .split('.')
            .map(|number| number.parse().unwrap_or(0));
        let file_system = self.groups[0].file_system.as_deref();
        (
            &kind.processor,
            numbers.collect(),
            file_system,
            &self.machine.month,
        )
    }

    /// The names of the row, as many as [`name_heads`].
    pub fn names(&self, is_of_file: bool) -> Vec<String> {
        let kind = &self.machine.kind;
        let mut names = vec![
            kind.processor.clone(),
            kind.cpus.to_string(),
            format!("{} {}", kind.system, kind.kernel),
            virtualization(kind.virtualization).to_owned(),
        ];
        if is_of_file {
            names.push(self.place().unwrap_or_else(|| "–".to_owned()));
        }
        names.push(self.machine.month.clone());
        names
    }

    /// `ext4 on ssd`.
    fn place(&self) -> Option<String> {
        let group = self.groups[0];
        let file_system = group.file_system.clone()?;
        Some(match group.device {
            Some(device) => format!("{file_system} on {}", device.name()),
            None => file_system,
        })
    }

    /// The row in one line, for a chart: `AMD EPYC, 6.18.44, ext4`.
    pub fn label(&self) -> String {
        let kind = &self.machine.kind;
        let processor = short_processor(&kind.processor);
        let file_system = self.groups[0].file_system.iter();
        let parts = [&processor, &kind.kernel].into_iter().chain(file_system);
        parts.map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    /// The crossovers of lists of one shape.
    pub fn crossovers(&self, shape: ListShape<'_>) -> Vec<&'a SharedCrossover> {
        let all = self.groups.iter().flat_map(|group| &group.crossovers);
        all.filter(|crossover| crossover.shape() == shape).collect()
    }

    /// The text in place of a crossover: see [`no_crossover_of`].
    pub fn no_crossover(&self, shape: ListShape<'_>) -> String {
        let cells = self.cells().filter(|cell| cell.shape() == shape);
        let outcomes: Vec<(Verdict, Option<Technique>)> =
            cells.map(|cell| (cell.verdict, cell.winner)).collect();
        no_crossover_of(&outcomes)
    }
}

/// The name of a processor without the words that do not tell it from others of its kind: `AMD EPYC 7763` of `AMD EPYC 7763
/// 64-Core Processor`.
fn short_processor(name: &str) -> String {
    let is_plain = |word: &&str| {
        !matches!(*word, "CPU" | "Processor")
            && !word.ends_with("GHz")
            && !word.ends_with("-Core")
            && !word.ends_with("-Cores")
    };
    let words: Vec<&str> = name.split(' ').filter(is_plain).collect();
    words.join(" ")
}

/// The heads of the names of rows.
pub(crate) fn name_heads(is_of_file: bool) -> Vec<String> {
    let mut heads = vec!["processor", "CPUs", "kernel", "inside"];
    if is_of_file {
        heads.push("file system");
    }
    heads.push("month");
    heads.into_iter().map(str::to_owned).collect()
}

/// The shapes of lists whose size was varied, in any row.
pub(crate) fn shapes<'a>(rows: &[FleetRow<'a>]) -> Vec<ListShape<'a>> {
    let cells = rows.iter().flat_map(FleetRow::cells);
    let swept = cells.filter(|cell| cell.swept_bytes().is_some());
    let mut shapes: Vec<ListShape<'a>> = swept.map(MachineCell::shape).collect();
    shapes.sort_unstable();
    shapes.dedup();
    shapes
}

/// `1.40 KiB [1.31, 1.52]`.
pub(crate) fn place_of(crossover: &SharedCrossover) -> String {
    let sizes = [
        crossover.at_bytes,
        crossover.low_bytes,
        crossover.high_bytes,
    ];
    let (at, low, high, unit) = in_one_unit(sizes);
    format!("{at} {unit} [{low}, {high}]")
}

/// The name in tables; `–` if none was detected.
pub(crate) fn virtualization(kind: Option<Virtualization>) -> &'static str {
    match kind {
        Some(Virtualization::VirtualMachine) => "VM",
        Some(Virtualization::Container) => "container",
        Some(Virtualization::ContainerInVirtualMachine) => "container in a VM",
        None => "–",
    }
}

/// How many of `machines` there are, of how many types of processors: `5 results of 3 processor types`.
pub(crate) fn count_in_words(machines: &[Machine]) -> String {
    let mut types: Vec<&str> = machines
        .iter()
        .map(|machine| &*machine.kind.processor)
        .collect();
    types.sort_unstable();
    types.dedup();
    format!(
        "{} of {}",
        format::count(machines.len(), "result"),
        format::count(types.len(), "processor type")
    )
}
