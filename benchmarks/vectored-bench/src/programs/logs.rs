//! A logger: lines of text, appended to a file.

use std::io;
use std::rc::Rc;

use vectored::queue::QueuePolicy;

use crate::programs::case::{Case, Contenders, Kind, OURS, Program, Role, VERIFIED_REQUESTS};
use crate::programs::file::{Reuse, session};
use crate::programs::file_sinks::FileWay;
use crate::programs::harness::Harness;
use crate::programs::payload::Pool;

/// The logger. The bytes of a case are the message of a line.
pub const LOGS: Program = Program {
    name: "logs",
    kinds: &[Kind {
        name: "lines",
        defaults: &[(80, 1), (80, 64), (80, 1000), (500, 64), (4 << 10, 16)],
        is_single: false,
    }],
    open,
};

fn ways(policy: QueuePolicy) -> [(&'static str, Role, FileWay); 6] {
    [
        ("today", Role::Today, FileWay::EachRecord),
        ("buf-writer-8k", Role::ByHand, FileWay::BufWriter(8 << 10)),
        ("buf-writer-64k", Role::ByHand, FileWay::BufWriter(64 << 10)),
        ("one-buffer", Role::ByHand, FileWay::OneBuffer),
        ("write-vectored", Role::ByHand, FileWay::WriteVectored),
        (OURS, Role::Ours, FileWay::QueueOfRecords(policy)),
    ]
}

/// The text before the message. Formatting the time costs the same in every technique, so it is left out.
const HEAD: &[u8] = b"2026-03-01T12:00:00.000000Z  INFO server::connection: request done path=";

const TAIL: &[u8] = b"\n";

fn open(harness: &Harness, case: &Case) -> io::Result<Contenders> {
    let pool = Rc::new(Pool::new(case.bytes, case.count));
    let lines = |request: usize| -> Vec<u8> {
        let messages = pool.set(request).iter();
        messages
            .flat_map(|message| [HEAD, message, TAIL].concat())
            .collect()
    };
    let expected = (0..VERIFIED_REQUESTS).flat_map(lines).collect();
    Contenders::open(expected, &ways(harness.policies().append), |way| {
        let pool = Rc::clone(&pool);
        session(harness, Reuse::Truncate, |file| {
            let mut sink = way.sink(file);
            Box::new(move |request| {
                for message in pool.set(request) {
                    sink.record(HEAD, message, TAIL)?;
                }
                sink.flush()
            })
        })
    })
}
