//! Where the calls of a sample get their segments, and what they must deliver.

use std::borrow::Cow;

use crate::measure::sampling::cold_pool::{Form, PoolMemory, PoolPayload};
use crate::measure::sampling::lists::Lists;
use crate::measure::sampling::payload::Payload;
use crate::measure::sampling::sampler::Contender;

/// The segments of a cell that writes.
#[derive(Debug)]
pub(crate) enum Supply {
    /// Every call sends the same ones.
    Hot(Payload),
    /// Every call sends others, which are in no cache.
    Cold(PoolPayload),
}

impl Supply {
    /// Moves what is in memory to other places, for the next round.
    pub fn lay_out(&mut self) {
        match self {
            Supply::Hot(payload) => payload.lay_out(),
            Supply::Cold(pool) => pool.lay_out(),
        }
    }

    /// Makes so many calls' segments ready, marked so that bytes of another
    /// batch cannot be taken for theirs.
    pub fn draw(&mut self, contender: Contender, calls: u32, mark: u64) {
        match self {
            Supply::Hot(payload) => payload.mark(mark),
            Supply::Cold(pool) => pool.draw(form(contender), calls, mark),
        }
    }

    /// What a contender is given: the floors get the bytes in one piece.
    pub fn lists(&self, contender: Contender) -> Lists<'_> {
        match (self, form(contender)) {
            (Supply::Hot(payload), Form::Image) => Lists::one(vec![payload.image()]),
            (Supply::Hot(payload), Form::Segments) => Lists::one(payload.segments()),
            (Supply::Cold(pool), _) => Lists::several(pool.drawn(), pool.per_call()),
        }
    }

    /// What must have arrived: the bytes of one call, which is repeated, or of
    /// all that were drawn. Not asked before the calls are made, since that
    /// would bring the bytes into the cache.
    pub fn sent(&self) -> Cow<'_, [u8]> {
        match self {
            Supply::Hot(payload) => Cow::Borrowed(payload.image()),
            Supply::Cold(pool) => Cow::Owned(pool.drawn().concat()),
        }
    }

    /// The memory of the pool, if there is one.
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
