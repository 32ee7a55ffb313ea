//! Errors name the list and its bytes, and nothing is in flight after them.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;
use rustix::fs::{MemfdFlags, OFlags, SealFlags};
use vectored_lab::in_flight::{Event, Place, WriteList};

use super::support::{
    Events, Guarded, concatenated, config, lists, payload, queues, unnamed_file, write,
};

/// A file in memory that cannot grow.
fn sealed(bytes: u64) -> File {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = File::from(rustix::fs::memfd_create("in-flight", flags).unwrap());
    file.set_len(bytes).unwrap();
    rustix::fs::fcntl_add_seals(&file, SealFlags::GROW).unwrap();
    file
}

fn bytes_of(lists: &[Vec<usize>]) -> Vec<u64> {
    lists
        .iter()
        .map(|list| list.iter().sum::<usize>() as u64)
        .collect()
}

/// The list in which byte `at` lies, and the bytes of it before that.
fn list_at(lists: &[u64], at: u64) -> Option<(u64, u64)> {
    let mut begin = 0;
    for (number, &bytes) in (0..).zip(lists) {
        if at < begin + bytes {
            return Some((number, at - begin));
        }
        begin += bytes;
    }
    None
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_read_past_the_end_of_a_file_names_the_list_and_its_bytes(
        sizes in lists(12), depth in 1..10_u32, share in 0.0..1.2_f64
    ) {
        let all = concatenated(&payload(&sizes));
        let held = ((all.len() as f64 * share) as usize).min(all.len());
        let file = unnamed_file();
        file.write_all_at(&all[..held], 0).unwrap();
        for mut queue in queues("a_read_past_the_end_of_a_file_names_the_list_and_its_bytes", depth) {
            let mut guarded = Guarded::new(&sizes);
            let count = sizes.len() as u64;
            if count == 0 {
                continue;
            }
            let read = guarded.read(&mut queue, &file, Place::Offset(0), count, &mut |_| ());
            let found = read.map_err(|error| {
                assert_eq!(error.io_error().kind(), ErrorKind::UnexpectedEof);
                (error.list(), error.transferred())
            });
            let expected = match list_at(&bytes_of(&sizes), held as u64) {
                Some(place) => Err(place),
                None => Ok(()),
            };
            prop_assert_eq!(found, expected, "{}", queue.interface().name());
            let mut content = guarded.content().concat();
            content.truncate(held);
            prop_assert!(content == all[..held], "{}", queue.interface().name());
        }
    }

    #[test]
    fn a_file_that_cannot_grow_has_the_bytes_that_the_error_counts(
        sizes in lists(12), depth in 1..10_u32, share in 0.0..1.2_f64
    ) {
        let data = payload(&sizes);
        let all = concatenated(&data);
        let room = ((all.len() as f64 * share) as u64).min(all.len() as u64);
        for mut queue in queues("a_file_that_cannot_grow_has_the_bytes_that_the_error_counts", depth) {
            let file = sealed(room);
            let mut events = Events::default();
            let written = write(&mut queue, &file, Place::Offset(0), &data, &mut events);
            let went = match written {
                Ok(()) => all.len(),
                Err(error) => {
                    prop_assert_eq!(error.io_error().kind(), ErrorKind::PermissionDenied);
                    let before: u64 = bytes_of(&sizes)[..error.list() as usize].iter().sum();
                    (before + error.transferred()) as usize
                }
            };
            let mut content = Vec::new();
            (&file).read_to_end(&mut content).unwrap();
            prop_assert!(content.len() as u64 == room && went as u64 <= room);
            prop_assert!(went == all.len() || room < all.len() as u64);
            prop_assert!(content[..went] == all[..went], "{}", queue.interface().name());
        }
    }

    #[test]
    fn a_full_non_blocking_pipe_is_would_block_with_the_count(sizes in lists(12), depth in 1..10_u32) {
        let data = payload(&sizes);
        let all = concatenated(&data);
        for mut queue in queues("a_full_non_blocking_pipe_is_would_block_with_the_count", depth) {
            let (mut reader, writer) = io::pipe().unwrap();
            rustix::pipe::fcntl_setpipe_size(&writer, 4096).unwrap();
            for fd in [reader.as_fd(), writer.as_fd()] {
                rustix::fs::fcntl_setfl(fd, OFlags::NONBLOCK).unwrap();
            }
            let mut events = Events::default();
            let written = write(&mut queue, &writer, Place::Stream, &data, &mut events);
            let went = match written {
                Ok(()) => all.len(),
                Err(error) => {
                    prop_assert_eq!(error.io_error().kind(), ErrorKind::WouldBlock);
                    let before: u64 = bytes_of(&sizes)[..error.list() as usize].iter().sum();
                    (before + error.transferred()) as usize
                }
            };
            drop(writer);
            let mut content = Vec::new();
            reader.read_to_end(&mut content).unwrap();
            prop_assert!(content == all[..went], "{}", queue.interface().name());
        }
    }
}

