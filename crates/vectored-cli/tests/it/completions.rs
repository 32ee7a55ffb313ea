//! Tests of completion scripts in shells, and of manual pages in man(1).

use std::process::Command;

use crate::support::{Bench, entries, skip, stdout_of};

#[test]
fn each_shell_has_a_script() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout_of(bench.vectored().args(["completions", shell]));
        assert!(script.contains("page-cache"), "{shell}: {script}");
        if shell == "bash" {
            let checked = Command::new(shell).args(["-n", "-c", &script]).status();
            assert!(checked.unwrap().success());
        }
    }
}

#[test]
fn man_reads_all_pages_without_a_warning() {
    let bench = Bench::new();
    let directory = bench.work().join("new/man1");
    let path = directory.to_str().unwrap();
    // The second run replaces the pages of the first run.
    for _ in 0..2 {
        let printed = stdout_of(bench.vectored().args(["man", "--dir", path]));
        assert_eq!(printed, "");
    }
    let page = stdout_of(&mut bench.command("man vectored-measure"));
    assert!(page.contains("queue\\-depth"), "{page}");
    let files = entries(&directory);
    let name = |file: &std::path::PathBuf| file.file_name().unwrap().to_owned();
    let names: Vec<_> = files.iter().map(name).collect();
    for command in ["", "-measure", "-versus", "-reproduce-apue-3.5"] {
        assert!(
            names.contains(&format!("vectored{command}.1").into()),
            "{names:?}"
        );
    }
    for file in &files {
        let mut man = Command::new("man");
        man.args(["--warnings=all", "-l"]).arg(file);
        man.env("MANWIDTH", "80").env("LC_ALL", "C.UTF-8");
        let shown = match man.output() {
            Ok(shown) => shown,
            Err(error) => return skip(&format!("man: {error}")),
        };
        let text = String::from_utf8_lossy(&shown.stdout);
        assert!(text.contains("SYNOPSIS"), "{file:?}: {text}");
        assert_eq!(String::from_utf8_lossy(&shown.stderr), "", "{file:?}");
    }
}
