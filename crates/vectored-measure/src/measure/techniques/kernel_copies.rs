//! Copies that Linux makes without a buffer of the program.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::pipe::SpliceFlags;
use vectored_machine::platform::descriptors::Pair;
use vectored_machine::platform::plain_calls::retry_on_intr;
use vectored_results::model::{Conditions, Target};

use crate::measure::targets::StreamKind;
use crate::measure::techniques::plain::move_all;
use crate::measure::techniques::{CopyMover, Technique};

pub const SPLICE: Technique = Technique {
    about: "splice; through a pipe of its own if neither end is one",
    usual: true,
    cost_ns: |costs| costs.referenced_ns + 6.0 * costs.call_ns,
    copy: Some(|conditions| Box::new(Splice::between(conditions))),
    ..Technique::named("splice")
};

pub const COPY_FILE_RANGE: Technique = Technique {
    about: "copy_file_range; from file to file",
    usual: true,
    refuses: |conditions| {
        let is_file = conditions.from == Some(Target::File) && conditions.target.is_file();
        (!is_file).then_some("copies from file to file only")
    },
    cost_ns: |costs| costs.referenced_ns + 4.0 * costs.call_ns,
    copy: Some(|_| {
        Box::new(|from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes| {
            move_all(bytes, |left| copy_some(from, to, left))
        })
    }),
    ..Technique::named("copy-file-range")
};

pub const SENDFILE: Technique = Technique {
    about: "sendfile; from a file",
    usual: true,
    refuses: |conditions| {
        (conditions.from != Some(Target::File)).then_some("copies from files only")
    },
    cost_ns: |costs| costs.referenced_ns + 7.0 * costs.call_ns,
    copy: Some(|_| {
        Box::new(|from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes| {
            move_all(bytes, |left| send_some(from, to, left))
        })
    }),
    ..Technique::named("sendfile")
};

/// This function and the functions below are never inlined: see `write_all`.
#[inline(never)]
fn copy_some(from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<usize> {
    Ok(retry_on_intr(|| {
        rustix::fs::copy_file_range(from, None, to, None, bytes)
    })?)
}

#[inline(never)]
fn send_some(from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<usize> {
    Ok(retry_on_intr(|| {
        rustix::fs::sendfile(to, from, None, bytes)
    })?)
}

#[inline(never)]
fn splice_some(from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<usize> {
    Ok(retry_on_intr(|| {
        rustix::pipe::splice(from, None, to, None, bytes, SpliceFlags::MOVE)
    })?)
}

fn splice_all(from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    move_all(bytes, |left| splice_some(from, to, left))
}

struct Splice {
    between: Option<StreamKind>,
    /// The ends of the pipe; `None` after an error, which may leave bytes in the pipe.
    ends: Option<Pair>,
}

impl Splice {
    fn between(conditions: &Conditions) -> Self {
        let has_pipe = [conditions.from, Some(conditions.target)].contains(&Some(Target::Pipe));
        Splice {
            between: (!has_pipe).then_some(StreamKind::Pipe(conditions.pipe_bytes)),
            ends: None,
        }
    }
}

impl CopyMover for Splice {
    fn prepare(&mut self, _start_bytes: usize) -> io::Result<()> {
        if let (Some(pipe), None) = (&self.between, &self.ends) {
            self.ends = Some(pipe.open()?);
        }
        Ok(())
    }

    fn call(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
        if self.between.is_none() {
            return splice_all(from, to, bytes);
        }
        let Some((writer, reader)) = self.ends.take() else {
            return Err(io::Error::other("the pipe of an earlier copy is lost"));
        };
        move_all(bytes, |left| {
            let count = splice_some(from, writer.as_fd(), left)?;
            splice_all(reader.as_fd(), to, count)?;
            Ok(count)
        })?;
        self.ends = Some((writer, reader));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Seek, Write};

    use vectored_machine::platform::files::unnamed_file;
    use vectored_machine::platform::plain_calls::OFlags;

    use super::*;

    #[test]
    fn what_a_failed_copy_left_in_the_pipe_does_not_arrive_later() {
        let file = || File::from(unnamed_file(&std::env::temp_dir(), OFlags::empty()).unwrap());
        let (mut from, mut to) = (file(), file());
        from.write_all(b"abcdef").unwrap();
        from.rewind().unwrap();
        let null = File::open("/dev/null").unwrap();
        let mut splice = Splice::between(&Conditions::copy(Target::File, Target::File));
        splice.prepare(0).unwrap();
        // The null device was not opened for writing.
        splice.call(from.as_fd(), null.as_fd(), 3).unwrap_err();
        splice.prepare(0).unwrap();
        splice.call(from.as_fd(), to.as_fd(), 3).unwrap();
        to.rewind().unwrap();
        let mut there = String::new();
        to.read_to_string(&mut there).unwrap();
        assert_eq!(there, "def");
    }
}
