//! io_uring, by [`vectored::uring::Ring`].

use crate::in_flight::{ListQueue, RingQueue};
use crate::measure::techniques::in_flight::Asynchronous;
use crate::measure::techniques::{Technique, asynchronous};

pub const IO_URING: Technique = Technique {
    about: "uring::Ring; asynchronous",
    in_flight: true,
    refuses: asynchronous::refuses,
    offered: |depth| RingQueue::with_depth(depth).map(drop),
    // One call submits and reaps as many lists as are in flight.
    cost_ns: |costs| 0.6 * costs.referenced_ns + 2.0 * costs.call_ns / costs.queue_depth,
    write: Some(|_| Box::new(Asynchronous::<RingQueue>::new())),
    read: Some(|_| Box::new(Asynchronous::<RingQueue>::new())),
    ..Technique::named("io-uring")
};
