//! A write-ahead log: commits of several records, into a file that is recycled.

use std::io;
use std::rc::Rc;

use bytes::Bytes;
use vectored::queue::QueuePolicy;

use crate::programs::case::{Case, Contenders, Kind, OURS, Program, Role, VERIFIED_REQUESTS};
use crate::programs::file::{Reuse, session};
use crate::programs::file_sinks::FileWay;
use crate::programs::harness::Harness;
use crate::programs::payload::Pool;

/// The write-ahead log. A request is a commit.
pub const WAL: Program = Program {
    name: "wal",
    kinds: &[Kind {
        name: "commit",
        defaults: &[
            (100, 1),
            (100, 64),
            (1 << 10, 64),
            (4 << 10, 64),
            (32 << 10, 16),
        ],
        is_single: false,
    }],
    open,
};

fn ways(policy: QueuePolicy) -> [(&'static str, Role, FileWay); 6] {
    [
        ("today", Role::Today, FileWay::BufWriter(8 << 10)),
        ("buf-writer-64k", Role::ByHand, FileWay::BufWriter(64 << 10)),
        (
            "buf-writer-256k",
            Role::ByHand,
            FileWay::BufWriter(256 << 10),
        ),
        ("one-buffer", Role::ByHand, FileWay::OneBuffer),
        ("write-vectored", Role::ByHand, FileWay::WriteVectored),
        (OURS, Role::Ours, FileWay::Queue(policy)),
    ]
}

/// The end of a record.
const TAIL: &[u8; 4] = b"\xfe\xca\0\0";

fn open(harness: &Harness, case: &Case) -> io::Result<Contenders> {
    let pool = Rc::new(Pool::new(case.bytes, case.count));
    let records = |request: usize| -> Vec<u8> {
        let payloads = pool.set(request).iter().enumerate();
        payloads
            .flat_map(|(index, payload)| {
                [&head(request, index, payload)[..], payload, TAIL].concat()
            })
            .collect()
    };
    let expected = (0..VERIFIED_REQUESTS).flat_map(records).collect();
    Contenders::open(expected, &ways(harness.policies().overwrite), |way| {
        let pool = Rc::clone(&pool);
        session(harness, Reuse::Overwrite, |file| {
            let mut sink = way.sink(file);
            Box::new(move |request| {
                for (index, payload) in pool.set(request).iter().enumerate() {
                    sink.record(&head(request, index, payload), payload, TAIL)?;
                }
                sink.flush()
            })
        })
    })
}

/// Length, transaction and number of a record. Its checksum would cost the same in every technique, so it is left out.
fn head(transaction: usize, index: usize, payload: &Bytes) -> [u8; 24] {
    let mut head = [0; 24];
    let fields = [payload.len(), transaction, index];
    for (bytes, field) in std::iter::zip(head.chunks_exact_mut(8), fields) {
        bytes.copy_from_slice(&(field as u64).to_le_bytes());
    }
    head
}
