//! Stalls: a short write that waits until the peer acknowledges an earlier write.
//!
//! By Nagle's algorithm (RFC 896; `TCP_NODELAY` in tcp(7)) a socket keeps a segment that is not full while earlier
//! bytes are unacknowledged. If the peer has nothing to send, it acknowledges after 40 ms at the earliest on Linux,
//! elsewhere often after 200 ms (RFC 1122, 4.2.3.2, allows 500). A program that writes a message in two parts and waits
//! for the answer loses that time for each message.

pub(crate) mod counts;
pub(crate) mod exchange;
