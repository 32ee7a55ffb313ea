//! Tests of transfers with scripted results, because the kernel of the test may never return some results.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::OwnedFd;

use proptest::prelude::*;

use crate::queue::SegmentQueue;
use crate::queue::policy::QueuePolicy;
use crate::testing::payload;
use crate::uring::Data;
use crate::uring::sys::{Call, Operation};
use crate::uring::transfer::Transfer;

#[derive(Clone, Copy, Debug)]
enum Answer {
    /// The call moves this percentage of its bytes, but at least one byte.
    Part(usize),
    Interrupted,
    /// The thread that submitted the call has ended.
    Orphaned,
    /// The call fails with `EAGAIN`. The wait for readiness has this result.
    WouldBlock(i32),
}

fn any_answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        4 => (0..=100_usize).prop_map(Answer::Part),
        1 => Just(Answer::Interrupted),
        1 => Just(Answer::Orphaned),
        1 => prop_oneof![Just(0), Just(libc::EINTR), Just(libc::ECANCELED)].prop_map(Answer::WouldBlock),
    ]
}

fn code(code: i32) -> io::Result<usize> {
    Err(io::Error::from_raw_os_error(code))
}

fn pipe_end() -> OwnedFd {
    io::pipe().unwrap().1.into()
}

fn write(fd: OwnedFd, data: &[Vec<u8>]) -> Box<Transfer<Vec<u8>>> {
    let mut transfer = Transfer::over();
    transfer.reset(fd.into(), None, 1);
    transfer.set_data(Data::Queue(Box::new(queue_of(data))));
    transfer
}

fn queue_of(data: &[Vec<u8>]) -> SegmentQueue {
    let policy = QueuePolicy {
        copy_below_bytes: 5,
        ..QueuePolicy::default()
    };
    let mut queue = SegmentQueue::with_policy(policy);
    data.iter().for_each(|bytes| queue.push(bytes.clone()));
    queue
}

