//! The rules of this repository that no compiler or lint checks:
//!
//! - `unsafe` lives in folders named `sys` and in the C ABI alone,
//! - the crate `vectored-report`, and `report` and `stats` of the other crates, do no I/O and read no clock,
//! - the library needs no serde, no clap and no tokio in its default build,
//! - every test that `docs/hazards.md` names exists,
//! - no file of Rust has more than 800 lines,
//! - except in tests, a room (a folder or a file in a crate's `src`, or in a folder there that has floors itself) imports
//!   from lower floors only. `ARCHITECTURE.md` has the floors,
//! - the rooms and files that `ARCHITECTURE.md` names exist,
//! - comments name a thing again and do not point at it ("that of", "of which", ", too"),
//! - the documentation keeps the rules of `docs.rs`.
//!
//! Most rules search the text of the code without its comments. They find an oversight, but not code that evades the rules.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

use crate::commands::{answer, cargo_words};
use crate::imports::{Home, modules, without_comment};
use crate::sources::{files, read, rust_files};
use crate::{docs, root};

/// Folders of pure code: it gets all data as arguments, and returns text or numbers.
const PURE: [&str; 5] = [
    "crates/vectored-advise/src/report",
    "crates/vectored-report/src",
    "crates/vectored-machine/src/report.rs",
    "crates/vectored-results/src",
    "crates/vectored-versus/src/report",
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

const MAX_LINES: usize = 800;

/// Words of comments that point at a thing that was named before.
const POINTING: [&str; 6] = [
    " that of ",
    " those of ",
    " of which ",
    " by which ",
    ", too.",
    ", too:",
];

/// The table whose last column names tests.
const HAZARDS: &str = "docs/hazards.md";

type Floors<'a> = HashMap<&'a str, u32>;

/// Prints every breach of a rule, and fails if there is one.
pub fn run() -> Result<()> {
    let mut faults = BTreeSet::new();
    let mut code = String::new();
    for path in rust_files(root())? {
        let text = read(&path)?;
        let path = path.strip_prefix(root()).unwrap_or(&path);
        faults.extend(misplaced_unsafe(path, &text));
        faults.extend(impure(path, &text));
        faults.extend(too_long(path, &text));
        faults.extend(pointing(path, &text));
        code.push_str(&text);
    }
    for path in files(root(), &is_odd)? {
        let path = path.strip_prefix(root()).unwrap_or(&path);
        let rule = "the name has more than letters, digits, '.', '_' and '-'";
        faults.insert(format!("{}: {rule}", path.display()));
    }
    let words = "tree --package vectored --edges normal,build --prefix none --locked";
    faults.extend(unwanted(&answer(&mut cargo_words(words))?));
    faults.extend(without_a_test(&read(&root().join(HAZARDS))?, &code));
    let architecture = read(&root().join("ARCHITECTURE.md"))?;
    let floors = floors(&architecture);
    for entry in fs::read_dir(root().join("crates"))? {
        let sources = format!("crates/{}/src", entry?.file_name().display());
        if !floors.iter().any(|(other, _)| *other == sources) {
            faults.insert(format!("ARCHITECTURE.md has no diagram of `{sources}`"));
        }
    }
    let exists = |path: &str| root().join(path).exists();
    faults.extend(missing_files(&architecture, exists));
    let guide = read(&root().join("CONTRIBUTING.md"))?;
    faults.extend(missing_paths(&guide, exists));
    for (sources, floors) in floors {
        let rooms = floors.keys().map(|room| format!("{sources}/{room}"));
        let is_missing = |room: &String| !exists(room) && !exists(&format!("{room}.rs"));
        let missing = rooms.filter(is_missing);
        faults.extend(missing.map(|room| format!("ARCHITECTURE.md: there is no `{room}`")));
        faults.extend(imports_from_above(sources, &floors)?);
    }
    faults.extend(docs::faults()?);
    for fault in &faults {
        println!("   {fault}");
    }
    ensure!(faults.is_empty(), "tidy has found the faults above");
    Ok(())
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
    faults(
        path,
        text,
        is_allowed,
        "unsafe code outside of a `sys` folder",
    )
}

fn impure(path: &Path, text: &str) -> Vec<String> {
    if !PURE.iter().any(|folder| path.starts_with(folder)) {
        return Vec::new();
    }
    let is_impure = |code: &str| IMPURE.iter().any(|word| code.contains(word));
    faults(path, text, is_impure, "I/O or a clock in pure code")
}

fn is_odd(name: &str) -> bool {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !name.bytes().all(is_usual)
}

fn too_long(path: &Path, text: &str) -> Option<String> {
    let lines = text.lines().count();
    let fault = || format!("{}: {lines} lines: split it by its ideas", path.display());
    (lines > MAX_LINES).then(fault)
}

/// Comments with [`POINTING`] words, also across the end of a line.
fn pointing(path: &Path, text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| {
        let comment = line.trim_start().strip_prefix("//");
        comment.map_or("", |text| text.trim_start_matches(['/', '!']).trim())
    });
    let lines: Vec<&str> = lines.chain([""]).collect();
    let pairs = lines.windows(2).enumerate();
    let found = pairs.filter_map(|(index, pair)| {
        let both = format!("{} {} ", pair[0], pair[1]);
        let begins_here = |words: &&&str| both.find(**words).is_some_and(|at| at < pair[0].len());
        let words = POINTING.iter().find(begins_here)?;
        let place = format!("{}:{}", path.display(), index + 1);
        Some(format!(
            "{place}: a comment with \"{}\": name the thing again",
            words.trim()
        ))
    });
    found.collect()
}

