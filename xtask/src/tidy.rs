//! The rules of this repository that no compiler or lint checks:
//!
//! - `unsafe` lives in folders named `sys` and in the C ABI alone,
//! - the crate `vectored-report`, and `report` and `stats` of the other crates, do no I/O and read no clock,
//! - the library needs no serde, no clap and no tokio in its default build,
//! - every test that `docs/hazards.md` names exists,
//! - no file of Rust has more than 800 lines,
//! - a room of a crate imports from lower floors only.
//!
//! The first two search the text of the code without its comments. They find an oversight, but not code that
//! is written to evade them.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::commands::{answer, cargo_words};
use crate::modules::{self, Crate};
use crate::{hazards, root};

/// Folders of pure code: it gets all data as arguments, and returns text or numbers.
const PURE: [&str; 5] = [
    "crates/vectored-advise/src/report",
    "crates/vectored-report/src",
    "crates/vectored-machine/src/report.rs",
    "crates/vectored-measure/src/report",
    "crates/vectored-measure/src/stats",
];

/// Names of I/O and clocks, which pure code does not contain.
const IMPURE: [&str; 7] = [
    "measure::",
    "vectored_machine::host",
    "vectored_machine::platform",
    "MonotonicClock",
    "std::fs",
    "std::time",
    "Instant",
];

/// Packages that the library must not depend on by default.
const UNWANTED: [&str; 4] = ["serde", "clap", "tokio", "tokio-util"];

/// The C ABI: each of its functions is called by C with pointers, so all of it is a `sys` folder.
const C_ABI: &str = "crates/vectored-capi/src";

/// The most lines of a file of Rust.
const MAX_LINES: usize = 800;

/// The rooms of each crate by floor, the lowest first.
const CRATES: [Crate; 13] = [
    Crate {
        folder: "crates/vectored-strace",
        floors: &[
            &["counts", "error", "event"],
            &["event_sink", "text"],
            &["line", "call"],
            &["reader"],
            &["files"],
        ],
    },
    Crate {
        folder: "crates/vectored",
        floors: &[
            &["descriptor", "error"],
            &["sys"],
            &["interruption", "runs"],
            &["cursor"],
            &["cost"],
            &["transfer"],
            &["read", "write"],
            &["gather"],
            &["buffered"],
            &["queue"],
            &["calibrate", "bindings", "uring", "windows"],
        ],
    },
    Crate {
        folder: "crates/vectored-codec",
        floors: &[&["encoder"], &["framed_queue", "length_delimited"]],
    },
    Crate {
        folder: "crates/vectored-capi",
        floors: &[
            &["entry", "version"],
            &["cost_model", "cursor"],
            &["list", "queue"],
            &["gather", "scatter"],
        ],
    },
    Crate {
        folder: "crates/vectored-py",
        floors: &[
            &["signals", "sys"],
            &["failure"],
            &["cost_model", "transfer"],
            &["cursor"],
            &["gather", "list"],
        ],
    },
    Crate {
        folder: "crates/vectored-machine",
        floors: &[
            &["model", "sys"],
            &["platform"],
            &["clock", "host", "report"],
        ],
    },
    Crate {
        folder: "crates/vectored-advise",
        floors: &[&["model"], &["advisor"], &["report"]],
    },
    Crate {
        folder: "crates/vectored-measure",
        floors: &[
            &["model", "sys"],
            &["in_flight"],
            &["stats"],
            &["measure"],
            &["report"],
            &["findings", "reproduce"],
        ],
    },
    Crate {
        folder: "crates/vectored-report",
        floors: &[
            &["text", "words"],
            &["chart", "csv"],
            &["document", "saved"],
            &["formats", "html", "terminal"],
        ],
    },
    Crate {
        folder: "crates/vectored-conformance",
        floors: &[
            &[
                "host",
                "model",
                "outcome",
                "owned_descriptor",
                "script",
                "sys",
            ],
            &["queue"],
            &["readers", "writers"],
            &["asynchronous", "target"],
            &["source"],
            &["fuzz", "soak"],
        ],
    },
    Crate {
        folder: "benchmarks/vectored-bench",
        floors: &[
            &["bench_target", "command_line", "mix", "sys", "techniques"],
            &["grid", "peers"],
            &["args", "promises"],
            &["c_callers", "measure", "programs", "table"],
            &["page"],
        ],
    },
    Crate {
        folder: "benchmarks/vectored-pairs",
        floors: &[
            &["catalogue", "invocation", "prediction"],
            &["sandbox"],
            &["saving", "tracing"],
            &["closeness"],
        ],
    },
    Crate {
        folder: "crates/vectored-cli",
        floors: &[
            &[
                "atomic_file",
                "charset",
                "failure",
                "interrupt",
                "size_lists",
                "synthetic",
            ],
            &[
                "command_signals",
                "pinning",
                "results_store",
                "target_path",
                "terminal",
            ],
            &["args", "cluster", "notes", "output_file", "progress"],
            &["manual", "measure_plan", "reproduce_plan", "strace"],
            &["advise_pipeline", "untraced_rerun"],
            &["commands"],
        ],
    },
];

