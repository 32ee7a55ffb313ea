//! `vectored advise`.

use std::fs;
use std::mem;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use vectored_advise::advisor::Options;
use vectored_advise::model::Advisory;
use vectored_advise::report::{
    advice_comparison_document, compare_advice, document, is_worth_an_edit,
};
use vectored_live::{Refusal, Target};
use vectored_report::{Block, Sentence, Tone, csv_of, json};
use vectored_strace::Event;

use crate::advise_pipeline::{Costs, Follower, Observed, conclude, follow_logs, look, merged};
use crate::args::{AdviseArgs, Source};
use crate::command_signals::{CommandSignals, End, end_in_words};
use crate::commands::outputs::Outputs;
use crate::failure::Failure;
use crate::live;
use crate::notes::Notes;
use crate::proof::{Input, Ran, proof};
use crate::results_store::{ResultKind, ResultName, Store, paths, time_of};
use crate::strace;

/// The largest number of findings on a web page. The JSON has all findings.
const PAGE_TOP: usize = 100;

/// Usage errors are reported before a command runs or a log is read.
pub fn run(args: &AdviseArgs) -> Result<ExitCode, Failure> {
    let notes = Notes {
        quiet: args.saving.quiet,
    };
    let is_watch = !args.pid.is_empty() || args.cgroup.is_some();
    if args.trace.is_empty() && args.command.is_empty() && args.merge.is_empty() && !is_watch {
        // The message of clap would ask for a log only.
        return Err(Failure::usage(
            "nothing to analyse: name a log of strace (vectored advise LOG), a command to run (vectored advise -- \
             COMMAND), or a running process (vectored advise -p PID)",
        ));
    }
    let mut outputs = Outputs::check(&args.output, &inputs(args)?)?;
    // Without `--output`, standard output belongs to the command.
    outputs.is_aside = !args.command.is_empty() && args.output.output.is_none();
    let costs = match &args.costs {
        Some(name) => Costs::Saved(Box::new(name.load_as()?), name.in_words()),
        None => Costs::measured(args.dir.as_deref())?,
    };
    let baseline = args.baseline.as_ref().map(ResultName::load_as);
    let baseline = baseline.transpose()?;
    let store = Store::open(args.saving.no_save)?;
    let started_at = time_of(SystemTime::now())?;
    let (advisory, ran, code) = if args.merge.is_empty() {
        let (mut observed, code) = observed(args, &notes)?;
        observed.about.started_at = started_at;
        let ran = mem::take(&mut observed.ran);
        (conclude(observed, &costs, &notes), ran, code)
    } else {
        let loaded = args.merge.iter().map(ResultName::load_as);
        let loaded = loaded.collect::<Result<_, _>>()?;
        (merged(loaded, &costs, started_at), Ran::default(), 0)
    };
    let json = json(&advisory);
    let kept = store.save(ResultKind::Advise, &advisory.started_at, &json);
    // The result is shown even if saving failed. The path is printed even if showing failed.
    let shown = show(&outputs, args, (&advisory, &ran), baseline.as_ref(), &json);
    notes.saved(&kept?);
    shown?;
    Ok(ExitCode::from(code))
}

/// With `is_live`, BPF programs report the calls, so the times of the calls are accurate.
fn options(args: &AdviseArgs, is_live: bool) -> Options {
    Options {
        max_delay_ns: u64::try_from(args.max_delay.as_nanos()).unwrap_or(u64::MAX),
        buffer_bytes: args.buffer,
        // For a command that runs here, all relevant calls are traced.
        shows_all: args.trace.is_empty(),
        deflates: !is_live,
        look: Some(look),
    }
}

fn observed(args: &AdviseArgs, notes: &Notes) -> Result<(Observed, u8), Failure> {
    if !args.command.is_empty() {
        return run_command(args, notes);
    }
    let (mut observed, sources) = if args.trace.is_empty() {
        watch_processes(args, notes)?
    } else {
        let sources = args.trace.iter().map(|path| path.display().to_string());
        let observed = follow_logs(&args.trace, options(args, false))?;
        (observed, sources.collect())
    };
    observed.about.sources = sources;
    Ok((observed, 0))
}

