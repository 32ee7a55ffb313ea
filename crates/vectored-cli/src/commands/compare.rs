//! `vectored compare`.

use std::process::ExitCode;

#[cfg(unix)]
use vectored_advise::report::{advice_comparison_document, compare_advice, more_calls_in_words};
use vectored_report::{Block, Document, Sentence, Tone, csv_of, json, words};
use vectored_results::model::{Change, Compared, Comparison, Results};
use vectored_results::report;
use vectored_results::stats::compare;
use vectored_versus::judge::rulings;
use vectored_versus::model::{RuledLimit, Ruling};
use vectored_versus::report::{
    CommandChange, compare_versus, limits_in_words, versus_comparison_document,
};

use crate::args::{CompareArgs, Format};
use crate::commands::outputs::Outputs;
use crate::failure::Failure;
use crate::results_store::{ResultKind, ResultName, paths};

/// Exit code for a regression.
const REGRESSION: u8 = 3;

/// Exit code if a limit could not be decided.
const UNDECIDED: u8 = 4;

/// Runs the command. Every file is checked before anything is written.
pub fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    if args.against.is_empty() && !args.machines {
        return Err(Failure::usage(
            "nothing to compare with: name the new results with --against, or add --machines to \
             show these side by side",
        ));
    }
    let names = [&args.result[..], &args.against].concat();
    let inputs = paths(&names, Some(ResultKind::Measure))?;
    let mut outputs = Outputs::check(&args.output, &inputs)?;
    match args.result[0].kind()? {
        #[cfg(unix)]
        ResultKind::Advise => return compare_advisories(args, &outputs),
        ResultKind::Versus => return compare_two_versus(args, &outputs),
        _ => {}
    }
    if args.fail_if_more_calls.is_some() {
        return Err(Failure::usage(
            "--fail-if-more-calls is for results of advise and versus: those of measure have no calls to count",
        ));
    }
    let base = load(&args.result)?;
    if args.machines {
        outputs.details = true;
        return show_machines(args, &outputs, &base);
    }
    let new = load(&args.against)?;
    each_once(&args.result, &base)?;
    each_once(&args.against, &new)?;
    on_one_side("measure", (&args.result, &base), (&args.against, &new))?;
    let comparison = compare(&by_reference(&base), &by_reference(&new))
        .expect("a result on each side was asked for");
    let slower = args.fail_if_slower.map(|limit| slower(&comparison, limit));
    let slower = slower.unwrap_or_default();
    let document = with_warnings(report::comparison_document(&comparison), &slower);
    outputs.show(&document, &json(&comparison), || {
        report::comparison_csv(&comparison)
    })?;
    if args.fail_if_slower.is_some() && comparison.cells.is_empty() {
        return Err(Failure::from(anyhow::anyhow!(
            "--fail-if-slower cannot be decided, because the two sides have no cells in common: \
             measure the same lists on the same targets in every run"
        )));
    }
    if slower.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(exceeded(
        &slower.join("; "),
        REGRESSION,
        outputs.is_read_with_messages(),
    ))
}

/// Shows runs side by side.
fn show_machines(
    args: &CompareArgs,
    outputs: &Outputs,
    runs: &[Results],
) -> Result<ExitCode, Failure> {
    if let Format::Json = args.output.format {
        return Err(Failure::usage(
            "--format json is not available with --machines, because the saved results are that \
             JSON: choose another format",
        ));
    }
    let document = report::machines_document(&by_reference(runs));
    outputs.print(&document, "", || csv_of(&by_reference(runs)))?;
    // Each machine in full stands below the comparison.
    let documents: Vec<Document> = [document]
        .into_iter()
        .chain(runs.iter().map(report::measured))
        .collect();
    outputs.write_page(&documents)?;
    Ok(ExitCode::SUCCESS)
}

/// The failure of limits. What the answer says in full is said in short here, if both are read together.
fn exceeded(in_full: &str, code: u8, is_read: bool) -> Failure {
    let in_short = match code {
        REGRESSION => "a limit is exceeded",
        _ => "a limit could not be decided",
    };
    Failure {
        error: anyhow::anyhow!("{}", if is_read { in_short } else { in_full }),
        code,
    }
}

