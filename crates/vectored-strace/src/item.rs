//! What comes out of logs, and what keeps one from being read.

use std::fmt::{self, Display};
use std::io;
use std::path::PathBuf;

use crate::counts::Counts;
use crate::event::Event;

/// What comes out of logs.
#[derive(Debug)]
// It is told and taken apart, and never kept: a box for each event would cost more than its bytes.
#[expect(clippy::large_enum_variant)]
pub enum Item<'a> {
    /// A log begins: what was said of threads and descriptors before is of other ones.
    Begin,
    /// A call of it.
    Event(Event<'a>),
    /// It ends.
    End(&'a Counts),
}

/// A log that cannot be read.
#[derive(Debug)]
pub struct LogError {
    /// Which; `-` is standard input.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

impl Display for LogError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let Self { path, error } = self;
        write!(formatter, "cannot read '{}': {error}", path.display())?;
        if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) {
            write!(
                formatter,
                " (all parts of a log are read at once: `ulimit -n` allows more)"
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for LogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
