//! What is run: the words of a command, and its standard descriptors.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::Builder;

use vectored_versus::model::Stdout;
use vectored_versus::split;

use crate::failure::Failure;
use crate::strace;

/// A command that is compared.
pub struct Program {
    /// `old`, `new` or `new 2`.
    pub name: String,
    pub typed: String,
    pub words: Vec<String>,
}

impl Program {
    /// Splits a command, or hands it to a shell. Its program is looked for.
    pub fn new(
        name: String,
        typed: &str,
        shell: Option<&str>,
        directory: Option<&Path>,
    ) -> Result<Self, Failure> {
        let words = match shell {
            Some(shell) => vec![shell.to_owned(), "-c".to_owned(), typed.to_owned()],
            None => split(typed)
                .map_err(|error| Failure::usage(format!("cannot run '{typed}': {error}")))?,
        };
        // A path is relative to the directory that the command runs in.
        let program = match directory.filter(|_| words[0].contains('/')) {
            Some(directory) => directory.join(&words[0]),
            None => PathBuf::from(&words[0]),
        };
        strace::find(program.as_os_str())?;
        Ok(Program {
            name,
            typed: typed.to_owned(),
            words,
        })
    }
}

/// The surroundings that all runs share.
pub struct Surroundings {
    pub input: Option<PathBuf>,
    pub directory: Option<PathBuf>,
    /// The shell of `--setup`, `--prepare` and `--cleanup`.
    pub shell: String,
    /// The command before each run: one for all commands, or one for each.
    pub prepare: Vec<String>,
}

impl Surroundings {
    /// A command with these words, input and directory. Its outputs are discarded.
    pub fn command(&self, words: &[impl AsRef<std::ffi::OsStr>]) -> io::Result<Command> {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command.stdin(match &self.input {
            Some(path) => File::open(path)?.into(),
            None => Stdio::null(),
        });
        command.stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        Ok(command)
    }

    /// The files that a command names, also to a shell, by the paths that the kernel has for them.
    pub fn named(&self, program: &Program) -> Vec<PathBuf> {
        let directory = self.directory.as_deref().unwrap_or(Path::new("."));
        let words = program.typed.split(|c: char| " \t\n'\"|<>;&()".contains(c));
        let words = words
            .map(str::to_owned)
            .chain(program.words.iter().cloned());
        words
            .filter_map(|word| directory.join(word).canonicalize().ok())
            .collect()
    }

    /// A command for a shell, whose errors are shown.
    pub fn helper(&self, typed: &str) -> Command {
        let mut command = Command::new(&self.shell);
        command.args(["-c", typed]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }
}

/// Where a timed run writes to.
pub fn discarded(stdout: Stdout) -> io::Result<Stdio> {
    Ok(match stdout {
        Stdout::Null => Stdio::null(),
        // It has no name, and so is gone with its last descriptor.
        Stdout::File => tempfile::tempfile()?.into(),
        Stdout::Pipe => {
            let (mut reader, writer) = io::pipe()?;
            Builder::new().spawn(move || {
                let mut buffer = vec![0; 64 << 10];
                while reader.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
            })?;
            writer.into()
        }
    })
}