/// Unwanted packages in what `cargo tree --prefix none` printed.
fn unwanted(tree: &str) -> Vec<String> {
    let names: Vec<&str> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    let found = UNWANTED.iter().filter(|name| names.contains(name));
    found
        .map(|name| format!("the library `vectored` depends on {name}: cargo tree -p vectored"))
        .collect()
}

/// The rows whose last column names a test that is in no code. The column has each name in backticks; a row may say in words
/// that there is nothing to test.
fn without_a_test(table: &str, code: &str) -> Vec<String> {
    let rows = table.lines().filter(|line| line.starts_with('|'));
    let names = rows.flat_map(|row| {
        let column = row
            .trim_end_matches('|')
            .rsplit('|')
            .next()
            .unwrap_or_default();
        // Every other part stands between two backticks.
        column.split('`').skip(1).step_by(2)
    });
    let missing = names.filter(|name| !code.contains(&format!("fn {name}(")));
    missing
        .map(|name| format!("{HAZARDS}: there is no test named {name}"))
        .collect()
}

fn faults(path: &Path, text: &str, bad: impl Fn(&str) -> bool, rule: &str) -> Vec<String> {
    let lines = text.lines().map(without_comment).enumerate();
    lines
        .filter(|(_, code)| bad(code))
        .map(|(index, code)| format!("{}:{}: {rule}: {}", path.display(), index + 1, code.trim()))
        .collect()
}

/// The sources of crates and their floors, in the diagrams below the headings that name the sources.
fn floors(architecture: &str) -> Vec<(&str, Floors<'_>)> {
    let sections = architecture.split("\n## ").filter_map(|section| {
        let (heading, text) = section.split_once('\n')?;
        let sources = heading.split('`').nth(1)?;
        let (mut floor, mut floors) = (0, Floors::new());
        for line in text.split("```").nth(1)?.lines().skip(1) {
            let (number, rooms) = line.split_at_checked(5).unwrap_or(("", line));
            floor = number.trim().parse().unwrap_or(floor);
            // Two spaces separate the room from its description.
            let rooms = rooms.split("  ").next()?.split(", ");
            floors.extend(rooms.map(|room| (room, floor)));
        }
        Some((sources, floors))
    });
    sections.collect()
}

