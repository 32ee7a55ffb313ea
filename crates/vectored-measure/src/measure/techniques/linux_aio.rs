//! Linux native AIO: io_submit(2).

use crate::in_flight::{AioQueue, ListQueue};
use crate::measure::techniques::in_flight::Asynchronous;
use crate::measure::techniques::{Technique, asynchronous};

pub const LINUX_AIO: Technique = Technique {
    about: "io_submit; asynchronous",
    in_flight: true,
    refuses: asynchronous::refuses,
    offered: |depth| AioQueue::with_depth(depth).map(drop),
    // io_submit and io_getevents each take as many lists as are in flight.
    cost_ns: |costs| costs.referenced_ns + 1.5 * costs.call_ns / costs.queue_depth,
    write: Some(|_| Box::new(Asynchronous::<AioQueue>::new())),
    read: Some(|_| Box::new(Asynchronous::<AioQueue>::new())),
    ..Technique::named("linux-aio")
};
