//! Copies from a descriptor that holds the list.

use std::fs::File;
use std::io::{self, IoSlice, Seek, Write};
use std::os::unix::net::UnixStream;
use std::thread;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use vectored::AsDescriptor;
use vectored::copy::{CopyError, Options, Technique};

use super::{WriteFn, whole_list};
use crate::host::file_in_memory;
use crate::outcome::Outcome;

pub(super) fn of_a_file() -> WriteFn {
    whole_list(|fd, segments| {
        let list = bytes_of(segments);
        let file = file_with(&list).expect("a file in memory can be written");
        outcome(
            &list,
            Options::new().copy(&file, fd).map(|copied| copied.bytes),
        )
    })
}

/// Copies a file within the kernel, by the first technique that the kernel does not refuse.
pub(super) fn of_a_file_within_the_kernel() -> WriteFn {
    whole_list(|fd, segments| {
        let list = bytes_of(segments);
        let file = file_with(&list).expect("a file in memory can be written");
        let techniques = [
            Technique::CopyFileRange,
            Technique::Splice,
            Technique::Sendfile,
            Technique::ReadWrite,
        ];
        let results = techniques
            .map(|technique| move |file: &File| Options::new().technique(technique).copy(file, fd));
        let mut result = results[0](&file);
        for next in &results[1..] {
            let is_refused = |error: &CopyError| error.side().is_none() && error.read() == 0;
            if result.as_ref().is_err_and(is_refused) {
                result = next(&file);
            }
        }
        outcome(&list, result.map(|copied| copied.bytes))
    })
}

pub(super) fn of_a_pipe() -> WriteFn {
    whole_list(|fd, segments| {
        let (from, to) = io::pipe().expect("a pipe can be made");
        of_a_stream(segments, from, to, |from| Options::new().copy(from, fd))
    })
}

pub(super) fn of_a_unix_stream() -> WriteFn {
    whole_list(|fd, segments| {
        let (from, to) = UnixStream::pair().expect("a pair of sockets can be made");
        of_a_stream(segments, from, to, |from| Options::new().copy(from, fd))
    })
}

fn of_a_stream<F: AsDescriptor>(
    segments: &[IoSlice<'_>],
    from: F,
    mut to: impl Write + Send,
    copy: impl FnOnce(&F) -> Result<vectored::copy::Copied, CopyError>,
) -> Outcome {
    let list = bytes_of(segments);
    thread::scope(|scope| {
        // The write fails when the copy has failed before.
        let bytes = &list;
        scope.spawn(move || to.write_all(bytes));
        let result = copy(&from);
        drop(from);
        outcome(&list, result.map(|copied| copied.bytes))
    })
}

fn bytes_of(segments: &[IoSlice<'_>]) -> Vec<u8> {
    segments
        .iter()
        .flat_map(|segment| segment.iter().copied())
        .collect()
}

/// A file in memory, which a limit of the size of files does not concern.
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

/// The outcome of a copy. An error has the bytes of the list that follow.
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
