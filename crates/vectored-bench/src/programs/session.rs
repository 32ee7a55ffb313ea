//! A running program.

use std::io;

/// A program that answers requests by one technique.
pub trait Session {
    /// Answers requests and returns what arrived. Called once, before any [`Session::slice`].
    ///
    /// # Errors
    ///
    /// Errors of the program or of its client.
    fn deliver(&mut self, requests: usize) -> io::Result<Vec<u8>>;

    /// Answers requests, and returns the CPU time that the program took for all of them, in ns.
    ///
    /// # Errors
    ///
    /// Errors of the program or of its client.
    fn slice(&mut self, requests: usize) -> io::Result<u64>;
}
