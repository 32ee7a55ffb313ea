//! Who takes what is in logs.

use std::ops::ControlFlow;

use crate::event::Event;
use crate::item::Item;

/// Takes what is in logs, item by item. Each answer says whether to go on.
pub trait EventSink {
    /// Takes an item.
    fn follow(&mut self, item: Item<'_>) -> ControlFlow<()>;

    /// Takes a call that moved bytes and has the most common form. It is an [`Item::Event`] as well: a sink that
    /// treats all events alike passes it on to [`follow`](EventSink::follow).
    fn follow_usual(&mut self, event: &Event<'_>) -> ControlFlow<()>;
}

/// Something that is called for each item.
pub(crate) struct Each<F>(pub(crate) F);

impl<F: FnMut(Item<'_>) -> ControlFlow<()>> EventSink for Each<F> {
    fn follow(&mut self, item: Item<'_>) -> ControlFlow<()> {
        (self.0)(item)
    }

    fn follow_usual(&mut self, event: &Event<'_>) -> ControlFlow<()> {
        (self.0)(Item::Event(event.clone()))
    }
}
