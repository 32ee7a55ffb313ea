//! `vectored measure --each-node`: every node of a cluster measures itself.

use std::process::ExitCode;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use vectored_lab::measure::MeasureError;
use vectored_lab::model::Results;
use vectored_lab::report;

use crate::args::{Format, MeasureArgs};
use crate::cluster::{Team, alone, with_team};
use crate::commands::measure::{measure_alone, plan, rendered};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::notes::Notes;
use crate::output_file::OutputFile;
use crate::results_store::{GrowingResult, SaveOutcome, Store};
use crate::terminal::Screen;

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
    let notes = Notes { quiet: args.quiet };
    let opened = || {
        let output = match team.is_first() {
            true => OutputFile::named(args.output.as_deref(), "--output")?,
            false => None,
        };
        let store = match (measures, team.is_first()) {
            (false, _) => Store::Unwanted,
            (true, true) => Store::open(args.no_save)?,
            // The first rank saves for all.
            (true, false) => Store::open(args.no_save).unwrap_or_else(|failure| {
                notes.note(&format!("{:#}", failure.error));
                Store::Unwanted
            }),
        };
        // Watched by ranks that wait, too: a launcher sends its signal to all, and the first one must not end them.
        Ok((plan(args)?, output, store, Interrupt::watch()?))
    };
    let (plan, output, store, interrupt) = team.agree(opened())?;
    let mut growing = GrowingResult::of(&store, "measure");
    let own = measures.then(|| {
        let quiet = args.quiet || !team.is_first();
        let outcome = measure_alone(plan, args, quiet, &interrupt, &mut growing);
        NodeReport::of(outcome, interrupt.exit_code())
    });
    // Save the result, or discard wrong figures, before this rank waits for the other nodes.
    let kept = match &own {
        Some(NodeReport {
            json: Some(json),
            started_at,
            ..
        }) => growing.save(started_at, json).map(drop),
        Some(_) => growing.discard(),
        None => Ok(()),
    };
    if let Err(error) = kept {
        notes.note(&format!("{error:#}"));
    }
    // Ranks that wait sleep, and take no CPU time from those that measure.
    team.group.rest();
    let texts = team.gather(&serde_json::to_string(&own).context("cannot send the result")?);
    let ended = match team.is_first() {
        true => conclude(args, team, &texts, (&store, output.as_ref())),
        false => Ok(Ended::default()),
    };
    // If they could not be saved together, each node still has its own result.
    let ended = team.shared(&team.agree(ended)?);
    if ended.is_saved
        && let Err(error) = growing.discard()
    {
        notes.note(&format!("{error:#}"));
    }
    if !team.is_first() {
        // Rank 0 fails for all, as in `Team::agree`.
        return Ok(ExitCode::SUCCESS);
    }
    match ended.failures.is_empty() {
        true => Ok(ExitCode::from(ended.code)),
        false => Err(Failure::from(anyhow::anyhow!(
            "{}",
            ended.failures.join("; ")
        ))),
    }
}

/// How the nodes ended, as the first rank knows it.
#[derive(Default, Serialize, Deserialize)]
struct Ended {
    /// The errors of nodes, with their names, and that of showing the results.
    failures: Vec<String>,
    /// The exit code, by the signals that ended measurements.
    code: u8,
    /// Whether all results are saved together.
    is_saved: bool,
}

/// Shows the results of all nodes and saves them together.
fn conclude(
    args: &MeasureArgs,
    team: &Team<'_>,
    texts: &[String],
    (store, output): (&Store, Option<&OutputFile>),
) -> Result<Ended, Failure> {
    let notes = Notes { quiet: args.quiet };
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
        match (&node.json, node.error) {
            (_, Some(error)) => ended
                .failures
                .push(format!("rank {rank} on {host}: {error}")),
            (None, None) => notes.note(&format!(
                "rank {rank} on {host} was stopped before any cell was measured"
            )),
            (Some(_), None) => {}
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
        let shown = OutputFile::write_or_print(output, &text);
        if let Err(error) = shown {
            ended.failures.push(format!("{error:#}"));
        }
        let saved = saved?;
        ended.is_saved = matches!(saved, SaveOutcome::As(_));
        notes.saved(&saved);
    }
    Ok(ended)
}

/// What the first rank of a node measured.
#[derive(Default, Serialize, Deserialize)]
struct NodeReport {
    /// The result. None after an error, or if a signal arrived before any cell was measured.
    json: Option<String>,
    /// When it began, as results have it; empty without one.
    started_at: String,
    /// Why it is not complete, if it failed.
    error: Option<String>,
    /// The exit code for the signal that ended it.
    code: Option<u8>,
}

impl NodeReport {
    fn of(
        outcome: Result<Option<(Results, Option<MeasureError>)>, Failure>,
        code: Option<u8>,
    ) -> Self {
        match outcome {
            Ok(Some((results, failure))) => NodeReport {
                json: Some(report::json(&results)),
                started_at: results.started_at,
                error: failure.map(|error| error.to_string()),
                code,
            },
            Ok(None) => NodeReport {
                code,
                ..NodeReport::default()
            },
            Err(failure) => NodeReport {
                error: Some(format!("{:#}", failure.error)),
                code,
                ..NodeReport::default()
            },
        }
    }
}

/// `n1.json`. With the rank, `n1-3.json` or `node-3.json`, if another node has that name or it is no file name.
fn file_name(host: &str, rank: usize, taken: &[(String, String)]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_name = !host.is_empty() && host.chars().all(is_plain) && !host.starts_with('.');
    let host = if is_name { host } else { "node" };
    let is_taken = |name: &str| taken.iter().any(|(other, _)| other == name);
    let mut name = match is_name {
        true => format!("{host}.json"),
        false => format!("{host}-{rank}.json"),
    };
    while is_taken(&name) {
        name = format!("{}-{rank}.json", name.trim_end_matches(".json"));
    }
    name
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
        let taken = ["n1.json", "n1-3.json"].map(|name| (name.to_owned(), String::new()));
        assert_eq!(file_name("n1", 4, &taken), "n1-4.json");
        assert_eq!(file_name("n1", 3, &taken), "n1-3-3.json");
    }
}
