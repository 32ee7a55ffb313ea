//! Lines: where they begin and end, the thread and time before a call, and the stack after the call.

pub(crate) mod clock;
pub(crate) mod line_prefix;
pub(crate) mod line_reader;
pub(crate) mod stack;
