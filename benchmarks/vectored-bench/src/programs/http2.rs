//! A server of HTTP/2 on h2: single bodies, bodies in several frames, concurrent streams.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use h2::SendStream;
use h2::server::SendResponse;
use http::Response;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use vectored::queue::QueuePolicy;

use crate::programs::case::{Case, Contenders, Kind, OURS, Program, Role, VERIFIED_REQUESTS};
use crate::programs::h2_client::{H2Client, MAX_STREAMS};
use crate::programs::harness::Harness;
use crate::programs::payload::Pool;

/// The HTTP/2 server. Ours is the setting that [`pick`] chooses.
pub const HTTP2: Program = Program {
    name: "h2",
    kinds: &[
        Kind {
            name: "single",
            defaults: &[(512, 1), (4 << 10, 1), (64 << 10, 1)],
            is_single: true,
        },
        Kind {
            name: "frames",
            defaults: &[(300, 64), (1 << 10, 64), (4 << 10, 64), (16 << 10, 16)],
            is_single: false,
        },
        Kind {
            name: "streams",
            defaults: &[(512, 16), (4 << 10, 16)],
            is_single: false,
        },
    ],
    open,
};

/// How a server is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setting {
    /// A TCP stream: DATA frames of 256 bytes or more get a call each.
    Default,
    /// The stream says that it does not gather: frames of less than 1024 bytes are copied.
    NotVectored,
    /// The stream says that it does not gather when h2 sets its threshold, but then gathers: frames of less than 1024 bytes are
    /// copied.
    OtherThreshold,
    /// The program copies the parts of a body together, into DATA frames of 16 KiB.
    Joined,
}

/// The largest DATA frame that every client takes: RFC 9113, 4.2.
const FRAME_BYTES: usize = 16 << 10;

/// Up to this length h2 copies a frame if the stream does not gather: `CHAIN_THRESHOLD_WITHOUT_VECTORED_IO`.
const COPIED_IF_NOT_VECTORED: usize = 1023;

fn open(harness: &Harness, case: &Case) -> io::Result<Contenders> {
    let case = *case;
    let pool = Rc::new(Pool::new(case.bytes, case.count));
    let bodies = (0..VERIFIED_REQUESTS).flat_map(|request| pool.set(request));
    let expected = bodies.flat_map(|body| body.to_vec()).collect();
    let mut ways = vec![
        ("today", Role::Today, Setting::Default),
        ("not-vectored", Role::ByHand, Setting::NotVectored),
        ("other-threshold", Role::ByHand, Setting::OtherThreshold),
    ];
    if case.kind == "frames" {
        ways.push(("joined-16k", Role::ByHand, Setting::Joined));
    }
    ways.push((OURS, Role::Ours, pick(&harness.policies().tcp, &case)));
    let streams = match case.kind {
        "streams" => case.count,
        _ => 1,
    };
    Contenders::open(expected, &ways, |setting| {
        let pool = Rc::clone(&pool);
        harness.session(
            move |stream| serve(stream, setting, case, Rc::clone(&pool)),
            |connections| H2Client::boxed(connections, streams),
        )
    })
}

/// The setting for what the server sends: every DATA frame that is not copied costs a call.
///
/// - The parts of a body are joined if copying them costs less than a call each.
/// - Other frames are copied if the queue would copy frames of their length, and h2 can.
fn pick(policy: &QueuePolicy, case: &Case) -> Setting {
    let is_in_parts = case.kind == "frames" && case.count > 1;
    if is_in_parts && case.bytes < policy.join_below_bytes.min(FRAME_BYTES) {
        Setting::Joined
    } else if case.bytes <= policy.copy_below_bytes.min(COPIED_IF_NOT_VECTORED) {
        Setting::NotVectored
    } else {
        Setting::Default
    }
}

async fn serve(stream: TcpStream, setting: Setting, case: Case, pool: Rc<Pool>) -> io::Result<()> {
    let io = Transport {
        stream,
        gathers: setting != Setting::NotVectored,
        denies_once: Cell::new(setting == Setting::OtherThreshold),
    };
    let mut builder = h2::server::Builder::new();
    builder.max_concurrent_streams(MAX_STREAMS as u32);
    let mut connection = builder.handshake(io).await.map_err(io::Error::other)?;
    let mut number = 0;
    while let Some(request) = connection.accept().await {
        let (_, respond) = request.map_err(io::Error::other)?;
        let body = match case.kind {
            "frames" => pool.set(number),
            _ => std::slice::from_ref(&pool.values()[number % pool.values().len()]),
        };
        send(respond, body, setting).map_err(io::Error::other)?;
        number += 1;
    }
    Ok(())
}

/// Hands over a body. The connection sends it when it is polled next, as with a body that another task sends.
fn send(
    mut respond: SendResponse<Bytes>,
    body: &[Bytes],
    setting: Setting,
) -> Result<(), h2::Error> {
    let mut stream = respond.send_response(Response::new(()), false)?;
    if setting == Setting::Joined {
        return send_joined(&mut stream, body);
    }
    let (last, before) = body.split_last().expect("a body has a part");
    for part in before {
        stream.send_data(part.clone(), false)?;
    }
    stream.send_data(last.clone(), true)
}

fn send_joined(stream: &mut SendStream<Bytes>, body: &[Bytes]) -> Result<(), h2::Error> {
    let mut frame = BytesMut::with_capacity(FRAME_BYTES);
    for part in body {
        if frame.len() + part.len() > FRAME_BYTES && !frame.is_empty() {
            let whole = std::mem::replace(&mut frame, BytesMut::with_capacity(FRAME_BYTES));
            stream.send_data(whole.freeze(), false)?;
        }
        frame.extend_from_slice(part);
    }
    stream.send_data(frame.freeze(), true)
}

/// A TCP stream that can say that it does not gather.
struct Transport {
    stream: TcpStream,
    gathers: bool,
    /// h2 asks first when it sets its threshold, then before each write.
    denies_once: Cell<bool>,
}

impl AsyncRead for Transport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.gathers && !self.denies_once.take()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vectored::cost::TargetKind;

    #[test]
    fn the_setting_follows_the_thresholds() {
        let policy = QueuePolicy::for_target(TargetKind::Tcp);
        let mut narrow = policy;
        (narrow.copy_below_bytes, narrow.join_below_bytes) = (300, 2000);
        let picked = |policy, kind, bytes, count| {
            let case = Case {
                program: "h2",
                kind,
                bytes,
                count,
            };
            pick(policy, &case)
        };
        assert_eq!(picked(&policy, "single", 1023, 1), Setting::NotVectored);
        assert_eq!(picked(&policy, "single", 1024, 1), Setting::Default);
        assert_eq!(picked(&narrow, "streams", 301, 9), Setting::Default);
        assert_eq!(picked(&narrow, "frames", 1999, 9), Setting::Joined);
        assert_eq!(picked(&narrow, "frames", 2000, 9), Setting::Default);
        assert_eq!(picked(&policy, "frames", FRAME_BYTES, 9), Setting::Default);
        assert_eq!(picked(&policy, "frames", 300, 1), Setting::NotVectored);
    }
}
