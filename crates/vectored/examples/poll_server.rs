//! A single-threaded server: poll(2), non-blocking sockets, and a queue of responses for each connection.
//!
//! A socket may take only a part of a response. The cursor says how much of the queue was sent, and responses that
//! are queued in the meantime are sent in the same call as the rest.
//!
//! ```text
//! cargo run -p vectored --example poll_server
//! ```

use std::collections::VecDeque;
use std::error::Error;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use vectored::{Gather, SegmentCursor, TransferError};

/// The requests of each client. A request is one byte, the index of a body.
const REQUESTS: [u8; 6] = [0, 1, 2, 1, 0, 2];

struct Response {
    header: String,
    body: Arc<[u8]>,
}

/// Segments in each response: its header and its body.
const SEGMENTS_PER_RESPONSE: usize = 2;

struct Connection {
    socket: UnixStream,
    queue: VecDeque<Response>,
    /// How much of the queue was sent: a part of its first response.
    cursor: SegmentCursor,
    has_requests: bool,
}

impl Connection {
    fn new(socket: UnixStream) -> Result<Connection, Box<dyn Error>> {
        socket.set_nonblocking(true)?;
        Ok(Connection {
            socket,
            queue: VecDeque::new(),
            cursor: SegmentCursor::new(),
            has_requests: true,
        })
    }

    /// The events to wait for. `OUT` only if a response is queued; otherwise poll would return at once.
    fn events(&self) -> PollFlags {
        let mut events = PollFlags::empty();
        events.set(PollFlags::IN, self.has_requests);
        events.set(PollFlags::OUT, !self.queue.is_empty());
        events
    }

    fn is_done(&self) -> bool {
        !self.has_requests && self.queue.is_empty()
    }

    /// Reads the requests that have arrived, and queues a response for each.
    fn read_requests(&mut self, bodies: &[Arc<[u8]>]) -> Result<(), Box<dyn Error>> {
        let mut requests = [0; 16];
        match self.socket.read(&mut requests) {
            Ok(0) => self.has_requests = false,
            Ok(count) => {
                for &request in &requests[..count] {
                    let body = Arc::clone(&bodies[usize::from(request)]);
                    let header = format!("Content-Length: {}\r\n\r\n", body.len());
                    self.queue.push_back(Response { header, body });
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Sends as much of the queue as the socket takes. One `Gather` serves all connections, since it holds no bytes
    /// between calls.
    fn send(&mut self, gather: &mut Gather) -> Result<(), TransferError> {
        let segments: Vec<IoSlice<'_>> = self
            .queue
            .iter()
            .flat_map(|response| [response.header.as_bytes(), &response.body].map(IoSlice::new))
            .collect();
        let result = gather.write_from(&self.socket, &segments, &mut self.cursor);
        // Removes the responses that were sent wholly, and moves the cursor with the rest of the list.
        let sent_responses = self.cursor.segment() / SEGMENTS_PER_RESPONSE;
        self.queue.drain(..sent_responses);
        self.cursor = SegmentCursor::at(
            self.cursor.segment() - sent_responses * SEGMENTS_PER_RESPONSE,
            self.cursor.offset(),
        );
        match result {
            // The socket is full: poll reports when it takes more.
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            result => result.map(drop),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let bodies: Vec<Arc<[u8]>> = [10, 4_000, 3_000_000]
        .map(|bytes| vec![b'.'; bytes].into())
        .into();
    let mut connections = Vec::new();
    let mut clients = Vec::new();
    for _ in 0..3 {
        let (socket, client) = UnixStream::pair()?;
        connections.push(Connection::new(socket)?);
        clients.push(thread::spawn(move || request_all(client)));
    }

    let mut gather = Gather::default();
    while !connections.is_empty() {
        let mut polled: Vec<PollFd<'_>> = connections
            .iter()
            .map(|connection| PollFd::new(&connection.socket, connection.events()))
            .collect();
        match poll(&mut polled, None) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<PollFlags> = polled.iter().map(PollFd::revents).collect();
        for (connection, ready) in connections.iter_mut().zip(ready) {
            if connection.has_requests && ready.intersects(PollFlags::IN | PollFlags::HUP) {
                connection.read_requests(&bodies)?;
            }
            // Also responses queued just now: the socket usually takes them at once, without a poll.
            connection.send(&mut gather)?;
        }
        connections.retain(|connection| !connection.is_done());
    }

    let expected: usize = REQUESTS
        .iter()
        .map(|&request| &bodies[usize::from(request)])
        .map(|body| format!("Content-Length: {}\r\n\r\n", body.len()).len() + body.len())
        .sum();
    for client in clients {
        let received = client.join().expect("a client panicked")?;
        assert_eq!(received.len(), expected);
        println!("a client received {} bytes", received.len());
    }
    Ok(())
}

/// Sends requests one by one, and receives all responses.
fn request_all(mut server: UnixStream) -> std::io::Result<Vec<u8>> {
    for request in REQUESTS {
        server.write_all(&[request])?;
    }
    server.shutdown(std::net::Shutdown::Write)?;
    let mut received = Vec::new();
    server.read_to_end(&mut received)?;
    Ok(received)
}
