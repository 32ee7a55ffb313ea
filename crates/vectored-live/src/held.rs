//! A command that waits until it is watched.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::process::{Child, Command};
use std::thread::{Builder, JoinHandle};

use crate::refusal::Refusal;
use crate::sys;

/// A command that has its process and waits before it runs its program.
#[derive(Debug)]
pub struct Held {
    number: u32,
    go: PipeWriter,
    starts: JoinHandle<io::Result<Child>>,
}

impl Held {
    /// Makes the process.
    ///
    /// # Errors
    ///
    /// [`Refusal::NotStarted`].
    pub fn start(mut command: Command) -> Result<Held, Refusal> {
        let start = || -> io::Result<Held> {
            let (mut numbers, go) = sys::hold(&mut command)?;
            let starts = Builder::new().spawn(move || command.spawn())?;
            let number = read_number(&mut numbers)?;
            Ok(Held { number, go, starts })
        };
        start().map_err(Refusal::NotStarted)
    }

    /// The number of its process.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Lets it run.
    ///
    /// # Errors
    ///
    /// The kernel refuses the program.
    pub fn go(mut self) -> Result<Child, Refusal> {
        self.go.write_all(&[1]).map_err(Refusal::NotStarted)?;
        let child = self
            .starts
            .join()
            .expect("the start of a process cannot panic");
        child.map_err(Refusal::NotStarted)
    }
}

fn read_number(numbers: &mut PipeReader) -> io::Result<u32> {
    let mut number = [0; 4];
    numbers.read_exact(&mut number)?;
    Ok(u32::from_ne_bytes(number))
}
