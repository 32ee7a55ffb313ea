//! The checks of a release, its notes, and the check of the workflow.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::commands::{FEATURES, cargo_of, cargo_words, is_on_path, run as run_command, works};
use crate::packages::{metadata, published};
use crate::root;
use crate::skips::{in_ci, missing, skip};

/// actionlint, in a version that was tried.
const ACTIONLINT: &str = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";

/// The command that installs cargo-deny, in a version that was tried.
const INSTALL_DENY: &str = "install --quiet --locked cargo-deny@0.20.2";

/// Runs the checks of `deny.toml`. Building cargo-deny takes minutes, so only the continuous integration builds cargo-deny, and
/// fails if the build fails. Elsewhere the checks are skipped if cargo-deny is missing. The check of advisories is skipped
/// everywhere if its database cannot be reached.
pub fn deny() -> Result<()> {
    let is_there = || works(&mut cargo_words("deny --version"));
    if !is_there() && (!in_ci() || run_command(&mut cargo_words(INSTALL_DENY)).is_err()) {
        return missing("deny", &format!("no cargo-deny: cargo {INSTALL_DENY}"));
    }
    let check = "deny --all-features --locked check --hide-inclusion-graph";
    run_command(&mut cargo_words(&format!("{check} bans licenses sources")))?;
    if !works(&mut cargo_words("deny fetch db")) {
        return skip("deny: advisories", "their database cannot be fetched");
    }
    run_command(&mut cargo_words(&format!("{check} advisories")))
}

/// Checks each published crate with the oldest compiler that its manifest names. A missing compiler is installed.
pub fn msrv() -> Result<()> {
    let metadata = metadata()?;
    let mut names_of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in published(&metadata) {
        let name = package["name"].as_str().context("name")?;
        let version = package["rust_version"].as_str();
        let version = version.with_context(|| format!("{name} names no rust-version"))?;
        names_of.entry(version).or_default().push(name);
    }
    names_of
        .into_iter()
        .try_for_each(|(version, names)| build_with(version, &names))
}

fn build_with(version: &str, names: &[&str]) -> Result<()> {
    let is_there = || works(&mut cargo_of(version, &["--version"]));
    if !is_there() {
        let mut install = Command::new("rustup");
        install.args(["toolchain", "install", version, "--profile", "minimal"]);
        if run_command(&mut install).is_err() || !is_there() {
            return missing("msrv", &format!("rustup cannot install Rust {version}"));
        }
    }
    // In a folder of its own, since each compiler builds all anew.
    let words = ["check", "--locked", "--quiet", "--target-dir=target/msrv"];
    let mut command = cargo_of(version, &words);
    // cargo accepts features only of packages that are named in the command.
    let features = FEATURES.trim_start_matches("--features ").split(',');
    let name = |feature: &str| feature.split('/').next().unwrap_or_default().to_owned();
    let features: Vec<&str> = features
        .filter(|one| names.contains(&&*name(one)))
        .collect();
    command.args(["--features", &features.join(",")]);
    run_command(command.args(names.iter().flat_map(|name| ["--package", name])))?;
    println!("   built with Rust {version}: {}", names.join(", "));
    Ok(())
}

/// Packages the published crates; with `verify` also builds each from its package, which takes minutes, and asks for the
/// address of the repository. A warning of cargo counts as an error: it may name a field that crates.io would miss.
pub fn publish(verify: bool) -> Result<()> {
    let mut command = cargo_words("publish --workspace --dry-run --locked --allow-dirty");
    command
        .args((!verify).then_some("--no-verify"))
        .current_dir(root());
    let output = command.output().context("cannot start cargo publish")?;
    let text = String::from_utf8_lossy(&output.stderr);
    print!("{text}");
    // The end of a dry run is the only warning that is expected.
    let expected = "warning: aborting upload due to dry run";
    let is_warning = |line: &&str| line.starts_with("warning:") && *line != expected;
    ensure!(output.status.success(), "cargo publish: {}", output.status);
    if let Some(warning) = text.lines().find(is_warning) {
        bail!("cargo publish warns: {warning}");
    }
    if verify {
        for package in published(&metadata()?) {
            let name = package["name"].as_str().context("name")?;
            let has_address = package["repository"].is_string();
            ensure!(
                has_address,
                "{name} has no `repository`: set it in Cargo.toml"
            );
        }
    }
    Ok(())
}

