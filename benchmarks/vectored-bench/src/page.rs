//! Results as the page docs/measured/peers.md or docs/measured/c-callers.md: figures, and the machine.

use std::fmt::Write as _;

use vectored_machine::model::Host;
use vectored_results::model::{Cache, Cell, IovecSetup, Results, TechniqueName};

use crate::bench_target::BenchTarget;
use crate::c_callers;
use crate::grid::List;
use crate::promises::{Rounds, geometric_mean, promises, ratio};
use crate::techniques::{BY_HAND, peers_and_c_callers};

/// The length of the longest bar, in characters.
const BAR_COLUMNS: usize = 40;

/// The time ÷ adaptive that the longest bar stands for.
const BAR_FACTOR: f64 = 4.0;

/// The page, in Markdown: of the peers, or of programs in C if no other peer was measured beside them.
pub fn page(results: &Results) -> String {
    let of_c_callers = c_callers::comparison(&results.cells);
    let title = match of_c_callers {
        Some(_) => "The adaptive gather and programs in C",
        None => "The adaptive gather and its peers",
    };
    let mut text = format!("# {title}\n\n");
    text += "Measured by `cargo xtask bench-peers --output FILE`, printed by \
        `cargo xtask bench-peers --page FILE`. All techniques took turns in random order within \
        one run. Each peer is used as its documentation says.\n\n";
    let is_once = |cell: &Cell| cell.conditions.iovec_setup == IovecSetup::Once;
    if of_c_callers.is_none() && results.cells.iter().all(is_once) {
        text += "Each technique is handed its list ready made, as slices or as an array of `iovec`. Four \
            fill an array of their own in each call: the loop of the standard library, tokio-util and Go, since \
            they change it, and libuv, whose array has another form.\n\n";
    }
    text += &machine(&results.host);
    let _ = writeln!(
        text,
        "\nBegun {}, {:.0} s, seed {}.\n\n## Time ÷ adaptive\n\n\
         `adaptive` is the library's `Gather`. Geometric mean over hot cells (lists in a CPU cache). \
         A bar that ends before `|` is faster than `adaptive`.\n",
        results.started_at, results.elapsed_s, results.seed
    );
    text += "```text\n";
    text += &peer_bars(&results.cells);
    if let Some(comparison) = of_c_callers {
        text += "```\n\n";
        text += &comparison;
        return text;
    }
    text +=
        "```\n\nPrograms in C: [c-callers.md](c-callers.md).\n\n## What is promised\n\n```text\n";
    text += &promises(results);
    text += "```\n";
    text
}

fn machine(host: &Host) -> String {
    let cpu = &host.cpu;
    let mut text = format!(
        "Machine: {}, {} CPUs, {}; {}{}.\n",
        cpu.model,
        cpu.allowed_cpus.len(),
        host.system,
        host.kernel,
        match &host.virtualization {
            Some(kind) => format!("; {kind}"),
            None => String::new(),
        }
    );
    if let Some(directory) = &host.directory {
        let _ = writeln!(text, "Files on {}.", directory.file_system);
    }
    for warning in &host.warnings {
        let _ = writeln!(text, "Warning: {warning}.");
    }
    text
}

/// For each target, one bar for each other technique.
fn peer_bars(cells: &[Cell]) -> String {
    let rivals = [&BY_HAND[..], &peers_and_c_callers()].concat();
    let mut text = String::new();
    for target in BenchTarget::ALL {
        let here: Vec<&Cell> = cells
            .iter()
            .filter(|cell| {
                BenchTarget::of(cell) == Some(target) && cell.conditions.cache == Cache::Hot
            })
            .filter(|cell| List::of(cell).is_some_and(List::is_plain))
            .collect();
        if here.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{target}");
        for &rival in &rivals {
            let ratios = here
                .iter()
                .filter_map(|cell| ratio(cell, rival, TechniqueName::ADAPTIVE, Rounds::All))
                .map(|pair| pair.ratio);
            if let Some(mean) = geometric_mean(ratios) {
                let _ = writeln!(text, "  {rival:<18} {mean:>6.2}  {}", bar(mean));
            }
        }
    }
    text
}

/// A bar on a logarithmic scale that begins at ½, with `|` at 1.
fn bar(factor: f64) -> String {
    let column = |factor: f64| {
        let share = (factor * 2.0).max(1.0).ln() / (BAR_FACTOR * 2.0).ln();
        ((share * BAR_COLUMNS as f64).round() as usize).min(BAR_COLUMNS)
    };
    let (end, one) = (column(factor), column(1.0));
    let mut bar: Vec<char> = vec!['█'; end];
    bar.resize(end.max(one + 1), ' ');
    bar[one] = '|';
    if factor > BAR_FACTOR {
        bar.push('▶');
    }
    bar.into_iter().collect()
}
