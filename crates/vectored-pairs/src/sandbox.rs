//! Builds the programs and makes what they read.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use fastrand::Rng;

use crate::{INPUT, Input, Language, OUTPUT, Pair, Version};

/// A directory with the programs of C and what is read and written; gone with the value.
#[derive(Debug)]
pub struct Workshop {
    /// Where the binaries of this package are.
    binaries: PathBuf,
    directory: PathBuf,
}

impl Workshop {
    /// A new directory in `parent`. `binary` is any of this package's: the others are beside it.
    ///
    /// # Errors
    ///
    /// Those of making the directory.
    pub fn open(parent: &Path, binary: &Path) -> Result<Workshop> {
        let number = Rng::new().u32(..);
        let directory = parent.join(format!("vectored-pairs-{}-{number}", std::process::id()));
        fs::create_dir(&directory)
            .with_context(|| format!("cannot make '{}'", directory.display()))?;
        let binaries = binary.parent().context("a binary is in a folder")?;
        Ok(Workshop {
            binaries: binaries.to_owned(),
            directory,
        })
    }

    /// Where programs read and write.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The program of a pair, built if it must be.
    ///
    /// # Errors
    ///
    /// When the C compiler is missing or refuses it.
    pub fn build(&self, pair: &Pair) -> Result<PathBuf> {
        if pair.language == Language::Rust {
            return Ok(self.binaries.join(pair.name));
        }
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("c");
        let program = self.directory.join(pair.name);
        let status = Command::new("cc")
            .args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"])
            .arg(&program)
            .arg(sources.join(pair.name).with_extension("c"))
            .status()
            .context("cannot run cc: install a C compiler")?;
        match status.success() {
            true => Ok(program),
            false => bail!("cc refused {}: {status}", pair.name),
        }
    }

    /// Makes what a pair finds when it is to do so much. Before each run, since that may change it.
    ///
    /// # Errors
    ///
    /// Those of writing it.
    pub fn prepare(&self, pair: &Pair, count: u64) -> Result<()> {
        let mut rng = Rng::with_seed(1);
        if self.directory.join(INPUT).exists() {
            fs::remove_file(self.directory.join(INPUT))?;
        }
        let bytes = match pair.input {
            Input::None => return Ok(()),
            Input::Store(bytes) => return self.prepare_store(bytes),
            Input::Bytes(bytes) => (0..bytes).map(|_| rng.u8(..)).collect(),
            Input::Records => records(&mut rng, count),
        };
        fs::write(self.directory.join(INPUT), bytes).context("cannot write what is to be read")
    }

    /// A file as a store has it that was filled page by page.
    fn prepare_store(&self, bytes: usize) -> Result<()> {
        let mut file = File::create(self.directory.join(OUTPUT))?;
        for _ in 0..bytes / 4096 {
            file.write_all(&[0; 4096])?;
        }
        Ok(())
    }

    /// A program's call.
    pub fn command(&self, program: &Path, version: Version, count: u64) -> Command {
        let mut command = Command::new(program);
        command
            .arg(version.name())
            .arg(&self.directory)
            .arg(count.to_string())
            .stdin(Stdio::null());
        command
    }

    /// What a program wrote; it is removed.
    ///
    /// # Errors
    ///
    /// When there is nothing.
    pub fn take_output(&self) -> Result<Vec<u8>> {
        let path = self.directory.join(OUTPUT);
        let bytes = fs::read(&path).context("a program wrote nothing")?;
        fs::remove_file(path)?;
        Ok(bytes)
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // What is left then lies in a directory for temporary files.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn records(rng: &mut Rng, count: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..count {
        let length = rng.u8(1..=16);
        bytes.extend([rng.u8(..4), length]);
        bytes.extend((0..length).map(|_| rng.u8(..)));
    }
    bytes
}
