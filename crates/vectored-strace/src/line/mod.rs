//! Lines: their bounds, the thread and time before a call, and the stack after it.

pub(crate) mod clock;
pub(crate) mod line_prefix;
pub(crate) mod line_reader;
pub(crate) mod stack;
