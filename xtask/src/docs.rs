//! The rules of the documentation, as part of `cargo xtask tidy`:
//!
//! - every block of code is an excerpt of a file that is compiled or run, or a test that names the page runs the block,
//! - every `cargo xtask COMMAND` and every example exists,
//! - a shell can parse every block of `sh`, and the paths of this repository in blocks of `sh` and TOML exist,
//! - the page of the fields of saved results agrees with the present types,
//! - the pages that are written by hand have at most [`MOST_WORDS`] words.
//!
//! The tests of `vectored-cli` parse the commands `vectored …`, and compare the screens.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Result;
use clap::CommandFactory;

use crate::sources::{files, read};
use crate::{Xtask, fields, root};

/// README is read before anything else.
const MOST_README_LINES: usize = 80;

/// The most words of all READMEs and `docs/`. Generated pages, measured pages and blocks are not counted.
const MOST_WORDS: usize = 20_000;

/// Pages that a command writes.
const GENERATED: [&str; 2] = ["docs/axes.md", fields::PAGE];

/// Dated figures, printed by commands.
const MEASURED: &str = "docs/measured/";

/// Blocks that need not be excerpts, since a file runs them. A line has the page, the language and the file.
const RUN: &str = "
docs/c.md c xtask/c_library/test.sh
docs/c.md cmake xtask/c_library/test.sh
docs/python.md python crates/vectored-py/tests/test_docs.py
docs/python.md pycon crates/vectored-py/tests/test_docs.py
docs/ten-minutes.md python crates/vectored-cli/tests/it/documented.rs
docs/ten-minutes.md diff crates/vectored-cli/tests/it/documented.rs
docs/prove-it.md yaml xtask/src/release.rs
crates/vectored-codec/README.md rust crates/vectored-codec/src/lib.rs
crates/vectored-strace/README.md rust,no_run crates/vectored-strace/src/lib.rs
crates/vectored-py/README.md python crates/vectored-py/tests/test_docs.py
";

pub struct Block<'t> {
    /// The word after the fence.
    pub language: &'t str,
    /// The line of the fence, counted from 1.
    pub line: usize,
    pub lines: Vec<&'t str>,
}

pub fn faults() -> Result<BTreeSet<String>> {
    let mut faults = BTreeSet::new();
    let code = files(root(), &|name| {
        let ends = [".rs", ".c", ".cpp", ".py", ".lua"];
        ends.iter().any(|end| name.ends_with(end))
    })?;
    let sources = code.iter().map(|path| Ok(normal(&read(path)?)));
    let sources: Vec<String> = sources.collect::<Result<_>>()?;
    let mut words = 0;
    for path in pages()? {
        let text = read(&root().join(&path))?;
        let page = path.to_string_lossy();
        let (prose, blocks) = parts(&text);
        if !page.starts_with(MEASURED) && !GENERATED.contains(&&*page) {
            let counts = prose.iter().map(|line| line.split_whitespace().count());
            words += counts.sum::<usize>();
        }
        let mut free = blocks.iter().filter(|block| block.language == "text");
        if free.next().is_some() && !page.starts_with(MEASURED) {
            faults.insert(format!("{page}: a block of text, which nothing checks"));
        }
        faults.extend(unknown_commands(&page, &text, &code));
        for block in &blocks {
            if page.starts_with(MEASURED) && !block.language.is_empty() {
                continue;
            }
            if let Some(fault) = uncovered(&page, block, &sources)? {
                faults.insert(format!("{page}:{}: {fault}", block.line));
            }
        }
    }
    if read(&root().join(fields::PAGE))? != fields::page()? {
        faults.insert(format!(
            "{} differs from the types that are saved: run cargo xtask fields",
            fields::PAGE
        ));
    }
    let lines = read(&root().join("README.md"))?.lines().count();
    for (what, count, unit, most) in [
        ("README.md has", lines, "lines", MOST_README_LINES),
        ("README.md and docs/ have", words, "words", MOST_WORDS),
    ] {
        if count > most {
            faults.insert(format!(
                "{what} {count} {unit}, more than {most}: delete before you add"
            ));
        }
    }
    Ok(faults)
}