/// Prints every breach of a rule; false if there is one.
pub fn run() -> Result<bool> {
    let mut findings = Vec::new();
    let mut tests = HashSet::new();
    for path in rust_files(root())? {
        let text = fs::read_to_string(&path)
            .with_context(|| format!("cannot read '{}'", path.display()))?;
        let path = path.strip_prefix(root()).unwrap_or(&path);
        findings.extend(misplaced_unsafe(path, &text));
        findings.extend(impure(path, &text));
        findings.extend(too_long(path, &text));
        tests.extend(hazards::tests_in(&text).map(str::to_owned));
    }
    let words = "tree --package vectored --edges normal,build --prefix none --locked";
    findings.extend(unwanted(&answer(&mut cargo_words(words))?));
    let table = fs::read_to_string(root().join(hazards::TABLE))
        .with_context(|| format!("cannot read '{}'", hazards::TABLE))?;
    findings.extend(hazards::without_a_test(&table, &tests));
    for one in &CRATES {
        findings.extend(modules::findings(root(), one)?);
    }
    for finding in &findings {
        println!("   {finding}");
    }
    Ok(findings.is_empty())
}

/// Unsafe code, or an attribute that allows it, outside `sys`.
fn misplaced_unsafe(path: &Path, text: &str) -> Vec<String> {
    if path.starts_with(C_ABI) || path.components().any(|part| part.as_os_str() == "sys") {
        return Vec::new();
    }
    // The lint `unsafe_code` refuses all code without such an attribute.
    let is_allowed = |code: &str| {
        code.contains("(unsafe_code") && (code.contains("allow(") || code.contains("expect("))
    };
    let rule = "unsafe code outside of a `sys` folder";
    findings(path, text, is_allowed, rule)
}

/// I/O and clocks in pure code.
fn impure(path: &Path, text: &str) -> Vec<String> {
    if !PURE.iter().any(|folder| path.starts_with(folder)) {
        return Vec::new();
    }
    let is_impure = |code: &str| IMPURE.iter().any(|word| code.contains(word));
    findings(path, text, is_impure, "I/O or a clock in pure code")
}

/// A file of more than [`MAX_LINES`].
fn too_long(path: &Path, text: &str) -> Option<String> {
    let lines = text.lines().count();
    (lines > MAX_LINES).then(|| {
        let path = path.display();
        format!("{path}: {lines} lines, at most {MAX_LINES} are allowed: split it by its ideas")
    })
}

/// Unwanted packages in what `cargo tree --prefix none` printed.
fn unwanted(tree: &str) -> Vec<String> {
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    UNWANTED
        .iter()
        .filter(|unwanted| names.clone().any(|name| name == **unwanted))
        .map(|name| format!("the library `vectored` depends on {name}: cargo tree -p vectored"))
        .collect()
}

