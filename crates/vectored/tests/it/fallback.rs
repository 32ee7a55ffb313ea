//! Tests of files that refuse vectored calls, with an event counter. The kernel passes each segment of a list to the
//! driver separately. The driver takes exactly 8 bytes, or returns `EINVAL`.

use std::io::{ErrorKind, IoSlice};
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};
use vectored::write_once;

use crate::support::{emulator, writers};

fn counter() -> OwnedFd {
    eventfd(0, EventfdFlags::NONBLOCK).unwrap()
}

fn value(counter: &OwnedFd) -> u64 {
    let mut bytes = [0; 8];
    assert_eq!(rustix::io::read(counter, &mut bytes), Ok(8));
    u64::from_ne_bytes(bytes)
}

#[test]
fn a_value_in_parts_reaches_a_file_that_takes_it_whole_or_not_at_all() {
    // If the byte orders of the processors differ, qemu 7.2 reverses the bytes of a value in read(2) and write(2), but
    // not in writev(2).
    let number: u64 = match emulator() {
        Some(_) => 0x0102_0304_0403_0201,
        None => 0x0102_0304_0506_0708,
    };
    let bytes = number.to_ne_bytes();
    // The two parts are two allocations, because adjacent segments are coalesced.
    let (start, end) = (bytes[..3].to_vec(), bytes[3..].to_vec());
    let lists: [&[&[u8]]; 2] = [
        &[&bytes[..3], &[], &bytes[3..4], &bytes[4..]],
        &[&start, &end],
    ];
    for (name, mut write_all) in writers() {
        // Each list is written twice, because a refusal must not be remembered.
        for list in lists.into_iter().cycle().take(4) {
            let counter = counter();
            let segments: Vec<_> = list.iter().map(|segment| IoSlice::new(segment)).collect();
            let written = write_all(counter.as_fd(), &segments);
            assert_eq!(written.unwrap(), 8, "{name}");
            assert_eq!(value(&counter), number, "{name}");
        }
    }
}

/// The counter returns `EINVAL` for this value in any call, because a counter cannot hold the value.
#[test]
fn an_invalid_value_stays_an_error_and_no_part_of_it_is_written() {
    for (name, mut write_all) in writers() {
        let counter = counter();
        let segments = [IoSlice::new(&[0xff; 3]), IoSlice::new(&[0xff; 5])];
        let error = write_all(counter.as_fd(), &segments).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}");
        assert_eq!(error.transferred(), 0, "{name}");
    }
}

#[test]
fn a_refused_record_is_not_written_by_another_call() {
    let counter = counter();
    let segments = [IoSlice::new(&[1; 3]), IoSlice::new(&[1; 5])];
    let error = write_once(&counter, &segments).unwrap_err();
    assert_eq!(
        (error.kind(), error.transferred()),
        (ErrorKind::InvalidInput, 0)
    );
    assert!(
        rustix::io::read(&counter, &mut [0; 8]).is_err(),
        "bytes were written"
    );
    // Adjacent segments stay separate entries, because the driver takes each value separately.
    let touching = [[3; 8], [4; 8]].concat();
    let segments = [IoSlice::new(&touching[..8]), IoSlice::new(&touching[8..])];
    assert_eq!(write_once(&counter, &segments).unwrap(), 16);
    assert_eq!(value(&counter), u64::from_ne_bytes([7; 8]));
}

/// First the segments are coalesced into one entry, which the driver refuses. Then each segment is passed separately.
#[test]
fn values_that_touch_in_memory_are_taken_like_those_that_do_not() {
    let touching: Vec<u8> = [[1; 8], [2; 8], [4; 8]].concat();
    let apart = vec![8; 8];
    for (name, mut write_all) in writers() {
        for count in [2, 3] {
            let values = touching[..8 * count].chunks(8).map(IoSlice::new);
            let is_copied = name.contains("Gather") && !name.contains("copies nothing");
            // A list that is contiguous in memory is never copied. Only a writer without copies gets another segment.
            let also = (!is_copied).then(|| IoSlice::new(&apart));
            let segments: Vec<_> = values.chain(also).collect();
            let counter = counter();
            let written = write_all(counter.as_fd(), &segments);
            assert_eq!(written.unwrap(), 8 * segments.len() as u64, "{name}");
            let sum = segments.iter().map(|segment| segment[0]).sum();
            assert_eq!(value(&counter), u64::from_ne_bytes([sum; 8]), "{name}");
        }
    }
}