/// README, the READMEs of crates, and the pages of `docs/`, as paths below the root.
fn pages() -> Result<Vec<PathBuf>> {
    let mut pages = vec![root().join("README.md")];
    pages.extend(files(&root().join("docs"), &|name| name.ends_with(".md"))?);
    for entry in fs::read_dir(root().join("crates"))? {
        pages.push(entry?.path().join("README.md"));
    }
    pages.retain(|path| path.exists());
    let pages = pages
        .iter()
        .map(|path| Ok(path.strip_prefix(root())?.to_owned()));
    pages.collect()
}

/// The lines outside of blocks, and the blocks.
fn parts(text: &str) -> (Vec<&str>, Vec<Block<'_>>) {
    let (mut prose, mut blocks, mut open) = (Vec::new(), Vec::<Block<'_>>::new(), false);
    for (index, line) in text.lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), open) {
            (Some(language), false) => blocks.push(Block {
                language,
                line: index + 1,
                lines: Vec::new(),
            }),
            (None, true) => blocks.last_mut().expect("one is open").lines.push(line),
            (None, false) => prose.push(line),
            (Some(_), true) => {}
        }
        open ^= line.trim_start().starts_with("```");
    }
    (prose, blocks)
}

/// Why no check covers a block.
fn uncovered(page: &str, block: &Block<'_>, sources: &[String]) -> Result<Option<String>> {
    let language = block.language;
    let row = format!("\n{page} {language} ");
    if let Some((_, by)) = RUN.split_once(&row) {
        let by = by.lines().next().unwrap_or_default();
        let name = page.rsplit('/').next().unwrap_or(page);
        let is_named = read(&root().join(by))?.contains(name);
        return Ok((!is_named).then(|| format!("{by} does not name this page")));
    }
    if language == "sh"
        && let Some(fault) = wrong_script(&block.lines.join("\n"))?
    {
        return Ok(Some(fault));
    }
    if language == "toml" {
        return Ok(gone(&block.lines.join("\n")));
    }
    let sides: &[&[char]] = match language {
        // Tests of `vectored-cli` parse the commands and compare the screens.
        "sh" | "console" | "text" => &[],
        "diff" => &[&[' ', '-'], &[' ', '+']],
        "" => return Ok(Some("a block without a language".into())),
        _ => &[&[]],
    };
    for side in sides {
        let of_side = |line: &&'_ str| match line.chars().next() {
            Some(mark) if !side.is_empty() => side.contains(&mark),
            _ => true,
        };
        // One file must have all pieces between empty lines.
        let mut pieces: Vec<String> = vec![String::new()];
        for line in block.lines.iter().copied().filter(of_side) {
            let marks = if side.is_empty() { 0 } else { line.len().min(1) };
            let line = &line[marks..];
            match line.trim() {
                "" | "…" => pieces.push(String::new()),
                _ => pieces.last_mut().expect("one").push_str(&normal(line)),
            }
        }
        let has_all = |source: &String| pieces.iter().all(|piece| source.contains(piece));
        if !sources.iter().any(has_all) {
            let side = if side.contains(&'-') { " before the change" } else { "" };
            let fault = format!("no file of code has this {language}{side}");
            return Ok(Some(fault + ": put the code into a file that a test runs"));
        }
    }
    Ok(None)
}

/// The first fault of a script: a syntax error, or a path that this repository does not have.
fn wrong_script(script: &str) -> Result<Option<String>> {
    let mut shell = Command::new("sh")
        .arg("-n")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut commands = shell.stdin.take().expect("it is piped");
    commands.write_all(script.as_bytes())?;
    drop(commands);
    let parsed = shell.wait_with_output()?;
    if !parsed.status.success() {
        let why = String::from_utf8_lossy(&parsed.stderr);
        return Ok(Some(format!("a shell cannot parse it: {}", why.trim())));
    }
    Ok(gone(script))
}

