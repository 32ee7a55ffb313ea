//! `vectored measure --each-node`: every node of a cluster measures itself.

use std::process::ExitCode;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use vectored_lab::model::Results;
use vectored_lab::report;

use crate::args::{Format, MeasureArgs};
use crate::cluster::{Team, alone, with_team};
use crate::commands::measure::{measure_alone, rendered};
use crate::failure::Failure;
use crate::notes::Notes;
use crate::output_file::OutputFile;
use crate::results_store::Store;
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
    let opened = match team.is_first() {
        true => OutputFile::named(args.output.as_deref(), "--output")
            .and_then(|output| Ok((output, Store::open(args.no_save)?))),
        false => Ok((None, Store::Unwanted)),
    };
    let (output, store) = team.agree(opened)?;
    let own = team
        .is_first_on_node()
        .then(|| measure_alone(args, !team.is_first()));
    // Ranks that wait sleep, and take no CPU time from those that measure.
    team.group.rest();
    let own = own.map(|outcome| match outcome {
        Ok((results, failure)) => NodeReport {
            json: Some(report::json(&results)),
            error: failure.map(|error| error.to_string()),
        },
        Err(failure) => NodeReport {
            json: None,
            error: Some(format!("{:#}", failure.error)),
        },
    });
    let texts = team.gather(&serde_json::to_string(&own).context("cannot send the result")?);
    if !team.is_first() {
        return Ok(ExitCode::SUCCESS);
    }
    let (mut measured, mut results, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for (rank, text) in texts.iter().enumerate() {
        let host = team.host_of(rank);
        let cannot = || format!("cannot understand the result of {host}");
        let Some(node) = serde_json::from_str::<Option<NodeReport>>(text).with_context(cannot)?
        else {
            continue;
        };
        if let Some(error) = node.error {
            failures.push(format!("rank {rank} on {host}: {error}"));
        }
        if let Some(json) = node.json {
            let loaded = report::parse(&json).map_err(|error| anyhow::anyhow!("{error}"));
            results.push(loaded.with_context(cannot)?);
            measured.push((file_name(host, rank), json));
        }
    }
    let notes = Notes { quiet: args.quiet };
    if let Some(first) = results.first() {
        let saved = store.save_together("measure", &first.started_at, &measured);
        let text = together(&results, args.format, output.is_some());
        match &output {
            Some(output) => output.write(&text)?,
            None => print(&text)?,
        }
        notes.saved(&saved?);
    }
    if !failures.is_empty() {
        return Err(Failure::from(anyhow::anyhow!("{}", failures.join("; "))));
    }
    Ok(ExitCode::SUCCESS)
}

/// What the first rank of a node measured.
#[derive(Serialize, Deserialize)]
struct NodeReport {
    /// The result, unless nothing was measured.
    json: Option<String>,
    /// Why it is not complete, if it failed.
    error: Option<String>,
}

/// `n1.json`. The rank is added if the name of the node is no file name.
fn file_name(host: &str, rank: usize) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match !host.is_empty() && host.chars().all(is_plain) && !host.starts_with('.') {
        true => format!("{host}.json"),
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
        assert_eq!(file_name("n1.cluster-a", 3), "n1.cluster-a.json");
        for odd in ["", "../up", ".hidden", "a b", "a/b"] {
            assert_eq!(file_name(odd, 3), "node-3.json");
        }
    }
}
