//! The segments for the calls of a sample, hot or cold, and their expected bytes.

use std::borrow::Cow;

use crate::measure::sampler::cold_pool::{Form, PoolMemory, PoolPayload};
use crate::measure::sampler::interface::Contender;
use crate::measure::sampler::lists::Lists;
use crate::measure::sampler::payload::Payload;

/// The segments of a write cell.
#[derive(Debug)]
pub(crate) enum Supply {
    /// Every call sends the same segments.
    Hot(Payload),
    /// Every call sends different segments, which are in no cache.
    Cold(PoolPayload),
}

impl Supply {
    /// Moves the segments to other places, for the next round.
    pub fn lay_out(&mut self) {
        match self {
            Supply::Hot(payload) => payload.lay_out(),
            Supply::Cold(pool) => pool.lay_out(),
        }
    }

    /// Prepares the segments of `calls` calls. `mark` changes their bytes, so
    /// that the bytes of another batch cannot pass for them.
    pub fn draw(&mut self, contender: Contender, calls: u32, mark: u64) {
        match self {
            Supply::Hot(payload) => payload.mark(mark),
            Supply::Cold(pool) => pool.draw(form(contender), calls, mark),
        }
    }

    /// The lists for a contender. The floors get contiguous bytes.
    pub fn lists(&self, contender: Contender) -> Lists<'_> {
        match (self, form(contender)) {
            (Supply::Hot(payload), Form::Image) => Lists::one(vec![payload.image()]),
            (Supply::Hot(payload), Form::Segments) => Lists::one(payload.segments()),
            (Supply::Cold(pool), _) => Lists::several(pool.drawn(), pool.per_call()),
        }
    }

    /// The bytes that must have arrived: the bytes of one call, which every call
    /// repeats, or of all drawn calls. Call it only after the calls are made,
    /// since it brings the bytes into the cache.
    pub fn sent(&self) -> Cow<'_, [u8]> {
        match self {
            Supply::Hot(payload) => Cow::Borrowed(payload.image()),
            Supply::Cold(pool) => Cow::Owned(pool.drawn().concat()),
        }
    }

    pub fn into_memory(self) -> Option<PoolMemory> {
        match self {
            Supply::Hot(_) => None,
            Supply::Cold(pool) => Some(pool.into_memory()),
        }
    }
}

fn form(contender: Contender) -> Form {
    match contender {
        Contender::Floor | Contender::FloorAgain => Form::Image,
        Contender::Technique(_) => Form::Segments,
    }
}
