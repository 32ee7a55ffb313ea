//! A server of messages framed as gRPC frames them, one DATA frame of HTTP/2 each.
//!
//! A message has a number and a payload, encoded as Protocol Buffers encode them.

use std::io;
use std::rc::Rc;

use bytes::{Buf, BufMut as _, Bytes, BytesMut};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use vectored::queue::QueuePolicy;

use crate::programs::case::{Case, Contenders, Kind, OURS, Program, Role, VERIFIED_REQUESTS};
use crate::programs::framed::is_wanted;
use crate::programs::harness::Harness;
use crate::programs::payload::Pool;
use crate::programs::raw_client::RawClient;
use crate::programs::sinks::{Server, Sink, Way};

/// The server of gRPC-like messages.
pub const GRPC: Program = Program {
    name: "grpc",
    kinds: &[Kind {
        name: "messages",
        defaults: &[
            (100, 100),
            (300, 64),
            (1 << 10, 64),
            (4 << 10, 16),
            (16 << 10, 4),
        ],
        is_single: false,
    }],
    open,
};

#[derive(Clone, Copy)]
enum GrpcWay {
    /// Encoded into a buffer; each frame of 256 bytes or more is written by a call of its own.
    PerFrame,
    Records(Way),
}

fn ways(policy: QueuePolicy) -> [(&'static str, Role, GrpcWay); 6] {
    [
        ("today", Role::Today, GrpcWay::PerFrame),
        ("one-buffer", Role::ByHand, GrpcWay::Records(Way::OneBuffer)),
        (
            "buf-writer-64k",
            Role::ByHand,
            GrpcWay::Records(Way::BufWriter(64 << 10)),
        ),
        (
            "buf-writer-256k",
            Role::ByHand,
            GrpcWay::Records(Way::BufWriter(256 << 10)),
        ),
        (
            "write-vectored",
            Role::ByHand,
            GrpcWay::Records(Way::WriteVectored),
        ),
        (OURS, Role::Ours, GrpcWay::Records(Way::Queue(policy))),
    ]
}

/// A request of the client only says that the next messages are wanted.
const REQUEST: [u8; 4] = [0; 4];

fn open(harness: &Harness, case: &Case) -> io::Result<Contenders> {
    let pool = Rc::new(Pool::new(case.bytes, case.count));
    let answer = |request: usize| -> Vec<u8> {
        let payloads = pool.set(request).iter().enumerate();
        payloads
            .flat_map(|(index, payload)| [head(index, payload).as_ref(), payload].concat())
            .collect()
    };
    let answer_bytes = answer(0).len();
    let expected = (0..VERIFIED_REQUESTS).flat_map(answer).collect();
    Contenders::open(expected, &ways(harness.policies().tcp), |way| {
        let client = |streams| RawClient::boxed(streams, vec![REQUEST.to_vec()], answer_bytes);
        let pool = Rc::clone(&pool);
        match way {
            GrpcWay::PerFrame => harness.session(
                move |stream| serve_per_frame(stream, Rc::clone(&pool)),
                client,
            ),
            GrpcWay::Records(way) => way.session(harness, Messages { pool }, client),
        }
    })
}

/// The bytes before the payload.
struct Head {
    bytes: [u8; 32],
    len: usize,
}

impl AsRef<[u8]> for Head {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// The head of a frame, the prefix of gRPC, and the fields of the message before the payload.
fn head(index: usize, payload: &Bytes) -> Head {
    let mut bytes = [0; 32];
    // The fields are encoded first: the lengths before them depend on their size.
    let mut fields = &mut bytes[14..];
    // Field 1, a number; field 2, bytes: tag, length.
    fields.put_u8(0x08);
    put_varint(&mut fields, index);
    fields.put_u8(0x12);
    put_varint(&mut fields, payload.len());
    let left = fields.len();
    let field_bytes = 18 - left;
    let message_bytes = field_bytes + payload.len();
    let mut start = &mut bytes[..14];
    // DATA frame of stream 1, without flags.
    start.put_uint((message_bytes + 5) as u64, 3);
    start.put_u16(0);
    start.put_u32(1);
    // The message is not compressed.
    start.put_u8(0);
    start.put_u32(message_bytes as u32);
    Head {
        bytes,
        len: 14 + field_bytes,
    }
}

fn put_varint(buffer: &mut &mut [u8], mut number: usize) {
    while number >= 0x80 {
        buffer.put_u8(number as u8 | 0x80);
        number >>= 7;
    }
    buffer.put_u8(number as u8);
}

/// Sends what a gRPC library has encoded, as h2 does: frames of less than 256 bytes are collected in a buffer of 16 KiB; a
/// longer frame is written at once, together with what was collected.
async fn serve_per_frame(mut stream: TcpStream, pool: Rc<Pool>) -> io::Result<()> {
    const CHAIN_THRESHOLD: usize = 256;
    const FRAME_HEAD: usize = 9;
    let mut frames = BytesMut::with_capacity(16 << 10);
    let mut encoder = BytesMut::with_capacity(8 << 10);
    for request in 0.. {
        if !is_wanted(&mut stream).await? {
            break;
        }
        for (index, payload) in pool.set(request).iter().enumerate() {
            let head = head(index, payload);
            let (frame_head, message_head) = head.as_ref().split_at(FRAME_HEAD);
            encoder.reserve(message_head.len() + payload.len());
            encoder.extend_from_slice(message_head);
            encoder.extend_from_slice(payload);
            let message = encoder.split().freeze();
            frames.extend_from_slice(frame_head);
            if message.len() < CHAIN_THRESHOLD {
                frames.extend_from_slice(&message);
                if frames.capacity() - frames.len() < CHAIN_THRESHOLD + FRAME_HEAD {
                    stream.write_all(&frames).await?;
                    frames.clear();
                }
                continue;
            }
            let mut both = (&frames[..]).chain(message);
            stream.write_all_buf(&mut both).await?;
            frames.clear();
        }
        stream.write_all(&frames).await?;
        frames.clear();
    }
    Ok(())
}

#[derive(Clone)]
struct Messages {
    pool: Rc<Pool>,
}

impl Server for Messages {
    async fn serve<S: Sink>(self, mut sink: S) -> io::Result<()> {
        for request in 0.. {
            if !is_wanted(sink.stream()).await? {
                break;
            }
            for (index, payload) in self.pool.set(request).iter().enumerate() {
                let head = head(index, payload);
                sink.record(head.as_ref(), payload, b"").await?;
            }
            sink.flush().await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_what_the_specifications_say() {
        let payload = Bytes::from(vec![b'x'; 300]);
        let head = head(5, &payload);
        let expected = [
            // HTTP/2: 310 bytes, DATA, no flags, stream 1.
            0, 1, 0x36, 0, 0, 0, 0, 0, 1, //
            // gRPC: not compressed, 305 bytes.
            0, 0, 0, 1, 0x31, //
            // Protocol Buffers: field 1 is 5; field 2 has 300 bytes.
            0x08, 5, 0x12, 0xac, 2,
        ];
        assert_eq!(head.as_ref(), expected);
    }
}
