//! Bytes over a network: the protocol between `vectored measure` and `vectored receive`, and the receiver.
//!
//! `protocol` is pure: bytes in, actions out. `receiver` listens and moves the bytes; `link` is the measuring side.

pub(crate) mod checksum;
pub(crate) mod link;
pub(crate) mod protocol;
#[cfg(unix)]
pub(crate) mod receiver;
pub(crate) mod token;

pub use crate::remote::protocol::{Action, ByteLimits, Refusal, Session};
#[cfg(unix)]
pub use crate::remote::receiver::{End, ReceiveLimits, Receiver, ReceiverEvent};
pub use crate::remote::token::{NoToken, Token};
