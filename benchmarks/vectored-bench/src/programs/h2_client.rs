//! A client of HTTP/2. It has a runtime of its own, on the client thread.

use std::io;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use http::Request;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::programs::harness::Client;

/// The most streams at once.
pub const MAX_STREAMS: usize = 10_000;

/// The window of a connection and of each stream, so large that the server never waits for it.
const WINDOW_BYTES: u32 = 1 << 30;

/// Sends requests of several streams at once.
pub struct H2Client {
    /// The connections before their first use; a handshake needs the server at work.
    unused: Vec<std::net::TcpStream>,
    runtime: Option<Runtime>,
    senders: Vec<SendRequest<Bytes>>,
    streams: usize,
}

impl H2Client {
    /// A request of this client is `streams` requests of HTTP/2 at once, on one of the connections.
    pub fn boxed(connections: Vec<std::net::TcpStream>, streams: usize) -> Box<dyn Client> {
        Box::new(H2Client {
            unused: connections,
            runtime: None,
            senders: Vec::new(),
            streams,
        })
    }

    /// Makes the handshakes before the first use, and does `work`.
    fn run<R>(
        &mut self,
        work: impl AsyncFnOnce(&mut [SendRequest<Bytes>]) -> Result<R, h2::Error>,
    ) -> io::Result<R> {
        let runtime = match self.runtime.take() {
            Some(runtime) => runtime,
            None => tokio::runtime::Builder::new_current_thread()
                .enable_io()
                .build()?,
        };
        let unused = std::mem::take(&mut self.unused);
        let senders = &mut self.senders;
        let result = runtime.block_on(async {
            for stream in unused {
                senders.push(connect(stream).await?);
            }
            work(senders).await.map_err(io::Error::other)
        });
        self.runtime = Some(runtime);
        result
    }
}

async fn connect(stream: std::net::TcpStream) -> io::Result<SendRequest<Bytes>> {
    stream.set_nonblocking(true)?;
    let stream = TcpStream::from_std(stream)?;
    let mut builder = h2::client::Builder::new();
    builder
        .initial_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .initial_max_send_streams(MAX_STREAMS);
    let handshake = builder.handshake(stream).await;
    let (sender, connection) = handshake.map_err(io::Error::other)?;
    // If the connection fails, so do the requests.
    tokio::spawn(connection);
    Ok(sender)
}

/// Answers that are under way.
type Answers = Vec<ResponseFuture>;

fn send(sender: &mut SendRequest<Bytes>, streams: usize) -> Result<Answers, h2::Error> {
    let mut answers = Vec::with_capacity(streams);
    for _ in 0..streams {
        let request = Request::get("http://localhost/value").body(());
        let request = request.expect("the address is valid");
        let (answer, _) = sender.send_request(request, true)?;
        answers.push(answer);
    }
    Ok(answers)
}

async fn read(answers: Answers, mut take: impl FnMut(&Bytes)) -> Result<(), h2::Error> {
    for answer in answers {
        let mut body = answer.await?.into_body();
        while let Some(data) = body.data().await {
            let data = data?;
            take(&data);
            body.flow_control().release_capacity(data.len())?;
        }
    }
    Ok(())
}

impl Client for H2Client {
    fn exchange(&mut self, requests: usize) -> io::Result<()> {
        let streams = self.streams;
        self.run(async |senders| {
            let mut left = requests;
            while left > 0 {
                let at_once = left.min(senders.len());
                let mut under_way = Vec::with_capacity(at_once);
                for sender in &mut senders[..at_once] {
                    under_way.push(send(sender, streams)?);
                }
                for answers in under_way {
                    read(answers, |_| ()).await?;
                }
                left -= at_once;
            }
            Ok(())
        })
    }

    fn answers(&mut self, requests: usize) -> io::Result<Vec<Vec<u8>>> {
        let streams = self.streams;
        self.run(async |senders| {
            let mut all = Vec::new();
            for sender in senders {
                let mut bytes = Vec::new();
                for _ in 0..requests {
                    let answers = send(sender, streams)?;
                    read(answers, |data| bytes.extend_from_slice(data)).await?;
                }
                all.push(bytes);
            }
            Ok(all)
        })
    }
}
