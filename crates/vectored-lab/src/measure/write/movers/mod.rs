//! The techniques that write, as a program would write them by hand, one idea a
//! file.

pub(crate) use crate::measure::write::movers::adaptive::Adaptive;
pub(crate) use crate::measure::write::movers::array::WithArray;
pub(crate) use crate::measure::write::movers::copy::CopyThenWrite;
pub(crate) use crate::measure::write::movers::each::write_all;
pub(crate) use crate::measure::write::movers::each::{SendMore, WriteEach};
pub(crate) use crate::measure::write::movers::mmap::Mmap;
pub(crate) use crate::measure::write::movers::stdio::Stdio;
pub(crate) use crate::measure::write::movers::writev::{Pwritev2, Writev};
pub(crate) mod adaptive;
pub(crate) mod array;
pub(crate) mod copy;
pub(crate) mod each;
pub(crate) mod mmap;
pub(crate) mod stdio;
pub(crate) mod writev;
