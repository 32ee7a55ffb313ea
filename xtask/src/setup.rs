//! `cargo xtask setup`: the programs that the tests need, and how to get those that are missing.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::commands::{cargo, is_on_path, run as run_command, works};

/// A program, and the Debian packages that bring it.
type Program = (&'static str, &'static [&'static str]);

/// Programs that every test run needs.
const REQUIRED: [Program; 1] = [("cc", &["gcc", "libc6-dev"])];

/// Programs that some tests need. Without one, those tests are skipped, and say so.
const OPTIONAL: [Program; 24] = [
    ("mkfs.ext4", &["e2fsprogs"]),
    ("mkfs.xfs", &["xfsprogs"]),
    ("mkfs.btrfs", &["btrfs-progs"]),
    ("strace", &["strace"]),
    ("valgrind", &["valgrind"]),
    ("g++", &["g++"]),
    // The second package has its sanitizers.
    ("clang++", &["clang", "libclang-rt-dev"]),
    ("pkg-config", &["pkg-config"]),
    ("cmake", &["cmake", "make"]),
    ("fish", &["fish"]),
    ("zsh", &["zsh"]),
    ("man", &["man-db"]),
    ("debootstrap", &["debootstrap"]),
    ("dpkg-shlibdeps", &["dpkg-dev"]),
    ("lintian", &["lintian"]),
    // For other systems: compilers, and what runs their programs.
    (
        "aarch64-linux-gnu-gcc",
        &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"],
    ),
    (
        "s390x-linux-gnu-gcc",
        &["gcc-s390x-linux-gnu", "libc6-dev-s390x-cross"],
    ),
    (
        "i686-linux-gnu-gcc",
        &["gcc-i686-linux-gnu", "libc6-dev-i386-cross"],
    ),
    ("qemu-aarch64", &["qemu-user"]),
    ("x86_64-w64-mingw32-gcc", &["gcc-mingw-w64-x86-64-win32"]),
    ("wine", &["wine", "wine64"]),
    // For ranks of a cluster. libclang reads the headers of MPI.
    (
        "mpicc.openmpi",
        &["openmpi-bin", "libopenmpi-dev", "libclang-dev"],
    ),
    ("slurmd", &["slurm-wlm"]),
    ("munged", &["munge"]),
];

/// What the bench `peers` loads while it runs, and what the bench `uring` compiles with.
const PACKAGES_OF_PEERS: [&str; 3] = ["libuv1-dev", "libevent-dev", "liburing-dev"];

/// Parts of the Rust toolchain, and the cargo command that shows each.
const COMPONENTS: [(&str, &str); 2] = [("rustfmt", "fmt"), ("clippy", "clippy")];

/// Installs the programs that are missing and prints one line for each; false if one that the tests
/// cannot do without could not be installed.
pub fn run() -> bool {
    let missing = |programs: &[Program]| -> Vec<Program> {
        let missing = programs.iter().filter(|(name, _)| !is_on_path(name));
        missing.copied().collect()
    };
    let (required, optional) = (missing(&REQUIRED), missing(&OPTIONAL));
    let mut remedies = Vec::new();
    // Apart, so that an optional package that does not exist keeps no other from being installed.
    for missing in [&required, &optional] {
        let packages: Vec<&str> = missing
            .iter()
            .flat_map(|(_, packages)| *packages)
            .copied()
            .collect();
        if let Err(remedy) = install_packages(&packages) {
            remedies.push(remedy);
            // Not every system has every package, and apt-get installs all or none.
            for (_, packages) in missing {
                remedies.extend(install_packages(packages).err());
            }
        }
    }
    for (name, packages) in REQUIRED.iter().chain(&OPTIONAL) {
        let was_missing = required
            .iter()
            .chain(&optional)
            .any(|(other, _)| other == name);
        let verdict = match (was_missing, is_on_path(name)) {
            (false, _) => "there already",
            (true, true) => "installed",
            (true, false) => "MISSING: what needs it cannot run",
        };
        println!("   {name} ({}): {verdict}", packages.join(", "));
    }
    for remedy in remedies {
        println!("   {remedy:#}");
    }
    let mut is_complete = missing(&REQUIRED).is_empty();
    for (component, command) in COMPONENTS {
        let is_there = || works(cargo().args([command, "--version"]));
        let add = || run_command(Command::new("rustup").args(["component", "add", component]));
        let is_well = is_there() || (add().is_ok() && is_there());
        println!(
            "   {component}: {}",
            if is_well { "there" } else { "MISSING" }
        );
        is_complete &= is_well;
    }
    is_complete
}

/// Installs the libraries that the peers of the benchmark need, and the compiler of the one in Go. If they cannot be
/// installed, that is printed: the benchmark names the peers that are missing, and measures the others.
pub fn provide_peers() {
    let go = if is_on_path("go") { &[][..] } else { &["golang-go"] };
    if let Err(error) = install_packages(&[&PACKAGES_OF_PEERS, go].concat()) {
        println!("   {error:#}");
    }
}

/// Installs strace if it is missing; if it cannot be installed, that is printed.
pub fn provide_strace() {
    if !is_on_path("strace")
        && let Err(error) = install_packages(&["strace"])
    {
        println!("   {error:#}");
    }
}

/// Installs Debian packages. The error names the command that a person has to run.
pub fn install_packages(packages: &[&str]) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let packages = packages.join(" ");
    let install = format!("apt-get install -y --no-install-recommends {packages}");
    if !is_root() || !Path::new("/etc/debian_version").exists() {
        bail!("on Debian, as root: apt-get update && {install}");
    }
    for line in ["apt-get update", &install] {
        let words: Vec<&str> = line.split(' ').collect();
        println!("   {line}");
        run_command(Command::new(words[0]).args(&words[1..])).context("cannot install packages")?;
    }
    Ok(())
}

fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    effective_user(&status) == Some(0)
}

/// The second number of `Uid:`, see proc_pid_status(5).
fn effective_user(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_user_counts() {
        let status = "Name:\tx\nUid:\t1000\t0\t0\t0\nGid:\t1\t2\t3\t4\n";
        assert_eq!(effective_user(status), Some(0));
        assert_eq!(effective_user("Name:\tx\n"), None);
    }
}
