//! Tests of output formats, and of other subcommands that read a result of `advise`.

use std::fs;

use super::{advise, bench, records};
use crate::support::{said_by, stdout_of};

#[test]
fn report_compare_and_history_handle_advice() {
    let bench = bench();
    fs::write(bench.work().join("log"), records()).unwrap();
    let (stdout, stderr) = said_by(advise(&bench).arg("log"), 0);
    let path = stderr.lines().last().unwrap();
    assert_eq!(bench.saved(), [std::path::PathBuf::from(path)]);
    let report = stdout_of(&mut bench.command("report advise"));
    assert!(report.ends_with(&stdout), "{report}");
    let page = stdout_of(&mut bench.command("report advise --html -"));
    assert!(page.contains("Where would gathering help?"));
    let lines = stdout_of(&mut bench.command(&format!("report advise {path} --csv -")));
    assert!(
        lines.starts_with("host,kernel,started_at,counted,"),
        "{lines}"
    );
    let history = stdout_of(&mut bench.command("history"));
    assert!(
        history.contains("advise: ") && history.contains("'log' would save"),
        "{history}"
    );
    fs::write(bench.work().join("again"), records()).unwrap();
    stdout_of(advise(&bench).arg("again"));
    let compared = stdout_of(&mut bench.command("compare advise~1 --against advise"));
    assert!(compared.contains("as many calls"), "{compared}");
}
