//! How the programs of the pairs are called: `PROGRAM before|after DIRECTORY COUNT`.

use std::fs::File;
use std::io;
use std::path::PathBuf;

/// Which of the two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// As it is found.
    Before,
    /// As it is advised.
    After,
}

impl Version {
    /// Both.
    pub const BOTH: [Version; 2] = [Version::Before, Version::After];

    /// As it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Version::Before => "before",
            Version::After => "after",
        }
    }
}

/// What a program was asked for.
#[derive(Clone, Debug)]
pub struct Call {
    /// Which of the two.
    pub version: Version,
    /// Where its input is and its output goes.
    pub directory: PathBuf,
    /// How much it does: records, lines or requests.
    pub count: u64,
}

impl Call {
    /// What was typed.
    ///
    /// # Errors
    ///
    /// When that is not a version, a directory and a number.
    pub fn typed() -> io::Result<Call> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        parse(&words).ok_or_else(|| {
            let usage = "usage: PROGRAM before|after DIRECTORY COUNT";
            io::Error::new(io::ErrorKind::InvalidInput, usage)
        })
    }

    /// A file of the directory, new and empty.
    ///
    /// # Errors
    ///
    /// Those of making it.
    pub fn output(&self) -> io::Result<File> {
        File::create(self.directory.join(OUTPUT))
    }

    /// The file of the directory that is written, as it is.
    ///
    /// # Errors
    ///
    /// Those of opening it.
    pub fn store(&self) -> io::Result<File> {
        File::options()
            .write(true)
            .open(self.directory.join(OUTPUT))
    }

    /// The file of the directory that was made beforehand.
    ///
    /// # Errors
    ///
    /// Those of opening it.
    pub fn input(&self) -> io::Result<File> {
        File::open(self.directory.join(INPUT))
    }
}

/// The file that a program reads, in its directory.
pub const INPUT: &str = "input";

/// The file that a program writes, in its directory.
pub const OUTPUT: &str = "output";

fn parse(words: &[String]) -> Option<Call> {
    let [version, directory, count] = words else {
        return None;
    };
    let version = Version::BOTH
        .into_iter()
        .find(|known| known.name() == version)?;
    Some(Call {
        version,
        directory: directory.into(),
        count: count.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_a_version_a_directory_and_a_count() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let call = parse(&words("after /tmp 7")).unwrap();
        assert_eq!((call.version, call.count), (Version::After, 7));
        assert!(parse(&words("during /tmp 7")).is_none());
        assert!(parse(&words("after /tmp many")).is_none());
        assert!(parse(&words("after /tmp")).is_none());
    }
}
