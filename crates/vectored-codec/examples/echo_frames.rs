//! A server whose messages are frames: four bytes of length, and then the body. The server answers each message by itself.
//!
//! ```text
//! cargo run -p vectored-codec --example echo_frames
//! ```

use std::io;

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, TryStreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::codec::{FramedRead, LengthDelimitedCodec};
use vectored_codec::{FramedQueue, LengthDelimitedEncoder};

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:7009").await?;
    loop {
        let (socket, peer) = listener.accept().await?;
        tokio::spawn(async move {
            if let Err(error) = serve(socket).await {
                eprintln!("{peer}: {error}");
            }
        });
    }
}

/// Answers the frames of a client, until it ends its stream.
pub async fn serve(socket: TcpStream) -> io::Result<()> {
    let (read, write) = socket.into_split();
    let requests = FramedRead::new(read, LengthDelimitedCodec::new());
    let answers = FramedQueue::new(write, LengthDelimitedEncoder::new());
    // Feeds the answers to all requests that have arrived, and then flushes the answers by one call.
    requests.map_ok(answer).forward(answers).await
}

fn answer(request: BytesMut) -> Bytes {
    request.freeze()
}