/// Begins a call. Returns the operation, the bytes to be written, and the room for a read. A read moves `incoming`.
fn begin(transfer: &mut Transfer<Vec<u8>>, incoming: &[u8]) -> (Operation, Vec<u8>, usize) {
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    let begun = transfer.begin(&mut sources, &mut targets).unwrap();
    let operation = begun.operation;
    assert!(begun.list.is_none() || sources.is_empty());
    sources.extend_from_slice(begun.list.unwrap_or_default());
    let room = targets
        .iter()
        .map(|slice: &IoSliceMut<'_>| slice.len())
        .sum();
    let mut incoming = incoming;
    for target in &mut targets {
        let (here, rest) = incoming.split_at(incoming.len().min(target.len()));
        target[..here.len()].copy_from_slice(here);
        incoming = rest;
    }
    let given = sources
        .iter()
        .flat_map(|slice: &IoSlice<'_>| slice.to_vec());
    (operation, given.collect(), room)
}

/// Makes the calls of the script, then whole calls until the end. Returns the bytes that were moved.
fn drive(transfer: &mut Transfer<Vec<u8>>, script: &[Answer], incoming: &[u8]) -> Vec<u8> {
    let (mut moved, mut script) = (Vec::new(), script.iter().copied());
    loop {
        let answer = script.next().unwrap_or(Answer::Part(100));
        let ended = match answer {
            Answer::Interrupted => {
                begin(transfer, &[]);
                transfer.call_ended(code(libc::EINTR), false, false)
            }
            Answer::Orphaned => {
                begin(transfer, &[]);
                transfer.call_ended(code(libc::ECANCELED), false, true)
            }
            Answer::WouldBlock(errno) => {
                begin(transfer, &[]);
                assert!(
                    transfer
                        .call_ended(code(libc::EAGAIN), false, false)
                        .is_none()
                );
                let (operation, ..) = begin(transfer, &[]);
                let waits = matches!(
                    operation,
                    Operation::AwaitReadable | Operation::AwaitWritable
                );
                assert!(waits, "{operation:?}");
                if errno != 0 {
                    assert!(transfer.call_ended(code(errno), false, true).is_none());
                    begin(transfer, &[]);
                }
                assert!(transfer.call_ended(Ok(4), false, false).is_none());
                // A second `EAGAIN` after the wait would be an error.
                let (_, given, room) =
                    begin(transfer, &incoming[moved.len().min(incoming.len())..]);
                let bytes = (given.len() + room).min(1);
                take(&mut moved, &given, incoming, bytes);
                transfer.call_ended(Ok(bytes), false, false)
            }
            Answer::Part(hundredths) => {
                let (_, given, room) =
                    begin(transfer, &incoming[moved.len().min(incoming.len())..]);
                let all = given.len() + room;
                let bytes = (all * hundredths / 100).max(1);
                take(&mut moved, &given, incoming, bytes);
                transfer.call_ended(Ok(bytes), false, false)
            }
        };
        if let Some(result) = ended {
            result.unwrap();
            return moved;
        }
    }
}

fn take(moved: &mut Vec<u8>, given: &[u8], incoming: &[u8], bytes: usize) {
    match given {
        [] => moved.extend_from_slice(&incoming[moved.len()..moved.len() + bytes]),
        given => moved.extend_from_slice(&given[..bytes]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_kernel_answers_each_byte_is_moved_once(
        sizes in prop::collection::vec(0..30_usize, 1..20),
        script in prop::collection::vec(any_answer(), 0..30),
        is_write in any::<bool>(),
    ) {
        let data = payload(&sizes);
        prop_assume!(!data.concat().is_empty());
        let mut transfer = if is_write { write(pipe_end(), &data) } else {
                let buffers = sizes.iter().map(|size| vec![0; *size]).collect();
                let mut transfer = Transfer::over();
                transfer.reset(pipe_end().into(), None, 1);
                transfer.set_data(Data::Buffers(buffers));
                transfer
            };
        let incoming = if is_write { Vec::new() } else { data.concat() };
        let moved = drive(&mut transfer, &script, &incoming);
        prop_assert_eq!(&moved, &data.concat());
        let done = transfer.end(Ok(()));
        prop_assert_eq!(done.result.unwrap(), moved.len() as u64);
        if let Some(buffers) = done.data.into_buffers() {
            prop_assert_eq!(buffers, data);
        }
    }
}

/// Fails each call with `EAGAIN`, although the descriptor is ready. Returns the number of waits, at most 3.
fn refused(mut transfer: Box<Transfer<Vec<u8>>>) -> usize {
    for waits in 0..3 {
        begin(&mut transfer, &[]);
        if let Some(error) = transfer.call_ended(code(libc::EAGAIN), false, false) {
            assert_eq!(error.unwrap_err().kind(), io::ErrorKind::WouldBlock);
            return waits;
        }
        begin(&mut transfer, &[]);
        assert!(transfer.call_ended(Ok(4), false, false).is_none());
    }
    3
}

#[test]
fn a_file_that_refuses_though_it_is_ready_is_not_asked_for_ever() {
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    assert_eq!(refused(write(file.into(), &payload(&[10]))), 1);
}

/// Another transfer on the same stream may use the room first.
#[test]
fn a_stream_that_refuses_though_it_was_ready_is_waited_for_again() {
    let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    for stream in [pipe_end(), socket.into()] {
        assert_eq!(refused(write(stream, &payload(&[10]))), 3);
    }
}

#[test]
fn a_cancelled_transfer_makes_no_further_call() {
    for (result, transferred) in [(Ok(3), 3), (code(libc::EINTR), 0), (code(libc::EAGAIN), 0)] {
        let mut transfer = write(pipe_end(), &payload(&[10]));
        begin(&mut transfer, &[]);
        let error = transfer.call_ended(result, true, false);
        let error = error.expect("the end").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ECANCELED));
        let done = transfer.end(Err(error));
        assert_eq!(done.result.unwrap_err().transferred(), transferred);
        let left = done.data.into_queue().unwrap().len();
        assert_eq!(left as u64, 10 - transferred);
    }
    let mut transfer = write(pipe_end(), &payload(&[10]));
    begin(&mut transfer, &[]);
    let whole = transfer.call_ended(Ok(10), true, false);
    assert!(
        whole.expect("the end").is_ok(),
        "it ended before it was cancelled"
    );
}

/// A FUSE file system may return `ECANCELED`. Retrying would never end.
#[test]
fn a_cancellation_without_a_request_is_an_error() {
    let mut transfer = write(pipe_end(), &payload(&[10]));
    begin(&mut transfer, &[]);
    let result = transfer.call_ended(code(libc::ECANCELED), false, false);
    assert!(result.expect("the end").is_err());
}

#[test]
fn a_call_of_more_bytes_than_it_was_given_is_not_believed() {
    let mut transfer = write(pipe_end(), &payload(&[10]));
    begin(&mut transfer, &[]);
    let error = transfer.call_ended(Ok(11), false, false);
    let error = error.expect("the end").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    let done = transfer.end(Err(error));
    assert_eq!(done.data.into_queue().unwrap().len(), 10);
}

/// The result of a wait is a set of events. The number of the set may equal the number of bytes of the call.
#[test]
fn the_answer_of_a_wait_moves_no_bytes() {
    let mut transfer = write(pipe_end(), &payload(&[4]));
    begin(&mut transfer, &[]);
    let refused = transfer.call_ended(code(libc::EAGAIN), false, false);
    assert!(refused.is_none());
    begin(&mut transfer, &[]);
    assert!(!transfer.end_whole(&Ok(4)));
    assert!(transfer.call_ended(Ok(4), false, false).is_none());
    begin(&mut transfer, &[]);
    let ended = transfer.call_ended(Ok(4), false, false);
    assert!(ended.is_some_and(|result| result.is_ok()));
    assert_eq!(transfer.end(Ok(())).result.unwrap(), 4);
}

/// The kernel may write a part of a call without moving the position. With `O_APPEND`, the kernel moves the position to
/// the end of the file.
#[test]
fn the_position_of_a_file_is_that_after_the_bytes_of_a_short_call() {
    use std::os::unix::fs::FileExt;

    let path = std::env::temp_dir().join(format!("vectored-position-{}", std::process::id()));
    for appends in [false, true] {
        std::fs::write(&path, b"first").unwrap();
        let mut options = std::fs::File::options();
        let file = options.write(true).append(appends).open(&path).unwrap();
        let kernel = file.try_clone().unwrap();
        let mut transfer = write(file.into(), &payload(&[10]));
        begin(&mut transfer, &[]);
        let moved = if appends {
            io::Write::write(&mut &kernel, b"abc")
        } else {
            kernel.write_at(b"abc", 0)
        };
        assert!(transfer.call_ended(moved, false, false).is_none());
        let expected = if appends { 8 } else { 3 };
        assert_eq!(rustix::fs::tell(&kernel).unwrap(), expected);
    }
    std::fs::remove_file(&path).unwrap();
}

/// The kernel gets the list in the memory of the queue, unless bytes were copied.
#[test]
fn a_queue_of_kept_segments_is_a_list_already() {
    // Segments of up to 5 bytes are copied.
    for (data, is_list) in [
        (payload(&[6, 7, 8]), true),
        (payload(&[6]), true),
        (payload(&[6, 5]), false),
        (payload(&[5, 6]), false),
        (payload(&[6, 5, 6]), false),
        (payload(&[5]), false),
        (payload(&[6; 1024]), true),
        (payload(&[6; 1025]), false),
    ] {
        let mut transfer = write(pipe_end(), &data);
        let (mut sources, mut targets) = (Vec::new(), Vec::new());
        let begun = transfer.begin(&mut sources, &mut targets).unwrap();
        let case: Vec<usize> = data.iter().map(Vec::len).collect();
        assert_eq!(begun.list.is_some(), is_list, "{case:?}");
        assert_eq!(sources.is_empty(), is_list, "{case:?}");
        if let Some(list) = begun.list {
            assert!(list.iter().map(|slice| &**slice).eq(data.iter()));
        }
    }
}

/// After a short call, the next list starts at the first entry that is not fully written, and that entry is cut.
#[test]
fn the_rest_of_a_list_is_a_list() {
    let mut transfer = write(pipe_end(), &payload(&[6, 7, 8]));
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    transfer.begin(&mut sources, &mut targets).unwrap();
    assert!(transfer.call_ended(Ok(9), false, false).is_none());
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    let begun = transfer.begin(&mut sources, &mut targets).unwrap();
    let rest: Vec<&[u8]> = begun.list.unwrap().iter().map(|slice| &**slice).collect();
    let whole = payload(&[6, 7, 8]);
    assert_eq!(rest, [&whole[1][3..], &whole[2][..]]);
}
