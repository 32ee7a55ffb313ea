//! `cargo xtask instructions`: counts the instructions for copying a short segment, and for a call from C.
//!
//! Callgrind counts, so the figures depend on no clock and on no other program: with the same
//! compiler and C library they are the same every time. Callgrind does not run AVX-512, so that is not counted.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::commands::{cargo_words, is_on_path, run as run_command, target_folder};
use crate::skips::{missing, skip};
use crate::{packages, root};

const SEGMENTS: usize = 64;
const SIZES: [usize; 4] = [8, 24, 50, 200];
/// Names of `crates/vectored/benches/copy.rs`. The others are compared with the first.
const TECHNIQUES: [&str; 3] = ["memcpy", "sse2", "Gather"];
/// Up to this size the library's own copy loops must take no more instructions than `memcpy`.
const MAX_BYTES: usize = 50;
/// The bench's exit status if the processor lacks the instructions of a technique.
const NOT_HERE: i32 = 3;

/// Lists that C and Rust write to `/dev/null`: segments, and bytes of each.
const LISTS_OF_C: [(usize, usize); 6] =
    [(1, 24), (4, 24), (4, 4000), (16, 200), (64, 24), (64, 4000)];
/// Techniques of `crates/vectored-capi/benches/calls.c`.
const TECHNIQUES_OF_C: [&str; 3] = ["gather", "writev", "fwrite"];
/// A call of `vectored_gather_write_all` may take this many instructions more than `Gather::write_all`.
const MAX_MORE_IN_C: i64 = 60;

/// Prints the counts; fails if a copy takes more than `memcpy`, or a call of C too many more than one of Rust.
pub fn run() -> Result<()> {
    if !cfg!(target_arch = "x86_64") {
        return skip("instructions", "the techniques are those of x86-64");
    }
    if !is_on_path("valgrind") {
        let why = "valgrind is missing; on Debian: apt-get install valgrind";
        return missing("instructions", why);
    }
    let build = "bench --package vectored --bench copy --no-run --locked";
    let bench = packages::build(build)?;
    println!("{}", heading());
    print!("   {:>6}", "bytes");
    for technique in TECHNIQUES {
        print!(" {technique:>8}");
    }
    println!();
    let mut is_well = true;
    for bytes in SIZES {
        print!("   {bytes:>6}");
        let mut memcpy = None;
        for technique in TECHNIQUES {
            let figure = instructions(&bench, technique, (bytes, SEGMENTS))?;
            let figure = figure.map(|figure| figure / SEGMENTS as f64);
            match figure {
                Some(figure) => print!(" {figure:>8.1}"),
                None => print!(" {:>8}", "–"),
            }
            let memcpy = *memcpy.get_or_insert(figure);
            let is_copier = technique != "Gather";
            is_well &= !is_copier || bytes > MAX_BYTES || figure <= memcpy;
        }
        println!();
    }
    if !is_well {
        println!("   up to {MAX_BYTES} bytes a copy takes more instructions than memcpy");
    }
    ensure!(calls_of_c(&bench)? && is_well, "too many instructions");
    Ok(())
}

/// Prints the instructions of a call from C and from Rust; false if C takes too many more.
fn calls_of_c(bench: &Path) -> Result<bool> {
    let mut is_well = true;
    let program = compile_calls()?;
    println!("   instructions per call to /dev/null, with the C library and its static linkage");
    print!("   {:>9} {:>6} {:>11}", "segments", "bytes", "Gather");
    for technique in TECHNIQUES_OF_C {
        print!(" {:>11}", format!("C: {technique}"));
    }
    println!();
    for (segments, bytes) in LISTS_OF_C {
        let call = |program: &Path, technique: &str| -> Result<i64> {
            let figure = instructions(program, technique, (bytes, segments))?;
            Ok(figure.with_context(|| format!("no technique '{technique}'"))? as i64)
        };
        let rust = call(bench, "Gather")?;
        print!("   {segments:>9} {bytes:>6} {rust:>11}");
        for technique in TECHNIQUES_OF_C {
            let figure = call(&program, technique)?;
            print!(" {figure:>11}");
            is_well &= technique != "gather" || figure <= rust + MAX_MORE_IN_C;
        }
        println!();
    }
    if !is_well {
        let more = format!("{MAX_MORE_IN_C} instructions more than one from Rust");
        println!("   a call from C takes more than {more}");
    }
    Ok(is_well)
}

/// Compiles `calls.c` with the static library.
fn compile_calls() -> Result<PathBuf> {
    let words = "build --quiet --release --package vectored-capi --lib --locked";
    run_command(&mut cargo_words(words))?;
    let release = target_folder().join("release");
    let [program, library] = ["calls", "libvectored_capi.a"].map(|name| release.join(name));
    let mut compile = Command::new("cc");
    compile
        .args("-std=c11 -O2 -Icrates/vectored-capi/include -o".split(' '))
        .arg(&program);
    compile
        .arg("crates/vectored-capi/benches/calls.c")
        .arg(library);
    run_command(compile.args("-lutil -lrt -lpthread -lm -ldl".split(' ')))?;
    Ok(program)
}

/// The unit of the figures, and when the command fails.
fn heading() -> String {
    let [memcpy, copiers @ .., _] = &TECHNIQUES;
    let copiers = copiers.join(", ");
    format!(
        "   instructions per segment, in lists of {SEGMENTS}, in the program itself\n   \
         fails if, up to {MAX_BYTES} bytes, {copiers} takes more than {memcpy}; the other figures \
         are for information"
    )
}

/// Instructions of a call. Two counts are subtracted, so that the start of the program does not count. `None` if the processor
/// lacks the instructions of the technique.
fn instructions(program: &Path, technique: &str, list: (usize, usize)) -> Result<Option<f64>> {
    let (few, many) = (100, 300);
    let counted = |calls| count(program, technique, list, calls);
    let counts = counted(few)?.zip(counted(many)?);
    Ok(counts.map(|(at_few, at_many)| (at_many as f64 - at_few as f64) / (many - few) as f64))
}

fn count(
    program: &Path,
    technique: &str,
    (bytes, segments): (usize, usize),
    calls: usize,
) -> Result<Option<u64>> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(program).args(["--instructions", technique]);
    command.args([bytes, segments, calls].map(|number| number.to_string()));
    let output = command
        .current_dir(root())
        .output()
        .context("cannot run valgrind")?;
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(NOT_HERE) {
        return Ok(None);
    }
    ensure!(
        output.status.success(),
        "valgrind failed: {}",
        text.trim_end()
    );
    let found = collected(&text);
    let missing = || format!("no line `Collected :` in the output of valgrind: {text}");
    found.with_context(missing).map(Some)
}

/// The number of instructions in the last lines of callgrind.
fn collected(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    line.split(':').nth(1)?.trim().parse().ok()
}