fn findings(path: &Path, text: &str, bad: impl Fn(&str) -> bool, rule: &str) -> Vec<String> {
    let lines = text.lines().map(without_comment).enumerate();
    lines
        .filter(|(_, code)| bad(code))
        .map(|(index, code)| {
            let place = format!("{}:{}", path.display(), index + 1);
            format!("{place}: {rule}: {}", code.trim())
        })
        .collect()
}

/// A line without comments and without the text in quotes.
pub fn without_comment(line: &str) -> String {
    let mut code = String::new();
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' if quoted => {
                characters.next();
            }
            // Not the character '"', as in `'"'`.
            '"' if quoted || !code.ends_with('\'') => quoted = !quoted,
            '/' if !quoted && characters.peek() == Some(&'/') => break,
            _ if !quoted => code.push(c),
            _ => {}
        }
    }
    code
}

/// Every `.rs` file below `folder`, but for hidden folders and build output.
pub fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let cannot = || format!("cannot list '{}'", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if entry.file_type().with_context(cannot)?.is_dir() {
            let is_output = path.join("CACHEDIR.TAG").exists() || name == "target";
            if !name.starts_with('.') && !is_output {
                files.extend(rust_files(&path)?);
            }
        } else if name.ends_with(".rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = "crates/vectored/src/write/all.rs";
    const REPORT: &str = "crates/vectored-measure/src/report/words.rs";

    #[test]
    fn unsafe_code_is_allowed_in_sys_alone() {
        for bad in [
            "#![allow(unsafe_code)]",
            "\n#[expect(unsafe_code, reason = \"fast\")]",
        ] {
            let found = misplaced_unsafe(LIBRARY.as_ref(), bad);
            assert_eq!(found.len(), 1, "{bad}");
            assert!(found[0].starts_with("crates/vectored/src/write/all.rs:"));
            for good in [
                "crates/vectored/src/sys/syscalls.rs",
                "crates/vectored-capi/src/gather.rs",
            ] {
                assert!(misplaced_unsafe(good.as_ref(), bad).is_empty());
            }
        }
        for good in [
            "// #[allow(unsafe_code)]",
            "let a = \"allow(unsafe_code)\";",
            "#![deny(unsafe_code)]",
        ] {
            assert!(
                misplaced_unsafe(LIBRARY.as_ref(), good).is_empty(),
                "{good}"
            );
        }
    }

    #[test]
    fn io_and_clocks_in_reports_and_statistics_are_found() {
        for bad in [
            "use crate::measure::run;",
            "use vectored_machine::host::probe_host;",
            "use vectored_machine::MonotonicClock;",
            "let text = std::fs::read(path)?;",
            "use std::time::Duration;",
            "let began = Instant::now();",
        ] {
            assert_eq!(impure(REPORT.as_ref(), bad).len(), 1, "{bad}");
            let statistics = "crates/vectored-measure/src/stats/sign_test.rs";
            assert_eq!(impure(statistics.as_ref(), bad).len(), 1, "{bad}");
            let measuring = "crates/vectored-machine/src/clock.rs";
            assert!(impure(measuring.as_ref(), bad).is_empty(), "{bad}");
        }
        assert!(impure(REPORT.as_ref(), "// as measure::run says").is_empty());
    }

    #[test]
    fn a_file_of_more_than_800_lines_is_found() {
        assert_eq!(too_long(LIBRARY.as_ref(), &"\n".repeat(800)), None);
        assert_eq!(
            too_long(LIBRARY.as_ref(), &"\n".repeat(801)).unwrap(),
            "crates/vectored/src/write/all.rs: 801 lines, at most 800 are allowed: split it by its ideas"
        );
    }

    #[test]
    fn unwanted_dependencies_of_the_library_are_found() {
        let tree = "vectored v0.1.0 (/somewhere)\nrustix v1.1.6\nserde v1.0.229\ntokio v1.54.0 (*)";
        let found = unwanted(tree);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("serde"));
        // Neither a longer name nor the folder is a package.
        assert!(unwanted("vectored v0.1.0 (/home/serde)\nserde_json v1.0.154").is_empty());
    }
}
