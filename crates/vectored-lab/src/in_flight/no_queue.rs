//! Windows has none of the interfaces.

use std::convert::Infallible;

use vectored::BorrowedDescriptor;

use crate::in_flight::error::{ListError, Unavailable};
use crate::in_flight::interface::Interface;
use crate::in_flight::list::{ReadList, WriteList};
use crate::in_flight::place::{Event, Place};
use crate::platform::lacks;

/// A queue that Windows does not offer: there is no value of this type.
#[derive(Debug)]
pub struct InFlight(Infallible);

impl InFlight {
    /// Refuses.
    ///
    /// # Errors
    ///
    /// Always: Windows lacks the interface.
    pub fn new(interface: Interface, depth: u32) -> Result<InFlight, Unavailable> {
        let error = lacks(interface.name());
        Err(Unavailable::new(interface, depth, error))
    }

    /// The interface that it uses.
    #[must_use]
    pub fn interface(&self) -> Interface {
        match self.0 {}
    }

    /// The most lists in flight.
    #[must_use]
    pub fn depth(&self) -> u32 {
        match self.0 {}
    }

    /// Writes lists.
    ///
    /// # Errors
    ///
    /// There is no queue that it could be called on.
    pub fn write<'b>(
        &mut self,
        _fd: BorrowedDescriptor<'b>,
        _place: Place,
        _count: u64,
        _list: &mut dyn FnMut(u64) -> WriteList<'b>,
        _on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError> {
        match self.0 {}
    }

    /// Reads lists.
    ///
    /// # Errors
    ///
    /// There is no queue that it could be called on.
    pub fn read(
        &mut self,
        _fd: BorrowedDescriptor<'_>,
        _place: Place,
        _count: u64,
        _lists: &mut [ReadList<'_, '_>],
        _on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError> {
        match self.0 {}
    }
}