#[test]
fn descriptors_that_refuse_are_errors_of_the_first_list() {
    let (reader, pipe) = io::pipe().unwrap();
    drop(reader);
    let (peer, socket) = UnixStream::pair().unwrap();
    drop(peer);
    let cases: [(OwnedFd, Place, i32); 3] = [
        (
            File::open("/dev/null").unwrap().into(),
            Place::Stream,
            libc::EBADF,
        ),
        (pipe.into(), Place::Stream, libc::EPIPE),
        (socket.into(), Place::Stream, libc::EPIPE),
    ];
    for mut queue in queues("descriptors_that_refuse_are_errors_of_the_first_list", 4) {
        for (fd, place, errno) in &cases {
            let data = payload(&[vec![10, 20], vec![30]]);
            let written = write(&mut queue, fd, *place, &data, &mut Events::default());
            let error = written.unwrap_err();
            let name = queue.interface().name();
            assert_eq!(error.io_error().raw_os_error(), Some(*errno), "{name}");
            assert_eq!((error.list(), error.transferred()), (0, 0), "{name}");
            assert!(
                error
                    .to_string()
                    .starts_with("list 0: after 0 of its 30 bytes: "),
                "{error}"
            );
        }
    }
}

#[test]
fn an_offset_past_the_largest_one_is_refused_before_any_call() {
    for mut queue in queues(
        "an_offset_past_the_largest_one_is_refused_before_any_call",
        4,
    ) {
        let file = unnamed_file();
        for offset in [i64::MAX as u64 - 10, i64::MAX as u64 + 1, u64::MAX] {
            let data = payload(&[vec![11]]);
            let mut events = Events::default();
            let written = write(&mut queue, &file, Place::Offset(offset), &data, &mut events);
            let error = written.unwrap_err();
            assert_eq!(error.io_error().kind(), ErrorKind::InvalidInput);
        }
        assert_eq!(file.metadata().unwrap().len(), 0);
    }
}

/// The transfers in flight end before the buffers are gone, and the queue can be used again.
#[test]
fn a_panic_waits_for_the_lists_in_flight() {
    for mut queue in queues("a_panic_waits_for_the_lists_in_flight", 8) {
        let file = unnamed_file();
        let begun = Cell::new(0);
        for in_list in [true, false] {
            begun.set(0);
            let data = vec![7; 100_000];
            let list: [&[u8]; 1] = [&data];
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                let mut next = |number| {
                    assert!(!in_list || number < 5, "no further list");
                    WriteList::Slices(&list)
                };
                let mut on_event = |event| {
                    begun.set(begun.get() + u32::from(matches!(event, Event::Began(_))));
                    assert!(in_list || matches!(event, Event::Began(_)), "an end");
                };
                queue.write(file.as_fd(), Place::Offset(0), 20, &mut next, &mut on_event)
            }));
            assert!(outcome.is_err());
            assert!(begun.get() >= 5, "{}", begun.get());
        }
        let data = payload(&vec![vec![100, 1000]; 30]);
        let mut events = Events::default();
        write(&mut queue, &file, Place::Offset(0), &data, &mut events).unwrap();
        events.expect(30, 8);
        let mut content = vec![0; 33_000];
        file.read_exact_at(&mut content, 0).unwrap();
        assert!(content == concatenated(&data));
    }
}
