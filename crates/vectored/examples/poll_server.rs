//! A single-threaded server: poll(2), non-blocking sockets, and a queue of responses for each connection.
//!
//! If a socket takes only a part of a response, the queue holds the rest. The next call sends the rest and all
//! responses that were added in between.
//!
//! ```text
//! cargo run -p vectored --example poll_server
//! ```

use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use vectored::SegmentQueue;
use vectored::cost::TargetKind;
use vectored::queue::QueuePolicy;

/// The requests of each client. A request is a byte, which is the index of a body.
const REQUESTS: [u8; 6] = [0, 1, 2, 1, 0, 2];

struct Connection {
    socket: UnixStream,
    queue: SegmentQueue,
    has_requests: bool,
}

impl Connection {
    fn new(socket: UnixStream) -> io::Result<Connection> {
        socket.set_nonblocking(true)?;
        Ok(Connection {
            socket,
            queue: SegmentQueue::with_policy(QueuePolicy::for_target(TargetKind::Tcp)),
            has_requests: true,
        })
    }

    /// Returns the events for poll(2). `OUT` is set only if the queue has bytes, because poll(2) would return at once
    /// for an empty queue. `IN` is not set if the queue is full, because the client does not read its responses.
    fn events(&self) -> PollFlags {
        let mut events = PollFlags::empty();
        events.set(PollFlags::IN, self.has_requests && !self.queue.is_full());
        events.set(PollFlags::OUT, !self.queue.is_empty());
        events
    }

    fn is_done(&self) -> bool {
        !self.has_requests && self.queue.is_empty()
    }

    /// Reads the requests that have arrived, and puts the responses into the queue.
    fn read_requests(&mut self, bodies: &[Arc<[u8]>]) -> io::Result<()> {
        let mut requests = [0; 16];
        match self.socket.read(&mut requests) {
            Ok(0) => self.has_requests = false,
            Ok(count) => {
                for &request in &requests[..count] {
                    let body = &bodies[usize::from(request)];
                    write!(self.queue, "Content-Length: {}\r\n\r\n", body.len())?;
                    self.queue.push_shared(body);
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Makes one call, so that other connections do not wait. If the socket takes only a part, poll(2) reports when the
    /// socket has room.
    fn send(&mut self) -> io::Result<()> {
        match self.queue.write_some(&self.socket) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
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
            // The new responses are sent at once, because a socket usually has room.
            connection.send()?;
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

fn request_all(mut server: UnixStream) -> io::Result<Vec<u8>> {
    for request in REQUESTS {
        server.write_all(&[request])?;
    }
    server.shutdown(std::net::Shutdown::Write)?;
    let mut received = Vec::new();
    server.read_to_end(&mut received)?;
    Ok(received)
}
