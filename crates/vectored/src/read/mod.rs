//! Functions that fill all segments of a list, and [`Scatter`](scatter::Scatter).

pub(crate) mod all;
pub(crate) mod scatter;
pub(crate) mod uninit;
