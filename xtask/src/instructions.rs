//! `cargo xtask instructions`: counts the instructions for copying a short segment, and for a call from C.
//!
//! Callgrind counts, so the figures depend on no clock and on no other program: with the same compiler and C library they are
//! the same every time. Callgrind does not run AVX-512, so AVX-512 is not counted.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::commands::{cargo_words, is_on_path, run as run_command, target_folder};
use crate::skips::{missing, skip};
use crate::{packages, root};

const SEGMENTS: usize = 64;
const SIZES: [usize; 4] = [8, 24, 50, 200];
/// Names of techniques in `crates/vectored/benches/copy.rs`. The other techniques are compared with the first.
const TECHNIQUES: [&str; 3] = ["memcpy", "sse2", "Gather"];
/// Up to this size the library's own copy loops must take no more instructions than `memcpy`.
const MAX_BYTES: usize = 50;
/// The bench's exit status if the processor lacks the instructions of a technique.
const NOT_HERE: i32 = 3;

/// Lists that C (`crates/vectored-capi/benches/calls.c`) and Rust write to `/dev/null`: segments, and bytes of each.
const LISTS_OF_C: [(usize, usize); 6] =
    [(1, 24), (4, 24), (4, 4000), (16, 200), (64, 24), (64, 4000)];
/// A call of `vectored_gather_write_all` may take this many instructions more than `Gather::write_all`.
const MAX_MORE_IN_C: i64 = 60;

/// Prints the counts. Fails if a copy takes more instructions than `memcpy`, or if a call from C takes too many more than a
/// call from Rust.
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
    println!("   instructions per segment, in lists of {SEGMENTS}, in the program itself");
    row("bytes", &TECHNIQUES);
    let mut is_well = true;
    for bytes in SIZES {
        let mut figures = Vec::new();
        for technique in TECHNIQUES {
            let figure = instructions(&bench, technique, (bytes, SEGMENTS))?;
            figures.push(figure.map(|figure| figure / SEGMENTS as f64));
        }
        let text =
            |figure: &Option<f64>| figure.map_or("–".to_owned(), |one| format!("{one:.1}"));
        row(
            &bytes.to_string(),
            &figures.iter().map(text).collect::<Vec<_>>(),
        );
        let is_more = |figure: &Option<f64>| *figure > figures[0];
        is_well &= bytes > MAX_BYTES || !figures[..2].iter().any(is_more);
    }
    ensure!(
        is_well,
        "up to {MAX_BYTES} bytes a copy takes more instructions than memcpy"
    );
    calls_of_c(&bench)
}

fn row(first: &str, others: &[impl std::fmt::Display]) {
    let others: String = others.iter().map(|one| format!(" {one:>11}")).collect();
    println!("   {first:>16}{others}");
}

/// Prints the instructions of a call from C and from Rust; fails if C takes too many more.
fn calls_of_c(bench: &Path) -> Result<()> {
    let program = compile_calls()?;
    println!("   instructions per call to /dev/null, with the C library and its static linkage");
    row(
        "segments × bytes",
        &["Gather", "C: gather", "C: writev", "C: fwrite"],
    );
    let mut is_well = true;
    for (segments, bytes) in LISTS_OF_C {
        let call = |program: &Path, technique: &str| -> Result<i64> {
            let figure = instructions(program, technique, (bytes, segments))?;
            Ok(figure.with_context(|| format!("no technique '{technique}'"))? as i64)
        };
        let rust = call(bench, "Gather")?;
        let of_c = ["gather", "writev", "fwrite"].map(|technique| call(&program, technique));
        let of_c = of_c.into_iter().collect::<Result<Vec<_>>>()?;
        row(
            &format!("{segments} × {bytes}"),
            &[&[rust], &*of_c].concat(),
        );
        is_well &= of_c[0] <= rust + MAX_MORE_IN_C;
    }
    ensure!(
        is_well,
        "a call from C takes more than {MAX_MORE_IN_C} instructions more than one from Rust"
    );
    Ok(())
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
    let line = text.lines().find(|line| line.contains("Collected :"));
    let found = line.and_then(|line| line.split(':').nth(1)?.trim().parse().ok());
    let missing = || format!("no line `Collected :` in the output of valgrind: {text}");
    found.with_context(missing).map(Some)
}
