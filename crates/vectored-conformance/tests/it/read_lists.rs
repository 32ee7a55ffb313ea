//! Lists of every shape, read from every kind of descriptor.

use std::fs::File;
use std::io::{self, IoSliceMut, Write};
use std::os::fd::AsFd;

use vectored::SegmentCursor;
use vectored::limits::MAX_CALL_BYTES;
use vectored_conformance::host::{file_in_memory, report_skip};
use vectored_conformance::read_ways::READ_WAYS;
use vectored_conformance::rings::ring_read_ways;
use vectored_conformance::source::{self, Feed, Source};
use vectored_conformance::way::ReadWay;

use crate::everywhere::PIECES;
use crate::support::{build_directory, content, expect_filled, read_ways};

/// The number of bytes of a source after the list. These bytes must stay in the source.
const BEYOND: usize = 9000;

/// All lists of up to three segments of 0 to 3 bytes.
fn small_lists() -> impl Iterator<Item = Vec<usize>> {
    (0..=3).flat_map(|count| {
        let numbers = 0..4_usize.pow(count);
        numbers.map(move |number| (0..count).map(|i| number / 4_usize.pow(i) % 4).collect())
    })
}

#[test]
fn short_reads_resume_at_every_cut_of_small_lists_everywhere() {
    for (way, mut read_fn) in read_ways().filter(|(way, _)| !way.only_files) {
        for sizes in small_lists() {
            let bytes: usize = sizes.iter().sum();
            let whole = content(&[bytes + 2]);
            for first in 1..bytes {
                for second in 1..=bytes - first {
                    let feed = Feed::new(whole.clone(), &[first, second, 100]);
                    let source = Source::non_blocking_pipe(feed).unwrap();
                    expect_filled(way, &mut read_fn, source, &sizes);
                }
            }
        }
    }
}

#[test]
fn the_end_of_the_file_at_every_point_of_small_lists_is_told_with_the_exact_count() {
    let opens: [fn(Feed) -> io::Result<Source>; 3] = [
        Source::memory,
        Source::non_blocking_pipe,
        Source::non_blocking_unix_stream,
    ];
    // One function serves for all lists, since the end of a ring waits for the kernel.
    for (way, mut read_fn) in read_ways() {
        for sizes in small_lists() {
            let bytes: usize = sizes.iter().sum();
            for held in 0..=bytes {
                for open in opens {
                    let source = open(Feed::new(content(&[held]), &[1, 5])).unwrap();
                    if source.is_file() || !way.only_files {
                        let arrival = expect_filled(way, &mut read_fn, source, &sizes);
                        assert_eq!(arrival.reported, held as u64);
                        let fails = held < bytes && !way.stops_at_eof;
                        assert_eq!(arrival.error.is_some(), fails, "{way:?}");
                    }
                }
            }
        }
    }
}

/// Each piece is a short read that ends within a segment.
#[test]
fn short_reads_resume_mid_segment() {
    let feed = Feed::new(content(&[300_000 + BEYOND]), &[4096, 1, 3333]);
    for (way, mut read_fn) in read_ways().filter(|(way, _)| !way.only_files) {
        for size in [100_000, 5000, 999] {
            let sizes = vec![size; 300_000 / size];
            let source = Source::non_blocking_pipe(feed.clone()).unwrap();
            let arrival = expect_filled(way, &mut read_fn, source, &sizes);
            assert!(arrival.resumptions > 50, "{way:?}, {size}");
            expect_filled(
                way,
                &mut read_fn,
                Source::pipe(feed.clone()).unwrap(),
                &sizes,
            );
        }
    }
}

#[test]
fn lists_that_follow_one_another_share_a_source_without_a_gap() {
    let lists = [
        vec![4, 0, 100],
        vec![20_000, 4],
        vec![],
        vec![3; 1500],
        vec![700; 1025],
        vec![1],
    ];
    let whole = content(&[&lists.concat()[..], &[BEYOND]].concat());
    let feed = Feed::new(whole.clone(), &PIECES);
    for (way, mut read_fn) in read_ways().filter(|(way, _)| !way.only_files) {
        for mut source in source::suiting(way.only_files, build_directory(), &feed) {
            let mut at = 0;
            for sizes in lists.iter().chain([&vec![BEYOND]]) {
                let arrival = source.fill_next(&mut read_fn, sizes).unwrap();
                let what = format!("{way:?} from {}, {} segments", source.name, sizes.len());
                assert!(arrival.error.is_none(), "{what}: {:?}", arrival.error);
                let end = at + arrival.received.len();
                assert!(arrival.received == whole[at..end], "{what}");
                assert_eq!((arrival.stray_writes, arrival.miscounts), (0, 0), "{what}");
                at = end;
            }
            assert_eq!(source.finish().unwrap(), b"", "{way:?}");
        }
    }
}

