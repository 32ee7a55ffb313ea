//! `vectored advise`.

use std::fs;
use std::io::{self, IsTerminal};
use std::mem;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::time::SystemTime;

use signal_hook::consts::SIGINT;
use vectored_advise::advisor::Options;
use vectored_advise::model::Advisory;
use vectored_advise::report::{
    advice_comparison_document, compare_advice, document, is_worth_an_edit,
};
use vectored_live::{Refusal, Target};
use vectored_report::{Block, Sentence, Tone, csv_of, json};

use crate::advise_pipeline::{
    Costs, Follower, Observed, conclude, follow_command, follow_logs, look, merged,
};
use crate::args::{AdviseArgs, Source};
use crate::command_signals::{CommandSignals, Stage, end_in_words};
use crate::commands::outputs::Outputs;
use crate::failure::Failure;
use crate::live;
use crate::notes::Notes;
use crate::proof::{Input, Ran, proof};
use crate::results_store::{ResultKind, ResultName, Store, paths, time_of};
use crate::strace;

/// Findings that a page shows; the JSON has all.
const PAGE_TOP: usize = 100;

/// Runs the command. Wrong usage is reported before a command runs or a log is read.
pub fn run(args: &AdviseArgs) -> Result<ExitCode, Failure> {
    let notes = Notes {
        quiet: args.saving.quiet,
    };
    // The error of clap would ask for a log only.
    let is_watch = !args.pid.is_empty() || args.cgroup.is_some();
    if args.trace.is_empty() && args.command.is_empty() && args.merge.is_empty() && !is_watch {
        return Err(Failure::usage(
            "neither a log nor a command is given: name a log of strace (vectored advise \
             trace.log), a command to run (vectored advise -- COMMAND), or a running process (vectored advise -p PID)",
        ));
    }
    let mut outputs = Outputs::check(&args.output, &inputs(args)?)?;
    // Standard output belongs to the command, unless `--output` is given.
    outputs.is_aside = !args.command.is_empty() && args.output.output.is_none();
    let costs = match &args.costs {
        Some(name) => Costs::Saved(Box::new(name.load_as()?), name.in_words()),
        None => Costs::measured(args.dir.as_deref())?,
    };
    let baseline = args.baseline.as_ref().map(ResultName::load_as);
    let baseline = baseline.transpose()?;
    let store = Store::open(args.saving.no_save)?;
    let begun = Advisory {
        started_at: time_of(SystemTime::now())?,
        ..Advisory::default()
    };
    let (advisory, ran, code) = if !args.merge.is_empty() {
        let loaded = args.merge.iter().map(ResultName::load_as);
        let loaded: Vec<Advisory> = loaded.collect::<Result<_, _>>()?;
        (merged(loaded, &costs, begun.started_at), None, 0)
    } else if !args.command.is_empty() {
        let mut ended = run_command(args, &notes)?;
        let about = Advisory {
            sources: vec![in_one_line(args)],
            is_command: true,
            failed: ended.failed,
            ..begun
        };
        let ran = mem::take(&mut ended.observed.ran);
        (
            conclude(ended.observed, &costs, about, &notes),
            Some(ran),
            ended.code,
        )
    } else {
        let (observed, sources) = if is_watch {
            watch_processes(args, &notes)?
        } else {
            let sources = args.trace.iter().map(|path| path.display().to_string());
            let observed = follow_logs(&args.trace, options(args, false))?;
            (observed, sources.collect())
        };
        let about = Advisory { sources, ..begun };
        (conclude(observed, &costs, about, &notes), None, 0)
    };
    let json = json(&advisory);
    let kept = store.save(ResultKind::Advise, &advisory.started_at, &json);
    // Show the result even if saving failed, and print its path even if showing failed.
    let shown = show(
        &outputs,
        args,
        (&advisory, ran.as_ref()),
        baseline.as_ref(),
        &json,
    );
    notes.saved(&kept?);
    shown?;
    Ok(ExitCode::from(code))
}

/// `is_live`: calls come from programs in the kernel, so that their times are true.
fn options(args: &AdviseArgs, is_live: bool) -> Options {
    Options {
        max_delay_ns: u64::try_from(args.max_delay.as_nanos()).unwrap_or(u64::MAX),
        buffer_bytes: args.buffer,
        // Calls that are not traced here cannot matter.
        shows_all: args.trace.is_empty(),
        deflates: !is_live,
        look: Some(look),
    }
}

fn in_one_line(args: &AdviseArgs) -> String {
    let words = args.command.iter().map(|word| word.to_string_lossy());
    words.collect::<Vec<_>>().join(" ")
}

struct CommandOutcome {
    observed: Observed,
    failed: Option<String>,
    code: u8,
}

