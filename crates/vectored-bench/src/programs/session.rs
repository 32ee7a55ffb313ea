//! A running program.

use std::io;

/// A program that answers requests by one technique.
pub trait Session {
    /// Answers requests and returns what arrived. Called once, before any [`Session::slice`].
    ///
    /// # Errors
    ///
    /// What the program or its client reports.
    fn deliver(&mut self, requests: usize) -> io::Result<Vec<u8>>;

    /// Answers requests, and returns the CPU time that the program took for all of them, in ns.
    ///
    /// # Errors
    ///
    /// What the program or its client reports.
    fn slice(&mut self, requests: usize) -> io::Result<u64>;
}
