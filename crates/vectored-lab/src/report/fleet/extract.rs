//! From a result to an extract that names no machine.

use crate::model::{
    Cell, Conditions, Crossover, DeviceKind, FittedModel, MACHINE_SCHEMA, Machine, MachineCell,
    MachineConditions, MachineGroup, MachineKind, Rank, Results, SharedCosts, SharedCrossover,
    Target, Virtualization,
};
use crate::report::fleet::words;
use crate::report::table_rows::nearest_rival;

/// An extract, and what of the result it lacks.
#[derive(Clone, Debug, PartialEq)]
pub struct Extract {
    /// The fields that may be shared.
    pub machine: Machine,
    /// Cells that were left out, since they are of a target that the user named and that is not a file: another program,
    /// another machine or a device decided their figures.
    pub left_out_cells: usize,
    /// Cells that were left out, since they were measured by ranks on machines of several types.
    pub mixed_cells: usize,
}

impl Extract {
    /// The cells that were left out, in words: nothing, or a sentence for each reason.
    pub fn left_out_in_words(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if self.left_out_cells > 0 {
            let (count, cells) = match self.left_out_cells {
                1 => (1, "cell of a target that is"),
                count => (count, "cells of targets that are"),
            };
            sentences.push(format!(
                "left out: {count} {cells} named by path or address and not a file"
            ));
        }
        if self.mixed_cells > 0 {
            let cells = match self.mixed_cells {
                1 => "cell",
                _ => "cells",
            };
            sentences.push(format!(
                "left out: {} {cells} of ranks whose machines are of several types",
                self.mixed_cells
            ));
        }
        sentences
    }
}

/// The extract of a result: the type of the machine, and ratios, winners, crossovers and costs. It has no name of a host,
/// directory, device, address or user, no serial number and no exact time. Cells between the requested sizes are left
/// out; the crossovers that they place are not.
pub fn extract(results: &Results) -> Extract {
    let mut groups: Vec<MachineGroup> = Vec::new();
    let (mut left_out_cells, mut mixed_cells) = (0, 0);
    for cell in &results.cells {
        match group_of(&mut groups, results, &cell.conditions()) {
            Some(group) => group.cells.push(shared_cell(cell, results)),
            None if is_of_machine(cell.target) => mixed_cells += 1,
            None => left_out_cells += 1,
        }
    }
    for crossover in &results.crossovers {
        if let Some(group) = group_of(&mut groups, results, &crossover.conditions) {
            group.crossovers.push(shared_crossover(crossover));
        }
    }
    for model in &results.cost_models {
        if let Some(group) = group_of(&mut groups, results, &model.conditions) {
            group.cost_models.push(shared_costs(model));
        }
    }
    Extract {
        machine: Machine {
            schema: MACHINE_SCHEMA.to_owned(),
            vectored_version: words::numbers(&results.vectored_version),
            month: words::month(&results.started_at),
            complete: results.complete,
            kind: kind(results),
            groups,
        },
        left_out_cells,
        mixed_cells,
    }
}

fn kind(results: &Results) -> MachineKind {
    let host = &results.host;
    let (system, architecture) = words::system(&host.system, &host.kernel);
    MachineKind {
        processor: words::processor(&host.cpu.model),
        cpus: host.cpu.allowed_cpus.len().max(1),
        l1d_bytes: host.cpu.l1d_bytes,
        l2_bytes: host.cpu.l2_bytes,
        l3_bytes: host.cpu.l3_bytes,
        architecture,
        system,
        kernel: words::numbers(&host.kernel),
        virtualization: match host.virtualization.as_deref() {
            Some("virtual machine") => Some(Virtualization::VirtualMachine),
            Some("container") => Some(Virtualization::Container),
            Some("container in a virtual machine") => {
                Some(Virtualization::ContainerInVirtualMachine)
            }
            _ => None,
        },
    }
}

/// The group of these conditions, which is added if it is missing. `None` if its cells are not shared.
fn group_of<'a>(
    groups: &'a mut Vec<MachineGroup>,
    results: &Results,
    conditions: &Conditions,
) -> Option<&'a mut MachineGroup> {
    if !is_of_machine(conditions.target) || !is_of_one_type(results, conditions) {
        return None;
    }
    let shared = MachineConditions::of(conditions);
    let (file_system, device) = place(results, conditions);
    let found = groups.iter().position(|group| {
        group.conditions == shared && group.file_system == file_system && group.device == device
    });
    let index = found.unwrap_or_else(|| {
        groups.push(MachineGroup {
            conditions: shared,
            file_system,
            device,
            cells: Vec::new(),
            crossovers: Vec::new(),
            cost_models: Vec::new(),
        });
        groups.len() - 1
    });
    Some(&mut groups[index])
}

