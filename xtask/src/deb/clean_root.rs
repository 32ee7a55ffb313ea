//! A clean Debian in which packages are installed, used and removed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::commands::answer;
use crate::root;
use crate::skips::skip;

/// What the root has beyond the smallest Debian: what shows a page, and the shells.
const INCLUDED: &str = "man-db,bash-completion,zsh,fish,strace,pkg-config";

/// Commands that must succeed with the packages installed, each with a word of its output.
const USES: [(&str, &str); 10] = [
    ("vectored --version", "vectored"),
    (
        "cd /tmp && vectored measure --target null --segments 2 --sizes 100 --budget 500ms",
        "null",
    ),
    ("MANPAGER=cat man vectored", "SYNOPSIS"),
    ("MANPAGER=cat man vectored-measure", "--queue-depth"),
    ("man -k '^vectored-advise'", "vectored-advise (1)"),
    (
        "bash -c 'source /usr/share/bash-completion/bash_completion; _completion_loader vectored; complete -p vectored'",
        "-F",
    ),
    (
        "zsh -fc 'autoload -U compinit; compinit -D; print ${_comps[vectored]}'",
        "_vectored",
    ),
    (
        "fish -c 'complete --do-complete \"vectored meas\"'",
        "measure",
    ),
    ("ldconfig -p", "libvectored.so.1"),
    ("pkg-config --cflags --libs vectored", "-lvectored"),
];

/// Folders whose contents dpkg and man change for their own ends.
const NOT_COMPARED: [&str; 7] = [
    "proc",
    "sys",
    "dev",
    "tmp",
    "var/cache",
    "var/lib/dpkg",
    "var/log",
];

/// Installs packages in a new root, uses and removes them; false if anything is wrong.
pub fn try_out(packages: &[PathBuf]) -> Result<bool> {
    let folder = root().join("target/deb/root");
    let clean = match CleanRoot::new(&folder) {
        Ok(clean) => clean,
        Err(error) => {
            skip("deb: installation in a clean Debian", &format!("{error:#}"))?;
            return Ok(true);
        }
    };
    let before = clean.files()?;
    let mut names = Vec::new();
    for package in packages {
        let name = package.file_name().context("a package has a name")?;
        fs::copy(package, folder.join("tmp").join(name))?;
        names.push(name.to_string_lossy().into_owned());
    }
    let paths: Vec<String> = names.iter().map(|name| format!("/tmp/{name}")).collect();
    clean.run(&format!("dpkg -i {}", paths.join(" ")))?;
    let mut is_well = true;
    for (command, expected) in USES {
        let outcome = clean.run(command);
        let is_as_expected = outcome.as_ref().is_ok_and(|text| text.contains(expected));
        println!(
            "   {}: {command}",
            if is_as_expected { "ok" } else { "WRONG" }
        );
        if !is_as_expected {
            println!("      expected '{expected}' in: {outcome:?}");
            is_well = false;
        }
    }
    let names: Vec<&str> = names
        .iter()
        .filter_map(|name| name.split('_').next())
        .collect();
    clean.run(&format!("dpkg --purge {}", names.join(" ")))?;
    let after = clean.files()?;
    for left in after.difference(&before) {
        println!("   LEFT after the removal: {left}");
        is_well = false;
    }
    println!(
        "   {} installed, used and removed in a clean Debian",
        names.join(", ")
    );
    Ok(is_well)
}

/// A Debian in a folder, which is removed with this value.
struct CleanRoot<'a> {
    folder: &'a Path,
}

impl<'a> CleanRoot<'a> {
    fn new(folder: &'a Path) -> Result<CleanRoot<'a>> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        let (mirror, release) = mirror()?;
        let include = format!("--include={INCLUDED}");
        let clean = CleanRoot { folder };
        let mut command = Command::new("debootstrap");
        command.args(["--variant=minbase", &include, &release]);
        answer(command.arg(folder).arg(&mirror)).with_context(|| {
            format!("no clean Debian {release} from {mirror}; it needs root and debootstrap")
        })?;
        Ok(clean)
    }

    /// The output of a command of the root's shell.
    fn run(&self, command: &str) -> Result<String> {
        let mut chroot = Command::new("chroot");
        chroot.arg(self.folder).args(["sh", "-c", command]);
        chroot
            .env_clear()
            .env("HOME", "/tmp/home")
            .env("LC_ALL", "C.UTF-8");
        chroot.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        chroot.env("DEBIAN_FRONTEND", "noninteractive");
        answer(&mut chroot)
    }

    fn files(&self) -> Result<BTreeSet<String>> {
        let mut command = Command::new("find");
        command.arg(self.folder).arg("-mindepth").arg("1");
        for left_out in NOT_COMPARED {
            command.args(["-path"]);
            command
                .arg(self.folder.join(left_out))
                .args(["-prune", "-o"]);
        }
        let found = answer(command.args(["-printf", "%P\\n"]))?;
        ensure!(!found.is_empty(), "the clean root has no files");
        Ok(found.lines().map(str::to_owned).collect())
    }
}

impl Drop for CleanRoot<'_> {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(self.folder) {
            eprintln!("cannot remove '{}': {error}", self.folder.display());
        }
    }
}

/// Where this system gets its packages, and its release.
fn mirror() -> Result<(String, String)> {
    let format = "$(REPO_URI) $(RELEASE)";
    let list = answer(Command::new("apt-get").args([
        "indextargets",
        "--format",
        format,
        "Created-By: Packages",
    ]))?;
    // Those of updates have a hyphen in their name.
    let release = list
        .lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(_, release)| !release.contains('-'));
    let (mirror, release) = release.context("apt has no list of packages: run apt-get update")?;
    Ok((mirror.to_owned(), release.to_owned()))
}
