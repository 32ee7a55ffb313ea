//! CSV: one line a finding, counted or not.

use crate::model::{Advisory, Finding, FindingKey, Tally, Uncounted};
use crate::text::format::csv_word as word;
use ::csv::WriterBuilder;

const HEAD: [&str; 24] = [
    "counted",
    "reason",
    "kind",
    "grade",
    "program",
    "target",
    "site",
    "pattern",
    "runs",
    "calls",
    "bytes",
    "merged_calls",
    "segments",
    "processes",
    "process",
    "openings",
    "descriptor",
    "path",
    "saving_s",
    "saving_low_s",
    "saving_high_s",
    "share_of_wall",
    "wall_s",
    "action",
];

/// One line a finding, counted or not, with columns named as in the JSON. Of several advisories, `host`,
/// `started_at` and `sources` come first.
pub fn csv(advisories: &[&Advisory]) -> String {
    let mut writer = WriterBuilder::new().from_writer(Vec::new());
    // Writing to memory, with as many fields in each line, cannot fail.
    const SOUND: &str = "a line as long as the head, into memory";
    let names = advisories.len() > 1;
    let run_head: &[&str] = match names {
        true => &["host", "started_at", "sources"],
        false => &[],
    };
    let head = run_head.iter().chain(&HEAD);
    writer.write_record(head).expect(SOUND);
    for advisory in advisories {
        let run: &[String] = match names {
            true => &[
                word(&advisory.host.name),
                word(&advisory.started_at),
                word(&advisory.sources.join(" ")),
            ],
            false => &[],
        };
        let counted = advisory.findings.iter().map(|one| counted(advisory, one));
        let uncounted = advisory.uncounted.iter();
        for line in counted.chain(uncounted.map(|one| left_out(advisory, one))) {
            writer.write_record(run.iter().chain(&line)).expect(SOUND);
        }
    }
    let bytes = writer.into_inner().expect(SOUND);
    String::from_utf8(bytes).expect("text in, text out")
}

fn counted(advisory: &Advisory, finding: &Finding) -> [String; 24] {
    let mut line = line(advisory, &finding.key, &finding.tally, &finding.pattern);
    line[0] = word(&true);
    line[18] = word(&finding.saving_s);
    line[19] = word(&finding.saving_low_s);
    line[20] = word(&finding.saving_high_s);
    line[21] = word(&finding.share_of_wall);
    line[23] = word(&finding.action);
    line
}

fn left_out(advisory: &Advisory, uncounted: &Uncounted) -> [String; 24] {
    let mut line = line(
        advisory,
        &uncounted.key,
        &uncounted.tally,
        &uncounted.pattern,
    );
    line[0] = word(&false);
    line[1] = word(&uncounted.reason);
    line
}

/// The columns of both kinds.
fn line(advisory: &Advisory, key: &FindingKey, tally: &Tally, pattern: &str) -> [String; 24] {
    let none = String::new;
    [
        none(),
        none(),
        word(&key.kind),
        word(&key.grade),
        word(&key.program),
        word(&key.target),
        word(&key.site),
        word(&pattern),
        word(&tally.runs),
        word(&tally.calls),
        word(&tally.bytes),
        word(&tally.merged_calls),
        word(&tally.segments),
        word(&tally.processes),
        word(&tally.process),
        word(&tally.openings),
        word(&tally.descriptor),
        word(&tally.path),
        none(),
        none(),
        none(),
        none(),
        word(&advisory.wall_s),
        none(),
    ]
}
