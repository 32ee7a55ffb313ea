//! Compiles and runs the plain C loops, and reads their output.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use vectored_results::model::{Target, Workload};

use super::Medians;
use crate::commands::{answer, run, target_folder};

/// One run of the C loops.
pub struct Request<'a> {
    pub target: Target,
    pub workload: &'a Workload,
    pub milliseconds: u64,
    /// The CPUs of the measuring thread and of the reading thread.
    pub cpus: [usize; 2],
    pub directory: &'a Path,
    pub seed: u64,
}

/// Medians of one run of the program that was compiled of `plain_loops.c`.
pub fn measure(program: &Path, request: &Request<'_>) -> Result<Medians> {
    let runs = request.workload.runs();
    let sizes: Vec<String> = runs
        .iter()
        .map(|(count, bytes)| format!("{count}x{bytes}"))
        .collect();
    let [cpu, reader_cpu] = request.cpus.map(|cpu| cpu.to_string());
    let mut command = Command::new(program);
    command.args([
        request.target.name(),
        &sizes.join(","),
        &request.milliseconds.to_string(),
    ]);
    command.args([cpu, reader_cpu]).arg(request.directory);
    let printed = answer(command.arg(request.seed.to_string()))?;
    parse(&printed).with_context(|| format!("the C loops printed '{printed}'"))
}

/// Compiles a program of `xtask/ruler` into the target folder.
pub fn compile(name: &str) -> Result<PathBuf> {
    let program = target_folder().join(name);
    std::fs::create_dir_all(target_folder()).context("cannot make the target folder")?;
    let mut compile = Command::new("cc");
    compile.args("-std=c11 -O2 -Wall -Wextra -Werror -pthread -o".split(' '));
    run(compile.arg(&program).arg(format!("xtask/ruler/{name}.c")))?;
    Ok(program)
}

/// Parses lines of a name, a median in ns and a number of samples.
fn parse(printed: &str) -> Option<Medians> {
    let line = |line: &str| {
        let (name, rest) = line.split_once(' ')?;
        let (median_ns, samples) = rest.split_once(' ')?;
        let _: u32 = samples.parse().ok()?;
        Some((name.to_owned(), median_ns.parse().ok()?))
    };
    printed.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;
    use crate::ruler::{TARGETS, workloads};

    #[test]
    fn the_c_loops_compile_and_run_on_every_target_and_workload() {
        let program = compile("plain_loops").unwrap();
        let cpus = vectored_machine::host::allowed_cpus();
        for target in TARGETS {
            for workload in &workloads() {
                let request = Request {
                    target,
                    workload,
                    milliseconds: 0,
                    cpus: [cpus.first(), cpus.last()].map(|cpu| cpu.copied().unwrap_or(0)),
                    directory: root(),
                    seed: 1,
                };
                assert!(!measure(&program, &request).unwrap().is_empty());
            }
        }
    }
}
