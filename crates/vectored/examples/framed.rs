//! Framed messages over tokio: each has its length before it. Messages that arrive while the socket is full are sent
//! together, by one call.
//!
//! ```text
//! cargo run -p vectored --features tokio --example framed
//! ```

use std::error::Error;
use std::io;

use tokio::io::{AsyncReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{self, Receiver, Sender};
use vectored::{QueuePolicy, SegmentQueue, TargetKind};

const TASKS: u32 = 4;
const MESSAGES: u32 = 1_000;

/// Sends the messages of all tasks until their channels are closed.
///
/// `select!` drops the future of `drain_to` whenever a message arrives first. The queue then holds the bytes that were
/// not written, so nothing is lost or sent twice.
async fn send_frames(mut socket: TcpStream, mut messages: Receiver<Vec<u8>>) -> io::Result<()> {
    let mut queue = SegmentQueue::with_policy(QueuePolicy::for_target(TargetKind::Socket));
    loop {
        tokio::select! {
            // Messages first: one call then sends all that are there. A full queue stops reading, and so the tasks.
            biased;
            message = messages.recv(), if !queue.is_full() => match message {
                Some(message) => put_frame(&mut queue, message)?,
                None => break,
            },
            result = queue.drain_to(&mut socket), if !queue.is_empty() => result?,
        }
    }
    queue.drain_to(&mut socket).await
}

/// A short message is copied behind its length; a long one is kept, and sent from where it is.
fn put_frame(queue: &mut SegmentQueue, message: Vec<u8>) -> io::Result<()> {
    let length = u32::try_from(message.len()).map_err(io::Error::other)?;
    queue.put_slice(&length.to_be_bytes());
    queue.push(message);
    Ok(())
}

/// Receives frames until the end of the stream, and returns how many came of each task.
async fn receive_frames(socket: TcpStream) -> io::Result<[u32; TASKS as usize]> {
    let mut socket = BufReader::new(socket);
    let mut received = [0; TASKS as usize];
    loop {
        let length = match socket.read_u32().await {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(received),
            Err(error) => return Err(error),
        };
        let mut message = vec![0; length as usize];
        socket.read_exact(&mut message).await?;
        let task = message[0];
        let number = &mut received[usize::from(task)];
        assert_eq!(message, message_of(task, *number));
        *number += 1;
    }
}

/// A message of 1 to 20,000 bytes.
fn message_of(task: u8, number: u32) -> Vec<u8> {
    let bytes = [20_000, 1, 30, 2_000][number as usize % 4];
    vec![task; bytes]
}

async fn produce(task: u8, messages: Sender<Vec<u8>>) {
    for number in 0..MESSAGES {
        let sent = messages.send(message_of(task, number)).await;
        sent.expect("the receiver lives as long as the senders");
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let client = TcpStream::connect(listener.local_addr()?).await?;
    let (server, _) = listener.accept().await?;

    let (sender, receiver) = mpsc::channel(64);
    for task in 0..TASKS as u8 {
        tokio::spawn(produce(task, sender.clone()));
    }
    drop(sender);
    let (sent, received) = tokio::join!(send_frames(server, receiver), receive_frames(client));
    sent?;
    assert_eq!(received?, [MESSAGES; TASKS as usize]);
    println!("{} messages arrived", TASKS * MESSAGES);
    Ok(())
}
