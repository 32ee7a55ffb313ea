//! Builds the programs of the pairs and makes their input.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use fastrand::Rng;

use crate::catalogue::{Input, Language, Pair};
use crate::invocation::{INPUT, OUTPUT, Version};

/// A temporary directory with the compiled C programs, the input and the output. Dropping the value removes it.
#[derive(Debug)]
pub struct Sandbox {
    /// The directory of the binaries of this package.
    binaries: PathBuf,
    directory: PathBuf,
}

impl Sandbox {
    /// Makes the directory in `parent`. `binary` is any binary of this package; the others are in the same
    /// directory.
    ///
    /// # Errors
    ///
    /// If the directory cannot be made.
    pub fn open(parent: &Path, binary: &Path) -> Result<Sandbox> {
        let number = Rng::new().u32(..);
        let directory = parent.join(format!("vectored-pairs-{}-{number}", std::process::id()));
        fs::create_dir(&directory)
            .with_context(|| format!("cannot make '{}'", directory.display()))?;
        let binaries = binary.parent().context("a binary is in a folder")?;
        Ok(Sandbox {
            binaries: binaries.to_owned(),
            directory,
        })
    }

    /// The directory in which programs read and write.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The path of the program of a pair. Compiles it if it is in C.
    ///
    /// # Errors
    ///
    /// If the C compiler is missing or fails.
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
        if status.success() {
            Ok(program)
        } else {
            bail!("cc failed on {}: {status}", pair.name)
        }
    }

    /// Makes the files that a pair finds for this count. To be called before each run that changes them.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
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
        fs::write(self.directory.join(INPUT), bytes).context("cannot write the input file")
    }

    /// Makes an output file of zeros, written page by page.
    fn prepare_store(&self, bytes: usize) -> Result<()> {
        let mut file = File::create(self.directory.join(OUTPUT))?;
        for _ in 0..bytes / 4096 {
            file.write_all(&[0; 4096])?;
        }
        Ok(())
    }

    /// The command that runs a program.
    pub fn command(&self, program: &Path, version: Version, count: u64) -> Command {
        let mut command = Command::new(program);
        command
            .arg(version.name())
            .arg(&self.directory)
            .arg(count.to_string())
            .stdin(Stdio::null());
        command
    }

    /// Reads the output file and removes it.
    ///
    /// # Errors
    ///
    /// If the program wrote no file.
    pub fn take_output(&self) -> Result<Vec<u8>> {
        let path = self.directory.join(OUTPUT);
        let bytes = fs::read(&path).context("the program wrote no output file")?;
        fs::remove_file(path)?;
        Ok(bytes)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // If this fails, the files stay in a directory for temporary files.
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
