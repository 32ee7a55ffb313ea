//! Lists in flight whose transfer unwinds: afterwards the kernel uses none of their buffers.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::OFlags;
use vectored::files::AlignedBuffer;
use vectored_machine::platform::files::unnamed_file;
use vectored_measure::in_flight::{AioQueue, Event, ListQueue, Place, RingQueue};
use vectored_measure::measure::check_direct;
use vectored_results::model::TechniqueName;

use crate::support::{check_available, directory, skip};

const LISTS: u64 = 32;
const BYTES: usize = 64 << 10;

fn buffers(byte: impl Fn(u64) -> u8) -> Vec<AlignedBuffer> {
    let buffer = |number| {
        let mut buffer = AlignedBuffer::zeroed(BYTES, 4096);
        buffer.fill(byte(number));
        buffer
    };
    (0..LISTS).map(buffer).collect()
}

fn write(
    queue: &mut impl ListQueue,
    file: &File,
    all: &[AlignedBuffer],
    hear: &mut dyn FnMut(Event),
) {
    let segments: Vec<[&[u8]; 1]> = all.iter().map(|one| [&one[..]]).collect();
    let mut list = |number: u64| &segments[number as usize][..];
    let written = queue.write(file.as_fd(), Place::Offset(0), LISTS, &mut list, hear);
    written.unwrap();
}

fn read(
    queue: &mut impl ListQueue,
    file: &File,
    all: &mut [AlignedBuffer],
    hear: &mut dyn FnMut(Event),
) {
    let mut segments: Vec<[&mut [u8]; 1]> = all.iter_mut().map(|one| [&mut one[..]]).collect();
    let lists = segments.iter_mut().map(|list| &mut list[..]).collect();
    let read = queue.read(file.as_fd(), Place::Offset(0), LISTS, lists, hear);
    read.unwrap();
}

/// Unwinds when the list of this number has ended. The kernel may hold other transfers then.
fn unwinding(last: u64, transfer: impl FnOnce(&mut dyn FnMut(Event))) {
    let mut hear = |event| {
        if event == Event::Ended(last) {
            resume_unwind(Box::new(()));
        }
    };
    catch_unwind(AssertUnwindSafe(|| transfer(&mut hear))).unwrap_err();
}

fn check<Q: ListQueue>(file: &File, plain: &File) {
    let mut queue = Q::with_depth(16).unwrap();
    let right = buffers(|number| number as u8 + 1);
    for last in 0..LISTS {
        let wrong = buffers(|_| 0xee);
        unwinding(last, |hear| write(&mut queue, file, &wrong, hear));
        write(&mut queue, file, &right, &mut |_| ());
        let mut landing = buffers(|_| 0);
        unwinding(last, |hear| read(&mut queue, file, &mut landing, hear));
        landing.iter_mut().for_each(|buffer| buffer.fill(0xa5));
        sleep(Duration::from_micros(200));
        let mut bytes = landing.iter().flat_map(|buffer| buffer.iter());
        assert!(
            bytes.all(|byte| *byte == 0xa5),
            "{last}: read after its end"
        );
        read(&mut queue, file, &mut landing, &mut |_| ());
        for (number, (found, expected)) in landing.iter().zip(&right).enumerate() {
            assert!(found[..] == expected[..], "{last}: list {number} was read");
            let mut there = vec![0; BYTES];
            plain
                .read_exact_at(&mut there, (number * BYTES) as u64)
                .unwrap();
            assert!(there == expected[..], "{last}: list {number} was written");
        }
    }
}

#[test]
fn a_transfer_that_unwinds_leaves_no_list_in_flight() {
    let folder = directory();
    let path = folder.join(format!("unwound-{}", std::process::id()));
    let mut options = File::options();
    options.read(true).write(true).create(true);
    let plain = options.open(&path).unwrap();
    // Without `O_DIRECT`, calls of AIO have ended when they are submitted.
    let is_direct = check_direct(&folder).is_ok();
    let flags = if is_direct { OFlags::DIRECT } else { OFlags::empty() };
    let file = options
        .custom_flags(flags.bits() as i32)
        .open(&path)
        .unwrap();
    std::fs::remove_file(&path).unwrap();
    for technique in ["io-uring", "linux-aio"] {
        match check_available(TechniqueName::new(technique), 16) {
            Ok(()) if technique == "linux-aio" => check::<AioQueue>(&file, &plain),
            Ok(()) => check::<RingQueue>(&file, &plain),
            Err(error) => skip(technique, &error.to_string()),
        }
    }
}

/// Checks that a list that ends early and lists that are refused are errors. The unwritten bytes of these lists do not
/// arrive later.
fn check_errors<Q: ListQueue>() {
    let mut queue = Q::with_depth(16).unwrap();
    let file = || File::from(unnamed_file(&directory(), OFlags::empty()).unwrap());
    let (written, short) = (file(), file());
    let read_only = File::open("/dev/null").unwrap();
    let right = buffers(|number| number as u8 + 1);
    let wrong = buffers(|_| 0xee);
    let segments: Vec<[&[u8]; 1]> = wrong.iter().map(|one| [&one[..]]).collect();
    let mut list = |number: u64| &segments[number as usize][..];
    let place = Place::Offset(0);
    let refused = queue.write(read_only.as_fd(), place, LISTS, &mut list, &mut |_| ());
    let refused = refused.unwrap_err().to_string();
    let told = format!("list 0: after 0 of {BYTES} bytes: Bad file descriptor");
    assert!(refused.starts_with(&told), "{refused}");
    write(&mut queue, &written, &right, &mut |_| ());
    let mut there = vec![0; LISTS as usize * BYTES];
    written.read_exact_at(&mut there, 0).unwrap();
    assert_eq!(
        there,
        right
            .iter()
            .flat_map(|one| one.to_vec())
            .collect::<Vec<_>>()
    );
    let last = LISTS - 1;
    short.set_len(last * BYTES as u64 + 1).unwrap();
    let mut landing = buffers(|_| 0);
    let mut segments: Vec<[&mut [u8]; 1]> = landing.iter_mut().map(|one| [&mut one[..]]).collect();
    let lists = segments.iter_mut().map(|list| &mut list[..]).collect();
    let ended = queue.read(short.as_fd(), place, LISTS, lists, &mut |_| ());
    let ended = ended.unwrap_err();
    assert_eq!(ended.kind(), ErrorKind::UnexpectedEof);
    let told = format!("list {last}: after 1 of {BYTES} bytes: ");
    assert!(ended.to_string().starts_with(&told), "{ended}");
}

#[test]
fn errors_of_lists_are_told_and_leave_no_bytes_behind() {
    for technique in ["io-uring", "linux-aio"] {
        match check_available(TechniqueName::new(technique), 16) {
            Ok(()) if technique == "linux-aio" => check_errors::<AioQueue>(),
            Ok(()) => check_errors::<RingQueue>(),
            Err(error) => skip(technique, &error.to_string()),
        }
    }
}
