//! A server of framed messages: each has its length before it, in four bytes.

use std::io;
use std::rc::Rc;

use bytes::Bytes;
use futures_util::SinkExt;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio_util::codec::{FramedWrite, LengthDelimitedCodec};
use vectored::queue::QueuePolicy;

use crate::programs::case::{Case, Contenders, Kind, OURS, Program, Role, VERIFIED_REQUESTS};
use crate::programs::harness::Harness;
use crate::programs::payload::Pool;
use crate::programs::raw_client::RawClient;
use crate::programs::sinks::{Server, Sink, Way};

/// The server of framed messages.
pub const FRAMED: Program = Program {
    name: "framed",
    kinds: &[Kind {
        name: "frames",
        defaults: &[
            (32, 256),
            (1000, 256),
            (4 << 10, 16),
            (4 << 10, 64),
            (16 << 10, 1),
            (64 << 10, 4),
        ],
        is_single: false,
    }],
    open,
};

#[derive(Clone, Copy)]
enum FramedWay {
    /// `FramedWrite`: feed every frame, then flush; with this backpressure boundary, if given.
    Codec(Option<usize>),
    Records(Way),
}

fn ways(policy: QueuePolicy) -> [(&'static str, Role, FramedWay); 7] {
    [
        ("today", Role::Today, FramedWay::Codec(None)),
        (
            "boundary-64k",
            Role::ByHand,
            FramedWay::Codec(Some(64 << 10)),
        ),
        (
            "boundary-256k",
            Role::ByHand,
            FramedWay::Codec(Some(256 << 10)),
        ),
        (
            "one-buffer",
            Role::ByHand,
            FramedWay::Records(Way::OneBuffer),
        ),
        (
            "buf-writer-64k",
            Role::ByHand,
            FramedWay::Records(Way::BufWriter(64 << 10)),
        ),
        (
            "write-vectored",
            Role::ByHand,
            FramedWay::Records(Way::WriteVectored),
        ),
        (OURS, Role::Ours, FramedWay::Records(Way::Queue(policy))),
    ]
}

/// Bytes of a request: it only says that the next messages are wanted.
const REQUEST_BYTES: usize = 4;

fn open(harness: &Harness, case: &Case) -> io::Result<Contenders> {
    let pool = Rc::new(Pool::new(case.bytes, case.count));
    let answer = |request: usize| -> Vec<u8> {
        let frames = pool.set(request).iter();
        frames
            .flat_map(|frame| [&length(frame)[..], frame].concat())
            .collect()
    };
    let answer_bytes = answer(0).len();
    let expected = (0..VERIFIED_REQUESTS).flat_map(answer).collect();
    Contenders::open(expected, &ways(harness.policies().tcp), |way| {
        let client =
            |streams| RawClient::boxed(streams, vec![vec![0; REQUEST_BYTES]], answer_bytes);
        let pool = Rc::clone(&pool);
        match way {
            FramedWay::Codec(boundary) => harness.session(
                move |stream| serve_codec(stream, Rc::clone(&pool), boundary),
                client,
            ),
            FramedWay::Records(way) => way.session(harness, Frames { pool }, client),
        }
    })
}

fn length(frame: &Bytes) -> [u8; 4] {
    (frame.len() as u32).to_be_bytes()
}

async fn serve_codec(stream: TcpStream, pool: Rc<Pool>, boundary: Option<usize>) -> io::Result<()> {
    let mut framed = FramedWrite::new(stream, LengthDelimitedCodec::new());
    if let Some(boundary) = boundary {
        framed.set_backpressure_boundary(boundary);
    }
    for request in 0.. {
        if !is_wanted(framed.get_mut()).await? {
            break;
        }
        for frame in pool.set(request) {
            framed.feed(frame.clone()).await?;
        }
        SinkExt::<Bytes>::flush(&mut framed).await?;
    }
    Ok(())
}

#[derive(Clone)]
struct Frames {
    pool: Rc<Pool>,
}

impl Server for Frames {
    async fn serve<S: Sink>(self, mut sink: S) -> io::Result<()> {
        for request in 0.. {
            if !is_wanted(sink.stream()).await? {
                break;
            }
            for frame in self.pool.set(request) {
                sink.record(&length(frame), frame, b"").await?;
            }
            sink.flush().await?;
        }
        Ok(())
    }
}

/// Reads a request; false if the client has closed the connection.
pub async fn is_wanted(stream: &mut TcpStream) -> io::Result<bool> {
    let mut request = [0; REQUEST_BYTES];
    match stream.read_exact(&mut request).await {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