/// Compares two results of advise.
#[cfg(unix)]
fn compare_advisories(args: &CompareArgs, outputs: &Outputs) -> Result<ExitCode, Failure> {
    if args.fail_if_slower.is_some() {
        return Err(Failure::usage(
            "--fail-if-slower is for results of measure and versus; how long two programs take is compared by \
             `vectored versus`",
        ));
    }
    let (base, new) = one_a_side(args, "; `vectored advise --merge` makes one of several")?;
    let (old_side, new_side) = (base.load_advisory()?, new.load_advisory()?);
    on_one_side(
        "advise",
        (&args.result, std::slice::from_ref(&old_side)),
        (&args.against, std::slice::from_ref(&new_side)),
    )?;
    let comparison = compare_advice(&old_side, &new_side);
    let limit = args.fail_if_more_calls;
    let limit = limit.filter(|limit| comparison.has_more_calls(*limit));
    let in_full = limit.map(|limit| more_calls_in_words(&comparison, limit));
    let document = with_warnings(advice_comparison_document(&comparison), in_full.as_slice());
    outputs.show(&document, &json(&comparison), || comparison.csv())?;
    match in_full {
        Some(in_full) => {
            let is_read = outputs.is_read_with_messages();
            Err(exceeded(&in_full, REGRESSION, is_read))
        }
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Compares two results of versus.
fn compare_two_versus(args: &CompareArgs, outputs: &Outputs) -> Result<ExitCode, Failure> {
    let (base, new) = one_a_side(args, "")?;
    let (earlier, later) = (base.load_versus()?, new.load_versus()?);
    on_one_side(
        "versus",
        (&args.result, std::slice::from_ref(&earlier)),
        (&args.against, std::slice::from_ref(&later)),
    )?;
    let mut comparison = compare_versus(&earlier, &later);
    let commands = comparison.new.iter().map(CommandChange::ruled);
    let limits = (args.fail_if_slower, args.fail_if_more_calls, None);
    comparison.limits = rulings(commands, limits);
    let document = versus_comparison_document(&comparison);
    outputs.show(&document, &json(&comparison), || comparison.csv())?;
    ruled(
        &comparison.limits,
        "the earlier result",
        outputs.is_read_with_messages(),
    )
}

/// A document whose answer says which limits were exceeded.
fn with_warnings(mut document: Document, exceeded: &[String]) -> Document {
    let warnings = exceeded.iter();
    let warnings =
        warnings.map(|text| Block::Sentence(Sentence::toned(Tone::Warning, words::capital(text))));
    document.answer.extend(warnings);
    document
}

/// The result before an edit and the one after it.
fn one_a_side<'a>(
    args: &'a CompareArgs,
    remedy: &str,
) -> Result<(&'a ResultName, &'a ResultName), Failure> {
    match (&args.result[..], &args.against[..]) {
        _ if args.machines => Err(Failure::usage(
            "--machines is for results of measure; two programs are compared by `vectored versus`",
        )),
        ([base], [new]) => Ok((base, new)),
        _ => Err(Failure::usage(format!(
            "only one result of advise or versus on each side can be compared: name one{remedy}"
        ))),
    }
}

fn load(names: &[ResultName]) -> Result<Vec<Results>, Failure> {
    names.iter().map(ResultName::load_results).collect()
}

/// Refuses a run that is named twice on one side: it would count as two runs without variation.
fn each_once(names: &[ResultName], runs: &[Results]) -> Result<(), Failure> {
    for (index, run) in runs.iter().enumerate() {
        if let Some(first) = runs[..index].iter().position(|other| other == run) {
            return Err(Failure::usage(format!(
                "'{}' and '{}' are the same run, which may be given only once: name another run, \
                 or measure again",
                names[first].in_words(),
                names[index].in_words()
            )));
        }
    }
    Ok(())
}

/// Refuses a run of this command that is on both sides.
fn on_one_side<R: PartialEq>(
    made_by: &str,
    (base_names, base): (&[ResultName], &[R]),
    (new_names, new): (&[ResultName], &[R]),
) -> Result<(), Failure> {
    for (base_name, base) in std::iter::zip(base_names, base) {
        if let Some(index) = new.iter().position(|new| new == base) {
            return Err(Failure::usage(format!(
                "'{}' and, after --against, '{}' are the same run, which cannot be compared with \
                 itself: run `vectored {made_by}` again, or name another run (`vectored history` lists them)",
                base_name.in_words(),
                new_names[index].in_words()
            )));
        }
    }
    Ok(())
}

fn by_reference(runs: &[Results]) -> Vec<&Results> {
    runs.iter().collect()
}

/// Describes each change that is significantly slower by at least `limit`.
fn slower(comparison: &Comparison, limit: f64) -> Vec<String> {
    let is_slower =
        |compared: &&Compared| compared.change == Change::Slower && compared.ratio >= 1.0 + limit;
    let found = comparison.targets.iter().chain(&comparison.cells);
    found
        .filter(is_slower)
        .map(|compared| {
            let list = match &compared.segment_sizes {
                Some(runs) => words::list(runs),
                None => format!("mean of {} cells", compared.cell_count),
            };
            format!(
                "{} takes {:.1} % longer on {}, {list}",
                compared.technique,
                (compared.ratio - 1.0) * 100.0,
                report::conditions_in_words(&compared.conditions)
            )
        })
        .collect()
}

/// The exit code by these limits against `base`. `is_read`: whether the answer, which has them, is read with the message.
pub fn ruled(limits: &[RuledLimit], base: &str, is_read: bool) -> Result<ExitCode, Failure> {
    let said = limits_in_words(limits, base);
    let of = |wanted: Ruling| -> Vec<&str> {
        let found = said.iter().filter(|(ruling, _)| *ruling == wanted);
        found.map(|(_, text)| text.as_str()).collect()
    };
    let (beyond, undecided) = (of(Ruling::Beyond), of(Ruling::Undecided));
    let (messages, code) = match (&beyond[..], &undecided[..]) {
        ([], []) => return Ok(ExitCode::SUCCESS),
        ([], undecided) => (undecided, UNDECIDED),
        (beyond, _) => (beyond, REGRESSION),
    };
    Err(exceeded(&messages.join("; "), code, is_read))
}
