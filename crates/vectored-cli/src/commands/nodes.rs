//! `vectored measure --each-node`: every node of a cluster measures itself.

use std::process::ExitCode;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use vectored_lab::measure::MeasureError;
use vectored_lab::model::Results;
use vectored_lab::report;

use crate::args::{Format, MeasureArgs};
use crate::cluster::{Team, alone, with_team};
use crate::commands::measure::{measure_alone, rendered};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::notes::Notes;
use crate::output_file::OutputFile;
use crate::results_store::{GrowingResult, Store};
use crate::terminal::{Screen, print};

/// The first rank of each node measures, independently of the other nodes, while the other ranks sleep. Rank 0 saves
/// all results.
pub fn run(args: &MeasureArgs) -> Result<ExitCode, Failure> {
    with_team("measure", |team| match team {
        Some(team) => measure(args, team),
        None => alone(|team| measure(args, team)),
    })
}

fn measure(args: &MeasureArgs, team: &Team<'_>) -> Result<ExitCode, Failure> {
    if args.ranks.is_some() {
        return Err(Failure::usage(
            "--each-node cannot be used with --ranks, since the nodes measure independently: omit one of the two \
             options",
        ));
    }
    if args.format == Format::Json {
        return Err(Failure::usage(
            "--format json is not available with --each-node, because the saved results are that JSON: choose table, \
             csv or markdown",
        ));
    }
    let measures = team.is_first_on_node();
    let opened = || {
        let output = match team.is_first() {
            true => OutputFile::named(args.output.as_deref(), "--output")?,
            false => None,
        };
        let store = match measures {
            true => Store::open(args.no_save)?,
            false => Store::Unwanted,
        };
        Ok((output, store))
    };
    let (output, store) = team.agree(opened())?;
    // Ranks that wait, too: a signal ends the measurement of each node, and the first rank saves all.
    let interrupt = Interrupt::watch()?;
    let mut growing = GrowingResult::of(&store, "measure");
    let own = measures.then(|| {
        let quiet = args.quiet || !team.is_first();
        measure_alone(args, quiet, &interrupt, &mut growing)
    });
    // Ranks that wait sleep, and take no CPU time from those that measure.
    team.group.rest();
    let own = own.map(|outcome| NodeReport::of(outcome, interrupt.exit_code()));
    let texts = team.gather(&serde_json::to_string(&own).context("cannot send the result")?);
    let ended = match team.is_first() {
        true => conclude(args, team, &texts, (&store, output.as_ref())),
        false => Ok(Ended::default()),
    };
    // Until then a node keeps its own result, which is lost with the others' otherwise.
    let Ended { failures, code } = team.agree(ended)?;
    growing.discard()?;
    match failures.is_empty() {
        true => Ok(ExitCode::from(code)),
        false => Err(Failure::from(anyhow::anyhow!("{}", failures.join("; ")))),
    }
}

/// How the nodes ended, as the first rank knows it.
#[derive(Default)]
struct Ended {
    /// The errors of nodes, with their names.
    failures: Vec<String>,
    /// The exit code, by the signals that ended measurements.
    code: u8,
}

/// Shows the results of all nodes and saves them together.
fn conclude(
    args: &MeasureArgs,
    team: &Team<'_>,
    texts: &[String],
    (store, output): (&Store, Option<&OutputFile>),
) -> Result<Ended, Failure> {
    let (mut measured, mut results) = (Vec::new(), Vec::new());
    let mut ended = Ended::default();
    for (rank, text) in texts.iter().enumerate() {
        let host = team.host_of(rank);
        let cannot = || format!("cannot understand the result of {host}");
        let Some(node) = serde_json::from_str::<Option<NodeReport>>(text).with_context(cannot)?
        else {
            continue;
        };
        ended.code = ended.code.max(node.code.unwrap_or(0));
        if let Some(error) = node.error {
            ended
                .failures
                .push(format!("rank {rank} on {host}: {error}"));
        }
        if let Some(json) = node.json {
            let loaded = report::parse(&json).map_err(|error| anyhow::anyhow!("{error}"));
            results.push(loaded.with_context(cannot)?);
            measured.push((file_name(host, rank, &measured), json));
        }
    }
    if let Some(first) = results.first() {
        let saved = store.save_together("measure", &first.started_at, &measured);
        let text = together(&results, args.format, output.is_some());
        // Show the results even if saving failed, and print the path even if showing failed.
        let shown = match output {
            Some(output) => output.write(&text),
            None => print(&text),
        };
        Notes { quiet: args.quiet }.saved(&saved?);
        shown?;
    }
    Ok(ended)
}

/// What the first rank of a node measured.
#[derive(Serialize, Deserialize)]
struct NodeReport {
    /// The result, unless nothing was measured.
    json: Option<String>,
    /// Why it is not complete, if it failed.
    error: Option<String>,
    /// The exit code for the signal that ended it.
    code: Option<u8>,
}

impl NodeReport {
    fn of(outcome: Result<(Results, Option<MeasureError>), Failure>, code: Option<u8>) -> Self {
        let (json, error) = match outcome {
            Ok((results, failure)) => (
                Some(report::json(&results)),
                failure.map(|error| error.to_string()),
            ),
            Err(failure) => (None, Some(format!("{:#}", failure.error))),
        };
        NodeReport { json, error, code }
    }
}

/// `n1.json`, unless the name of the node is no file name, or another node has it: then `node-RANK.json`.
fn file_name(host: &str, rank: usize, taken: &[(String, String)]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name = format!("{host}.json");
    let is_free = taken.iter().all(|(other, _)| *other != name);
    match is_free && !host.is_empty() && host.chars().all(is_plain) && !host.starts_with('.') {
        true => name,
        false => format!("node-{rank}.json"),
    }
}

/// The nodes beside each other; one alone as `vectored measure` shows it.
fn together(results: &[Results], format: Format, to_file: bool) -> String {
    let runs: Vec<&Results> = results.iter().collect();
    match (&runs[..], format) {
        ([only], _) => rendered(only, format, to_file),
        (_, Format::Table) => {
            Screen::of_output(to_file).set(|options| report::machines_table(&runs, options.width))
        }
        (_, Format::Csv) => report::csv_of_runs(&runs),
        (_, Format::Markdown | Format::Json) => report::machines_markdown(&runs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_has_the_name_of_its_node() {
        assert_eq!(file_name("n1.cluster-a", 3, &[]), "n1.cluster-a.json");
        for odd in ["", "../up", ".hidden", "a b", "a/b"] {
            assert_eq!(file_name(odd, 3, &[]), "node-3.json");
        }
        let taken = [("n1.json".to_owned(), String::new())];
        assert_eq!(file_name("n1", 3, &taken), "node-3.json");
    }
}
