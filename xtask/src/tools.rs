//! The programs that the steps need, and how to get those that are missing.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::packages::cargo;

/// A program, and the Debian packages that bring it.
const PROGRAMS: [(&str, &[&str]); 1] = [("cc", &["gcc", "libc6-dev"])];

/// Programs of which single tests make use, each with its Debian package. Without them those tests
/// are skipped, and say so.
const OF_SINGLE_TESTS: [(&str, &str); 6] = [
    ("mkfs.ext4", "e2fsprogs"),
    ("mkfs.xfs", "xfsprogs"),
    ("mkfs.btrfs", "btrfs-progs"),
    ("strace", "strace"),
    ("chromium", "chromium"),
    ("valgrind", "valgrind"),
];

/// What `cargo bench -p vectored-bench` loads while it runs, each with its Debian package.
const LIBRARIES_OF_PEERS: [(&str, &str); 2] = [
    ("libuv.so.1", "libuv1-dev"),
    ("libevent_core-2.1.so.7", "libevent-dev"),
];

/// The compiler of the peer that runs in a process of its own, and its package.
const GO: (&str, &str) = ("go", "golang-go");

/// Parts of the Rust toolchain, and the cargo command that shows each.
const COMPONENTS: [(&str, &str); 2] = [("rustfmt", "fmt"), ("clippy", "clippy")];

/// Makes sure that everything is there; installs what it may.
///
/// # Errors
///
/// What to do about what is missing.
pub fn provide() -> Result<(), String> {
    let missing = PROGRAMS
        .iter()
        .filter(|(program, _)| !runs(&mut Command::new(program)));
    let packages: Vec<&str> = missing
        .flat_map(|(_, packages)| *packages)
        .copied()
        .collect();
    if !packages.is_empty() {
        install_packages(&packages)?;
    }
    let packages: Vec<&str> = OF_SINGLE_TESTS
        .iter()
        .filter(|(program, _)| !is_on_path(program))
        .map(|(_, package)| *package)
        .collect();
    if !packages.is_empty() {
        // Whatever comes of it is told; the tests that miss something are skipped.
        let _ = install_packages(&packages).map_err(|line| println!("   {line}"));
    }
    let missing: Vec<&str> = COMPONENTS
        .iter()
        .filter(|(_, command)| !runs(cargo().arg(command)))
        .map(|(component, _)| *component)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut words = vec!["component", "add"];
    words.extend(&missing);
    run_or_tell("rustup", &words)
}

/// Makes sure that the libraries and the compiler of the peers of the benchmark are there; installs
/// what it may. What cannot be had is told: the benchmark names it and measures the others.
pub fn provide_peers() {
    // It lists what the dynamic linker finds, and does not ask for a file's place.
    let listed = Command::new("/sbin/ldconfig").arg("-p").output();
    let listed = listed.map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).into_owned(),
    );
    let mut packages = missing_libraries(&listed);
    if !is_on_path(GO.0) {
        packages.push(GO.1);
    }
    if !packages.is_empty()
        && let Err(line) = install_packages(&packages)
    {
        println!("   {line}");
    }
}

/// Makes sure that strace is there, if it may.
pub fn provide_strace() {
    if !is_on_path("strace")
        && let Err(line) = install_packages(&["strace"])
    {
        println!("   {line}");
    }
}

/// The packages of libraries that `ldconfig -p` does not list.
fn missing_libraries(listed: &str) -> Vec<&'static str> {
    let is_listed = |name: &str| listed.lines().any(|line| line.trim().starts_with(name));
    LIBRARIES_OF_PEERS
        .iter()
        .filter(|(library, _)| !is_listed(library))
        .map(|(_, package)| *package)
        .collect()
}

fn install_packages(packages: &[&str]) -> Result<(), String> {
    let mut words = vec!["install", "-y", "--no-install-recommends"];
    words.extend(packages);
    let line = format!("apt-get update && apt-get {}", words.join(" "));
    if !is_root() || !Path::new("/etc/debian_version").exists() {
        return Err(format!(
            "{} is missing; on Debian, as root: {line}",
            packages.join(", ")
        ));
    }
    run_or_tell("apt-get", &["update"])?;
    run_or_tell("apt-get", &words)
}

fn run_or_tell(program: &str, words: &[&str]) -> Result<(), String> {
    let line = format!("{program} {}", words.join(" "));
    println!("   {line}");
    match Command::new(program).args(words).status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(format!(
            "something is missing and could not be had; run: {line}"
        )),
    }
}

fn runs(program: &mut Command) -> bool {
    let silent = program
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    silent.is_ok_and(|status| status.success())
}

/// `mkfs.xfs` and others know no `--version`, and some do something without any word.
fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
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

    #[test]
    fn libraries_that_the_linker_does_not_find_are_to_be_installed() {
        let listed = "2 libs found\n\tlibuv.so.1 (libc6,x86-64) => /lib/libuv.so.1\n";
        assert_eq!(missing_libraries(listed), ["libevent-dev"]);
        assert_eq!(missing_libraries("").len(), 2);
    }

    #[test]
    fn a_missing_program_is_noticed() {
        assert!(!runs(&mut Command::new("no-such-program-anywhere")));
        assert!(!is_on_path("no-such-program-anywhere"));
        assert!(is_on_path("ls"));
    }
}
