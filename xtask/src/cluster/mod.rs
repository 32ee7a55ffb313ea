//! `cargo xtask cluster`: `vectored` with the feature `mpi`, as ranks of Open MPI, of MPICH and of Slurm on one node.

mod checks;
mod slurm;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::commands::{cargo_words, is_on_path, run as run_command};
use crate::root;
use crate::scratch::Scratch;
use crate::skips::skip;

/// The folder of what is built with another MPI than [`OPEN_MPI`], within `target`.
const FOLDER: &str = "target/cluster";

/// An MPI: the programs of Debian that start ranks and compile, which stand beside those of others.
struct Mpi {
    name: &'static str,
    mpirun: &'static [&'static str],
    mpicc: &'static str,
    package: &'static str,
    /// The interface of `srun` that it speaks.
    srun: &'static str,
}

const OPEN_MPI: Mpi = Mpi {
    name: "Open MPI",
    // The tests may run as root, and on a machine with fewer CPUs than ranks.
    mpirun: &["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"],
    mpicc: "mpicc.openmpi",
    package: "openmpi-bin libopenmpi-dev libclang-dev",
    srun: "pmix",
};

const MPICH: Mpi = Mpi {
    name: "MPICH",
    mpirun: &["mpirun.mpich"],
    mpicc: "mpicc.mpich",
    package: "mpich libmpich-dev libclang-dev",
    srun: "pmi2",
};

/// Options of the command.
#[derive(Default, clap::Args)]
pub struct Options {
    /// Tests with MPICH too, which takes a build of its own
    #[arg(long)]
    mpich: bool,
}

/// Tests; false if a check failed.
pub fn run(options: &Options) -> Result<bool> {
    let scratch = Scratch::new("cluster")?;
    let mut passed = true;
    for (mpi, is_wanted) in [(&OPEN_MPI, true), (&MPICH, options.mpich)] {
        if is_wanted && mpi.is_here()? {
            let program = mpi.build()?;
            passed &= checks::all(mpi, &program, &scratch)?;
            passed &= slurm::check(mpi, &program, &scratch)?;
        }
    }
    Ok(passed)
}

impl Mpi {
    fn is_here(&self) -> Result<bool> {
        let is_here = is_on_path(self.mpirun[0]) && is_on_path(self.mpicc);
        if !is_here {
            let why = format!(
                "{} is missing; on Debian: apt-get install {}",
                self.name, self.package
            );
            skip("cluster", &why)?;
        }
        Ok(is_here)
    }

    /// Builds the program, and returns the path of a copy: that of cargo is replaced by the next build, which may be one
    /// without MPI. The profile is that of releases, without assertions for debugging, and the folder that of all, so that what the
    /// Debian package has compiled is not compiled again. Another MPI has a folder of its own, as its header is compiled in.
    fn build(&self) -> Result<PathBuf> {
        let folder = root().join(FOLDER).join(self.mpicc);
        let target = if self.mpicc == OPEN_MPI.mpicc {
            root().join("target")
        } else {
            folder.clone()
        };
        let words = "build --quiet --locked --release --package vectored-cli --features mpi";
        let mut build = cargo_words(words);
        build.arg("--target-dir").arg(&target);
        run_command(build.env("MPICC", self.mpicc))?;
        let program = folder.join("vectored");
        let cannot = || format!("cannot copy the program to '{}'", program.display());
        fs::create_dir_all(&folder).with_context(cannot)?;
        // A rank of an earlier run may still execute it: it keeps the old file.
        if program.exists() {
            fs::remove_file(&program).with_context(cannot)?;
        }
        fs::copy(target.join("release/vectored"), &program).with_context(cannot)?;
        Ok(program)
    }

    /// `ranks` processes of a program.
    fn command(&self, ranks: u32, program: &Path) -> Command {
        let mut command = Command::new(self.mpirun[0]);
        command.args(&self.mpirun[1..]);
        command.args(["-n", &ranks.to_string()]).arg(program);
        command
    }
}
