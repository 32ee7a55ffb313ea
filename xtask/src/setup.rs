//! `cargo xtask setup`: the programs that the tests need, and how to get those that are missing.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::commands::{cargo, is_on_path, run as run_command, target_folder, works};
use crate::skips::in_ci;

/// A program a line, and the Debian packages that bring the program. Every test run needs the first program. If another program
/// is missing, the tests that need this program are skipped, and say so. The package `libclang-rt-dev` has the sanitizers of
/// clang++; libclang reads the headers of MPI.
const PROGRAMS: &str = "\
cc gcc libc6-dev
mkfs.ext4 e2fsprogs
mkfs.xfs xfsprogs
mkfs.btrfs btrfs-progs
strace strace
pgrep procps
valgrind valgrind
g++ g++
clang++ clang libclang-rt-dev
clang-14 clang-14
llvm-strip-14 llvm-14
pkg-config pkg-config
cmake cmake make
fish fish
zsh zsh
man man-db
python3 python3 python3-venv
debootstrap debootstrap
dpkg-gencontrol dpkg-dev
lintian lintian
busybox busybox-static
aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu libc6-dev-arm64-cross
s390x-linux-gnu-gcc gcc-s390x-linux-gnu libc6-dev-s390x-cross
i686-linux-gnu-gcc gcc-i686-linux-gnu libc6-dev-i386-cross
qemu-aarch64 qemu-user
x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64-win32
wine wine wine64
mpicc.openmpi openmpi-bin libopenmpi-dev libclang-dev
slurmd slurm-wlm
munged munge
musl-gcc musl-tools
go golang-go
/usr/share/gocode/src/golang.org/x/net/ipv4/doc.go golang-golang-x-net-dev golang-golang-x-sys-dev
javac default-jdk-headless
node nodejs
mawk mawk
gawk gawk
tclsh tcl
ruby ruby
php php-cli
lua5.4 lua5.4
/usr/share/lua/5.4/socket.lua lua-socket
escript erlang-base
nim nim
sbcl sbcl
guile guile-3.0
gfortran gfortran
ldc2 ldc
fpc fp-compiler
ocaml ocaml-nox
Rscript r-base-core
jq jq
tcpdump tcpdump
nginx nginx-light";

/// The longest wait for the locks of another apt-get.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// Installs the programs that are missing, and prints those that cannot be installed. Fails if a program that the tests need
/// could not be installed. In the continuous integration the tests need all programs, since no test may be skipped there for
/// want of a program.
pub fn run() -> Result<()> {
    // A Python of Debian may lack the modules that make environments.
    let is_there = |name: &str| match name {
        "python3" => works(Command::new(name).args(["-c", "import venv, ensurepip"])),
        _ => is_on_path(name),
    };
    let programs = || PROGRAMS.lines().filter_map(|line| line.split_once(' '));
    let missing = || programs().filter(|(name, _)| !is_there(name));
    let packages: Vec<&str> = missing().map(|(_, packages)| packages).collect();
    let until = Instant::now() + PATIENCE;
    let together = install_packages(&packages.join(" "), until);
    let mut remedies: Vec<_> = together.err().into_iter().collect();
    if !remedies.is_empty() {
        // Not every system has every package, and apt-get installs all or none.
        let one_by_one = packages
            .iter()
            .map(|packages| install_packages(packages, until));
        remedies.extend(one_by_one.filter_map(Result::err));
    }
    let mut needed = Vec::new();
    for (name, packages) in missing() {
        println!("   {name} ({packages}): MISSING: what needs it cannot run");
        if in_ci() || PROGRAMS.starts_with(name) {
            needed.push(name);
        }
    }
    for remedy in remedies {
        println!("   {remedy:#}");
    }
    for (component, command) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        let is_there = || works(cargo().args([command, "--version"]));
        let add = || run_command(Command::new("rustup").args(["component", "add", component]));
        if !is_there() && (add().is_err() || !is_there()) {
            needed.push(component);
        }
    }
    ensure!(needed.is_empty(), "missing: {}", needed.join(", "));
    Ok(())
}

/// Installs Debian packages, given as names with spaces between them. Waits until `until` for the locks of another apt-get.
/// The error names the command that a person has to run.
pub fn install_packages(packages: &str, until: Instant) -> Result<()> {
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
        // Some packages ask a question otherwise, and wait for the answer.
        command.env("DEBIAN_FRONTEND", "noninteractive");
        wait_for_locks(&mut command, until).context("cannot install packages")?;
    }
    Ok(())
}

/// Runs apt-get, and runs it again as long as another process holds a lock: `DPkg::Lock::Timeout` waits only for the lock of
/// dpkg, not for the locks of the lists and of the archives.
fn wait_for_locks(command: &mut Command, until: Instant) -> Result<()> {
    let path = target_folder().join("apt-errors");
    loop {
        command.stderr(File::create(&path)?);
        let outcome = run_command(command);
        let errors = std::fs::read_to_string(&path)?;
        eprint!("{errors}");
        let lock = ["Could not get lock", "Unable to lock"];
        let is_locked = lock.iter().any(|text| errors.contains(text));
        if outcome.is_ok() || !is_locked || Instant::now() > until {
            return outcome;
        }
        thread::sleep(Duration::from_secs(5));
    }
}
