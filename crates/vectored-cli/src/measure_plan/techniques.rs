//! Chooses the techniques that are compared.

use vectored_measure::measure::{TECHNIQUES, Technique, technique, techniques};
use vectored_report::sort;
use vectored_results::model::{Role, TechniqueName};

use crate::args::MeasureArgs;
use crate::failure::Failure;

/// `--join` compares a call for each message with one call for all messages.
const JOIN_RIVALS: [TechniqueName; 2] = [TechniqueName::WRITE_EACH, TechniqueName::COPY_THEN_WRITE];

pub fn rivals(args: &MeasureArgs) -> Result<Vec<TechniqueName>, Failure> {
    if let Some(counts) = &args.join {
        return if counts.0[0] >= 2 {
            Ok(JOIN_RIVALS.to_vec())
        } else {
            Err(Failure::usage(
                "--join 1 would join nothing: expected counts of 2 messages or more, for example 2..64",
            ))
        };
    }
    if !args.technique.is_empty() {
        return named_techniques(args);
    }
    let mut rivals = techniques(args.operation(), true);
    rivals.retain(|technique| technique.role() != Role::Adaptive);
    Ok(rivals)
}

fn named_techniques(args: &MeasureArgs) -> Result<Vec<TechniqueName>, Failure> {
    let operation = args.operation();
    let offered = || TECHNIQUES.iter().filter(|one| one.moves(operation));
    for name in &args.technique {
        if offered().any(|one| *one.name == **name) {
            continue;
        }
        let what = match technique(name) {
            Some(_) => format!("technique '{name}' is not available with --operation {operation}"),
            None => format!("there is no technique '{name}' on this system"),
        };
        let mut sorted: Vec<_> = offered().collect();
        sort::sort_by_key(&mut sorted, |one| !one.usual);
        let names: Vec<&str> = sorted.iter().map(|one| one.name.as_str()).collect();
        return Err(Failure::usage(format!(
            "{what}: expected --technique to be one of {}",
            names.join(", ")
        )));
    }
    let is_named = |one: &Technique| args.technique.iter().any(|name| *one.name == **name);
    // Without a reference, the fastest technique could be slower than a call that every program can make. Windows has
    // no vectored call for files.
    let reference = if cfg!(windows) {
        TechniqueName::WRITE_EACH
    } else {
        TechniqueName::vectored_call(operation)
    };
    let needs_reference = offered().any(|one| one.in_flight && is_named(one));
    let is_rival = |one: &&&Technique| is_named(one) || (needs_reference && one.name == reference);
    Ok(offered().filter(is_rival).map(|one| one.name).collect())
}
