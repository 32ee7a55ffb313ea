//! `cargo xtask setup`: the programs that the tests need, and how to get those that are missing.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::packages::cargo;

/// A program, and the Debian packages that bring it.
struct Program {
    name: &'static str,
    packages: &'static [&'static str],
    /// Whether single tests alone make use of it: without it they are skipped, and say so.
    is_optional: bool,
}

const fn required(name: &'static str, packages: &'static [&'static str]) -> Program {
    Program {
        name,
        packages,
        is_optional: false,
    }
}

const fn optional(name: &'static str, packages: &'static [&'static str]) -> Program {
    Program {
        name,
        packages,
        is_optional: true,
    }
}

const PROGRAMS: [Program; 26] = [
    required("cc", &["gcc", "libc6-dev"]),
    optional("mkfs.ext4", &["e2fsprogs"]),
    optional("mkfs.xfs", &["xfsprogs"]),
    optional("mkfs.btrfs", &["btrfs-progs"]),
    optional("strace", &["strace"]),
    optional("chromium", &["chromium"]),
    optional("valgrind", &["valgrind"]),
    optional("g++", &["g++"]),
    // The second package has its sanitizers.
    optional("clang++", &["clang", "libclang-rt-dev"]),
    optional("pkg-config", &["pkg-config"]),
    optional("cmake", &["cmake", "make"]),
    optional("fish", &["fish"]),
    optional("zsh", &["zsh"]),
    optional("man", &["man-db"]),
    optional("debootstrap", &["debootstrap"]),
    optional("dpkg-shlibdeps", &["dpkg-dev"]),
    optional("lintian", &["lintian"]),
    // For other systems: compilers, and what runs their programs.
    optional(
        "aarch64-linux-gnu-gcc",
        &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"],
    ),
    optional(
        "s390x-linux-gnu-gcc",
        &["gcc-s390x-linux-gnu", "libc6-dev-s390x-cross"],
    ),
    optional(
        "i686-linux-gnu-gcc",
        &["gcc-i686-linux-gnu", "libc6-dev-i386-cross"],
    ),
    optional("qemu-aarch64", &["qemu-user"]),
    optional("x86_64-w64-mingw32-gcc", &["gcc-mingw-w64-x86-64-win32"]),
    optional("wine", &["wine", "wine64"]),
    // For ranks of a cluster. libclang reads the headers of MPI.
    optional(
        "mpicc.openmpi",
        &["openmpi-bin", "libopenmpi-dev", "libclang-dev"],
    ),
    optional("slurmd", &["slurm-wlm"]),
    optional("munged", &["munge"]),
];

/// Libraries that the bench `peers` loads while it runs, each with its Debian package. The bench `uring` also
/// compiles with the header of the last one.
const LIBRARIES_OF_PEERS: [(&str, &str); 3] = [
    ("libuv.so.1", "libuv1-dev"),
    ("libevent_core-2.1.so.7", "libevent-dev"),
    // Of the package of the header alone: libraries are listed without it as `liburing.so.2`.
    ("liburing.so ", "liburing-dev"),
];

/// The compiler of the peer that runs in a process of its own, and its package.
const GO: (&str, &str) = ("go", "golang-go");

/// Parts of the Rust toolchain, and the cargo command that shows each.
const COMPONENTS: [(&str, &str); 2] = [("rustfmt", "fmt"), ("clippy", "clippy")];

/// Installs the programs that are missing and prints one line for each; false if one that the tests
/// cannot do without could not be installed.
pub fn run() -> bool {
    let missing: Vec<&Program> = PROGRAMS
        .iter()
        .filter(|program| !is_on_path(program.name))
        .collect();
    // Apart, so that an optional package that does not exist keeps no other from being installed.
    let mut remedies = Vec::new();
    for is_optional in [false, true] {
        let packages: Vec<&str> = missing
            .iter()
            .filter(|program| program.is_optional == is_optional)
            .flat_map(|program| program.packages)
            .copied()
            .collect();
        if packages.is_empty() {
            continue;
        }
        if let Err(remedy) = install_packages(&packages) {
            // Not every system has every package, and apt-get installs all or none.
            let one_by_one = is_optional && missing.len() > 1;
            let of_program = |program: &&&Program| program.is_optional;
            for program in missing.iter().filter(of_program).filter(|_| one_by_one) {
                let _ = install_packages(program.packages);
            }
            remedies.push(remedy);
        }
    }
    let mut is_complete = true;
    for program in &PROGRAMS {
        let was_missing = missing.iter().any(|other| other.name == program.name);
        let is_there = is_on_path(program.name);
        println!("{}", line(program, was_missing, is_there));
        is_complete &= is_there || program.is_optional;
    }
    for remedy in remedies {
        println!("   {remedy}");
    }
    for (component, command) in COMPONENTS {
        let is_there = || runs(cargo().arg(command));
        let verdict = if is_there() {
            "there already"
        } else {
            let added = run_or_tell("rustup", &["component", "add", component]);
            if let Err(line) = &added {
                println!("   {line}");
            }
            let is_there = added.is_ok() && is_there();
            is_complete &= is_there;
            if is_there { "installed" } else { "MISSING" }
        };
        println!("   {component}: {verdict}");
    }
    is_complete
}

fn line(program: &Program, was_missing: bool, is_there: bool) -> String {
    let Program {
        name,
        packages,
        is_optional,
    } = program;
    let packages = packages.join(", ");
    match (was_missing, is_there, is_optional) {
        (false, ..) => format!("   {name}: there already"),
        (true, true, _) => format!("   {name}: installed ({packages})"),
        (true, false, true) => format!("   {name}: missing; the tests that run it are skipped"),
        (true, false, false) => format!("   {name}: MISSING; install {packages}"),
    }
}

/// Installs the libraries and the compiler that the peers of the benchmark need. If one cannot be
/// installed, that is printed: the benchmark names its peer and measures the others.
pub fn provide_peers() {
    // It lists what the dynamic linker finds, wherever the file lies.
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

/// Installs strace if it is missing; if it cannot be installed, that is printed.
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

/// Installs Debian packages. The error is the command that a person has to run.
pub fn install_packages(packages: &[&str]) -> Result<(), String> {
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
        _ => Err(format!("this command failed: {line}")),
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

/// Whether a program is in a folder of `PATH`. `mkfs.xfs` and others know no `--version`, and some do something without
/// any word.
pub fn is_on_path(program: &str) -> bool {
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
    fn each_program_has_a_line_that_says_whether_it_is_there_and_what_its_lack_means() {
        let cc = required("cc", &["gcc", "libc6-dev"]);
        let strace = optional("strace", &["strace"]);
        assert_eq!(line(&cc, false, true), "   cc: there already");
        assert_eq!(line(&cc, true, true), "   cc: installed (gcc, libc6-dev)");
        assert_eq!(
            line(&cc, true, false),
            "   cc: MISSING; install gcc, libc6-dev"
        );
        assert_eq!(
            line(&strace, true, false),
            "   strace: missing; the tests that run it are skipped"
        );
    }

    #[test]
    fn libraries_that_the_linker_does_not_find_are_to_be_installed() {
        let listed = "2 libs found\n\tlibuv.so.1 (libc6,x86-64) => /lib/libuv.so.1\n";
        assert_eq!(missing_libraries(listed), ["libevent-dev", "liburing-dev"]);
        assert_eq!(missing_libraries("").len(), 3);
    }

    #[test]
    fn a_missing_program_is_noticed() {
        assert!(!runs(&mut Command::new("no-such-program-anywhere")));
        assert!(!is_on_path("no-such-program-anywhere"));
        assert!(is_on_path("ls"));
    }
}
