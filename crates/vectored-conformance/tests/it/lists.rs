//! Lists of every shape, written to every descriptor that takes them.

use std::fs::File;
use std::io::IoSlice;
use std::os::fd::AsFd;
use std::path::Path;

use bytes::Bytes;
use vectored::limits::{MAX_CALL_BYTES, iov_max};
use vectored::{SegmentCursor, SegmentQueue};
use vectored_conformance::host::{Mount, report_skip};
use vectored_conformance::model::{adjacent_list, list, mixed_sizes, payload};
use vectored_conformance::source::{Feed, Source};
use vectored_conformance::target::{self, Target};
use vectored_conformance::write_ways::{DURABLE_WRITE_WAYS, RANDOM_QUEUE};

use crate::support::{
    build_directory, content, expect_all_of, expect_filled, expect_whole, read_ways, write_ways,
};

/// The library coalesces adjacent segments, and short writes end within the coalesced entry.
#[test]
fn pieces_of_one_buffer_arrive_everywhere() {
    let max = iov_max();
    let lists = [
        vec![10, 20],
        vec![3; max],
        vec![3; max + 1],
        vec![999; 300],
        mixed_sizes(300),
    ];
    for (way, mut write_fn) in write_ways() {
        for sizes in &lists {
            let content = content(sizes);
            let adjacent = adjacent_list(&content, sizes);
            // One pair of neighbours is not adjacent.
            let mut exchanged = adjacent.clone();
            exchanged.rotate_left(sizes.len() / 2);
            for list in [adjacent, exchanged] {
                let model = list.iter().flat_map(|piece| piece.iter().copied());
                let model: Vec<u8> = model.collect();
                for target in target::suiting(way.only_files, build_directory()) {
                    let what = format!("{way:?} to {}, {} pieces", target.name, sizes.len());
                    let delivery = target.deliver(&mut write_fn, &list).expect(&what);
                    expect_all_of(&what, &model, delivery);
                }
            }
        }
    }
}

/// The place of a segment in memory does not matter: the same buffer again and again, overlapping segments, and
/// neighbours from back to front.
#[test]
fn segments_that_share_memory_arrive_as_often_as_they_are_listed() {
    let content = content(&[4000]);
    let same = |size: usize| vec![&content[..size]; 3000];
    let windows: Vec<&[u8]> = content.windows(1000).step_by(3).collect();
    let backwards: Vec<&[u8]> = content.chunks(5).rev().collect();
    // The first two pieces are adjacent, and the third piece begins within the second.
    let overlapping = [&content[..1000], &content[1000..2000], &content[1500..2500]].repeat(30);
    for pieces in [
        same(1),
        same(40),
        same(700),
        windows,
        backwards,
        overlapping,
    ] {
        let segments: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
        let model = pieces.concat();
        for (way, mut write_fn) in write_ways() {
            for target in target::suiting(way.only_files, build_directory()) {
                let what = format!("{way:?} to {}, {} pieces", target.name, pieces.len());
                let delivery = target.deliver(&mut write_fn, &segments).expect(&what);
                expect_all_of(&what, &model, delivery);
            }
        }
    }
}

/// The pipe holds one page, so that writes end within segments again and again.
#[test]
fn short_writes_resume_mid_segment() {
    for (way, mut write_fn) in write_ways() {
        if way.only_files {
            continue;
        }
        for size in [100_000, 5000, 999] {
            let sizes = vec![size; 300_000 / size];
            let delivery = expect_whole(
                way,
                &mut write_fn,
                Target::non_blocking_pipe().unwrap(),
                &sizes,
            );
            // Each call writes one page, and the next call would block.
            assert!(delivery.resumptions > 50, "{way:?}, {size}");
        }
    }
}

#[test]
fn totals_around_the_most_that_a_call_moves_are_counted() {
    let chunk = vec![0; 64 << 20];
    let null = File::create("/dev/null").unwrap();
    for total in [
        MAX_CALL_BYTES - 1,
        MAX_CALL_BYTES,
        MAX_CALL_BYTES + 1,
        i32::MAX as usize,
        i32::MAX as usize + 1,
        2 * MAX_CALL_BYTES + 1,
    ] {
        let mut segments = vec![IoSlice::new(&chunk); total / chunk.len()];
        segments.push(IoSlice::new(&chunk[..total % chunk.len()]));
        // A queue would copy all these bytes in pieces: in the next test, the queue shares the bytes. The input of a
        // copy would hold all bytes; the library's own tests have a file without blocks.
        let holds_all =
            |name: &str| name.starts_with("SegmentQueue") || name.starts_with("copy of");
        for (way, mut write_fn) in write_ways().filter(|(way, _)| !holds_all(way.name)) {
            let mut cursor = SegmentCursor::new();
            let outcome = write_fn(null.as_fd(), &segments, &mut cursor);
            assert!(outcome.error.is_none(), "{way:?}: {:?}", outcome.error);
            assert_eq!(outcome.transferred, total as u64, "{way:?}");
            assert!(cursor.is_at_end(&segments), "{way:?}");
        }
    }
}

