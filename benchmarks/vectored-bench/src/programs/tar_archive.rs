//! Archives of files that the program holds in memory.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::rc::Rc;

use bytes::Bytes;
use tar::{Builder, Header};
use vectored::queue::QueuePolicy;

use crate::programs::case::{Case, Contenders, Kind, OURS, Program, Role, VERIFIED_REQUESTS};
use crate::programs::file::{self, Reuse, session};
use crate::programs::file_sinks::{FileWay, Shared};
use crate::programs::harness::Harness;
use crate::programs::payload::Pool;

/// The archiver. A request is an archive of `count` files.
pub const TAR: Program = Program {
    name: "tar",
    kinds: &[Kind {
        name: "files",
        defaults: &[(500, 200), (4 << 10, 100), (16 << 10, 50), (64 << 10, 20)],
        is_single: false,
    }],
    open,
};

#[derive(Clone, Copy)]
enum TarWay {
    /// `tar::Builder` on the file.
    Builder,
    /// `tar::Builder` on a `BufWriter` with this many bytes.
    Buffered(usize),
    /// Headers of the crate `tar`, with the contents as records.
    Records(FileWay),
}

fn ways(policy: QueuePolicy) -> [(&'static str, Role, TarWay); 6] {
    [
        ("today", Role::Today, TarWay::Builder),
        ("buf-writer-8k", Role::ByHand, TarWay::Buffered(8 << 10)),
        ("buf-writer-64k", Role::ByHand, TarWay::Buffered(64 << 10)),
        ("buf-writer-256k", Role::ByHand, TarWay::Buffered(256 << 10)),
        (
            "write-vectored",
            Role::ByHand,
            TarWay::Records(FileWay::WriteVectored),
        ),
        (OURS, Role::Ours, TarWay::Records(FileWay::Queue(policy))),
    ]
}

const BLOCK_BYTES: usize = 512;

/// The most padding, and the end of an archive.
const ZEROS: [u8; 2 * BLOCK_BYTES] = [0; 2 * BLOCK_BYTES];

fn open(harness: &Harness, case: &Case) -> io::Result<Contenders> {
    let pool = Rc::new(Pool::new(case.bytes, case.count));
    let mut expected = Vec::new();
    for request in 0..VERIFIED_REQUESTS {
        expected.extend(archive(Vec::new(), pool.set(request))?);
    }
    Contenders::open(expected, &ways(harness.policies().append), |way| {
        let pool = Rc::clone(&pool);
        session(harness, Reuse::Truncate, |file| write(way, file, pool))
    })
}

fn write(way: TarWay, file: Rc<File>, pool: Rc<Pool>) -> file::Write {
    match way {
        TarWay::Builder => Box::new(move |request| {
            archive(Shared(Rc::clone(&file)), pool.set(request)).map(|_| ())
        }),
        TarWay::Buffered(bytes) => Box::new(move |request| {
            let writer = BufWriter::with_capacity(bytes, Shared(Rc::clone(&file)));
            archive(writer, pool.set(request))?.flush()
        }),
        TarWay::Records(way) => {
            let mut sink = way.sink(file);
            Box::new(move |request| {
                for (index, content) in pool.set(request).iter().enumerate() {
                    let mut header = header(content);
                    header.set_path(path(index))?;
                    header.set_cksum();
                    let padding = content.len().next_multiple_of(BLOCK_BYTES) - content.len();
                    sink.record(header.as_bytes(), content, &ZEROS[..padding])?;
                }
                sink.record(&ZEROS, &Bytes::new(), b"")?;
                sink.flush()
            })
        }
    }
}

/// Writes an archive as the crate `tar` does.
fn archive<W: Write>(writer: W, contents: &[Bytes]) -> io::Result<W> {
    let mut builder = Builder::new(writer);
    for (index, content) in contents.iter().enumerate() {
        builder.append_data(&mut header(content), path(index), &content[..])?;
    }
    builder.into_inner()
}

fn header(content: &Bytes) -> Header {
    let mut header = Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    header
}

fn path(index: usize) -> String {
    format!("folder/file-{index:05}")
}
