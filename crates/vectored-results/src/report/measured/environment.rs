//! The machine and the run, a property a row.

use vectored_machine::model::Host;
use vectored_machine::report::lasting_properties;
use vectored_report::words::percent;
use vectored_report::{Block, Cell, Column, Section, Table};

use crate::model::Results;

pub(super) fn section(results: &Results) -> Section {
    let mut rows = lasting_properties(&results.host);
    rows.extend(of_run(&results.host));
    let timer = &results.timer;
    rows.push((
        "clock",
        format!(
            "{}, a reading takes {:.1} ns, smallest step {} ns",
            timer.clock, timer.reading_ns, timer.step_ns
        ),
    ));
    rows.push((
        "run",
        format!(
            "vectored {}, {}, {:.1} s, budget {} s, seed {}",
            results.vectored_version,
            results.started_at,
            results.elapsed_s,
            results.budget_s,
            results.seed
        ),
    ));
    let row = |(name, value): (&str, String)| vec![Cell::from(name), value.into()];
    Section {
        title: "Environment".into(),
        blocks: vec![Block::Table(Table {
            columns: vec![Column::words(""), Column::words("")],
            rows: rows.into_iter().map(row).collect(),
            ..Table::default()
        })],
    }
}

/// What changed during the run, or holds for this run only.
fn of_run(host: &Host) -> Vec<(&'static str, String)> {
    let waited = |share| format!("{} of the time in which it could run", percent(share));
    let loads = |load| format!("{load:.2} at the beginning");
    let switches = host.involuntary_switches;
    let all = [
        (
            "measured on CPU",
            host.pinned_cpu.map(|cpu| cpu.to_string()),
        ),
        ("load average", host.load_average.map(loads)),
        ("stolen CPU time", host.steal_share.map(percent)),
        ("waited for a CPU", host.cpu_wait_share.map(waited)),
        (
            "involuntary context switches",
            switches.map(|times| times.to_string()),
        ),
    ];
    all.into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}
