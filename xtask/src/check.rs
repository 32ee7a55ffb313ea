//! `cargo xtask check`: format, lints and the tests that the edit at hand can make fail.
//!
//! The rule: the edit is all that differs from the merge base with the main branch, committed or not.
//! Tested are the packages with a changed file, and all packages that depend on them. A file that lies in no package
//! counts for those that name it or its folder in their code (`README.md`, `docs/hazards.md`,
//! `fuzz/seeds`), and the manifest and lock file of the workspace for all packages.
//!
//! The simulations of the statistics, which take long, are run only if a file of
//! [`SIMULATED`] differs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::commands::{answer, run as run_command};
use crate::packages::{Package, Programs, packages};
use crate::steps::Report;
use crate::test::{BUILD_TESTS, checks, clippy, test_name, tested, tests_build};
use crate::{root, sources};

/// Files that every package is built with.
const OF_ALL: [&str; 3] = ["Cargo.toml", "Cargo.lock", ".cargo/config.toml"];

/// The code that the simulations try, and the simulations themselves.
const SIMULATED: [&str; 6] = [
    "crates/vectored-results/src/stats",
    "crates/vectored-measure/src/measure/engine",
    "crates/vectored-measure/src/measure/synthetic.rs",
    "crates/vectored-results/src/conclusions.rs",
    "crates/vectored-measure/tests/it/simulation.rs",
    "crates/vectored-measure/tests/it/crossovers.rs",
];

/// Words that leave the simulations out.
const NO_SIMULATIONS: [&str; 4] = ["--skip", "simulation::", "--skip", "crossovers::"];

/// Runs them against the merge base with the main branch, or against `base`; fails when a step failed.
pub fn run(base: Option<&str>) -> Result<()> {
    let base = match base {
        Some(base) => base.to_owned(),
        None => default_base()?,
    };
    let files = changed_files(&base)?;
    let packages = packages()?;
    let affected = affected(&packages, &files, code_of)?;
    println!("{}", heading(&base, files.len(), &affected));
    let packages: Vec<Package> = packages
        .into_iter()
        .filter(|package| affected.contains(&package.name))
        .collect();
    let mut report = Report::start("cargo xtask test")?;
    for step in checks() {
        report.run(&step.name, step.work);
    }
    if !packages.is_empty() {
        let mut programs = None;
        report.run(BUILD_TESTS, || {
            programs = Some(Programs::build(&tests_build())?);
            Ok(())
        });
        let words = words_for(&files);
        if !words.is_empty() {
            println!("   without the simulations of the statistics: none of their code differs\n");
        }
        for (package, target) in tested(&packages).filter(|_| programs.is_some()) {
            report.run(&test_name(package, target), || {
                let programs = programs.as_ref().context("the tests are not built")?;
                run_command(programs.command(package, target)?.args(words))
            });
        }
        let clippy = clippy();
        report.run(&clippy.name, clippy.work);
    }
    report.end()
}

/// The words for the test programs.
fn words_for(files: &BTreeSet<PathBuf>) -> &'static [&'static str] {
    let is_simulated = |file: &PathBuf| SIMULATED.iter().any(|path| file.starts_with(path));
    if files.iter().any(is_simulated) { &[] } else { &NO_SIMULATIONS }
}

fn heading(base: &str, files: usize, affected: &BTreeSet<String>) -> String {
    let names: Vec<&str> = affected.iter().map(String::as_str).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let base = base.get(..12).unwrap_or(base);
    format!("{files} changed files since {base}; packages to test: {names}\n")
}

/// The merge base with the main branch; on that branch itself the last commit, or the one before if nothing
/// has changed since.
fn default_base() -> Result<String> {
    let mut base = git(&["rev-parse", "HEAD"])?;
    let head = base.clone();
    for main in ["origin/main", "main"] {
        if let Ok(found) = git(&["merge-base", "HEAD", main]) {
            base = found;
            break;
        }
    }
    if base == head && changed_files(&base)?.is_empty() {
        base = git(&["rev-parse", "HEAD~1"])?;
    }
    Ok(base)
}

/// The files that differ from a commit, and those that git does not know yet.
fn changed_files(base: &str) -> Result<BTreeSet<PathBuf>> {
    let mut text = git(&["diff", "--name-only", "--no-renames", base])?;
    text.push('\n');
    text.push_str(&git(&["ls-files", "--others", "--exclude-standard"])?);
    let lines = text.lines().filter(|line| !line.is_empty());
    Ok(lines.map(PathBuf::from).collect())
}

fn git(words: &[&str]) -> Result<String> {
    let text = answer(Command::new("git").args(words))?;
    Ok(text.trim_end().to_owned())
}

