//! What this crate is on other systems: it refuses.

use std::convert::Infallible;
use std::process::{Child, Command};

use vectored_strace::event::Event;

use crate::refusal::Refusal;
use crate::seen::{Seen, Target};

/// A command that has its process and waits before it runs its program.
#[derive(Debug)]
pub struct Held(Infallible);

impl Held {
    /// Refuses.
    ///
    /// # Errors
    ///
    /// [`Refusal::Elsewhere`].
    pub fn start(_: Command) -> Result<Held, Refusal> {
        Err(Refusal::Elsewhere)
    }

    /// The number of its process.
    pub fn number(&self) -> u32 {
        match self.0 {}
    }

    /// There is none.
    ///
    /// # Errors
    ///
    /// None.
    pub fn go(self) -> Result<Child, Refusal> {
        match self.0 {}
    }
}

/// Programs that are attached to the kernel.
#[derive(Debug)]
pub struct Watch(Infallible);

impl Watch {
    /// Refuses.
    ///
    /// # Errors
    ///
    /// [`Refusal::Elsewhere`].
    pub fn start(_: &Target<'_>, _: &mut dyn FnMut(&Event<'_>)) -> Result<Watch, Refusal> {
        Err(Refusal::Elsewhere)
    }

    /// There is none.
    pub fn next(&mut self, _: &mut dyn FnMut(&Event<'_>)) -> Seen {
        match self.0 {}
    }

    /// There is none.
    pub fn finish(self, _: &mut dyn FnMut(&Event<'_>)) -> Seen {
        match self.0 {}
    }
}