#[test]
fn a_queue_of_more_bytes_than_a_call_moves_is_written_whole() {
    if usize::BITS < 64 {
        return report_skip(
            "a_queue_of_more_bytes_than_a_call_moves_is_written_whole",
            "a queue counts no more than 2 GiB on 32 bits",
        );
    }
    let chunk = Bytes::from(vec![0; 64 << 20]);
    let null = File::create("/dev/null").unwrap();
    let total = 2 * MAX_CALL_BYTES + 1;
    let fill = || {
        let mut queue = SegmentQueue::new();
        for _ in 0..total / chunk.len() {
            queue.push(chunk.clone());
        }
        queue.push(chunk.slice(..total % chunk.len()));
        queue
    };
    let mut queue = fill();
    assert_eq!(queue.write_some(&null).unwrap(), MAX_CALL_BYTES);
    assert_eq!(queue.write_some(&null).unwrap(), MAX_CALL_BYTES);
    assert_eq!(queue.write_some(&null).unwrap(), 1);
    assert_eq!(queue.write_some(&null).unwrap(), 0);
    assert_eq!(fill().write_to(&null).unwrap(), total as u64);
}

/// If the file system refuses the flag, `OnRefusal::Fallback` retries without it.
#[test]
fn lists_with_flags_arrive_in_files() {
    for way in DURABLE_WRITE_WAYS {
        let mut write_fn = (way.make)();
        for sizes in [mixed_sizes(300), vec![700; 1025], vec![0; 3], vec![]] {
            for target in target::suiting(way.only_files, build_directory()) {
                expect_whole(way, &mut write_fn, target, &sizes);
            }
        }
        if !cfg!(target_os = "linux") {
            report_skip(
                "lists_with_flags_arrive_in_files",
                "only Linux seals the length of a file",
            );
            continue;
        }
        let data = payload(&mixed_sizes(1500));
        let target = Target::memory(Some(500_000)).unwrap();
        let delivery = target.deliver(&mut write_fn, &list(&data)).unwrap();
        assert!(delivery.error.is_some(), "{way:?}");
        let reported = delivery.reported as usize;
        let model = data.concat();
        assert!(
            delivery.received[..reported] == model[..reported],
            "{way:?}"
        );
    }
}

/// More bytes are put into the queue while the queue is written.
#[test]
fn lists_through_a_queue_at_random_arrive_everywhere() {
    let mut write_fn = (RANDOM_QUEUE.make)();
    for round in 1..=10 {
        for sizes in [mixed_sizes(10 * round), vec![700; 103 * round], vec![0; 3]] {
            for target in target::suiting(RANDOM_QUEUE.only_files, build_directory()) {
                expect_whole(&RANDOM_QUEUE, &mut write_fn, target, &sizes);
            }
        }
    }
}

/// Writes lists to files of each file system, and fills lists from such files.
#[test]
fn lists_arrive_in_and_are_filled_from_files_of_each_file_system() {
    let test = "lists_arrive_in_and_are_filled_from_files_of_each_file_system";
    let move_at = |directory: &Path| {
        for sizes in [mixed_sizes(300), vec![700; 2049], vec![3; 1025]] {
            for (way, mut write_fn) in write_ways() {
                for open in [Target::file, Target::appended_file] {
                    expect_whole(way, &mut write_fn, open(directory).unwrap(), &sizes);
                }
            }
            let bytes: usize = sizes.iter().sum();
            for (way, mut read_fn) in read_ways() {
                for held in [bytes + 9000, bytes - 1000] {
                    let feed = Feed::new(content(&[held]), &[]);
                    let source = Source::file(directory, feed).unwrap();
                    expect_filled(way, &mut read_fn, source, &sizes);
                }
            }
        }
    };
    for kind in ["ext4", "xfs", "btrfs"] {
        match Mount::of_image(kind, build_directory()) {
            Ok(mount) => move_at(mount.path()),
            Err(reason) => report_skip(test, &reason),
        }
    }
    match Path::new("/dev/shm") {
        place if place.is_dir() => move_at(place),
        _ => report_skip(test, "there is no /dev/shm"),
    }
}
