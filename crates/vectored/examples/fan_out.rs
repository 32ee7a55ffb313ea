//! Sends a message to many clients at the same time by io_uring, in one thread. A slow client does not delay other
//! clients.
//!
//! ```text
//! cargo run -p vectored --features uring --example fan_out
//! ```

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use vectored::SegmentQueue;
use vectored::uring::Ring;

const CLIENTS: usize = 8;

/// Makes the message for a client. Each client gets a different head. All clients share the body.
fn message(client: usize, body: &Arc<[u8]>) -> SegmentQueue {
    let mut queue = SegmentQueue::new();
    queue.put_slice(format!("client {client}, {} bytes:\n", body.len()).as_bytes());
    queue.push_shared(body);
    queue
}

/// Sends all messages. Calls `sent` with the number of the client after each message.
fn send_all(
    ring: &mut Ring,
    sockets: Vec<OwnedFd>,
    body: &Arc<[u8]>,
    mut sent: impl FnMut(u64),
) -> io::Result<()> {
    for (client, socket) in sockets.into_iter().enumerate() {
        // The ring owns the socket and the message until the transfer has ended.
        ring.submit_write(socket, message(client, body), client as u64);
    }
    while let Some(done) = ring.wait()? {
        match done.result {
            Ok(_) => sent(done.token),
            Err(error) => eprintln!("client {}: {error}", done.token),
        }
    }
    Ok(())
}

/// Sends the messages without io_uring, to one client after another.
fn send_in_turn(
    sockets: Vec<OwnedFd>,
    body: &Arc<[u8]>,
    mut sent: impl FnMut(u64),
) -> io::Result<()> {
    for (client, socket) in sockets.into_iter().enumerate() {
        message(client, body).write_to(&socket)?;
        sent(client as u64);
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let body: Arc<[u8]> = vec![b'.'; 4 << 20].into();
    let (mut sockets, mut readers) = (Vec::new(), Vec::new());
    for client in 0..CLIENTS {
        let (server_end, mut client_end) = UnixStream::pair()?;
        sockets.push(OwnedFd::from(server_end));
        readers.push(thread::spawn(move || {
            if client == 0 {
                thread::sleep(Duration::from_millis(100));
            }
            let mut received = Vec::new();
            client_end
                .read_to_end(&mut received)
                .map(|_| received.len())
        }));
    }
    let began = Instant::now();
    let report = |client| println!("client {client} after {} ms", began.elapsed().as_millis());
    match Ring::new(CLIENTS as u32) {
        Ok(mut ring) => send_all(&mut ring, sockets, &body, report)?,
        Err(error) if error.is_disabled() => {
            eprintln!("{error}");
            send_in_turn(sockets, &body, report)?;
        }
        Err(error) => return Err(error.into()),
    }
    for reader in readers {
        let received = reader.join().expect("the reader does not panic")?;
        assert!(received > body.len());
    }
    Ok(())
}
