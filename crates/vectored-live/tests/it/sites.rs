//! The reported line of a call is right, or unknown.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use vectored_live::{Target, Watch};
use vectored_strace::event::{Action, Direction, Event};

use crate::planted::{C, CPP, Language, PYTHON, RUST, source};

/// Whether programs can be attached to this kernel. In CI this is required.
fn is_able() -> bool {
    let is_able =
        rustix::process::geteuid().is_root() && Path::new("/sys/kernel/btf/vmlinux").exists();
    assert!(
        is_able || std::env::var_os("CI").is_none(),
        "CI runs this as root on a kernel with BTF"
    );
    if !is_able {
        let thread = std::thread::current();
        let line = format!(
            "{}: needs root and a kernel with BTF\n",
            thread.name().unwrap()
        );
        eprint!("{line}");
        if let Some(list) = std::env::var_os("VECTORED_SKIPS") {
            let list = fs::File::options().append(true).create(true).open(list);
            list.unwrap().write_all(line.as_bytes()).unwrap();
        }
    }
    is_able
}

/// Counts of calls, by the bytes that a call wrote and by its site.
type Sites = BTreeMap<u64, BTreeMap<Option<String>, u64>>;

fn sites_of(mut command: Command) -> Sites {
    let mut sites = Sites::new();
    let mut follow = |event: &Event<'_>| {
        if let Action::Transfer(transfer) = &event.action
            && transfer.direction == Direction::Write
            && let Ok(bytes) = transfer.result
        {
            let site = event
                .site
                .map(|site| String::from_utf8_lossy(site).into_owned());
            *sites.entry(bytes).or_default().entry(site).or_default() += 1;
        }
    };
    command.stdin(std::process::Stdio::null());
    let mut watch = Watch::start(Target::Command(&mut command), &mut follow).unwrap();
    while !watch.next(&mut follow).is_over {}
    let seen = watch.finish(&mut follow);
    assert_eq!(seen.lost, 0);
    sites
}

/// The share of the sites that were named, in %. Each name has to be right: a line, a function or an address. A site may have
/// no name.
fn check(sites: &Sites, lines: &BTreeMap<u64, Vec<usize>>, path: &str, has: &str) -> usize {
    let mut named = 0;
    for (bytes, lines) in lines {
        let number = bytes - 100;
        let names: Vec<&String> = sites[bytes].keys().flatten().collect();
        for name in &names {
            let is_its = name.contains(&format!("_{number}"));
            let place = name.split(" (").next().unwrap_or_default();
            let is_line = |line: &usize| place.ends_with(&format!(" at {path}:{line}"));
            let is_right = match has {
                "lines" => is_its && lines.iter().any(is_line),
                "functions" => is_its && !name.contains(" at "),
                "addresses" => name.contains("+0x"),
                _ => false,
            };
            let place = format!("{path}:{lines:?}");
            assert!(
                is_right,
                "{bytes} bytes are written at {place}, not at {name:?}"
            );
        }
        named += usize::from(!names.is_empty());
    }
    named * 100 / lines.len()
}

/// Whether at least this share of the sites is named in one of three runs: on a busy machine, all samples of a site may be read
/// too late. No run may name a wrong line.
fn names(
    command: impl Fn() -> Command,
    lines: &BTreeMap<u64, Vec<usize>>,
    path: &str,
    has: &str,
    least: usize,
) -> bool {
    (0..3).any(|_| {
        let share = check(&sites_of(command()), lines, path, has);
        println!("{share} % of the sites have a name");
        share >= least
    })
}

/// Builds the program in each way. A way has three parts: how a site is named, the least share of named sites in %, and
/// compiler options. If a program makes few loops, it has ended before its process can be read.
fn check_ways(language: &Language, file: &str, compiler: &str, ways: &str) {
    if !is_able() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (text, lines) = source(language);
    let path = folder.path().join(file);
    fs::write(&path, text).unwrap();
    for way in ways.lines() {
        let mut words = way.split(' ');
        let (has, least) = (words.next().unwrap(), words.next().unwrap());
        let program = folder.path().join("program");
        let mut built = Command::new(compiler);
        built.args(words).arg("-o").arg(&program).arg(&path);
        let built = built.output().unwrap();
        assert!(
            built.status.success(),
            "{}",
            String::from_utf8_lossy(&built.stderr)
        );
        let command = || {
            let mut command = Command::new(&program);
            command.arg(folder.path().join("output"));
            command
        };
        let least = least.parse().unwrap();
        let is_enough = names(command, &lines, path.to_str().unwrap(), has, least);
        assert!(is_enough, "{compiler} {way}");
    }
}

