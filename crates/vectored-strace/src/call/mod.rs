//! One call: its name, arguments and result, and the [`Action`](crate::event::Action) that they describe.

pub(crate) mod arguments;
pub(crate) mod body;
pub(crate) mod call_result;
pub(crate) mod calls;
pub(crate) mod descriptors;
pub(crate) mod names;
pub(crate) mod transfers;