/// The folder in which the documentation tells users to put a copy of the action.
const COPY_OF_ACTION: &str = "./.github/actions/vectored";

/// Checks the action, the workflows for GitHub Actions, and the workflows in `docs/prove-it.md`: each action of others is named
/// by its commit, and the syntax and inputs are right. actionlint checks syntax and inputs; Go builds actionlint from source if
/// it is missing.
pub fn workflow() -> Result<()> {
    let page = fs::read_to_string(root().join("docs/prove-it.md"))?;
    let mut workflows = Vec::new();
    for (number, block) in page.split("```yaml\n").skip(1).enumerate() {
        let documented = root().join(format!("target/steps/documented-{number}.yml"));
        let block = block.split("```").next().unwrap_or_default();
        fs::write(&documented, block.replace(COPY_OF_ACTION, "./"))?;
        workflows.push(documented);
    }
    ensure!(
        workflows.len() == 2,
        "docs/prove-it.md has {} workflows",
        workflows.len()
    );
    for entry in fs::read_dir(root().join(".github/workflows"))? {
        workflows.push(entry?.path());
    }
    for path in workflows.iter().chain([&root().join("action.yml")]) {
        if let Some(line) = unpinned(&fs::read_to_string(path)?) {
            let fault = format!("names an action without its commit: `{line}`");
            bail!(
                "'{}' {fault}; write @ and 40 digits, then # and the version",
                path.display()
            );
        }
    }
    match actionlint() {
        Err(why) => missing("workflow", &format!("{why:#}")),
        // Other linters are switched off: they may be installed or not.
        Ok(program) => {
            let mut lint = Command::new(program);
            run_command(lint.args(["-shellcheck=", "-pyflakes="]).args(workflows))
        }
    }
}

/// The first line of a workflow that names an action of another repository without a commit and its version. The owner of the
/// other repository could move a tag or a branch.
fn unpinned(workflow: &str) -> Option<&str> {
    workflow.lines().map(str::trim).find(|line| {
        let Some((_, action)) = line.split_once("uses:") else {
            return false;
        };
        let (name, version) = action.split_once(" # v").unwrap_or((action, ""));
        let commit = name.split_once('@').map_or("", |(_, commit)| commit.trim());
        let is_commit = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        !action.trim_start().starts_with("./") && (!is_commit || version.is_empty())
    })
}

fn actionlint() -> Result<PathBuf> {
    let folder = root().join("target/go/bin");
    let program = folder.join("actionlint");
    if is_on_path("actionlint") {
        return Ok("actionlint".into());
    }
    if !program.exists() {
        if !is_on_path("go") {
            bail!("there is neither actionlint nor Go to build it");
        }
        let mut install = Command::new("go");
        install.args(["install", ACTIONLINT]).env("GOBIN", folder);
        // Otherwise Go would look for a module around this repository, and its files could not be removed.
        install.env("GOFLAGS", "-mod=mod -modcacherw");
        run_command(install.current_dir(std::env::temp_dir()))
            .context("actionlint cannot be built")?;
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_is_named_by_its_commit() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let pinned =
            format!("steps:\n  - uses: a/b@{commit} # v1.2.3\n  - uses: ./own\n  - run: x");
        assert_eq!(unpinned(&pinned), None);
        let bare = format!("a/b@{commit}");
        for action in ["a/b@v4", "a/b", "a/b@main # v4", "a/b@0123456 # v4", &bare] {
            let line = format!("- uses: {action}");
            assert_eq!(unpinned(&format!("{pinned}\n   {line}\n")), Some(&*line));
        }
    }
}
