//! Notes that are needed to judge the figures.

use vectored_machine::model::{DescriptorKind, Operation, Price};
use vectored_machine::report::machine_in_words;
use vectored_report::{visible, words};

use crate::advisor::operation_of;
use crate::advisor::wording::sentences::reads_streams;
use crate::model::{Advisory, FindingKey, Watched};
use crate::report::figures::{seconds, shortened, span};
use crate::report::rows::{SHOWN_CHARACTERS, SHOWN_SENTENCE, is_lack_of_the_log};

pub(super) fn notes(advisory: &Advisory) -> Vec<String> {
    let mut notes = Vec::new();
    for skipped in &advisory.skipped {
        let first = words::grouped(skipped.first_line);
        let lines = match skipped.lines {
            1 => format!("line {first}"),
            lines => format!("{} lines, the first is {first}", words::grouped(lines)),
        };
        let file = match &skipped.first_file {
            Some(file) if advisory.sources.len() > 1 => {
                format!(" of '{}'", shortened(file, SHOWN_CHARACTERS))
            }
            _ => String::new(),
        };
        notes.push(format!(
            "Skipped {lines}{file}: {}.",
            shortened(&skipped.reason, SHOWN_SENTENCE)
        ));
    }
    // A command was traced with all options, and a watch shows all that the kernel can tell.
    let is_log = !advisory.is_command && advisory.watch.is_none();
    let before = notes.len();
    for one in &advisory.uncounted {
        let lack = shortened(&one.reason, SHOWN_SENTENCE);
        let lack = format!("{}.", words::capital(&lack));
        if is_log && is_lack_of_the_log(&one.reason) && !notes.contains(&lack) {
            notes.push(lack);
        }
    }
    if notes.len() > before {
        notes.push("To trace again: strace -f -s1 -v -yy -ttt -T -o trace.log COMMAND, or -p PID in its place".to_owned());
    }
    let used = |price: &&Price| {
        let of_price =
            |key: &FindingKey| key.target == price.target && operation_of(key) == price.operation;
        let findings = advisory.findings.iter().map(|one| &one.key);
        let listed = advisory.uncounted.iter();
        let listed = listed.filter(|one| one.at_most_s > Some(0.0));
        findings.chain(listed.map(|one| &one.key)).any(of_price)
    };
    let costs: Vec<String> = advisory.prices.iter().filter(used).map(cost).collect();
    if !costs.is_empty() {
        notes.push(format!(
            "Costs were measured on this machine ({}){}. A call, without the cost of its bytes, takes {}.",
            machine_in_words(&advisory.host),
            match advisory.watch {
                Some(_) => "",
                None => ", since tracing inflates the times in the log",
            },
            costs.join("; ")
        ));
    }
    notes.extend(advisory.watch.and_then(lost));
    if !advisory.findings.is_empty() {
        notes.push(match advisory.watch {
            Some(watch) => share(advisory.saving_s.max(advisory.stalled_s), watch),
            None => "Tracing slows each call, so the log does not show which share of the program's time this is. \
                     `vectored versus` measures what an edit saves."
                .to_owned(),
        });
        let is_stream = |target| {
            matches!(
                target,
                DescriptorKind::Pipe | DescriptorKind::Unix | DescriptorKind::Tcp
            )
        };
        let mut findings = advisory.findings.iter();
        if findings.any(|one| is_stream(one.key.target) || reads_streams(&one.tally)) {
            notes.push(
                "A faster reader of a pipe or socket may find less at once: more such reads after an edit are no failure."
                    .to_owned(),
            );
        }
    }
    let warnings = advisory.host.warnings.iter();
    notes.extend(warnings.map(|warning| format!("Warning: {}.", visible(warning))));
    notes
}

fn lost(watch: Watched) -> Option<String> {
    (watch.lost > 0).then(|| {
        format!(
            "{} calls were lost, since they came faster than they were read. They are in no count, and no calls before and after a gap \
             are merged.",
            words::grouped(watch.lost)
        )
    })
}

/// `The saving is 3.1 % of the 10.0 s of the watch, and 9.7 % of the 3.21 s of CPU time.`
fn share(saving_s: f64, watch: Watched) -> String {
    let of = |whole_s: f64| {
        format!(
            "{:.1} % of the {}",
            100.0 * saving_s / whole_s.max(1e-9),
            seconds(whole_s)
        )
    };
    format!(
        "The saving is {} of the watch, and {} of CPU time that the programs had meanwhile.",
        of(watch.wall_s),
        of(watch.cpu_s)
    )
}

/// `312 ns [300, 330] to write to a file`.
fn cost(price: &Price) -> String {
    let (call, interval) = span(
        price.call_ns / 1e9,
        price.call_low_ns / 1e9,
        price.call_high_ns / 1e9,
    );
    let what = match (price.operation, price.target) {
        (Operation::Write, DescriptorKind::File) => "to write to a file",
        (Operation::Write, DescriptorKind::Pipe) => "to write to a pipe",
        (Operation::Write, DescriptorKind::Unix) => "to send to a Unix socket",
        (Operation::Write, DescriptorKind::Tcp) => "to send over TCP",
        (_, DescriptorKind::Datagram) => "to a datagram socket",
        (_, DescriptorKind::Unknown) => "to an unknown kind of file",
        (Operation::Read, DescriptorKind::File) => "to read from a file",
        (Operation::Read, DescriptorKind::Pipe) => "to read from a pipe",
        (Operation::Read, DescriptorKind::Unix) => "to receive from a Unix socket",
        (Operation::Read, DescriptorKind::Tcp) => "to receive over TCP",
    };
    format!("{call} {interval} {what}")
}