/// Runs the command: watched by programs in the kernel if they may be attached, or else under strace.
fn run_command(args: &AdviseArgs, notes: &Notes) -> Result<CommandOutcome, Failure> {
    strace::find(&args.command[0])?;
    let source = if args.live { Some(Source::Live) } else { args.source };
    if source == Some(Source::Strace) {
        strace::check()?;
        return run_under_strace(args, &CommandSignals::watch()?, notes);
    }
    let signals = CommandSignals::watch()?;
    match (run_live(args, &signals, notes)?, source) {
        (Ok(outcome), _) => Ok(outcome),
        (Err(refusal), Some(_)) => Err(live::refused(refusal)),
        (Err(refusal), None) => {
            strace::check()?;
            let why = refusal.to_string();
            let why = why.split("; ").next().unwrap_or_default();
            notes.note(&format!(
                "the command runs under strace, and takes longer: {why} (vectored advise --help, --source)"
            ));
            run_under_strace(args, &signals, notes)
        }
    }
}

fn run_under_strace(
    args: &AdviseArgs,
    signals: &CommandSignals,
    notes: &Notes,
) -> Result<CommandOutcome, Failure> {
    let mut traced = strace::start(&args.command, signals, *notes)?;
    let observed = follow_command(&mut traced, options(args, false))?;
    let status = traced.ended()?;
    if signals.last() == Some(SIGINT) && io::stderr().is_terminal() {
        // The terminal shows ^C without a line break.
        eprintln!();
    }
    if observed.ran.programs.is_empty() {
        return Err(Failure {
            error: anyhow::anyhow!(
                "cannot run '{}': the kernel refuses it, as it does a script whose interpreter is missing, an empty file \
                 or a program for another machine",
                args.command[0].to_string_lossy()
            ),
            code: 126,
        });
    }
    Ok(outcome(observed, status, signals, notes))
}

/// The outer error is of the command. The inner error says why programs cannot be attached: the command did not run then.
fn run_live(
    args: &AdviseArgs,
    signals: &CommandSignals,
    notes: &Notes,
) -> Result<Result<CommandOutcome, Refusal>, Failure> {
    let mut follower = Follower::new(options(args, true));
    follower.begin_here();
    let ran = live::run(&args.command, signals, *notes, &mut |event| {
        follower.follow(event);
    })?;
    Ok(ran.map(|(seen, status)| outcome(follower.watched(&seen), status, signals, notes)))
}

fn outcome(
    mut observed: Observed,
    status: ExitStatus,
    signals: &CommandSignals,
    notes: &Notes,
) -> CommandOutcome {
    if signals.is_stopped() {
        notes.note("stopped waiting for processes that the command left running");
        observed.complete = false;
    }
    signals.enter(Stage::After, 0);
    CommandOutcome {
        observed,
        failed: (!status.success()).then(|| end_in_words(status)),
        code: strace::exit_code(status),
    }
}

fn watch_processes(args: &AdviseArgs, notes: &Notes) -> Result<(Observed, Vec<String>), Failure> {
    let target = match &args.cgroup {
        Some(folder) => Target::Cgroup(folder),
        None => Target::Processes(&args.pid),
    };
    let name = |process: &u32| {
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        format!("process {process} ({})", name.trim())
    };
    let sources = match &args.cgroup {
        Some(folder) => vec![format!("cgroup {}", folder.display())],
        None => args.pid.iter().map(name).collect(),
    };
    let mut follower = Follower::new(options(args, true));
    let seen = live::watch(target, args.watch_for, *notes, &mut |event| {
        follower.follow(event);
    })?;
    Ok((follower.watched(&seen), sources))
}

fn inputs(args: &AdviseArgs) -> Result<Vec<PathBuf>, Failure> {
    let logs = args.trace.iter().map(|path| {
        if path == Path::new("-") { PathBuf::from("/dev/stdin") } else { path.clone() }
    });
    let mut inputs: Vec<PathBuf> = logs.collect();
    inputs.extend(paths(&args.merge, Some(ResultKind::Advise))?);
    inputs.extend(paths(args.costs.as_slice(), Some(ResultKind::Advise))?);
    inputs.extend(paths(args.baseline.as_slice(), Some(ResultKind::Advise))?);
    Ok(inputs)
}

fn show(
    outputs: &Outputs,
    args: &AdviseArgs,
    (advisory, ran): (&Advisory, Option<&Ran>),
    baseline: Option<&Advisory>,
    json: &str,
) -> anyhow::Result<()> {
    let compared = baseline.map(|old| advice_comparison_document(&compare_advice(old, advisory)));
    let page = [Some(document(advisory, PAGE_TOP)), compared.clone()];
    outputs.write_page(&page.into_iter().flatten().collect::<Vec<_>>())?;
    let mut advice = document(advisory, args.top);
    if let Some(ran) = ran.filter(|_| is_worth_an_edit(advisory)) {
        let proof = proof(&args.command, &Input::of_this_process(), advisory, ran);
        let proof = proof.map(|text| Block::Sentence(Sentence::toned(Tone::Quiet, text)));
        advice.answer.extend(proof);
    }
    if let Some(compared) = compared {
        advice.body.extend(compared.body);
        advice.answer.extend(compared.answer);
    }
    outputs.print(&advice, json, || csv_of(&[advisory]))
}
