//! The figures of docs/clusters.md: what coordination costs, and one rank beside a process without MPI.

use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::Mpi;
use super::checks::{saved, succeeded};
use crate::scratch::Scratch;

/// Prints what coordination costs by the number of ranks.
pub fn cost(mpi: &Mpi, program: &Path, scratch: &Scratch) -> Result<()> {
    println!("ranks  samples     median         p99");
    for ranks in [1_u32, 2, 4, 8, 16, 32, 64] {
        let state = scratch.folder(&format!("cost-{ranks}"))?;
        // One rank is measured as a part of two: alone it would be an ordinary run.
        let mut command = mpi.command(ranks.max(2), program);
        command.env("XDG_STATE_HOME", &state);
        let words =
            "measure --target null --segments 4 --sizes 64 --technique writev --budget 5s --ranks";
        command.args(words.split(' ')).arg(ranks.to_string());
        succeeded(&mut command)?;
        let result = saved(&state)?;
        let coordination = &result["coordination"];
        // Too few samples have no 99th percentile.
        let us = |value: &Value| match value.as_f64() {
            Some(ns) => format!("{:.1} µs", ns / 1e3),
            None => "-".to_owned(),
        };
        println!(
            "{ranks:>5}  {:>7}  {:>10}  {:>11}",
            coordination["samples"],
            us(&coordination["median_ns"]),
            us(&coordination["p99_ns"])
        );
    }
    Ok(())
}

/// How a process measures that is compared.
struct Kind {
    name: String,
    /// The place of the kind that it is compared with.
    beside: usize,
    command: Box<dyn Fn() -> Command>,
    /// The medians of the floor and of both techniques in each run, in ns.
    runs: Vec<[f64; 3]>,
}

/// The runs of each kind, in turns.
const TURNS: usize = 7;

/// Two threads that sleep from start to end.
const SLEEPERS: &str = "#include <pthread.h>\n#include <stddef.h>\n#include <unistd.h>\n\
    static void *asleep(void *none) { for (;;) pause(); return none; }\n\
    __attribute__((constructor)) static void start(void) {\n\
    pthread_t thread; for (int i = 0; i < 2; i++) pthread_create(&thread, NULL, asleep, NULL); }\n";

/// Prints the figures of one rank, of a process without MPI, and of one without MPI that has two more threads.
pub fn single_rank(mpis: &[(&'static Mpi, PathBuf)]) -> Result<()> {
    let scratch = Scratch::new("cluster")?;
    let state = scratch.folder("single")?;
    let source = state.join("sleepers.c");
    fs::write(&source, SLEEPERS).context("cannot write a source file")?;
    let library = state.join("sleepers.so");
    let mut compile = Command::new("cc");
    compile
        .args(["-shared", "-fPIC", "-pthread", "-o"])
        .arg(&library)
        .arg(&source);
    succeeded(&mut compile)?;

    if mpis.is_empty() {
        bail!("no MPI is here: cargo xtask setup");
    }
    let mut kinds = Vec::new();
    for (mpi, program) in mpis {
        let mpi = *mpi;
        // The same program, since where its code lies makes some per cent.
        let beside = kinds.len();
        let alone = |program: &Path| {
            let mut command = Command::new(program);
            command.args(["measure", "--pin", "0"]);
            command
        };
        let own = program.clone();
        let name = format!("{} not used", mpi.name);
        kinds.push(Kind::new(name, beside, move || alone(&own)));
        let (own, library) = (program.clone(), library.clone());
        let name = format!("{} not used, two threads asleep", mpi.name);
        kinds.push(Kind::new(name, beside, move || {
            let mut command = alone(&own);
            command.env("LD_PRELOAD", &library);
            command
        }));
        let own = program.clone();
        let name = format!("{}, one rank", mpi.name);
        kinds.push(Kind::new(name, beside, move || {
            let mut command = mpi.command(2, &own);
            command.args(["measure", "--ranks", "1"]);
            command
        }));
    }
    for turn in 0..TURNS {
        for (index, kind) in kinds.iter_mut().enumerate() {
            let state = scratch.folder(&format!("single/{turn}-{index}"))?;
            kind.run(&state)?;
        }
    }
    println!(
        "pipe, 4 x 64 B; smallest to largest of {TURNS} runs in turns, each / that of the same program without MPI:"
    );
    for kind in &kinds {
        let alone = &kinds[kind.beside].runs;
        let ratios = [0, 1, 2].map(|figure| {
            let (low, high) =
                range(iter::zip(&kind.runs, alone).map(|(own, alone)| own[figure] / alone[figure]));
            format!("{low:.2}-{high:.2}")
        });
        let [floor, copy, writev] = ratios;
        let (low, high) = range(kind.runs.iter().map(|run| run[0]));
        let (least, most) = range(kind.runs.iter().map(|run| run[2] / run[1]));
        println!(
            "{:<38} floor {low:.0}-{high:.0} ns = {floor}, copy-then-write {copy}, writev {writev}; writev / \
             copy-then-write {least:.3}-{most:.3}",
            kind.name
        );
    }
    Ok(())
}

fn range(figures: impl Iterator<Item = f64>) -> (f64, f64) {
    figures.fold((f64::INFINITY, 0.0), |(low, high), figure| {
        (low.min(figure), high.max(figure))
    })
}

impl Kind {
    fn new(name: String, beside: usize, command: impl Fn() -> Command + 'static) -> Self {
        Kind {
            name,
            beside,
            command: Box::new(command),
            runs: Vec::new(),
        }
    }

    fn run(&mut self, state: &Path) -> Result<()> {
        let mut command = (self.command)();
        let words =
            "--target pipe --segments 4 --sizes 64 --technique copy-then-write,writev --budget 4s";
        command.args(words.split(' ')).env("XDG_STATE_HOME", state);
        succeeded(&mut command)?;
        let result = saved(state)?;
        let cell = &result["cells"][0];
        let number = |value: &Value| value.as_f64().context("a figure is no number");
        let median = |name: &str| {
            let techniques = cell["techniques"].as_array();
            let technique = techniques.and_then(|all| all.iter().find(|one| one["name"] == name));
            number(&technique.with_context(|| format!("{name} is missing"))?["median_ns"])
        };
        let floor = number(&cell["floor_ns"])?;
        self.runs
            .push([floor, median("copy-then-write")?, median("writev")?]);
        Ok(())
    }
}
