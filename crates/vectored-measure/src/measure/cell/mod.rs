//! Open cells: what lies at the ends of their descriptors, the techniques that move the bytes, and the proof that they arrived.

pub(crate) mod copy;
pub(crate) mod read;
pub(crate) mod technique_latencies;
pub(crate) mod write;
pub(crate) mod writers;
