//! The MPI process of a rank: makes the calls that the rank asks for.

use std::io::{self, Read, Write};

use vectored_lab::measure::Group;

use super::wire::{Call, bytes_of, joined, receive_call, send_answer, words_of};

/// The ranks, and the functions that the calls of one of them use.
pub struct Service<'a> {
    /// The ranks.
    pub group: &'a dyn Group,
    /// Their MPI library, in words.
    pub library: &'a str,
    /// Ends all ranks.
    pub abort: &'a dyn Fn(),
    /// Moves this process to a CPU.
    pub pin: &'a dyn Fn(usize),
}

impl Service<'_> {
    /// Answers the calls of the rank until it needs no others any more. The error is that of the connection: the rank
    /// has ended.
    pub fn run(&self, rank: &mut (impl Read + Write)) -> io::Result<()> {
        let mut hello = bytes_of(&[self.group.rank().into(), self.group.size().into()]);
        hello.extend(self.library.as_bytes());
        send_answer(rank, &hello)?;
        // The groups of the first ranks; the group of all is number 0.
        let mut parts: Vec<Box<dyn Group>> = Vec::new();
        loop {
            let (call, number, mut body) = receive_call(rank)?;
            let group = match number.checked_sub(1) {
                None => self.group,
                Some(place) => &*parts[place as usize],
            };
            match call {
                Call::Broadcast => group.broadcast(&mut body),
                Call::Barrier => group.barrier(),
                Call::Largest => {
                    let mut words = words_of(&body);
                    group.largest(&mut words);
                    body = bytes_of(&words);
                }
                Call::Gather => body = joined(&group.gather(&body)),
                Call::Rest => group.rest(),
                Call::First => {
                    let part = group.first(words_of(&body)[0] as u32);
                    body = Vec::new();
                    if let Some(part) = part {
                        body = bytes_of(&[part.rank().into(), part.size().into()]);
                        parts.push(part);
                    }
                }
                Call::PinnedTo => (self.pin)(words_of(&body)[0] as usize),
                Call::Abort => (self.abort)(),
                Call::End => return Ok(()),
            }
            send_answer(rank, &body)?;
        }
    }
}
