//! A running program.

use std::io;
use std::net::TcpListener;

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

    /// Answers the requests of all clients that connect, until `listener` fails. Errors of a connection go to standard
    /// error.
    ///
    /// # Errors
    ///
    /// The errors of `listener`; [`Unsupported`](io::ErrorKind::Unsupported) if the program is no server.
    fn listen(&mut self, listener: TcpListener) -> io::Result<()> {
        let address = listener.local_addr()?;
        let message = format!("a program that writes files cannot serve {address}");
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }
}