/// The first path of this repository that does not exist.
fn gone(text: &str) -> Option<String> {
    let words = text.split(|c: char| c.is_whitespace() || "'\"`=:".contains(c));
    let paths = words.map(|word| {
        word.trim_start_matches("../")
            .trim_start_matches("./")
            .trim_start_matches("vectored/")
    });
    let folders = ["crates/", "benchmarks/", "docs/", "xtask/"];
    let is_ours = |word: &&str| folders.iter().any(|folder| word.starts_with(folder));
    let gone = paths
        .filter(is_ours)
        .find(|path| !root().join(path).exists());
    gone.map(|path| format!("'{path}' is not there"))
}

/// Examples, and commands of `cargo xtask`, that do not exist.
fn unknown_commands(page: &str, text: &str, code: &[PathBuf]) -> Vec<String> {
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric() && !"-_".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    let xtask = Xtask::command();
    let is_there = |name: &str| xtask.get_subcommands().any(|one| one.get_name() == name);
    let is_example = |name: &str| {
        let files = ["", "/main"].map(|end| format!("examples/{name}{end}.rs"));
        code.iter()
            .any(|path| files.iter().any(|file| path.ends_with(file)))
    };
    let unknown = words.windows(3).filter(|words| match words {
        ["cargo", "xtask", name] => !is_there(name) && *name != "help",
        [_, "--example", name] => !is_example(name),
        _ => false,
    });
    unknown
        .map(|words| format!("{page}: there is no {} {}", words[1], words[2]))
        .collect()
}

/// The text without indentation and empty lines, and with one blank for each run of blanks.
fn normal(text: &str) -> String {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = text.lines().map(words).filter(|line| !line.is_empty());
    lines.map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_covered_by_a_file_with_all_of_its_pieces() {
        let (_, blocks) = parts("# A\n\n```rust\nlet a = 1;\n…\nf(a);\n```\n");
        let sources = |text: &str| [normal("fn other() {}"), normal(text)];
        let fault =
            |block: &Block<'_>, text| uncovered("README.md", block, &sources(text)).unwrap();
        let whole = "fn test() {\n    let a = 1;\n    assert!(a > 0);\n    f(a);\n}";
        assert_eq!(fault(&blocks[0], whole), None);
        assert!(fault(&blocks[0], "let a = 1;").is_some());
        let (_, edits) = parts("```diff\n-f(a);\n+g(a);\n h();\n```\n```\nx\n```\n");
        assert_eq!(fault(&edits[0], "f(a);\nh();\n}\ng(a);\nh();"), None);
        let before = fault(&edits[0], "g(a);\nh();").unwrap();
        assert!(before.contains("before the change"), "{before}");
        assert_eq!(
            fault(&edits[1], "x"),
            Some("a block without a language".into())
        );
    }

    #[test]
    fn a_script_that_no_shell_parses_and_a_path_that_is_gone_are_found() {
        let fault = |script| wrong_script(script).unwrap();
        assert_eq!(
            fault("cargo install --path crates/vectored-cli\nx | y"),
            None
        );
        assert!(fault("echo 'a").unwrap().contains("cannot parse"));
        let gone = fault("pip install ./crates/vectored-python");
        assert_eq!(gone.unwrap(), "'crates/vectored-python' is not there");
        let (_, lines) =
            parts("```toml\nvectored = { path = \"../vectored/crates/vectorred\" }\n```\n");
        let gone = uncovered("README.md", &lines[0], &[]).unwrap();
        assert_eq!(gone.unwrap(), "'crates/vectorred' is not there");
    }

    #[test]
    fn a_command_and_an_example_that_are_not_there_are_found() {
        let code = [PathBuf::from("crates/vectored/examples/gather.rs")];
        let text = "`cargo xtask tidy`, `cargo xtask tidyy`, `--example gather`, `cargo run --example gone`";
        let found = unknown_commands("README.md", text, &code);
        assert_eq!(
            found,
            [
                "README.md: there is no xtask tidyy",
                "README.md: there is no --example gone"
            ]
        );
    }
}
