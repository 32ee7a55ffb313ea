//! Framed messages over tokio: the length of a message stands before the message. Messages that arrive while the socket is full
//! are sent together, by one call.
//!
//! ```text
//! cargo run -p vectored-codec --example framed
//! ```

use std::error::Error;
use std::io;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::poll_fn;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio_util::codec::{FramedRead, LengthDelimitedCodec};
use vectored::SegmentQueue;
use vectored::cost::TargetKind;
use vectored::queue::QueuePolicy;
use vectored_codec::{FramedQueue, LengthDelimitedEncoder};

const TASKS: u32 = 4;
const MESSAGES: u32 = 1_000;

/// Sends the messages of all tasks until their channels are closed.
///
/// `forward` puts all messages that have arrived into the queue, and then flushes. A short message is copied after its
/// length; a long message is kept, and sent from where it is. While the socket is full, further messages go into the
/// queue. When the queue is full, the channel fills, and the tasks wait.
async fn send_frames(socket: TcpStream, mut messages: Receiver<Bytes>) -> io::Result<()> {
    let queue = SegmentQueue::with_policy(QueuePolicy::for_target(TargetKind::Tcp));
    let frames = FramedQueue::with_queue(socket, LengthDelimitedEncoder::new(), queue);
    let messages = poll_fn(|cx| messages.poll_recv(cx));
    messages.map(Ok).forward(frames).await
}

/// Receives frames until the end of the stream, and returns how many frames came from each task.
async fn receive_frames(socket: TcpStream) -> io::Result<[u32; TASKS as usize]> {
    let mut frames = FramedRead::new(socket, LengthDelimitedCodec::new());
    let mut received = [0; TASKS as usize];
    while let Some(message) = frames.next().await.transpose()? {
        let task = message[0];
        let number = &mut received[usize::from(task)];
        assert_eq!(message, message_of(task, *number));
        *number += 1;
    }
    Ok(received)
}

fn message_of(task: u8, number: u32) -> Bytes {
    let bytes = [20_000, 1, 30, 2_000][number as usize % 4];
    Bytes::from(vec![task; bytes])
}

async fn produce(task: u8, messages: Sender<Bytes>) {
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
