//! Writes a list by one system call.

use std::io::{self, IoSlice};

use crate::cursor::SegmentCursor;
use crate::descriptor::AsDescriptor;
use crate::error::TransferError;
use crate::plan::plan_uncopied;
use crate::sys::files::PIPE_BUF;
use crate::sys::limits::Limits;
use crate::sys::span::Span as _;
use crate::sys::{self, codes};
use crate::transfer::write_loop::FnSink;

/// Writes all of `segments` in exactly one system call, and returns the number of bytes.
///
/// Use this function for records that must each be written by one call: lines of a log to which several programs append
/// (`O_APPEND`), records on a pipe with several writers, messages on a datagram or `SOCK_SEQPACKET` socket. On these
/// sockets, one call is one message, however many segments the call has.
///
/// If one call cannot take the list, the function fails before any byte is written. The call is a `writev(2)`, or a
/// `write(2)` if only one segment is not empty. Nothing is copied.
///
/// Empty segments are not passed to the kernel. If all segments are empty, no call is made and the result is 0. To send
/// an empty message on a socket that keeps messages apart, use send(2).
///
/// The kind of the descriptor decides what one call guarantees:
///
/// - A regular file opened with `O_APPEND`: each call appends to the end of the file. Local file systems of Linux keep
///   the bytes of a call in one piece. NFS does not ("BUGS" of open(2)).
/// - A pipe or FIFO: a call of up to `PIPE_BUF` bytes (4096 on Linux) is not mixed with other calls (pipe(7)).
/// - A stream socket: one call guarantees nothing.
/// - A driver that supports only write(2) (eventfd(2), some character devices): Linux passes each segment to the driver
///   as one record. For such a driver, copy the record into one segment.
///
/// # Messages
///
/// On a socket that keeps messages apart, which is any socket except a stream socket, each call is one message. Some
/// functions write streams: [`write_all`](crate::write_all), [`resume_write`](crate::resume_write), `write_all_with`
/// and the functions of [`Gather`](crate::Gather). These functions refuse a list that is not exactly one message on a
/// socket of any type but `SOCK_STREAM` (datagram, `SOCK_SEQPACKET`, raw). The error is
/// [`InvalidInput`](std::io::ErrorKind::InvalidInput), before any byte. A list is refused in three cases:
///
/// - One call cannot take the whole list: the list has more than [`iov_max`](crate::limits::iov_max) entries or more
///   than [`MAX_CALL_BYTES`](crate::limits::MAX_CALL_BYTES), or the list overfills the staging buffer of a
///   [`Gather`](crate::Gather).
/// - The list holds no bytes. An empty message is a message, and making no call would lose the message.
/// - The [`SegmentCursor`] is inside the list, so a part of the list was sent before.
///
/// Send messages with [`write_once`], and an empty message with send(2).
///
/// The functions do not query the socket's type for a list that one call takes, because the query takes 120 to 350 ns.
/// If this call is short nevertheless, the function refuses the rest, and the error counts the bytes sent.
///
/// A pipe in packet mode (`O_DIRECT`, pipe(2)) is not a socket and is not recognized. Each write into such a pipe is a
/// packet. A read into a shorter list loses the end of the packet without an error. Read such a pipe by calls of
/// `PIPE_BUF` bytes.
///
/// Some functions read a stream into a list: [`read_exact`](crate::read_exact),
/// [`read_up_to_eof`](crate::read_up_to_eof), [`resume_read`](crate::resume_read) and the methods of
/// [`Scatter`](crate::Scatter). For every list, these functions refuse a socket that keeps messages apart. A read of a
/// list would cut or join messages, and no read call reports a cut message. Receive each message with recvmsg(2). The
/// functions query the type once for each list, which takes 90 to 310 ns. A [`ScatterReader`](crate::ScatterReader)
/// takes any reader, so a `ScatterReader` cannot query the type.
///
/// # Errors
///
/// - [`InvalidInput`](io::ErrorKind::InvalidInput) with a message that names the limit, before any
///   byte: more than [`iov_max`](crate::limits::iov_max) segments that are not empty, more than
///   [`MAX_CALL_BYTES`](crate::limits::MAX_CALL_BYTES), more than `PIPE_BUF` bytes on a pipe or FIFO;
/// - [`WriteZero`](io::ErrorKind::WriteZero) if the call was short. No second call is made, and the first call cannot
///   be undone: [`transferred`](TransferError::transferred) bytes of the record are written. Causes are a full disk, a
///   non-blocking stream socket, and a signal during a long write;
/// - [`Unsupported`](io::ErrorKind::Unsupported), before any byte, if the file system or driver
///   refuses vectored calls with `EOPNOTSUPP`: copy the record into one segment;
/// - the errors of write(2), before any byte. `EINTR` is retried, because an interrupted call has written nothing.
///   `EMSGSIZE` means that the socket cannot send the message in one piece. After
///   [`WouldBlock`](io::ErrorKind::WouldBlock), nothing is written, and the whole record may be tried again.
pub fn write_once(fd: impl AsDescriptor, segments: &[IoSlice<'_>]) -> Result<u64, TransferError> {
    let fd = fd.as_descriptor();
    send_once(
        segments,
        Limits::default(),
        || sys::files::is_fifo(fd),
        |slices| {
            sys::syscalls::write_record(fd, slices).map_err(|error| explained(error, slices.len()))
        },
    )
}

/// Adds an explanation to the refusal of a list. Copying the list and calling again would break the promise of one
/// call.
fn explained(error: io::Error, slice_count: usize) -> io::Error {
    let is_refusal = matches!(
        error.raw_os_error(),
        Some(codes::EOPNOTSUPP | codes::ENOSYS)
    );
    if slice_count < 2 || !is_refusal {
        return error;
    }
    io::Error::new(
        io::ErrorKind::Unsupported,
        format!(
            "writev(2) is refused, of which a record has one call: copy it into one segment ({error})"
        ),
    )
}

fn send_once(
    segments: &[IoSlice<'_>],
    limits: Limits,
    is_fifo: impl FnOnce() -> io::Result<bool>,
    sink: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
) -> Result<u64, TransferError> {
    let refused = |error| TransferError::new(0, error);
    let mut scratch = Vec::new();
    let start = SegmentCursor::new();
    let Some(batch) = plan_uncopied(segments, start, limits, &mut scratch) else {
        return Ok(0);
    };
    if !batch.end.is_end_of(segments) {
        return Err(refused(exceeded(segments, limits)));
    }
    // Only calls above `PIPE_BUF` need to know whether the descriptor is a pipe.
    if batch.bytes > PIPE_BUF && is_fifo().map_err(refused)? {
        return Err(refused(invalid(format!(
            "{} bytes exceed the {} that a pipe takes in one piece (PIPE_BUF)",
            batch.bytes, PIPE_BUF
        ))));
    }
    let given = batch.bytes;
    let written = batch
        .send(&mut FnSink(sink))
        .into_result()
        .map_err(refused)?;
    assert!(
        written <= given,
        "the system call reported {written} bytes of {given}"
    );
    if written < given {
        let short = io::Error::new(
            io::ErrorKind::WriteZero,
            format!("the one system call wrote {written} of {given} bytes"),
        );
        return Err(TransferError::new(written as u64, short));
    }
    Ok(given as u64)
}

fn exceeded(segments: &[IoSlice<'_>], limits: Limits) -> io::Error {
    let bytes = SegmentCursor::new().bytes_left_in(segments);
    if bytes > limits.bytes as u64 {
        return invalid(format!(
            "{bytes} bytes exceed the {} of one system call (MAX_CALL_BYTES)",
            limits.bytes
        ));
    }
    let count = segments.iter().filter(|s| s.byte_len() > 0).count();
    invalid(format!(
        "{count} segments exceed the {} of one system call (IOV_MAX): join some of them",
        limits.segments
    ))
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_list_says_what_to_do_and_another_error_is_the_kernels() {
        let of = |code, count| explained(io::Error::from_raw_os_error(code), count);
        let error = of(codes::EOPNOTSUPP, 2);
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        assert!(
            error.to_string().contains("copy it into one segment"),
            "{error}"
        );
        for (code, count) in [(codes::EOPNOTSUPP, 1), (codes::EINVAL, 2), (codes::EIO, 2)] {
            assert_eq!(of(code, count).raw_os_error(), Some(code));
        }
    }
    use crate::testing::{Answer, ScriptedSink, any_limits, any_script, any_sizes, list, payload};
    use proptest::prelude::*;

    fn check(sizes: &[usize], script: &[Answer], limits: Limits) {
        let data = payload(sizes);
        let segments = list(&data);
        let model = data.concat();
        let mut sink = ScriptedSink::new(script.to_vec(), limits);
        let result = send_once(&segments, limits, || Ok(false), |slices| sink.call(slices));

        let count = sizes.iter().filter(|&&size| size > 0).count();
        let fits = count <= limits.segments && model.len() <= limits.bytes;
        let interruptions = script
            .iter()
            .take_while(|&&answer| answer == Answer::Fail(codes::EINTR));
        let calls = if fits && !model.is_empty() { 1 + interruptions.count() } else { 0 };
        assert_eq!(sink.calls, calls);
        assert_eq!(sink.taken, model[..sink.taken.len()]);
        match result {
            Ok(bytes) => {
                assert!(fits);
                assert_eq!(bytes, model.len() as u64);
                assert_eq!(sink.taken, model);
            }
            Err(error) => {
                assert_eq!(error.transferred(), sink.taken.len() as u64);
                assert!(sink.taken.len() < model.len());
                match (fits, sink.last) {
                    (false, _) => assert_eq!(error.kind(), io::ErrorKind::InvalidInput),
                    (true, Answer::Take(_)) => assert_eq!(error.kind(), io::ErrorKind::WriteZero),
                    (true, Answer::Fail(code)) => {
                        assert_eq!(error.io_error().raw_os_error(), Some(code));
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_list_goes_in_one_call_or_not_at_all(
            sizes in any_sizes(), script in any_script(), limits in any_limits()
        ) {
            check(&sizes, &script, limits);
        }
    }
}
