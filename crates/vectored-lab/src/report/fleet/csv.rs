//! Crossovers of extracts as CSV.

use ::csv::Writer;

use crate::model::{Machine, MachineGroup, SharedCrossover};
use crate::report::fleet::rows::{FleetRow, sections, shapes};
use crate::text::format::csv_word as word;

const HEAD: [&str; 32] = [
    "processor",
    "cpus",
    "l1d_bytes",
    "l2_bytes",
    "l3_bytes",
    "architecture",
    "system",
    "kernel",
    "virtualization",
    "month",
    "file_system",
    "device",
    "target",
    "operation",
    "layout",
    "cache",
    "page_cache",
    "iovec_setup",
    "sync",
    "drain",
    "queue_depth",
    "writers",
    "direct",
    "ranks",
    "segment_count",
    "swept_mix",
    "below",
    "above",
    "at_bytes",
    "low_bytes",
    "high_bytes",
    "no_crossover",
];

/// A line for each crossover of each extract, and one for each kind of list that has none, with the reason.
pub fn fleet_csv(machines: &[Machine]) -> String {
    // Writing to memory, with as many fields in each line, cannot fail.
    const SOUND: &str = "a line as long as the head, into memory";
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record(HEAD).expect(SOUND);
    for section in sections(machines) {
        for row in &section.rows {
            for shape in shapes(std::slice::from_ref(row)) {
                let mix = word(&shape.swept_mix);
                let list = [word(&shape.segment_count), mix];
                let is_here = |group: &&&MachineGroup| {
                    group
                        .crossovers
                        .iter()
                        .any(|crossover| crossover.shape() == shape)
                };
                let found: Vec<&MachineGroup> =
                    row.groups.iter().filter(is_here).copied().collect();
                for group in &found {
                    let all = group.crossovers.iter();
                    for crossover in all.filter(|crossover| crossover.shape() == shape) {
                        let line = [&names(row, group)[..], &list, &sizes(crossover)].concat();
                        writer.write_record(line).expect(SOUND);
                    }
                }
                if found.is_empty() {
                    let none = [
                        &[""; 5].map(str::to_owned)[..],
                        &[word(&row.no_crossover(shape))],
                    ]
                    .concat();
                    let line = [&names(row, row.groups[0])[..], &list, &none].concat();
                    writer.write_record(line).expect(SOUND);
                }
            }
        }
    }
    let bytes = writer.into_inner().expect(SOUND);
    String::from_utf8(bytes).expect("text in, text out")
}

fn sizes(crossover: &SharedCrossover) -> [String; 6] {
    [
        word(&crossover.below),
        word(&crossover.above),
        word(&crossover.at_bytes),
        word(&crossover.low_bytes),
        word(&crossover.high_bytes),
        String::new(),
    ]
}

fn names(row: &FleetRow<'_>, group: &MachineGroup) -> [String; 24] {
    let kind = &row.machine.kind;
    let conditions = &group.conditions;
    [
        word(&kind.processor),
        word(&kind.cpus),
        word(&kind.l1d_bytes),
        word(&kind.l2_bytes),
        word(&kind.l3_bytes),
        word(&kind.architecture),
        word(&kind.system),
        word(&kind.kernel),
        word(&kind.virtualization),
        word(&row.machine.month),
        word(&group.file_system),
        word(&group.device),
        word(&conditions.target),
        word(&conditions.operation),
        word(&conditions.layout),
        word(&conditions.cache),
        word(&conditions.page_cache),
        word(&conditions.iovec_setup),
        word(&conditions.sync),
        word(&conditions.drain),
        word(&conditions.queue_depth),
        word(&conditions.writers.map(|writers| writers.to_string())),
        word(&conditions.direct),
        word(&conditions.ranks),
    ]
}
