//! Why the programs cannot be attached, with the remedy.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io;

/// Why calls cannot be watched. A remedy stands after a semicolon.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// This user can attach no programs on this machine, or cannot read what processes have open.
    Machine(String),
    /// What is to be watched is not there.
    Target(String),
    /// The command could not be started.
    Command(io::Error),
}

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Machine(why) | Refusal::Target(why) => f.write_str(why),
            Refusal::Command(error) => write!(f, "cannot run the command: {error}"),
        }
    }
}

impl Error for Refusal {}
