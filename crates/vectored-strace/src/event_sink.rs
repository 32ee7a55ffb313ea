//! The receiver of the items of logs.

use std::ops::ControlFlow;

use crate::counts::Counts;
use crate::event::Event;

/// An item of a log.
#[derive(Debug)]
// An item is passed on and matched, never kept: boxing each event would cost more than moving it.
#[expect(clippy::large_enum_variant)]
pub enum Item<'a> {
    /// A log begins. Its threads and descriptors are unrelated to those of earlier logs.
    Begin,
    /// A system call, a signal, or the end of a thread.
    Event(Event<'a>),
    /// The log ends. The counts are those of this log.
    End(&'a Counts),
}

/// Receives the items of logs from [`read_logs_to`](crate::read_logs_to).
///
/// Each method returns whether reading goes on: [`ControlFlow::Break`] stops it.
///
/// # Examples
///
/// A sink that adds up the bytes written:
///
/// ```
/// use std::ops::ControlFlow;
/// use vectored_strace::event::{Action, Direction};
/// use vectored_strace::{EventSink, Item};
///
/// struct BytesWritten(u64);
///
/// impl EventSink for BytesWritten {
///     fn on_item(&mut self, item: Item<'_>) -> ControlFlow<()> {
///         if let Item::Event(event) = item
///             && let Action::Transfer(transfer) = event.action
///             && transfer.direction == Direction::Write
///         {
///             self.0 += transfer.result.unwrap_or(0);
///         }
///         ControlFlow::Continue(())
///     }
/// }
/// ```
pub trait EventSink {
    /// Receives any item except the calls that [`on_common_transfer`](Self::on_common_transfer) receives.
    fn on_item(&mut self, item: Item<'_>) -> ControlFlow<()>;

    /// Receives a transfer of the most common form: one buffer, successful, with a time and a duration.
    ///
    /// Most events of a log arrive here. The default passes them to [`on_item`](Self::on_item) as
    /// [`Item::Event`]; an implementation of its own saves the copy of the event.
    fn on_common_transfer(&mut self, event: &Event<'_>) -> ControlFlow<()> {
        self.on_item(Item::Event(event.clone()))
    }
}

/// A sink that calls a function for each item.
pub(crate) struct FnSink<F>(pub(crate) F);

impl<F: FnMut(Item<'_>) -> ControlFlow<()>> EventSink for FnSink<F> {
    fn on_item(&mut self, item: Item<'_>) -> ControlFlow<()> {
        (self.0)(item)
    }
}