/// Watches the command by BPF programs. If the kernel refuses BPF programs, strace watches the command.
fn run_command(args: &AdviseArgs, notes: &Notes) -> Result<(Observed, u8), Failure> {
    strace::find(&args.command[0])?;
    let source = if args.live { Some(Source::Live) } else { args.source };
    if source == Some(Source::Strace) {
        strace::check()?;
    }
    let signals = CommandSignals::watch()?;
    let watched = match source {
        Some(Source::Strace) => None,
        _ => Some(run_live(args, &signals, notes)?),
    };
    let (mut observed, (status, is_stopped)) = match watched {
        Some(Ok(watched)) => watched,
        Some(Err(refusal)) if source.is_some() => return Err(live::refused(refusal)),
        Some(Err(refusal)) => {
            strace::check()?;
            let why = refusal.to_string();
            let why = why.split("; ").next().unwrap_or_default();
            notes.note(&format!(
                "the command runs under strace, and takes longer: {why} (vectored advise --help, --source)"
            ));
            run_under_strace(args, &signals, notes)?
        }
        None => run_under_strace(args, &signals, notes)?,
    };
    let about = &mut observed.about;
    if is_stopped {
        notes.note("stopped waiting for processes that the command left running");
        about.complete = false;
    }
    let words = args.command.iter().map(|word| word.to_string_lossy());
    about.sources = vec![words.collect::<Vec<_>>().join(" ")];
    about.is_command = true;
    about.failed = (!status.success()).then(|| end_in_words(status));
    Ok((observed, strace::exit_code(status)))
}

fn run_under_strace(
    args: &AdviseArgs,
    signals: &CommandSignals,
    notes: &Notes,
) -> Result<(Observed, End), Failure> {
    let mut follower = Follower::new(options(args, false));
    follower.begin_here();
    let mut follow = |event: &Event<'_>| follower.follow(event);
    let (counts, end) = strace::run(&args.command, signals, *notes, &mut follow)?;
    let observed = follower.finish(&counts);
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
    Ok((observed, end))
}

/// The outer error comes from the command. The inner error is the reason why no BPF program can be attached. After an
/// inner error, the command has not run.
fn run_live(
    args: &AdviseArgs,
    signals: &CommandSignals,
    notes: &Notes,
) -> Result<Result<(Observed, End), Refusal>, Failure> {
    let mut follower = Follower::new(options(args, true));
    follower.begin_here();
    let mut follow = |event: &Event<'_>| follower.follow(event);
    let ran = live::run(&args.command, signals, *notes, &mut follow)?;
    Ok(ran.map(|(seen, end)| (follower.watched(&seen), end)))
}

fn watch_processes(args: &AdviseArgs, notes: &Notes) -> Result<(Observed, Vec<String>), Failure> {
    let name = |process: &u32| {
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        format!("process {process} ({})", name.trim())
    };
    let (target, sources) = match &args.cgroup {
        Some(folder) => (
            Target::Cgroup(folder),
            vec![format!("cgroup {}", folder.display())],
        ),
        None => (
            Target::Processes(&args.pid),
            args.pid.iter().map(name).collect(),
        ),
    };
    let mut follower = Follower::new(options(args, true));
    let mut follow = |event: &Event<'_>| follower.follow(event);
    let seen = live::watch(target, args.watch_for, *notes, &mut follow)?;
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
    (advisory, ran): (&Advisory, &Ran),
    baseline: Option<&Advisory>,
    json: &str,
) -> anyhow::Result<()> {
    let compared = baseline.map(|old| advice_comparison_document(&compare_advice(old, advisory)));
    let page = [Some(document(advisory, PAGE_TOP)), compared.clone()];
    outputs.write_page(&page.into_iter().flatten().collect::<Vec<_>>())?;
    let mut advice = document(advisory, args.top);
    if !args.command.is_empty() && is_worth_an_edit(advisory) {
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