#[test]
fn lines_of_c_are_right_or_unknown() {
    let ways = "\
lines 100 -O0 -g
lines 75 -O2 -g
lines 75 -O2 -g -fno-omit-frame-pointer
lines 75 -O2 -g -no-pie
lines 75 -O2 -g -fno-plt
lines 75 -O2 -g -DLOOPS=3
lines 75 -O2 -g -static
lines 0 -O2 -g -fno-asynchronous-unwind-tables
functions 75 -O2
functions 75 -O2 -static
addresses 75 -O2 -s
nothing 0 -O2 -static -s
nothing 0 -O2 -static-pie -s";
    check_ways(&C, "planted.c", "gcc", ways);
}

#[test]
fn lines_of_cpp_are_right_or_unknown() {
    let ways = "\
lines 90 -O0 -g
lines 90 -O2 -g
lines 90 -O2 -g -static
functions 90 -O2
addresses 90 -O2 -s
nothing 0 -O2 -s -static-libstdc++";
    check_ways(&CPP, "planted.cc", "g++", ways);
}

#[test]
fn lines_of_rust_are_right_or_unknown() {
    let ways = "\
lines 75 -Awarnings -g
lines 90 -Awarnings -O -g
lines 90 -Awarnings -O -g -Cforce-frame-pointers=yes
lines 90 -Awarnings -O -g -Csymbol-mangling-version=v0
functions 90 -Awarnings -O
nothing 0 -Awarnings -O -Cstrip=symbols";
    check_ways(&RUST, "planted.rs", "rustc", ways);
}

/// The interpreters of CPython 3.11 and later on this machine: on the path and in pyenv.
fn pythons() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").unwrap_or_default();
    let installed = fs::read_dir(Path::new(&home).join(".pyenv/versions"));
    let of_pyenv = installed
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin/python3"));
    let all = of_pyenv.chain(["/usr/bin/python3".into(), "python3".into()]);
    let is_known = |path: &PathBuf| {
        let check =
            "import sys; sys.exit(sys.version_info < (3, 11) or sys.version_info >= (3, 15))";
        Command::new(path)
            .args(["-c", check])
            .status()
            .is_ok_and(|status| status.success())
    };
    all.filter(is_known).collect()
}

#[test]
fn lines_of_python_are_right() {
    if !is_able() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (text, lines) = source(&PYTHON);
    let path = folder.path().join("planted.py");
    fs::write(&path, text).unwrap();
    let mut all = pythons();
    assert!(!all.is_empty(), "no CPython of 3.11 to 3.14 is here");
    let environment = folder.path().join("environment");
    let made = Command::new(&all[0])
        .args(["-m", "venv", "--without-pip"])
        .arg(&environment)
        .status()
        .unwrap();
    assert!(made.success());
    all.push(environment.join("bin/python"));
    for python in all {
        let command = || {
            let mut command = Command::new(&python);
            command.arg(&path).arg(folder.path().join("output"));
            command
        };
        let is_enough = names(command, &lines, path.to_str().unwrap(), "lines", 100);
        assert!(is_enough, "{}", python.display());
    }
}

#[test]
fn programs_that_another_thread_starts_are_not_watched() {
    if !is_able() {
        return;
    }
    let began = Instant::now();
    let is_over = AtomicBool::new(false);
    let other = || {
        while !is_over.load(Relaxed) && began.elapsed().as_secs() < 10 {
            let other = ["-c", "printf %0777d 0 > /dev/null"];
            assert!(Command::new("sh").args(other).status().unwrap().success());
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(other);
        for _ in 0..10 {
            let sites = sites_of(Command::new("true"));
            assert!(!sites.contains_key(&777), "{sites:?}");
        }
        is_over.store(true, Relaxed);
    });
}
