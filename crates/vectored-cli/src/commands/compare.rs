//! `vectored compare`.

use std::process::ExitCode;

#[cfg(unix)]
use vectored_advise::model::Advisory;
#[cfg(unix)]
use vectored_advise::report::{advice_comparison_document, compare_advice};
use vectored_report::{Document, Ruling, SavedResult, csv_of, json};
use vectored_results::model::Results;
use vectored_results::report;
use vectored_results::stats::compare;
use vectored_versus::judge::{CallLimit, Limits};
use vectored_versus::model::Versus;
use vectored_versus::report::{compare_versus, limits_in_words, versus_comparison_document};

use crate::args::{CompareArgs, Format};
use crate::commands::outputs::Outputs;
use crate::failure::Failure;
use crate::results_store::{ResultKind, ResultName, paths};

const REGRESSION: u8 = 3;

const UNDECIDED: u8 = 4;

struct Shown {
    document: Document,
    json: String,
    csv: String,
    limits: Vec<(Ruling, String)>,
}

pub fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    if args.against.is_empty() && !args.machines {
        return Err(Failure::usage(
            "nothing to compare with: name the new results with --against, or add --machines to show these side by side",
        ));
    }
    let names = [&args.result[..], &args.against].concat();
    let inputs = paths(&names, Some(ResultKind::Measure))?;
    let mut outputs = Outputs::check(&args.output, &inputs)?;
    let shown = match args.result[0].load(Some(ResultKind::Measure))?.kind() {
        #[cfg(unix)]
        ResultKind::Advise => advisories(args)?,
        ResultKind::Versus => two_versus(args)?,
        _ if args.fail_if_more_calls.is_some() => {
            return Err(Failure::usage(
                "--fail-if-more-calls is for results of advise and versus: a result of measure has no count of calls",
            ));
        }
        _ if args.machines => {
            outputs.details = true;
            return show_machines(args, &outputs);
        }
        _ => measurements(args)?,
    };
    outputs.show(&shown.document, &shown.json, || shown.csv)?;
    ruled(&shown.limits)
}

fn show_machines(args: &CompareArgs, outputs: &Outputs) -> Result<ExitCode, Failure> {
    let runs = load(&args.result)?;
    if let Format::Json = args.output.format {
        return Err(Failure::usage(
            "--format json is not available with --machines, because the saved results are that \
             JSON: choose another format",
        ));
    }
    let document = report::machines_document(&by_reference(&runs));
    outputs.print(&document, "", || csv_of(&by_reference(&runs)))?;
    // Below the comparison, the document shows each machine in full.
    let runs = runs.iter().map(report::measured);
    outputs.write_page(&[document].into_iter().chain(runs).collect::<Vec<_>>())?;
    Ok(ExitCode::SUCCESS)
}

fn measurements(args: &CompareArgs) -> Result<Shown, Failure> {
    let (base, new) = (load(&args.result)?, load(&args.against)?);
    let all: Vec<&Results> = base.iter().chain(&new).collect();
    each_once(args, "measure", &all)?;
    let mut comparison = compare(&by_reference(&base), &by_reference(&new))
        .expect("a result on each side was asked for");
    if let Some(limit) = args.fail_if_slower {
        comparison.rule(limit);
    }
    Ok(Shown {
        document: report::comparison_document(&comparison),
        json: json(&comparison),
        csv: report::comparison_csv(&comparison),
        limits: report::limits_in_words(&comparison),
    })
}

#[cfg(unix)]
fn advisories(args: &CompareArgs) -> Result<Shown, Failure> {
    if args.fail_if_slower.is_some() {
        return Err(Failure::usage(
            "--fail-if-slower is for results of measure and versus; how long two programs take is compared by \
             `vectored versus`",
        ));
    }
    let remedy = "; `vectored advise --merge` makes one of several";
    let [old, new] = one_a_side::<Advisory>(args, "advise", remedy)?;
    let mut comparison = compare_advice(&old, &new);
    if let Some(limit) = args.fail_if_more_calls {
        comparison.rule(limit);
    }
    Ok(Shown {
        document: advice_comparison_document(&comparison),
        json: json(&comparison),
        csv: comparison.csv(),
        limits: comparison.limits_in_words(),
    })
}

fn two_versus(args: &CompareArgs) -> Result<Shown, Failure> {
    let [earlier, later] = one_a_side::<Versus>(args, "versus", "")?;
    let mut comparison = compare_versus(&earlier, &later);
    let calls = args.fail_if_more_calls;
    let calls = calls.map(|share| CallLimit { name: None, share });
    comparison.rule(Limits {
        slower: args.fail_if_slower,
        calls: calls.as_slice(),
        memory: None,
    });
    Ok(Shown {
        document: versus_comparison_document(&comparison),
        json: json(&comparison),
        csv: comparison.csv(),
        limits: limits_in_words(&comparison.limits, "the earlier result"),
    })
}

fn one_a_side<R: PartialEq + SavedResult>(
    args: &CompareArgs,
    made_by: &str,
    remedy: &str,
) -> Result<[R; 2], Failure> {
    if args.machines {
        return Err(Failure::usage(
            "--machines is for results of measure; two programs are compared by `vectored versus`",
        ));
    }
    let ([base], [new]) = (&args.result[..], &args.against[..]) else {
        return Err(Failure::usage(format!(
            "only one result of {made_by} on each side can be compared: name one{remedy}"
        )));
    };
    let sides = [base.load_as()?, new.load_as()?];
    each_once(args, made_by, &sides.each_ref())?;
    Ok(sides)
}

fn load(names: &[ResultName]) -> Result<Vec<Results>, Failure> {
    names.iter().map(ResultName::load_as).collect()
}

/// Refuses a run that is named twice. Two copies on one side would show no variation. A copy on each side would show
/// no difference.
fn each_once<R: PartialEq>(args: &CompareArgs, made_by: &str, runs: &[&R]) -> Result<(), Failure> {
    let names: Vec<&ResultName> = args.result.iter().chain(&args.against).collect();
    for (index, run) in runs.iter().enumerate() {
        if let Some(first) = runs[..index].iter().position(|other| other == run) {
            return Err(Failure::usage(format!(
                "'{}' and '{}' are the same run, which may be given only once: run `vectored {made_by}` again, or name \
                 another run (`vectored history` lists them)",
                names[first].in_words(),
                names[index].in_words()
            )));
        }
    }
    Ok(())
}

fn by_reference(runs: &[Results]) -> Vec<&Results> {
    runs.iter().collect()
}

pub fn ruled(limits: &[(Ruling, String)]) -> Result<ExitCode, Failure> {
    for (wanted, code) in [(Ruling::Beyond, REGRESSION), (Ruling::Undecided, UNDECIDED)] {
        let found = limits.iter().filter(|(ruling, _)| *ruling == wanted);
        let found: Vec<&str> = found.map(|(_, text)| text.as_str()).collect();
        if !found.is_empty() {
            return Err(Failure {
                error: anyhow::anyhow!("{}", found.join("; ")),
                code,
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}
