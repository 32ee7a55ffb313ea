//! The place of lists on a descriptor, and the events of a list.

/// The place that lists are written to or read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A byte of a regular file or block device, where the first list begins. Each other list begins where the one before
    /// it ends, and up to the depth are in flight. The position of the descriptor is neither used nor changed: set it
    /// afterwards if needed.
    ///
    /// Not for writes to a file with `O_APPEND`: Linux ignores the offset there, so the lists would be in any order.
    Offset(u64),
    /// A pipe, a socket, a character device, or for writes the end of a file with `O_APPEND`. One list at a time is in
    /// flight, whatever the depth, since the kernel makes transfers in any order.
    Stream,
}

/// An event of a list, which a queue reports. The number of the first list of a call is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The list of this number is about to be prepared, and submitted after that.
    Began(u64),
    /// The list of this number has been moved whole.
    Ended(u64),
}
