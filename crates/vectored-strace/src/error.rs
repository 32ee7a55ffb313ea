//! The error of reading logs from files.

use std::fmt::{self, Display};
use std::io;
use std::path::PathBuf;

#[derive(Debug)]
pub struct LogError {
    /// The file; `-` is standard input.
    pub path: PathBuf,
    /// The cause. It is [`InvalidData`](io::ErrorKind::InvalidData) if the file has another format, such as UTF-16 or a
    /// table of `strace -c`. Otherwise it is the error of opening, reading or decompressing the file.
    pub error: io::Error,
}

impl Display for LogError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let Self { path, error } = self;
        write!(formatter, "cannot read '{}': {error}", path.display())?;
        if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) {
            let remedy = "all parts of a log are open at once: raise the limit with `ulimit -n`";
            write!(formatter, " ({remedy})")?;
        }
        Ok(())
    }
}

impl std::error::Error for LogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
