//! The techniques that compete.

use vectored_lab::model::{Operation, Technique};

use crate::args::MeasureArgs;
use crate::failure::Failure;
use crate::size_lists::Counts;

/// The rivals of `--join`: a call for each message, or one call.
const JOIN_RIVALS: [Technique; 2] = [Technique::WriteEach, Technique::CopyThenWrite];

/// The techniques that compete.
pub fn rivals(args: &MeasureArgs) -> Result<Vec<Technique>, Failure> {
    if let Some(counts) = &args.join {
        check_join(args, counts)?;
        return Ok(JOIN_RIVALS.to_vec());
    }
    if !args.technique.is_empty() {
        return named_techniques(args);
    }
    let mut rivals = Technique::of(args.operation()).to_vec();
    rivals.retain(|technique| technique.is_pure());
    Ok(rivals)
}

/// Refuses options that make no sense with `--join`.
fn check_join(args: &MeasureArgs, Counts(counts): &Counts) -> Result<(), Failure> {
    let is_given = |name| !args.axes.of(name).is_empty();
    let conflict = if is_given("queue_depth") {
        "--queue-depth, since both of its techniques are synchronous: omit --queue-depth"
    } else if args.segments.is_some() {
        "--segments: give the counts of messages to --join alone"
    } else if !args.mix.is_empty() {
        "--mix, since messages that are joined have one size: use --sizes for it"
    } else if !args.technique.is_empty() {
        "--technique, since it compares write-each and copy-then-write: omit one of the two options"
    } else if is_given("iovec_setup") {
        "--iovec-setup, since neither of its techniques has an iovec array: omit --iovec-setup"
    } else if args.operation() == Operation::Read {
        "--operation read, since it compares writes: omit one of the two options"
    } else if counts[0] < 2 {
        return Err(Failure::usage(
            "--join 1 would join nothing: expected counts of 2 messages or more, for example 2..64",
        ));
    } else {
        return Ok(());
    };
    Err(Failure::usage(format!(
        "--join cannot be used with {conflict}"
    )))
}

fn named_techniques(args: &MeasureArgs) -> Result<Vec<Technique>, Failure> {
    let usual = Technique::of(args.operation());
    let offered: Vec<Technique> = usual
        .into_iter()
        .chain(Technique::opt_in(args.operation()).iter().copied())
        .collect();
    for name in &args.technique {
        if offered.iter().any(|technique| technique.name() == name) {
            continue;
        }
        let technique = name.parse::<Technique>();
        if let Ok(Some(why)) = technique.map(Technique::lacks_here) {
            return Err(Failure::usage(format!(
                "cannot measure {name} here: {why}; name another technique with --technique"
            )));
        }
        let what = match name.parse::<Technique>() {
            Ok(_) => format!(
                "technique '{name}' is not available with --operation {}",
                args.operation()
            ),
            Err(_) => format!("unknown technique '{name}'"),
        };
        let names: Vec<&str> = offered.iter().map(|technique| technique.name()).collect();
        return Err(Failure::usage(format!(
            "{what}: expected --technique to be one of {}",
            names.join(", ")
        )));
    }
    let is_named =
        |technique: &Technique| args.technique.iter().any(|name| technique.name() == name);
    let is_asynchronous = Technique::ASYNCHRONOUS.iter().any(is_named);
    let has_pages = is_named(&Technique::WriteFileGather);
    let mut named = Technique::ALL.to_vec();
    named.retain(|technique| {
        // Without it, a winner could be slower than the call that every program can make.
        let is_reference = *technique == Technique::vectored_call(args.operation());
        // Windows has no such call for files.
        let is_reference_of_pages = *technique == Technique::WriteEach;
        is_named(technique)
            || (is_asynchronous && is_reference)
            || (has_pages && is_reference_of_pages)
    });
    Ok(named)
}
