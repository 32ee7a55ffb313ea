//! The machine and the run, a property a row.

use vectored_machine::report::lasting_properties;
use vectored_report::words::percent;
use vectored_report::{Block, Section, Table};

use crate::model::Results;

pub(super) fn section(results: &Results) -> Section {
    let (host, timer) = (&results.host, &results.timer);
    let waited = |share| format!("{} of the time in which it could run", percent(share));
    let loads = |load| format!("{load:.2} at the beginning");
    let switches = host.involuntary_switches;
    let clock = format!(
        "{}, a reading takes {:.1} ns, smallest step {} ns",
        timer.clock, timer.reading_ns, timer.step_ns
    );
    let run = format!(
        "vectored {}, {}, {:.1} s, budget {} s, seed {}",
        results.vectored_version,
        results.started_at,
        results.elapsed_s,
        results.budget_s,
        results.seed
    );
    // These properties change during the run, or hold for this run only. They come after the lasting properties.
    let of_run = [
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
        ("clock", Some(clock)),
        ("run", Some(run)),
    ];
    let of_run = of_run
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let rows = lasting_properties(host).into_iter().chain(of_run);
    let rows = rows.map(|(name, value)| vec![name.to_owned(), value]);
    let table = Table::new("", ["", ""], [], rows);
    Section::new("Environment", vec![Block::Table(table)])
}
