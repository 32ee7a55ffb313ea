//! Tables of extracts: crossovers, winners and cost models by processor, kernel and file system.

use crate::model::{Machine, ModelSource, Technique, Verdict};
use crate::report::fleet::rows::{FleetRow, FleetSection, name_heads, place_of, sections, shapes};
use crate::report::grid;
use crate::report::grid::Grid;
use crate::report::machine_tables::{
    Costs, cost_table, crossover_in_words, crossover_table, is_copy_to_gather,
};
use crate::report::shape_text::shape_in_words;
use crate::report::svg::{Group, MachineCrossover};

/// Crossovers, winners and cost models for a terminal of `width` columns.
pub fn fleet_table(machines: &[Machine], width: usize) -> String {
    let mut text = grid::texts(&sheets(machines), width);
    text.push('\n');
    for note in NOTES {
        text += &grid::paragraph(note, 2, width);
    }
    text
}

/// The same in Markdown.
pub fn fleet_markdown(machines: &[Machine]) -> String {
    let mut text = grid::markdowns(&sheets(machines));
    text.push('\n');
    for note in NOTES {
        text += &format!("- {note}\n");
    }
    text
}

/// What the words of the tables mean.
pub(crate) const NOTES: [&str; 3] = [
    "Crossovers: the segment size below which copying takes less time, and above which gathering does, with its 95 % \
     interval. Another pair of techniques is named.",
    "Winners: the lists in which a technique is significantly faster than every rival; = is a tie within 2 %, ? is \
     undecided.",
    "inside: the kind of virtual machine or container, if one was detected. ssd and hdd are what the kernel reports; what \
     a virtual disk is made of is not known in the virtual machine.",
];

/// For each section a table of crossovers and one of winners, then the tables of cost models.
pub(crate) fn sheets(machines: &[Machine]) -> Vec<Grid> {
    let sections = sections(machines);
    let tables = sections
        .iter()
        .flat_map(|section| [crossovers(section), Some(winners(section))]);
    let costs = sections.iter().map(costs);
    tables.chain(costs).flatten().collect()
}

/// The charts of crossovers: for each section that has some, its title and the machines by shape of list.
pub(crate) fn charts(machines: &[Machine]) -> Vec<(String, Vec<Group>)> {
    let chart = |section: &FleetSection<'_>| {
        let groups = shapes(&section.rows).into_iter().map(|shape| {
            let is_here = |row: &&FleetRow<'_>| row.cells().any(|cell| cell.shape() == shape);
            let rows = section.rows.iter().filter(is_here);
            Group {
                title: shape_in_words(shape),
                machines: rows
                    .map(|row| {
                        // Of several crossovers the chart shows the largest, above which gathering is faster.
                        let all = row.crossovers(shape).into_iter();
                        let last = all
                            .filter(|crossover| is_copy_to_gather(crossover.below, crossover.above))
                            .max_by(|a, b| a.at_bytes.total_cmp(&b.at_bytes));
                        MachineCrossover {
                            machine: row.label(),
                            at: match last {
                                Some(one) => Ok((one.at_bytes, one.low_bytes, one.high_bytes)),
                                None => Err(row.no_crossover(shape)),
                            },
                        }
                    })
                    .collect(),
            }
        });
        let is_found = |group: &Group| group.machines.iter().any(|machine| machine.at.is_ok());
        (section.title.clone(), groups.filter(is_found).collect())
    };
    let charts = sections(machines).iter().map(chart).collect::<Vec<_>>();
    let has_groups = |(_, groups): &(String, Vec<Group>)| !groups.is_empty();
    charts.into_iter().filter(has_groups).collect()
}

fn crossovers(section: &FleetSection<'_>) -> Option<Grid> {
    let shapes = shapes(&section.rows);
    let row = |row: &FleetRow<'_>| {
        let places = shapes.iter().map(|&shape| {
            let texts = row.crossovers(shape).into_iter().map(|crossover| {
                crossover_in_words(crossover.below, &place_of(crossover), crossover.above)
            });
            let texts: Vec<String> = texts.collect();
            match texts.is_empty() {
                true => row.no_crossover(shape),
                false => texts.join("; "),
            }
        });
        let names = row.names(section.is_of_file).into_iter();
        names.chain(places).collect()
    };
    crossover_table(
        &section.title,
        &name_heads(section.is_of_file),
        &shapes,
        section.rows.iter().map(row).collect(),
    )
}

/// In how many lists each technique wins.
fn winners(section: &FleetSection<'_>) -> Grid {
    let cells = || section.rows.iter().flat_map(FleetRow::cells);
    let mut techniques: Vec<Technique> = cells()
        .flat_map(|cell| {
            cell.winner
                .into_iter()
                .chain(cell.floor_ratios.keys().copied())
        })
        .filter(|technique| cells().any(|cell| cell.winner == Some(*technique)))
        .collect();
    techniques.sort_unstable();
    techniques.dedup();
    let mut heads = name_heads(section.is_of_file);
    let names = heads.len();
    heads.push("lists".to_owned());
    heads.extend(techniques.iter().map(ToString::to_string));
    heads.extend(["=", "?"].map(str::to_owned));
    let rows = section.rows.iter().map(|row| {
        let count = |is: &dyn Fn(&crate::model::MachineCell) -> bool| {
            row.cells().filter(|cell| is(cell)).count().to_string()
        };
        let won = techniques
            .iter()
            .map(|&technique| count(&|cell| cell.winner == Some(technique)));
        let mut texts = row.names(section.is_of_file);
        texts.push(count(&|_| true));
        texts.extend(won);
        texts.push(count(&|cell| cell.verdict == Verdict::Tie));
        texts.push(count(&|cell| cell.verdict == Verdict::Open));
        texts
    });
    Grid {
        title: format!("{}: winners, by number of lists", section.title),
        heads,
        names,
        rows: rows.collect(),
    }
}

fn costs(section: &FleetSection<'_>) -> Option<Grid> {
    let row = |row: &FleetRow<'_>| {
        let mut all = row.groups.iter().flat_map(|group| &group.cost_models);
        let costs =
            all.find(|costs| costs.source == ModelSource::Cells && costs.regret_median.is_some())?;
        let costs = Costs {
            call_ns: costs.call_ns,
            gather_call_ns: costs.gather_call_ns,
            segment_ns: costs.segment_ns,
            byte_ns: costs.byte_ns,
            copy_segment_ns: costs.copy_segment_ns,
            copy_byte_ns: costs.copy_byte_ns,
            regret_median: costs.regret_median,
        };
        Some((row.names(section.is_of_file), costs))
    };
    cost_table(
        &section.title,
        &name_heads(section.is_of_file),
        section.rows.iter().filter_map(row).collect(),
    )
}
