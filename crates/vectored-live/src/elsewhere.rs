//! This crate on other systems: every function refuses. The pages for Linux document the items.
#![allow(clippy::missing_errors_doc)]

use vectored_strace::event::Event;

use crate::{Refusal, Seen, Target};

type Follow<'f> = &'f mut dyn FnMut(&Event<'_>);

#[derive(Debug)]
pub enum Watch {}

impl Watch {
    pub fn start(_: Target<'_>, _: Follow<'_>) -> Result<Watch, Refusal> {
        Err(Refusal::Machine(
            "running programs are watched on Linux for x86-64 alone".to_owned(),
        ))
    }

    pub fn command(&self) -> Option<u32> {
        match *self {}
    }

    pub fn next(&mut self, _: Follow<'_>) -> Seen {
        match *self {}
    }

    pub fn finish(self, _: Follow<'_>) -> Seen {
        match self {}
    }
}
