//! Writes a whole list without copying.

use std::io::{self, IoSlice};

use crate::cursor::SegmentCursor;
use crate::descriptor::AsDescriptor;
use crate::error::TransferError;
use crate::plan::plan_uncopied;
use crate::sys::limits::Limits;
use crate::transfer::message_sockets::refuse_messages;
use crate::transfer::unvectored::into_stream;
use crate::transfer::write_loop::{FnSink, SplitGuard, send_all};

/// Writes all of `segments` in order without copying them, and returns the number of bytes.
///
/// A system call is `writev(2)`, or `write(2)` if one segment is left. A call has at most
/// [`iov_max`](crate::limits::iov_max) segments and [`MAX_CALL_BYTES`](crate::limits::MAX_CALL_BYTES). A longer list
/// takes several calls. After a short call, the rest of the list takes further calls. Empty segments are not passed to
/// the kernel. If all segments are empty, no call is made.
///
/// Memory is allocated only if a new list must be built, because of empty segments or after a short call. For segments
/// of up to a few hundred bytes, [`Gather`](crate::Gather) is faster.
///
/// # Files that refuse lists
///
/// Some file systems and drivers support only plain calls, and return `EOPNOTSUPP`, `ENOSYS` or `EINVAL` for a list.
/// The functions for whole lists then copy up to 256 KiB of the refused list into a buffer, and make a plain call. The
/// functions return the result of the plain call.
///
/// `EINVAL` may also mean that the bytes are invalid, for example a wrong value for a file of sysfs. A part of a value
/// would be a different value. So the plain call gets all bytes of a list of up to 256 KiB. Only a longer list is sent
/// in parts. No plain call is made on a socket, or on a file that is open with `O_DIRECT`.
///
/// If the plain call moves bytes, plain calls also move the rest of the list. The next list is tried as a list again.
///
/// A driver that supports only plain calls may also accept a list. Linux then passes each segment to the driver
/// separately. For an event counter (eventfd(2)), two segments of 8 bytes are two values.
///
/// Segments that are adjacent in memory are coalesced into one entry, unless the driver refuses that entry with
/// `EINVAL`. If a driver must get bytes in one call, put the bytes into one segment. This advice includes
/// [`write_once`](crate::write_once), which never coalesces.
///
/// # Errors
///
/// The first error other than `EINTR`, which is retried. The error has the number of bytes that were written before.
///
/// - [`WouldBlock`](io::ErrorKind::WouldBlock) if a non-blocking descriptor takes no more bytes, or if the timeout
///   `SO_SNDTIMEO` of a socket has passed; [`resume_write`] can resume the transfer;
/// - [`InvalidInput`](io::ErrorKind::InvalidInput), before any byte, if the descriptor is a socket
///   that keeps messages apart and the list would not be exactly one message
///   ([details](crate::write_once#messages));
/// - [`WriteZero`](io::ErrorKind::WriteZero) if a call wrote no byte and returned no error;
/// - the errors of write(2), for example [`StorageFull`](io::ErrorKind::StorageFull) and
///   [`BrokenPipe`](io::ErrorKind::BrokenPipe) (a Rust program ignores `SIGPIPE` by default).
///
/// # Examples
///
/// ```
/// use std::io::{IoSlice, Read};
/// use vectored::write_all;
///
/// # fn main() -> std::io::Result<()> {
/// let (mut reader, writer) = std::io::pipe()?;
/// let segments = [IoSlice::new(b"key"), IoSlice::new(b"="), IoSlice::new(b"value")];
/// assert_eq!(write_all(&writer, &segments)?, 9);
/// drop(writer);
///
/// let mut line = String::new();
/// reader.read_to_string(&mut line)?;
/// assert_eq!(line, "key=value");
/// # Ok(())
/// # }
/// ```
pub fn write_all(fd: impl AsDescriptor, segments: &[IoSlice<'_>]) -> Result<u64, TransferError> {
    resume_write(fd, segments, &mut SegmentCursor::new())
}

/// Writes `segments` from `cursor` to the end of the list, and returns the number of bytes of this call.
///
/// The function writes like [`write_all`], but the transfer can be resumed. On success and on error, the cursor has
/// moved by exactly the bytes that were written. After [`WouldBlock`](io::ErrorKind::WouldBlock), wait until the
/// descriptor is ready, and call the function again with the same list and the same cursor. After any other error,
/// remove the cause and do the same.
///
/// If the cursor is at the end of the list, the function returns `Ok(0)` without a system call.
///
/// # `SIGPIPE`
///
/// If the reader of a pipe or socket is gone, the call raises `SIGPIPE`
/// ([which functions raise none](crate::TransferError#signals-timeouts-and-full-descriptors)).
///
/// # Errors
///
/// The errors of [`write_all`]. [`transferred`](TransferError::transferred) counts only the bytes of this call.
/// [`SegmentCursor::remaining_bytes`] counts the rest of the list.
pub fn resume_write(
    fd: impl AsDescriptor,
    segments: &[IoSlice<'_>],
    cursor: &mut SegmentCursor,
) -> Result<u64, TransferError> {
    let fd = fd.as_descriptor();
    send_all_referenced(
        segments,
        cursor,
        Limits::default(),
        || refuse_messages(fd),
        into_stream(fd),
    )
}

pub(crate) fn send_all_referenced(
    segments: &[IoSlice<'_>],
    cursor: &mut SegmentCursor,
    limits: Limits,
    may_split: impl FnOnce() -> io::Result<()>,
    sink: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
) -> Result<u64, TransferError> {
    let mut guard = SplitGuard::new(segments, *cursor, may_split)?;
    let mut sink = FnSink(sink);
    let mut scratch = Vec::new();
    send_all(segments, cursor, |from| {
        let batch = plan_uncopied(segments, from, limits, &mut scratch)?;
        Some(guard.send(segments, from, batch, &mut sink))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{
        Answer, ScriptedSink, any_limits, any_script, any_sizes, check_against_model, list, payload,
    };
    use proptest::prelude::*;

    fn check(sizes: &[usize], script: &[Answer], limits: Limits) {
        check_against_model(sizes, script, limits, |segments, cursor, sink| {
            let may_split = || Ok(());
            send_all_referenced(segments, cursor, limits, may_split, |slices| {
                sink.call(slices)
            })
        });
    }

    fn calls_of(sizes: &[usize]) -> usize {
        let data = payload(sizes);
        let limits = Limits::default();
        let mut sink = ScriptedSink::new(Vec::new(), limits);
        let mut cursor = SegmentCursor::new();
        let result = send_all_referenced(
            &list(&data),
            &mut cursor,
            limits,
            || Ok(()),
            |slices| sink.call(slices),
        );
        assert_eq!(result.unwrap(), data.concat().len() as u64);
        assert_eq!(sink.taken, data.concat());
        sink.calls
    }

    proptest! {
        #[test]
        fn any_list_into_any_sink_arrives_whole_in_order_and_counted(
            sizes in any_sizes(), script in any_script(), limits in any_limits()
        ) {
            check(&sizes, &script, limits);
        }
    }

    #[test]
    fn lists_take_the_fewest_calls_and_empty_segments_none() {
        let max = crate::sys::limits::iov_max();
        for count in [1, max - 1, max, max + 1, 2 * max, 2 * max + 1, 3000] {
            assert_eq!(calls_of(&vec![3; count]), count.div_ceil(max), "{count}");
        }
        let (empty, filled) = (vec![0; max], vec![2; max]);
        let alternating = (0..2 * max).map(|i| i % 2).collect();
        let surrounded = [&empty[..], &filled, &empty].concat();
        for (calls, sizes) in [(0, vec![]), (0, empty), (1, surrounded), (1, alternating)] {
            assert_eq!(calls_of(&sizes), calls);
        }
    }

    #[test]
    #[should_panic(expected = "reported 6 bytes of 5")]
    fn a_call_that_reports_more_than_it_was_given_is_not_believed() {
        let segments = [IoSlice::new(b"12345")];
        let mut cursor = SegmentCursor::new();
        let limits = Limits::default();
        let _ = send_all_referenced(&segments, &mut cursor, limits, || Ok(()), |_| Ok(6));
    }

    #[test]
    fn only_a_list_that_is_one_whole_call_goes_to_a_descriptor_of_messages() {
        let limits = Limits {
            segments: 3,
            bytes: 100,
        };
        let (start, part) = (SegmentCursor::new(), [Answer::Take(21)]);
        for (sizes, from, script, sent, calls) in [
            (&[20, 0, 30, 40, 0][..], start, &[][..], Ok(90), 1),
            (&[10, 10, 30, 0, 40], start, &[], Err(0), 0),
            // An empty message would be dropped.
            (&[0, 0], start, &[], Err(0), 0),
            // The first call or an earlier transfer sent a part of the message.
            (&[20, 30], start, &part, Err(21), 1),
            (&[20, 30], SegmentCursor::at(1, 0), &[], Err(0), 0),
            (&[20, 30], SegmentCursor::at(1, 30), &[], Ok(0), 0),
        ] {
            let (data, mut cursor) = (payload(sizes), from);
            let mut sink = ScriptedSink::new(script.to_vec(), limits);
            let refuse = || Err(io::ErrorKind::InvalidInput.into());
            let result =
                send_all_referenced(&list(&data), &mut cursor, limits, refuse, |s| sink.call(s));
            let result = result.map_err(|error| error.transferred());
            assert_eq!(
                (result, sink.calls),
                (sent, calls),
                "{sizes:?} from {from:?}"
            );
        }
    }
}
