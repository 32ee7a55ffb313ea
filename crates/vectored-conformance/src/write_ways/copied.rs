//! Copies from a descriptor that holds the list.

use std::fs::File;
use std::io::{self, IoSlice, Seek, Write};
use std::thread;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use vectored::copy::{CopyError, Options, Technique};

use super::whole_list;
use crate::ends::Ends;
use crate::host::file_in_memory;
use crate::outcome::Outcome;
use crate::way::WriteFn;

pub(super) const WITHIN_THE_KERNEL: [Technique; 4] = [
    Technique::CopyFileRange,
    Technique::Splice,
    Technique::Sendfile,
    Technique::ReadWrite,
];

/// Copies a file by the first of these techniques that the kernel does not refuse. Without techniques, the library
/// chooses.
pub(super) fn of_a_file(techniques: &'static [Technique]) -> WriteFn {
    whole_list(move |fd, segments| {
        let list = bytes_of(segments);
        let file = file_with(&list).expect("a file in memory can be written");
        let by = |technique: Option<Technique>| {
            let copied = Options::new().technique(technique).copy(&file, fd);
            copied.map(|copied| copied.bytes)
        };
        let mut results = techniques.iter().map(|one| by(Some(*one)));
        let is_refused = |error: &CopyError| error.side().is_none() && error.read() == 0;
        let made = results.find(|result| !result.as_ref().is_err_and(is_refused));
        outcome(&list, made.unwrap_or_else(|| by(None)))
    })
}

pub(super) fn of_a_stream(open: fn() -> io::Result<Ends>) -> WriteFn {
    whole_list(move |fd, segments| {
        let (from, mut to) = open().expect("a stream can be made");
        let list = bytes_of(segments);
        thread::scope(|scope| {
            let bytes = &list;
            // If the copy has failed before, the write fails.
            scope.spawn(move || to.write_all(bytes));
            let result = Options::new().copy(&from, fd).map(|copied| copied.bytes);
            drop(from);
            outcome(&list, result)
        })
    })
}

fn bytes_of(segments: &[IoSlice<'_>]) -> Vec<u8> {
    segments
        .iter()
        .flat_map(|segment| segment.iter().copied())
        .collect()
}

/// A file in memory with this list. A limit on the size of files is lifted meanwhile.
fn file_with(list: &[u8]) -> io::Result<File> {
    let limit = getrlimit(Resource::Fsize);
    let lifted = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    setrlimit(Resource::Fsize, lifted)?;
    let mut file = file_in_memory()?;
    file.write_all(list)?;
    file.rewind()?;
    setrlimit(Resource::Fsize, limit)?;
    Ok(file)
}

/// The outcome of a copy. An error must hold the bytes of the list that were read and not written.
fn outcome(list: &[u8], result: Result<u64, CopyError>) -> Outcome {
    match result {
        Ok(transferred) => Outcome {
            transferred,
            error: None,
        },
        Err(error) => {
            let transferred = error.written();
            let next = &list[transferred as usize..error.read() as usize];
            assert!(
                next == error.unwritten(),
                "an error has other bytes: {error}"
            );
            Outcome {
                transferred,
                error: Some(error.into_io_error()),
            }
        }
    }
}