/// All Rust code of a package.
fn code_of(package: &Package) -> Result<String> {
    let mut code = String::new();
    for path in sources::rust_files(&package.folder)? {
        let text = fs::read_to_string(&path);
        code.push_str(&text.with_context(|| format!("cannot read '{}'", path.display()))?);
    }
    Ok(code)
}

/// The names of the packages whose tests changed files can make fail.
fn affected(
    packages: &[Package],
    files: &BTreeSet<PathBuf>,
    code_of: impl Fn(&Package) -> Result<String>,
) -> Result<BTreeSet<String>> {
    let mut affected = BTreeSet::new();
    let mut outside = Vec::new();
    for file in files {
        let path = root().join(file);
        let owner = packages
            .iter()
            .find(|package| path.starts_with(&package.folder));
        if OF_ALL.iter().any(|all| file == Path::new(all)) {
            affected.extend(packages.iter().map(|package| package.name.clone()));
        } else if let Some(owner) = owner {
            affected.insert(owner.name.clone());
        } else {
            outside.extend(names_of(file));
        }
    }
    if !outside.is_empty() {
        for package in packages {
            let code = code_of(package)?;
            if outside.iter().any(|name| code.contains(name.as_str())) {
                affected.insert(package.name.clone());
            }
        }
    }
    // Until nothing is added: a package is affected by what it depends on.
    loop {
        let dependants: Vec<String> = packages
            .iter()
            .filter(|package| !affected.contains(&package.name))
            .filter(|package| package.dependencies.iter().any(|on| affected.contains(on)))
            .map(|package| package.name.clone())
            .collect();
        if dependants.is_empty() {
            return Ok(affected);
        }
        affected.extend(dependants);
    }
}

/// The names by which code refers to a file: its path, its name, and the paths of its folders of two parts or more.
fn names_of(file: &Path) -> Vec<String> {
    let shown = |path: &Path| path.to_string_lossy().into_owned();
    let folders = file.ancestors().skip(1);
    let folders = folders.filter(|folder| folder.components().count() >= 2);
    let mut names: Vec<String> = folders.map(shown).collect();
    names.push(shown(file));
    names.extend(file.file_name().map(|name| shown(Path::new(name))));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            folder: root().join("crates").join(name),
            dependencies: dependencies.iter().map(|&name| name.to_owned()).collect(),
            targets: Vec::new(),
        }
    }

    fn affected_by(files: &[&str]) -> String {
        let packages = [
            package("tool", &["engine"]),
            package("engine", &["library", "parser"]),
            package("library", &[]),
            package("parser", &[]),
        ];
        let files = files.iter().map(PathBuf::from).collect();
        let code = |package: &Package| {
            Ok(match &*package.name {
                "parser" => "let seeds = root.join(\"../../fuzz/seeds\");".to_owned(),
                "tool" => "include_str!(\"../../../README.md\")".to_owned(),
                _ => String::new(),
            })
        };
        let affected = affected(&packages, &files, code).unwrap();
        affected.into_iter().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_packages_of_changed_files_and_those_that_depend_on_them_are_tested() {
        assert_eq!(affected_by(&[]), "");
        assert_eq!(affected_by(&["crates/tool/src/main.rs"]), "tool");
        assert_eq!(
            affected_by(&["crates/parser/testdata/log"]),
            "engine parser tool"
        );
        assert_eq!(
            affected_by(&["crates/library/Cargo.toml"]),
            "engine library tool"
        );
        assert_eq!(affected_by(&["Cargo.lock"]), "engine library parser tool");
    }

    #[test]
    fn a_file_of_no_package_counts_for_those_that_name_it_or_its_folder() {
        assert_eq!(affected_by(&["README.md"]), "tool");
        assert_eq!(
            affected_by(&["fuzz/seeds/plan/empty"]),
            "engine parser tool"
        );
        assert_eq!(affected_by(&["docs/method.md"]), "");
    }

    #[test]
    fn the_statistics_are_simulated_if_their_code_differs() {
        let words = |file: &str| words_for(&BTreeSet::from([PathBuf::from(file)]));
        assert!(words("crates/vectored-results/src/stats/verdict.rs").is_empty());
        assert_eq!(
            words("crates/vectored-results/src/report/saved.rs"),
            NO_SIMULATIONS
        );
        for path in SIMULATED {
            assert!(root().join(path).exists(), "{path}");
        }
    }

    #[test]
    fn the_heading_names_what_is_tested_and_since_when() {
        let one = BTreeSet::from(["vectored-cli".to_owned(), "xtask".to_owned()]);
        assert_eq!(
            heading("0123456789abcdef", 2, &one),
            "2 changed files since 0123456789ab; packages to test: vectored-cli, xtask\n"
        );
        assert_eq!(
            heading("main", 0, &BTreeSet::new()),
            "0 changed files since main; packages to test: none\n"
        );
    }
}
