//! Ranks of a cluster: several processes, on one or several nodes, that take each sample at the same time.
//!
//! The engine runs on rank 0 alone, on a [`RankedSampler`], so every decision is rank 0's. The other ranks obey the orders
//! of rank 0 ([`follow`]), each with a sampler of its own. Ranks talk through a [`Group`]: MPI in `vectored-cli`, threads
//! in tests.

mod group;
mod member;
mod ranked_sampler;

pub use group::{Group, agree, gathered, give, receive};
pub use member::follow;
pub use ranked_sampler::RankedSampler;
