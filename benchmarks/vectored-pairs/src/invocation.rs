//! The arguments of the programs of the pairs: `PROGRAM before|after DIRECTORY COUNT`.

use std::fs::File;
use std::io;
use std::path::PathBuf;

/// A version of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// The program without the advised change.
    Before,
    /// The program with the advised change.
    After,
}

impl Version {
    /// Both versions.
    pub const BOTH: [Version; 2] = [Version::Before, Version::After];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Version::Before => "before",
            Version::After => "after",
        }
    }
}

/// The arguments of a program.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The version to run.
    pub version: Version,
    /// The directory for input and output.
    pub directory: PathBuf,
    /// The amount of work: records, lines or requests.
    pub count: u64,
}

impl Invocation {
    /// Reads the arguments of this process.
    ///
    /// # Errors
    ///
    /// If they are not a version, a directory and a number.
    pub fn from_args() -> io::Result<Invocation> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        parse(&words).ok_or_else(|| {
            let usage = "usage: PROGRAM before|after DIRECTORY COUNT";
            io::Error::new(io::ErrorKind::InvalidInput, usage)
        })
    }

    /// Creates the output file, or truncates it.
    ///
    /// # Errors
    ///
    /// If it cannot be created.
    pub fn output(&self) -> io::Result<File> {
        File::create(self.directory.join(OUTPUT))
    }

    /// Opens the existing output file for writing.
    ///
    /// # Errors
    ///
    /// If it cannot be opened.
    pub fn store(&self) -> io::Result<File> {
        File::options()
            .write(true)
            .open(self.directory.join(OUTPUT))
    }

    /// Opens the input file.
    ///
    /// # Errors
    ///
    /// If it cannot be opened.
    pub fn input(&self) -> io::Result<File> {
        File::open(self.directory.join(INPUT))
    }
}

/// The name of the input file in the directory.
pub const INPUT: &str = "input";

/// The name of the output file in the directory.
pub const OUTPUT: &str = "output";

fn parse(words: &[String]) -> Option<Invocation> {
    let [version, directory, count] = words else {
        return None;
    };
    let version = Version::BOTH
        .into_iter()
        .find(|known| known.name() == version)?;
    Some(Invocation {
        version,
        directory: directory.into(),
        count: count.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_a_version_a_directory_and_a_count() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let invocation = parse(&words("after /tmp 7")).unwrap();
        assert_eq!((invocation.version, invocation.count), (Version::After, 7));
        assert!(parse(&words("during /tmp 7")).is_none());
        assert!(parse(&words("after /tmp many")).is_none());
        assert!(parse(&words("after /tmp")).is_none());
    }
}
