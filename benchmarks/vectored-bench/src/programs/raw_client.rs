//! A client that sends prepared bytes and reads answers of known length.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::programs::harness::Client;

/// After this time an answer counts as lost.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Bytes of a read call: a client that reads little would let the server wait.
const READ_BYTES: usize = 256 << 10;

/// Sends requests in rotation.
pub struct RawClient {
    connections: Vec<TcpStream>,
    requests: Vec<Vec<u8>>,
    next: usize,
    answer_bytes: usize,
    buffer: Vec<u8>,
}

impl RawClient {
    /// Each of `requests` has an answer of `answer_bytes`.
    pub fn boxed(
        connections: Vec<TcpStream>,
        requests: Vec<Vec<u8>>,
        answer_bytes: usize,
    ) -> Box<dyn Client> {
        Box::new(RawClient {
            connections,
            requests,
            next: 0,
            answer_bytes,
            buffer: vec![0; READ_BYTES],
        })
    }

    fn read_answer(&mut self, connection: usize, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        let mut left = self.answer_bytes;
        while left > 0 {
            let most = left.min(self.buffer.len());
            match self.connections[connection].read(&mut self.buffer[..most]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => {
                    take(&self.buffer[..bytes]);
                    left -= bytes;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Client for RawClient {
    fn exchange(&mut self, requests: usize) -> io::Result<()> {
        let mut left = requests;
        while left > 0 {
            let at_once = left.min(self.connections.len());
            for connection in 0..at_once {
                self.connections[connection].write_all(&self.requests[self.next])?;
                self.next = (self.next + 1) % self.requests.len();
            }
            for connection in 0..at_once {
                self.read_answer(connection, |_| ())?;
            }
            left -= at_once;
        }
        Ok(())
    }

    fn answers(&mut self, requests: usize) -> io::Result<Vec<Vec<u8>>> {
        let mut answers = Vec::new();
        for connection in 0..self.connections.len() {
            self.connections[connection].set_read_timeout(Some(TIMEOUT))?;
            let mut answer = Vec::new();
            for request in 0..requests {
                let request = &self.requests[request % self.requests.len()];
                self.connections[connection].write_all(request)?;
                self.read_answer(connection, |bytes| answer.extend_from_slice(bytes))?;
            }
            answers.push(answer);
        }
        Ok(answers)
    }
}