/// The files that a table names and that do not exist. A path with a folder begins in `crates/` or at the root. A name without
/// a folder lies in the folder of the path before it.
fn missing_files(architecture: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut missing = Vec::new();
    let rows = architecture.lines().filter(|line| line.starts_with("| "));
    for row in rows {
        let mut folder = "";
        for word in row.split('`').skip(1).step_by(2) {
            let found = if let Some((parent, _)) = word.rsplit_once('/') {
                folder = parent;
                exists(&format!("crates/{word}")) || exists(word)
            } else {
                let is_file = [".rs", ".py", ".toml", ".sh"]
                    .iter()
                    .any(|end| word.ends_with(end));
                !is_file || exists(&format!("crates/{folder}/{word}"))
            };
            if !found {
                missing.push(format!(
                    "ARCHITECTURE.md: there is no `{word}` in the row {row}"
                ));
            }
        }
    }
    missing
}

/// The files and folders of crates that a guide names and that do not exist. `NAME` stands for any name.
fn missing_paths(guide: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let words = guide.split('`').filter(|word| word.starts_with("crates/"));
    let missing = words.filter(|word| !word.contains("NAME") && !exists(word));
    missing
        .map(|word| format!("CONTRIBUTING.md: there is no `{word}`"))
        .collect()
}

/// The imports of rooms from their floor or a higher floor.
fn imports_from_above(of: &str, floors: &Floors<'_>) -> Result<Vec<String>> {
    let home = Home::at(of);
    let mut faults = Vec::new();
    for module in modules(&root().join(of))? {
        let found = from_above(&home, &module.path, &module.code, floors);
        faults.extend(found.iter().map(|fault| format!("{of}: {fault}")));
    }
    Ok(faults)
}

