//! Compiles and runs the plain C loops, and reads their output.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use vectored_results::model::{Target, Workload};

use super::Medians;
use crate::commands::{answer, run};
use crate::packages::metadata;

/// The compiled program.
pub struct PlainLoops {
    program: PathBuf,
}

/// One run of it.
pub struct Request<'a> {
    pub target: Target,
    pub workload: &'a Workload,
    pub milliseconds: u64,
    pub cpu: usize,
    pub reader_cpu: usize,
    pub directory: &'a Path,
    pub seed: u64,
}

impl PlainLoops {
    /// Compiles `xtask/ruler/plain_loops.c` into the target folder.
    pub fn compile() -> Result<Self> {
        compile("plain_loops").map(|program| PlainLoops { program })
    }

    /// Medians of one run.
    pub fn measure(&self, request: &Request<'_>) -> Result<Medians> {
        let printed = answer(&mut self.command(request))?;
        parse(&printed).with_context(|| format!("the C loops printed '{printed}'"))
    }

    fn command(&self, request: &Request<'_>) -> Command {
        let runs = request.workload.runs();
        let sizes: Vec<String> = runs
            .iter()
            .map(|(count, bytes)| format!("{count}x{bytes}"))
            .collect();
        let mut command = Command::new(&self.program);
        command
            .args([request.target.name(), &sizes.join(",")])
            .arg(request.milliseconds.to_string())
            .arg(request.cpu.to_string())
            .arg(request.reader_cpu.to_string())
            .arg(request.directory)
            .arg(request.seed.to_string());
        command
    }
}

/// Compiles a program of `xtask/ruler` into the target folder.
pub fn compile(name: &str) -> Result<PathBuf> {
    let metadata = metadata()?;
    let target = metadata["target_directory"].as_str();
    let folder = Path::new(target.context("cargo metadata names no target folder")?);
    std::fs::create_dir_all(folder).context("cannot make the target folder")?;
    let program = folder.join(name);
    let mut compile = Command::new("cc");
    compile
        .args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"])
        .arg("-o")
        .arg(&program)
        .arg(format!("xtask/ruler/{name}.c"));
    run(&mut compile)?;
    Ok(program)
}

/// Lines of name, median in ns, and number of samples.
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
    use vectored_machine::host::allowed_cpus;

    use super::*;
    use crate::root;
    use crate::ruler::{TARGETS, workloads};

    #[test]
    fn the_c_loops_compile_and_run_on_every_target_and_workload() {
        let loops = PlainLoops::compile().unwrap();
        let cpus = allowed_cpus();
        for target in TARGETS {
            for workload in &workloads() {
                let request = Request {
                    target,
                    workload,
                    milliseconds: 0,
                    cpu: cpus.first().copied().unwrap_or(0),
                    reader_cpu: cpus.last().copied().unwrap_or(0),
                    directory: root(),
                    seed: 1,
                };
                assert!(!loops.measure(&request).unwrap().is_empty());
            }
        }
    }

    #[test]
    fn lines_are_read_and_others_refused() {
        let medians = parse("floor 197.65 437\nwritev 2932.17 44\n").unwrap();
        assert_eq!(medians["floor"], 197.65);
        assert_eq!(medians["writev"], 2932.17);
        assert_eq!(parse("floor 197.65\n"), None);
        assert_eq!(parse("floor fast 3\n"), None);
    }
}