/// Whether the figures of a target are a matter of the machine alone.
fn is_of_machine(target: Target) -> bool {
    match target {
        Target::File
        | Target::FileOverwrite
        | Target::Pipe
        | Target::Unix
        | Target::Tcp
        | Target::Null => true,
        Target::Fifo | Target::Socket | Target::Remote | Target::Device => false,
    }
}

/// Whether the ranks that measured are on machines of one type, that of rank 0. The figures are those of the slowest.
fn is_of_one_type(results: &Results, conditions: &Conditions) -> bool {
    let count = conditions.ranks.unwrap_or(1);
    let type_of = |rank: &Rank| (rank.cpu.clone(), words::numbers(&rank.kernel));
    let mut ranks = results.ranks.iter().filter(|rank| rank.rank < count);
    let Some(first) = ranks.next().map(type_of) else {
        return true;
    };
    ranks.all(|rank| type_of(rank) == first)
}

/// The file system of a file, and what it is on. The result describes one directory: with files in several, it is not
/// known for any what it is on.
fn place(results: &Results, conditions: &Conditions) -> (Option<String>, Option<DeviceKind>) {
    if !conditions.target.is_file() {
        return (None, None);
    }
    let file_cells = || results.cells.iter().filter(|cell| cell.target.is_file());
    let file_system = file_cells()
        .find(|cell| cell.path == conditions.path)
        .and_then(|cell| cell.file_system.as_deref())
        .map(words::file_system);
    let is_one = file_cells().all(|cell| cell.path == conditions.path);
    let directory = results.host.directory.as_ref().filter(|_| is_one);
    (
        file_system,
        directory.and_then(|directory| directory.device),
    )
}

fn shared_cell(cell: &Cell, results: &Results) -> MachineCell {
    let nearest = nearest_rival(cell, &results.rivals).filter(|_| cell.leader.is_some());
    let margin = nearest.and_then(|rival| {
        Some([rival.ratio_to_leader, rival.ratio_low?, rival.ratio_high?].map(four_digits))
    });
    let ratios = cell.techniques.iter().filter_map(|technique| {
        let ratio = [
            technique.floor_ratio?,
            technique.floor_ratio_low?,
            technique.floor_ratio_high?,
        ];
        Some((technique.name, ratio.map(four_digits)))
    });
    MachineCell {
        segment_count: cell.segment_count,
        segment_bytes: cell.segment_bytes,
        segment_sizes: cell.segment_sizes.clone(),
        swept_mix: cell.swept_mix.clone(),
        rounds: cell.rounds,
        floor_ns: four_digits(cell.floor_ns),
        noise_floor: cell.noise_floor.map(four_digits),
        verdict: cell.verdict,
        winner: cell.winner,
        margin,
        floor_ratios: ratios.collect(),
    }
}

fn shared_crossover(crossover: &Crossover) -> SharedCrossover {
    SharedCrossover {
        segment_count: crossover.segment_count,
        swept_mix: crossover.swept_mix.clone(),
        below: crossover.below,
        above: crossover.above,
        at_bytes: four_digits(crossover.at_bytes),
        low_bytes: four_digits(crossover.low_bytes),
        high_bytes: four_digits(crossover.high_bytes),
    }
}

fn shared_costs(model: &FittedModel) -> SharedCosts {
    SharedCosts {
        source: model.source,
        call_ns: four_digits(model.call_ns),
        gather_call_ns: four_digits(model.gather_call_ns),
        segment_ns: four_digits(model.segment_ns),
        large_segment_ns: four_digits(model.large_segment_ns),
        iovec_step_ns: four_digits(model.iovec_step_ns),
        page_end_ns: four_digits(model.page_end_ns),
        byte_ns: four_digits(model.byte_ns),
        copy_segment_ns: four_digits(model.copy_segment_ns),
        copy_byte_ns: four_digits(model.copy_byte_ns),
        copy_byte_uncached_ns: four_digits(model.copy_byte_uncached_ns),
        staging_bytes: model.staging_bytes,
        regret_median: model.regret_median.map(four_digits),
    }
}

/// Rounded to four digits, which is finer than any interval, and shorter to read.
fn four_digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits() {
        for (value, expected) in [
            (1234.56, 1235.0),
            (0.000_123_456, 0.000_123_5),
            (-1.5, -1.5),
            (0.0, 0.0),
        ] {
            assert_eq!(four_digits(value), expected);
        }
    }
}