fn file_of(bytes: &[u8]) -> File {
    let mut file = file_in_memory().unwrap();
    file.write_all(bytes).unwrap();
    rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(0)).unwrap();
    file
}

/// Tests that no call requests more bytes than the kernel moves. The file is short and ends the transfer, so
/// most pages of the segments are never touched.
#[test]
fn lists_of_more_bytes_than_a_call_moves_are_asked_for_in_part() {
    if usize::BITS < 64 {
        return report_skip(
            "lists_of_more_bytes_than_a_call_moves_are_asked_for_in_part",
            "there is no such memory on 32 bits",
        );
    }
    for total in [
        MAX_CALL_BYTES - 1,
        MAX_CALL_BYTES,
        MAX_CALL_BYTES + 1,
        i32::MAX as usize,
        i32::MAX as usize + 1,
    ] {
        // The system allocates each page of zeroed memory of this size when the page is touched.
        let mut memory = vec![0; total];
        for way in READ_WAYS {
            let file = file_of(&content(&[10_000]));
            let (first, second) = memory.split_at_mut(5000);
            let mut segments = [IoSliceMut::new(first), IoSliceMut::new(second)];
            let mut cursor = SegmentCursor::new();
            let outcome = (way.make)()(file.as_fd(), &mut segments, &mut cursor);
            let kind = outcome.error.as_ref().map(io::Error::kind);
            let expected = (!way.stops_at_eof).then_some(io::ErrorKind::UnexpectedEof);
            assert_eq!(kind, expected, "{way:?}");
            assert_eq!(outcome.transferred, 10_000, "{way:?}");
            let left = (total - 10_000) as u64;
            assert_eq!(cursor.remaining_bytes(&segments), left, "{way:?}");
            assert!(memory[..10_000] == content(&[10_000]), "{way:?}");
            memory[..10_000].fill(0);
        }
    }
}

#[test]
fn a_file_that_grows_is_read_on_from_where_it_ended() {
    for (way, mut read_fn) in read_ways() {
        let whole = content(&[3000]);
        let mut file = file_of(&whole[..1234]);
        let mut landing = vec![0; 3000];
        let (first, second) = landing.split_at_mut(1000);
        let mut segments = [IoSliceMut::new(first), IoSliceMut::new(second)];
        let mut cursor = SegmentCursor::new();
        let before = read_fn(file.as_fd(), &mut segments, &mut cursor);
        assert_eq!(before.transferred, 1234, "{way:?}");
        // Appends, and sets the position, which positional reads have not moved.
        rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0)).unwrap();
        file.write_all(&whole[1234..]).unwrap();
        rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(1234)).unwrap();
        let after = read_fn(file.as_fd(), &mut segments, &mut cursor);
        assert!(after.error.is_none(), "{way:?}: {:?}", after.error);
        assert_eq!(after.transferred, 3000 - 1234, "{way:?}");
        assert!(landing == whole, "{way:?}");
    }
}

/// The end of a message longer than the list would be lost. Shorter messages would be joined, and an empty message
/// would look like the end of the file. A `ScatterReader` does not know its descriptor.
#[test]
fn functions_for_streams_read_nothing_from_sockets_that_keep_messages_apart() {
    use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

    let streams = |way: &&ReadWay| !way.only_files && !way.name.contains("ScatterReader");
    for (kind, name) in [
        (SocketType::DGRAM, "SOCK_DGRAM"),
        (SocketType::SEQPACKET, "SOCK_SEQPACKET"),
    ] {
        for way in READ_WAYS.iter().chain(ring_read_ways()).filter(streams) {
            for message in [&b"longer than the list"[..], b"123456", b"ab", b""] {
                let flags = SocketFlags::empty();
                let pair = rustix::net::socketpair(AddressFamily::UNIX, kind, flags, None);
                let (sender, receiver) = pair.unwrap();
                rustix::net::send(&sender, message, SendFlags::empty()).unwrap();
                let (mut head, mut body) = ([0; 2], [0; 4]);
                let mut list = [IoSliceMut::new(&mut head), IoSliceMut::new(&mut body)];
                let mut cursor = SegmentCursor::new();
                let outcome = (way.make)()(receiver.as_fd(), &mut list, &mut cursor);
                let error = outcome.error.expect(way.name);
                assert_eq!(
                    (error.kind(), outcome.transferred),
                    (io::ErrorKind::InvalidInput, 0)
                );
                let text = error.to_string();
                assert!(
                    text.contains(name) && text.contains("recvmsg"),
                    "{way:?}: {text}"
                );
                // The whole message is still in the socket.
                let mut left = [0; 100];
                let (bytes, _) =
                    rustix::net::recv(&receiver, &mut left, RecvFlags::DONTWAIT).unwrap();
                assert_eq!(&left[..bytes], message, "{way:?}");
            }
        }
    }
}
