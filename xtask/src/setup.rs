//! `cargo xtask setup`: the programs that the tests need, and how to get those that are missing.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::commands::{cargo, is_on_path, run as run_command, works};

/// Programs, and the Debian packages that bring each. Every test run needs the first one. Without another one, the tests that
/// need it are skipped, and say so.
const PROGRAMS: [(&str, &str); 26] = [
    ("cc", "gcc libc6-dev"),
    ("mkfs.ext4", "e2fsprogs"),
    ("mkfs.xfs", "xfsprogs"),
    ("mkfs.btrfs", "btrfs-progs"),
    ("strace", "strace"),
    ("valgrind", "valgrind"),
    ("g++", "g++"),
    // The second package has its sanitizers.
    ("clang++", "clang libclang-rt-dev"),
    ("pkg-config", "pkg-config"),
    ("cmake", "cmake make"),
    ("fish", "fish"),
    ("zsh", "zsh"),
    ("man", "man-db"),
    ("python3", "python3 python3-venv"),
    ("debootstrap", "debootstrap"),
    ("dpkg-gencontrol", "dpkg-dev"),
    ("lintian", "lintian"),
    // For other systems: compilers, and what runs their programs.
    (
        "aarch64-linux-gnu-gcc",
        "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
    ),
    (
        "s390x-linux-gnu-gcc",
        "gcc-s390x-linux-gnu libc6-dev-s390x-cross",
    ),
    (
        "i686-linux-gnu-gcc",
        "gcc-i686-linux-gnu libc6-dev-i386-cross",
    ),
    ("qemu-aarch64", "qemu-user"),
    ("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64-win32"),
    ("wine", "wine wine64"),
    // For ranks of a cluster. libclang reads the headers of MPI.
    ("mpicc.openmpi", "openmpi-bin libopenmpi-dev libclang-dev"),
    ("slurmd", "slurm-wlm"),
    ("munged", "munge"),
];

/// Parts of the Rust toolchain, and the cargo command that shows each.
const COMPONENTS: [(&str, &str); 2] = [("rustfmt", "fmt"), ("clippy", "clippy")];

/// Installs the programs that are missing and prints one line for each. Fails if one could not be installed that the tests
/// cannot do without.
pub fn run() -> Result<()> {
    // A Python of Debian may be there without what makes environments.
    let is_there = |name: &str| match name {
        "python3" => works(Command::new(name).args(["-c", "import venv, ensurepip"])),
        _ => is_on_path(name),
    };
    let missing = || PROGRAMS.into_iter().filter(|(name, _)| !is_there(name));
    let at_first: Vec<_> = missing().collect();
    let packages: Vec<&str> = at_first.iter().map(|(_, packages)| *packages).collect();
    let mut remedies = Vec::new();
    if let Err(remedy) = install_packages(&packages.join(" ")) {
        remedies.push(remedy);
        // Not every system has every package, and apt-get installs all or none.
        remedies.extend(
            packages
                .iter()
                .filter_map(|packages| install_packages(packages).err()),
        );
    }
    for (name, packages) in PROGRAMS {
        let was_missing = at_first.contains(&(name, packages));
        let verdict = match (was_missing, is_there(name)) {
            (false, _) => "there already",
            (true, true) => "installed",
            (true, false) => "MISSING: what needs it cannot run",
        };
        println!("   {name} ({packages}): {verdict}");
    }
    for remedy in remedies {
        println!("   {remedy:#}");
    }
    let mut needed: Vec<&str> = missing().map(|(name, _)| name).collect();
    needed.retain(|name| *name == PROGRAMS[0].0);
    for (component, command) in COMPONENTS {
        let is_there = || works(cargo().args([command, "--version"]));
        let add = || run_command(Command::new("rustup").args(["component", "add", component]));
        if !is_there() && (add().is_err() || !is_there()) {
            needed.push(component);
        }
    }
    ensure!(needed.is_empty(), "missing: {}", needed.join(", "));
    Ok(())
}

/// Installs Debian packages, whose names have spaces between them. The error names the command that a person has to run.
pub fn install_packages(packages: &str) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let install = format!("install -y --no-install-recommends {packages}");
    let is_root = std::fs::metadata("/proc/self")
        .is_ok_and(|this| std::os::unix::fs::MetadataExt::uid(&this) == 0);
    if !is_root || !Path::new("/etc/debian_version").exists() {
        bail!("on Debian, as root: apt-get update && apt-get {install}");
    }
    for words in ["update", &install] {
        println!("   apt-get {words}");
        let mut command = Command::new("apt-get");
        command.args(words.split(' ')).env("LC_ALL", "C");
        run_command(&mut command).context("cannot install packages")?;
    }
    Ok(())
}
