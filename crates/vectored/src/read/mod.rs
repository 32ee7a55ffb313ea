//! Functions that fill all segments of a list, and the scattering reader [`Scatter`](scatter::Scatter).

pub(crate) mod all;
pub(crate) mod scatter;
