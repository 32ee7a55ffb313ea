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
    /// The index of its mover.
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

/// The input and the output. If there is only one descriptor, it is both.
pub(crate) type Ends<'f> = (BorrowedFd<'f>, BorrowedFd<'f>);

pub(crate) trait Step {
    /// Prepares the bytes and the techniques' working memory. Not timed.
    fn prepare(&mut self, turn: &Turn) -> io::Result<()>;

    fn sample(&mut self, turn: &Turn, ends: Ends<'_>, clock: &dyn Clock) -> io::Result<Timing>;

    /// The bytes that the target must have received: of all calls, or of one call if all calls send the same bytes. Asked after the
    /// calls are made, since it brings the bytes into the cache.
    fn sent(&self, _turn: &Turn) -> Cow<'_, [u8]> {
        Cow::Borrowed(&[])
    }

    fn check_memory(&self, _turn: &Turn) -> Result<(), Mismatch> {
        Ok(())
    }

    fn lay_out(&mut self) {}
}

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

pub(crate) struct Writing {
    pub supply: Supply,
    pub movers: Vec<Box<dyn Mover>>,
}

impl Step for Writing {
    fn prepare(&mut self, turn: &Turn) -> io::Result<()> {
        match &mut self.supply {
            Supply::Hot(payload) => payload.mark(turn.mark),
            Supply::Cold(pool) => pool.draw(turn.form(), turn.timed.all_calls(), turn.mark),
        }
        let lists = self.supply.lists(turn.form());
        self.movers[turn.place].prepare(lists.first(), turn.start_bytes);
        Ok(())
    }

    fn sample(&mut self, turn: &Turn, (_, to): Ends<'_>, clock: &dyn Clock) -> io::Result<Timing> {
        let lists = self.supply.lists(turn.form());
        self.movers[turn.place].sample(to, &lists, turn.timed, clock)
    }

    fn sent(&self, _turn: &Turn) -> Cow<'_, [u8]> {
        match &self.supply {
            Supply::Hot(payload) => Cow::Borrowed(payload.image()),
            Supply::Cold(pool) => Cow::Owned(pool.drawn().concat()),
        }
    }

    fn lay_out(&mut self) {
        match &mut self.supply {
            Supply::Hot(payload) => payload.lay_out(),
            Supply::Cold(pool) => pool.lay_out(),
        }
    }
}

pub(crate) struct Reading {
    pub pattern: Pattern,
    pub call_bytes: usize,
    /// The memory that is read into, one for each transfer in flight.
    pub buffers: Vec<Payload>,
    pub movers: Vec<Box<dyn ReadMover>>,
    /// For each buffer the number of the last call that filled it in the last batch.
    pub held: Vec<u32>,
}

impl Reading {
    fn lists<'a>(buffers: &'a mut [Payload], turn: &Turn) -> Vec<Vec<&'a mut [u8]>> {
        let in_flight = buffers.iter_mut().take(turn.timed.queue_depth as usize);
        let list = |buffer| match turn.form() {
            Form::Image => vec![Payload::image_mut(buffer)],
            Form::Segments => Payload::segments_mut(buffer),
        };
        in_flight.map(list).collect()
    }

    fn expected(&self, turn: &Turn, call: u32) -> Vec<u8> {
        let mut expected = vec![0; self.call_bytes];
        let at = turn.position + u64::from(call) * self.call_bytes as u64;
        self.pattern.fill(at, &mut expected);
        expected
    }
}

impl Step for Reading {
    fn prepare(&mut self, turn: &Turn) -> io::Result<()> {
        // Every byte differs from the expected one.
        let mut last = self.expected(turn, turn.timed.all_calls() - 1);
        last.iter_mut().for_each(|byte| *byte = !*byte);
        let mut lists = Reading::lists(&mut self.buffers, turn);
        for segments in &mut lists {
            let mut rest = &last[..];
            for segment in segments {
                let (head, behind) = rest.split_at(segment.len());
                segment.copy_from_slice(head);
                rest = behind;
            }
        }
        self.movers[turn.place].prepare(&lists[0], turn.start_bytes);
        Ok(())
    }

    fn sample(
        &mut self,
        turn: &Turn,
        (from, _): Ends<'_>,
        clock: &dyn Clock,
    ) -> io::Result<Timing> {
        let mut lists = Reading::lists(&mut self.buffers, turn);
        let mover = &mut self.movers[turn.place];
        let (timing, held) = mover.sample(from, &mut lists, turn.timed, clock)?;
        self.held = held;
        Ok(timing)
    }

    /// Every call reads different bytes, so a skipped segment still holds the bytes of an earlier call.
    fn check_memory(&self, turn: &Turn) -> Result<(), Mismatch> {
        for (buffer, call) in std::iter::zip(&self.buffers, &self.held) {
            let there = match turn.form() {
                Form::Image => buffer.image().to_vec(),
                Form::Segments => buffer.segments().concat(),
            };
            let mut pairs = std::iter::zip(there, self.expected(turn, *call));
            if let Some(at) = pairs.position(|(got, sent)| got != sent) {
                return Err(Mismatch::Bytes(format!(
                    "byte {at} of the list differs in the last call"
                )));
            }
        }
        Ok(())
    }

    fn lay_out(&mut self) {
        self.buffers.iter_mut().for_each(Payload::lay_out);
    }
}

pub(crate) struct Copying {
    pub pattern: Pattern,
    pub call_bytes: usize,
    pub movers: Vec<Box<dyn CopyMover>>,
}

impl Step for Copying {
    fn prepare(&mut self, turn: &Turn) -> io::Result<()> {
        self.movers[turn.place].prepare(turn.start_bytes)
    }

    fn sample(&mut self, turn: &Turn, ends: Ends<'_>, clock: &dyn Clock) -> io::Result<Timing> {
        self.movers[turn.place].sample(ends, self.call_bytes, turn.timed, clock)
    }

    fn sent(&self, turn: &Turn) -> Cow<'_, [u8]> {
        let mut image = vec![0; self.call_bytes * turn.timed.all_calls() as usize];
        self.pattern.fill(turn.position, &mut image);
        Cow::Owned(image)
    }
}
