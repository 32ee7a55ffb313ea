//! The operations: what each does in a batch of calls.

use std::borrow::Cow;
use std::io;

use vectored_machine::Clock;
use vectored_machine::platform::fd::BorrowedFd;

use crate::measure::sampler::{
    Contender, Form, Lists, Pattern, Payload, PoolPayload, Timed, Timing,
};
use crate::measure::targets::Mismatch;
use crate::measure::techniques::{CopyMover, Mover, ReadMover};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub contender: Contender,
    pub place: usize,
    pub timed: Timed,
    /// Position of the first byte in the pattern of the source.
    pub position: u64,
    /// Makes the bytes of each batch different, so that bytes of an earlier batch are not taken for the bytes of this batch.
    pub mark: u64,
    /// Offset of the techniques' working memory in its allocation in this round.
    pub start_bytes: usize,
}

impl Turn {
    /// The floors move contiguous bytes.
    fn form(&self) -> Form {
        match self.contender {
            Contender::Floor | Contender::FloorAgain => Form::Image,
            Contender::Technique(_) => Form::Segments,
        }
    }
}

/// The input and the output. A single descriptor is both.
pub(crate) type Ends<'f> = (BorrowedFd<'f>, BorrowedFd<'f>);

#[derive(Debug)]
pub(crate) enum Supply {
    /// Every call sends the same segments.
    Hot(Payload),
    /// Every call sends different segments, which are in no cache.
    Cold(PoolPayload),
}

impl Supply {
    fn lists(&self, form: Form) -> Lists<'_> {
        match (self, form) {
            (Supply::Hot(payload), Form::Image) => Lists::one(vec![payload.image()]),
            (Supply::Hot(payload), Form::Segments) => Lists::one(payload.segments()),
            (Supply::Cold(pool), _) => Lists::several(pool.drawn(), pool.per_call()),
        }
    }
}

#[expect(clippy::large_enum_variant, reason = "one cell is open at a time")]
pub(crate) enum Moving {
    Write(Supply, Vec<Box<dyn Mover>>),
    Read {
        buffers: Vec<Payload>,
        movers: Vec<Box<dyn ReadMover>>,
        /// For each buffer, the number of the call of the last batch that filled the buffer last.
        held: Vec<u32>,
    },
    Copy(Vec<Box<dyn CopyMover>>),
}

pub(crate) struct Step {
    pub pattern: Pattern,
    pub call_bytes: usize,
    pub moving: Moving,
}

fn read_lists<'a>(buffers: &'a mut [Payload], turn: &Turn) -> Vec<Vec<&'a mut [u8]>> {
    let in_flight = buffers.iter_mut().take(turn.timed.queue_depth as usize);
    let list = |buffer| match turn.form() {
        Form::Image => vec![Payload::image_mut(buffer)],
        Form::Segments => Payload::segments_mut(buffer),
    };
    in_flight.map(list).collect()
}

impl Step {
    fn of_source(&self, turn: &Turn, first: u32, calls: u32) -> Vec<u8> {
        let mut bytes = vec![0; self.call_bytes * calls as usize];
        let at = turn.position + u64::from(first) * self.call_bytes as u64;
        self.pattern.fill(at, &mut bytes);
        bytes
    }

    pub fn prepare(&mut self, turn: &Turn) -> io::Result<()> {
        // Every byte of the memory differs from the expected byte.
        let mut last = Vec::new();
        if let Moving::Read { .. } = self.moving {
            last = self.of_source(turn, turn.timed.all_calls() - 1, 1);
            last.iter_mut().for_each(|byte| *byte = !*byte);
        }
        match &mut self.moving {
            Moving::Write(supply, movers) => {
                match supply {
                    Supply::Hot(payload) => payload.mark(turn.mark),
                    Supply::Cold(pool) => pool.draw(turn.form(), turn.timed.all_calls(), turn.mark),
                }
                let lists = supply.lists(turn.form());
                movers[turn.place].prepare(lists.first(), turn.start_bytes);
            }
            Moving::Read {
                buffers, movers, ..
            } => {
                let mut lists = read_lists(buffers, turn);
                for segments in &mut lists {
                    let mut rest = &last[..];
                    for segment in segments {
                        let (head, behind) = rest.split_at(segment.len());
                        segment.copy_from_slice(head);
                        rest = behind;
                    }
                }
                movers[turn.place].prepare(&lists[0], turn.start_bytes);
            }
            Moving::Copy(movers) => movers[turn.place].prepare(turn.start_bytes)?,
        }
        Ok(())
    }

    pub fn sample(&mut self, turn: &Turn, ends: Ends<'_>, clock: &dyn Clock) -> io::Result<Timing> {
        match &mut self.moving {
            Moving::Write(supply, movers) => {
                let lists = supply.lists(turn.form());
                movers[turn.place].sample(ends.1, &lists, turn.timed, clock)
            }
            Moving::Read {
                buffers,
                movers,
                held,
            } => {
                let mut lists = read_lists(buffers, turn);
                let mover = &mut movers[turn.place];
                let timing;
                (timing, *held) = mover.sample(ends.0, &mut lists, turn.timed, clock)?;
                Ok(timing)
            }
            Moving::Copy(movers) => {
                movers[turn.place].sample(ends, self.call_bytes, turn.timed, clock)
            }
        }
    }

    /// The bytes that the target must have received: of all calls, or of one call if all calls send the same bytes. Called
    /// only after the timed calls, since this brings the bytes into the cache.
    pub fn sent(&self, turn: &Turn) -> Cow<'_, [u8]> {
        match &self.moving {
            Moving::Write(Supply::Hot(payload), _) => Cow::Borrowed(payload.image()),
            Moving::Write(Supply::Cold(pool), _) => Cow::Owned(pool.drawn().concat()),
            Moving::Read { .. } => Cow::Borrowed(&[]),
            Moving::Copy(_) => Cow::Owned(self.of_source(turn, 0, turn.timed.all_calls())),
        }
    }

    /// Every call reads different bytes, so a skipped segment still holds the bytes of an earlier call.
    pub fn check_memory(&self, turn: &Turn) -> Result<(), Mismatch> {
        let Moving::Read { buffers, held, .. } = &self.moving else {
            return Ok(());
        };
        for (buffer, call) in std::iter::zip(buffers, held) {
            let there = match turn.form() {
                Form::Image => buffer.image().to_vec(),
                Form::Segments => buffer.segments().concat(),
            };
            let mut pairs = std::iter::zip(there, self.of_source(turn, *call, 1));
            if let Some(at) = pairs.position(|(got, sent)| got != sent) {
                return Err(Mismatch::Bytes(format!(
                    "byte {at} of the list differs in the last call"
                )));
            }
        }
        Ok(())
    }

    pub fn lay_out(&mut self) {
        match &mut self.moving {
            Moving::Write(Supply::Hot(payload), _) => payload.lay_out(),
            Moving::Write(Supply::Cold(pool), _) => pool.lay_out(),
            Moving::Read { buffers, .. } => buffers.iter_mut().for_each(Payload::lay_out),
            Moving::Copy(_) => {}
        }
    }
}
