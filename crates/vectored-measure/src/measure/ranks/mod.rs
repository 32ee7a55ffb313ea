//! Ranks of a cluster: several processes, on one or several nodes, that take each sample at the same time.
//!
//! The engine runs on rank 0 alone, on a [`RankedSampler`](ranked_sampler::RankedSampler), so every decision is rank 0's. The others obey its orders
//! ([`follow`](member::follow)), each with a sampler of its own. They talk through a [`Group`](group::Group): MPI in `vectored-cli`, threads in
//! tests.

pub(crate) mod agreement;
pub(crate) mod group;
pub(crate) mod member;
pub(crate) mod order;
pub(crate) mod ranked_sampler;