/// The imports of a module from the floor of its room or a higher floor.
fn from_above(home: &Home, module: &[String], code: &str, floors: &Floors<'_>) -> Vec<String> {
    let room = &*module[0];
    let Some(floor) = floors.get(room) else {
        return vec![format!(
            "room `{room}` stands on no floor: list it in ARCHITECTURE.md"
        )];
    };
    let rooms = home.imported(code, module.len(), |name| floors.contains_key(name));
    let from_above = rooms
        .into_iter()
        .filter(|from| *from != room && floors.get(from) >= Some(floor));
    let module = module.join("::");
    let line = |from| format!("{module} imports from {from}: it may import from lower floors only");
    from_above.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imports::code_of;

    const LIBRARY: &str = "crates/vectored/src/write/all.rs";

    #[test]
    fn unsafe_code_outside_sys_and_io_in_pure_code_are_found_but_not_in_comments() {
        let (sys, capi) = (
            "crates/vectored/src/sys/a.rs",
            "crates/vectored-capi/src/a.rs",
        );
        let report = "crates/vectored-versus/src/report/a.rs";
        let found = |path: &str, text: &str| {
            let path = path.as_ref();
            [misplaced_unsafe(path, text), impure(path, text)].concat()
        };
        for (bad, places, good) in [
            ("#![allow(unsafe_code)]", [LIBRARY, report], [sys, capi]),
            (
                "\n#[expect(unsafe_code, x)]",
                [LIBRARY, report],
                [sys, capi],
            ),
            (
                "measure::run;",
                ["crates/vectored-results/src/a.rs", report],
                [LIBRARY, sys],
            ),
            (
                "std::fs::read(path)?;",
                ["crates/vectored-report/src/a.rs", report],
                [LIBRARY, sys],
            ),
        ] {
            for path in places {
                let faults = found(path, bad);
                assert!(
                    faults.len() == 1 && faults[0].starts_with(path),
                    "{bad}: {faults:?}"
                );
                assert!(
                    found(path, &format!("// {}", bad.trim())).is_empty(),
                    "{bad}"
                );
            }
            assert!(good.iter().all(|path| found(path, bad).is_empty()), "{bad}");
        }
        for good in ["#![deny(unsafe_code)]", "let a = \"allow(unsafe_code)\";"] {
            assert!(misplaced_unsafe(LIBRARY.as_ref(), good).is_empty());
        }
    }

    #[test]
    fn an_odd_name_a_long_file_an_unwanted_dependency_and_a_missing_test_are_found() {
        let names = ["live.x86.o", "it__a-b.snap", "a message | [`x`]"];
        assert_eq!(names.map(is_odd), [false, false, true]);
        assert_eq!(too_long(LIBRARY.as_ref(), &"\n".repeat(800)), None);
        assert!(too_long(LIBRARY.as_ref(), &"\n".repeat(801)).is_some());
        for (text, faults) in [
            ("/// The name of a file, and that of its folder.", 1),
            (
                "//! The name of a file, and that\n//! of its folder, too.",
                2,
            ),
            ("let path = \"that of \"; // In that order.", 0),
            ("// The end is that\nof(folder);", 0),
        ] {
            assert_eq!(pointing(LIBRARY.as_ref(), text).len(), faults, "{text}");
        }
        let tree = "vectored v0.1.0 (/home/serde)\nserde_json v1.0.154\ntokio v1.54.0 (*)";
        assert_eq!(
            unwanted(tree),
            ["the library `vectored` depends on tokio: cargo tree -p vectored"]
        );
        let table =
            "| hazard | test |\n|---|---|\n| `a` | `here`, `gone` |\n| b | none offered |\n";
        let found = without_a_test(table, "#[test]\nfn here() {}");
        assert_eq!(found, ["docs/hazards.md: there is no test named gone"]);
    }

    #[test]
    fn a_file_that_a_table_names_and_that_is_gone_is_found() {
        let exists =
            |path: &str| ["crates/a/src/b.rs", "crates/a/src/c.rs", "d/e.sh"].contains(&path);
        for (row, faults) in [
            ("| `EINTR`? | `a/src/b.rs` (`thing`), `c.rs`; `d/e.sh` |", 0),
            ("| b? | `a/src/b.rs`; `gone.rs` |", 1),
            ("| b? | `a/src/gone.rs`; `src/b.rs` |", 2),
        ] {
            assert_eq!(missing_files(row, exists).len(), faults, "{row}");
        }
        let guide = "`crates/a/b.rs`, `crates/a/NAME.rs`, `crates/a/gone.rs`, `gone/`";
        let found = missing_paths(guide, |path| path == "crates/a/b.rs");
        assert_eq!(found, ["CONTRIBUTING.md: there is no `crates/a/gone.rs`"]);
    }

    #[test]
    fn an_import_from_above_is_found_however_it_is_written() {
        let text = "# A\n\n## Low and high: `a/src`\n\n```\n  2  high, higher  what is above\n     highest\n 1   low\n```\n";
        let [(sources, floors)] = &floors(text)[..] else {
            panic!("{text}")
        };
        assert_eq!(*sources, "a/src");
        assert_eq!(
            *floors,
            HashMap::from([("high", 2), ("higher", 2), ("highest", 2), ("low", 1)])
        );
        let home = |path: &str, exports: &str| Home {
            path: path.to_owned(),
            exports: exports.to_owned(),
        };
        let root = home("crate::", "mod low; mod high; pub use high::Thing;");
        let inner = ["low", "inner"].map(str::to_owned);
        let found = |text| from_above(&root, &inner, &code_of(text), floors);
        for text in [
            "use crate::high::Thing;",
            "use crate::{high::{self, Thing}};",
            "use crate::{\n    low::{self, Other},\n    high,\n};",
            "use crate::Thing;",
            "fn f() { crate::high::g() }",
            "use super::super::high::g;",
            "mod inner { use super::super::super::high::g; }",
        ] {
            let expected = "low::inner imports from high: it may import from lower floors only";
            assert!(found(text).iter().all(|line| line == expected), "{text}");
            assert!(!found(text).is_empty(), "{text}");
        }
        for text in [
            "use super::Other; use std::io; use rustix::high::Thing; pub(super) fn f() {}",
            "use crate::low::{self, Thing}; use crate::low::high;",
            "// crate::high",
            "#[cfg(test)]\nmod tests {\n    use crate::high::Thing;\n}",
            "#[cfg(all(test, unix))]\nuse crate::high::Thing;",
        ] {
            assert!(found(text).is_empty(), "{text}");
        }
        let within = "use crate::a::high::Thing; use crate::high::Thing;";
        let within = from_above(&home("crate::a::", ""), &inner, within, floors);
        assert_eq!(within.len(), 1, "{within:?}");
        let attic = from_above(&root, &["attic".to_owned()], "", floors);
        assert_eq!(
            attic,
            ["room `attic` stands on no floor: list it in ARCHITECTURE.md"]
        );
    }
}
