//! A server of HTTP/1.1 on hyper: single bodies, streamed bodies, pipelined requests.

use std::convert::Infallible;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::Response;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::BufWriter;
use tokio::net::TcpStream;
use vectored::queue::QueuePolicy;

use crate::programs::case::{Case, Contenders, Kind, OURS, Program, Role, VERIFIED_REQUESTS};
use crate::programs::harness::Harness;
use crate::programs::payload::Pool;
use crate::programs::raw_client::RawClient;

/// The HTTP/1.1 server. Ours is the setting of hyper that [`pick`] chooses.
pub const HTTP1: Program = Program {
    name: "http1",
    kinds: &[
        Kind {
            name: "single",
            defaults: &[(128, 1), (4 << 10, 1), (32 << 10, 1), (1 << 20, 1)],
            is_single: true,
        },
        Kind {
            name: "streaming",
            defaults: &[(100, 64), (1 << 10, 64), (4 << 10, 64), (16 << 10, 16)],
            is_single: false,
        },
        Kind {
            name: "pipelined",
            defaults: &[(128, 16), (4 << 10, 16), (16 << 10, 16), (64 << 10, 16)],
            is_single: false,
        },
    ],
    open,
};

/// How a server is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setting {
    /// hyper's own choice: on a TCP stream a queue of up to 16 slices.
    Default,
    /// `writev(false)`: all is copied into one buffer.
    Flatten,
    /// `pipeline_flush(true)`: flattens, and flushes when no further request has arrived.
    PipelineFlush,
    /// The default on a `BufWriter` of 64 KiB.
    BufWriter,
}

fn open(harness: &Harness, case: &Case) -> io::Result<Contenders> {
    let case = *case;
    let pool = Rc::new(Pool::new(case.bytes, case.count));
    let answer = |request: usize| answer(&case, pool.set(request));
    let answer_bytes = answer(0).len();
    let expected = (0..VERIFIED_REQUESTS).flat_map(answer).collect();
    let get = b"GET /value HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let request = match case.kind {
        "pipelined" => get.repeat(case.count),
        _ => get.to_vec(),
    };
    let ways = [
        ("today", Role::Today, Setting::Default),
        ("flatten", Role::ByHand, Setting::Flatten),
        ("pipeline-flush", Role::ByHand, Setting::PipelineFlush),
        ("buf-writer-64k", Role::ByHand, Setting::BufWriter),
        (OURS, Role::Ours, pick(&harness.policies().tcp, &case)),
    ];
    Contenders::open(expected, &ways, |setting| {
        let pool = Rc::clone(&pool);
        harness.session(
            move |stream| serve(stream, setting, case, Rc::clone(&pool)),
            |streams| RawClient::boxed(streams, vec![request.clone()], answer_bytes),
        )
    })
}

/// The setting for what the server sends.
///
/// - If answers follow each other, `pipeline_flush` saves a call for each. It pays as long as copying a body costs less
///   than a call.
/// - Otherwise a body is flattened up to twice the length that the queue would copy: hyper writes one body a call, for
///   which [`QueuePolicy::copy_below_bytes`] is the lower end.
fn pick(policy: &QueuePolicy, case: &Case) -> Setting {
    let is_pipelined = case.kind == "pipelined" && case.count > 1;
    if is_pipelined && case.bytes <= policy.join_below_bytes {
        Setting::PipelineFlush
    } else if case.bytes <= policy.copy_below_bytes.saturating_mul(2) {
        Setting::Flatten
    } else {
        Setting::Default
    }
}

/// The answer to a request, by the specification.
fn answer(case: &Case, bodies: &[Bytes]) -> Vec<u8> {
    let mut all = Vec::new();
    if case.kind == "streaming" {
        all.extend_from_slice(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
        for chunk in bodies {
            all.extend_from_slice(format!("{:X}\r\n", chunk.len()).as_bytes());
            all.extend_from_slice(chunk);
            all.extend_from_slice(b"\r\n");
        }
        all.extend_from_slice(b"0\r\n\r\n");
        return all;
    }
    for body in bodies {
        let length = body.len();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
        all.extend_from_slice(head.as_bytes());
        all.extend_from_slice(body);
    }
    all
}

async fn serve(stream: TcpStream, setting: Setting, case: Case, pool: Rc<Pool>) -> io::Result<()> {
    let answered = std::cell::Cell::new(0);
    let service = service_fn(|_| {
        let number = answered.get();
        answered.set(number + 1);
        let body = match case.kind {
            "streaming" => Values::streamed(Rc::clone(&pool), number),
            _ => Values::single(Rc::clone(&pool), number),
        };
        async { Ok::<_, Infallible>(Response::new(body)) }
    });
    let mut builder = Builder::new();
    // The text of the header depends on the clock.
    builder.auto_date_header(false);
    match setting {
        Setting::Default | Setting::BufWriter => {}
        Setting::Flatten => {
            builder.writev(false);
        }
        Setting::PipelineFlush => {
            builder.pipeline_flush(true);
        }
    }
    let served = match setting {
        Setting::BufWriter => {
            let io = TokioIo::new(BufWriter::with_capacity(64 << 10, stream));
            builder.serve_connection(io, service).await
        }
        _ => {
            builder
                .serve_connection(TokioIo::new(stream), service)
                .await
        }
    };
    served.map_err(io::Error::other)
}

/// A body of values that the server keeps.
struct Values {
    pool: Rc<Pool>,
    left: Range<usize>,
    is_streamed: bool,
}

impl Values {
    /// One value, of known length.
    fn single(pool: Rc<Pool>, number: usize) -> Values {
        let index = number % pool.values().len();
        Values {
            pool,
            left: index..index + 1,
            is_streamed: false,
        }
    }

    /// The values of a set, one chunk each.
    fn streamed(pool: Rc<Pool>, number: usize) -> Values {
        Values {
            left: pool.range(number),
            pool,
            is_streamed: true,
        }
    }
}

impl Body for Values {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.left.next();
        Poll::Ready(next.map(|index| Ok(Frame::data(self.pool.values()[index].clone()))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        if self.is_streamed {
            return SizeHint::default();
        }
        let values = &self.pool.values()[self.left.clone()];
        SizeHint::with_exact(values.iter().map(|value| value.len() as u64).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vectored::cost::TargetKind;

    #[test]
    fn the_setting_follows_the_thresholds() {
        let mut policy = QueuePolicy::for_target(TargetKind::Tcp);
        (policy.copy_below_bytes, policy.join_below_bytes) = (4096, 32768);
        let picked = |kind, bytes, count| {
            let case = Case {
                program: "http1",
                kind,
                bytes,
                count,
            };
            pick(&policy, &case)
        };
        assert_eq!(picked("single", 8192, 1), Setting::Flatten);
        assert_eq!(picked("single", 8193, 1), Setting::Default);
        assert_eq!(picked("streaming", 8193, 64), Setting::Default);
        assert_eq!(picked("pipelined", 32768, 16), Setting::PipelineFlush);
        assert_eq!(picked("pipelined", 32769, 16), Setting::Default);
        assert_eq!(picked("pipelined", 8193, 1), Setting::Default);
    }
}
