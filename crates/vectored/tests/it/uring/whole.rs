//! All bytes arrive, in order, once.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use proptest::prelude::*;
use rustix::fs::OFlags;
use rustix::net::sockopt::set_socket_send_buffer_size;
use vectored::SegmentQueue;
use vectored::files::{AlignedBuffer, DirectAlignment};
use vectored::queue::QueuePolicy;
use vectored::uring::{Data, Descriptor, Ring, SharedDescriptor};

use super::{only, queue_of, ring};
use crate::support::{TemporaryFile, add_flag, mixed_sizes, payload, set_nonblocking, skip};
use crate::sys::interrupted_often;

/// One transfer of a test.
#[derive(Clone, Debug)]
struct Plan {
    target: Target,
    is_write: bool,
    sizes: Vec<usize>,
    /// Bytes that the other side moves at a time; also whether they are more or fewer than the buffers hold.
    step: usize,
    copy_below: usize,
    is_nonblocking: bool,
    is_shared: bool,
}

impl Plan {
    fn descriptor(&self, owner: impl AsFd + Send + Sync + 'static) -> Descriptor {
        if self.is_shared {
            SharedDescriptor::new(owner).unwrap().into()
        } else {
            owner.into()
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Target {
    FileAt(u64),
    FilePosition,
    Pipe,
    Socket,
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let target = prop_oneof![
        (0..10_000_u64).prop_map(Target::FileAt),
        Just(Target::FilePosition),
        Just(Target::Pipe),
        Just(Target::Socket),
    ];
    let size = prop_oneof![4 => 0..50_usize, 3 => 0..5_000_usize, 1 => 0..200_000_usize];
    let sizes = prop_oneof![
        8 => prop::collection::vec(size, 0..20),
        1 => prop::collection::vec(0..4_usize, 1020..2100),
    ];
    let step = prop_oneof![1..100_usize, 1000..100_000_usize];
    (
        target,
        any::<bool>(),
        sizes,
        step,
        0..100_usize,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(
            |(target, is_write, sizes, step, copy_below, is_nonblocking, is_shared)| Plan {
                target,
                is_write,
                sizes,
                // A step of a byte for each of many would take long.
                step,
                copy_below,
                is_nonblocking,
                is_shared,
            },
        )
}

/// The side of a transfer that the test sees.
enum Check {
    /// A file, an offset in it, and the bytes that must follow that offset.
    File(Arc<File>, u64, Vec<u8>),
    /// A thread that returns what it received, and the expected bytes.
    Received(JoinHandle<Vec<u8>>, Vec<u8>),
    /// The bytes that a read must return, and the lengths of its buffers.
    Read(Vec<u8>, Vec<usize>),
}

fn temporary_file() -> File {
    let path = std::env::temp_dir();
    let flags = OFlags::TMPFILE | OFlags::RDWR;
    let file = rustix::fs::open(
        &path,
        flags,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    );
    match file {
        Ok(file) => file.into(),
        Err(_) => {
            let file = TemporaryFile::new("uring");
            let options = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(true)
                .open(&file.0);
            options.unwrap()
        }
    }
}

/// The side for the ring, and the other one.
fn pair(target: Target, is_write: bool) -> (OwnedFd, OwnedFd) {
    match target {
        Target::Pipe => {
            let (reader, writer) = std::io::pipe().unwrap();
            rustix::pipe::fcntl_setpipe_size(&writer, 4096).unwrap();
            if is_write {
                (writer.into(), reader.into())
            } else {
                (reader.into(), writer.into())
            }
        }
        _ => {
            let (ours, theirs) = UnixStream::pair().unwrap();
            set_socket_send_buffer_size(&ours, 4096).unwrap();
            (ours.into(), theirs.into())
        }
    }
}

pub(super) fn receive(from: OwnedFd, step: usize) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let (mut from, mut all) = (File::from(from), Vec::new());
        let mut buffer = vec![0; step];
        loop {
            match from.read(&mut buffer).unwrap() {
                0 => return all,
                bytes => all.extend_from_slice(&buffer[..bytes]),
            }
        }
    })
}

fn send(to: OwnedFd, bytes: Vec<u8>, step: usize) {
    thread::spawn(move || {
        let mut to = File::from(to);
        // The reader may have closed its side.
        let _ = bytes.chunks(step).try_for_each(|part| to.write_all(part));
    });
}

fn submit(ring: &mut Ring, plan: &Plan, token: u64) -> Check {
    let data = payload(&plan.sizes);
    if plan.is_write {
        submit_write(ring, plan, &data, token)
    } else {
        submit_read(ring, plan, &data, token)
    }
}

fn submit_write(ring: &mut Ring, plan: &Plan, data: &[Vec<u8>], token: u64) -> Check {
    let mut policy = QueuePolicy::default();
    policy.copy_below_bytes = plan.copy_below;
    let mut queue = SegmentQueue::with_policy(policy);
    data.iter().for_each(|bytes| queue.push(bytes.clone()));
    match plan.target {
        Target::FileAt(offset) => {
            let file = Arc::new(temporary_file());
            ring.submit_write_at(plan.descriptor(Arc::clone(&file)), queue, offset, token);
            Check::File(file, offset, data.concat())
        }
        Target::FilePosition => {
            let file = Arc::new(temporary_file());
            ring.submit_write(plan.descriptor(Arc::clone(&file)), queue, token);
            Check::File(file, 0, data.concat())
        }
        target => {
            let (ours, theirs) = pair(target, true);
            if plan.is_nonblocking {
                set_nonblocking(&ours);
            }
            ring.submit_write(plan.descriptor(ours), queue, token);
            Check::Received(receive(theirs, plan.step), data.concat())
        }
    }
}

fn submit_read(ring: &mut Ring, plan: &Plan, data: &[Vec<u8>], token: u64) -> Check {
    let buffers = plan.sizes.iter().map(|size| vec![0; *size]).collect();
    let mut bytes = data.concat();
    // The bytes are as many as the buffers hold, fewer, or more.
    match plan.step % 3 {
        0 => bytes.truncate(bytes.len() * 2 / 3),
        1 => bytes.extend_from_slice(b"more"),
        _ => {}
    }
    match plan.target {
        Target::FileAt(offset) => {
            let file = temporary_file();
            vectored::files::write_all_at(&file, &[std::io::IoSlice::new(&bytes)], offset).unwrap();
            ring.submit_read_at(plan.descriptor(file), buffers, offset, token);
        }
        Target::FilePosition => {
            let file = temporary_file();
            vectored::files::write_all_at(&file, &[std::io::IoSlice::new(&bytes)], 0).unwrap();
            ring.submit_read(plan.descriptor(file), buffers, token);
        }
        target => {
            let (ours, theirs) = pair(target, false);
            if plan.is_nonblocking {
                set_nonblocking(&ours);
            }
            ring.submit_read(plan.descriptor(ours), buffers, token);
            send(theirs, bytes.clone(), plan.step);
        }
    }
    bytes.truncate(plan.sizes.iter().sum());
    Check::Read(bytes, plan.sizes.clone())
}

fn check(check: Check, result: u64, data: Data, plan: &Plan) {
    match check {
        Check::File(mut file, offset, expected) => {
            assert!(data.into_queue().unwrap().is_empty(), "{plan:?}");
            assert_eq!(result, expected.len() as u64);
            let mut written = vec![0; expected.len() + 1];
            let slices = &mut [std::io::IoSliceMut::new(&mut written)];
            let length = vectored::files::read_up_to_eof_at(&file, slices, offset).unwrap();
            assert_eq!(length, expected.len() as u64, "{plan:?}");
            assert!(written[..expected.len()] == expected, "{plan:?}");
            let moved = match plan.target {
                Target::FileAt(_) => 0,
                _ => result,
            };
            let position = std::io::Seek::stream_position(&mut file).unwrap();
            assert_eq!(position, moved, "{plan:?}");
        }
        Check::Received(received, expected) => {
            assert!(data.into_queue().unwrap().is_empty(), "{plan:?}");
            assert_eq!(result, expected.len() as u64);
            assert!(received.join().unwrap() == expected, "{plan:?}");
        }
        Check::Read(mut expected, sizes) => {
            assert_eq!(result, expected.len() as u64, "{plan:?}");
            let buffers = data.into_buffers().unwrap();
            assert!(buffers.iter().map(Vec::len).eq(sizes.iter().copied()));
            expected.resize(sizes.iter().sum(), 0);
            assert!(buffers.concat() == expected, "{plan:?}");
        }
    }
}

/// Runs all plans at once, and compares what arrives with what was sent.
fn run(ring: &mut Ring, plans: &[Plan]) {
    let mut checks = HashMap::new();
    for (token, plan) in (0..).zip(plans) {
        checks.insert(token, submit(ring, plan, token));
    }
    assert_eq!(ring.len(), plans.len());
    while let Some(done) = ring.wait().unwrap() {
        let of = checks
            .remove(&done.token)
            .expect("a token that was submitted, once");
        let plan = &plans[done.token as usize];
        let result = done
            .result
            .unwrap_or_else(|error| panic!("{plan:?}: {error}"));
        check(of, result, done.data, plan);
    }
    assert!(checks.is_empty());
    assert!(ring.is_empty());
}

#[test]
fn transfers_of_any_sizes_are_whole() {
    let test = "uring::whole::transfers_of_any_sizes_are_whole";
    let mut rings = Vec::new();
    for depth in [1, 3, 64] {
        rings.extend(ring(test, depth));
    }
    if rings.is_empty() {
        return;
    }
    let config = ProptestConfig {
        failure_persistence: None,
        cases: 60,
        ..ProptestConfig::default()
    };
    let rings = std::cell::RefCell::new(rings);
    proptest!(config, |(plans in prop::collection::vec(any_plan(), 0..12), which in 0..3_usize)| {
        run(&mut rings.borrow_mut()[which], &plans);
    });
}

#[test]
fn many_more_transfers_than_the_depth_end_once_each() {
    for depth in [1, 64] {
        let test = "uring::whole::many_more_transfers_than_the_depth_end_once_each";
        let Some(mut ring) = ring(test, depth) else {
            return;
        };
        let file = Arc::new(temporary_file());
        let data = payload(&[700, 0, 300]);
        for token in 0..1000 {
            ring.submit_write_at(Arc::clone(&file), queue_of(&data), token * 1000, token);
        }
        let mut tokens = Vec::new();
        while let Some(done) = ring.wait().unwrap() {
            assert_eq!(done.result.unwrap(), 1000);
            tokens.push(done.token);
        }
        tokens.sort_unstable();
        assert!(tokens.into_iter().eq(0..1000), "depth {depth}");
        assert_eq!(file.metadata().unwrap().len(), 1_000_000);
    }
}

#[test]
fn lists_around_the_limit_of_a_call_go_whole() {
    let test = "uring::whole::lists_around_the_limit_of_a_call_go_whole";
    let Some(mut ring) = ring(test, 4) else {
        return;
    };
    for count in [1023, 1024, 1025, 2048, 2049] {
        let data = payload(&mixed_sizes(count));
        let bytes: u64 = data.iter().map(|part| part.len() as u64).sum();
        let file = Arc::new(temporary_file());
        ring.submit_write(Arc::clone(&file), queue_of(&data), 1);
        assert_eq!(only(&mut ring).result.unwrap(), bytes, "{count} segments");
        let buffers = data.iter().map(|part| vec![0; part.len()]).collect();
        ring.submit_read_at(file, buffers, 0, 2);
        let done = only(&mut ring);
        assert_eq!(done.result.unwrap(), bytes, "{count} segments");
        assert!(done.data.into_buffers().unwrap() == data);
    }
}

#[test]
fn signals_disturb_no_transfer() {
    let test = "uring::whole::signals_disturb_no_transfer";
    let Some(mut ring) = ring(test, 2) else {
        return;
    };
    interrupted_often(|| {
        for _ in 0..20 {
            let (reader, writer) = std::io::pipe().unwrap();
            let data = payload(&[100_000, 3, 200_000]);
            ring.submit_write(writer, queue_of(&data), 1);
            let received = receive(reader.into(), 5000);
            assert_eq!(only(&mut ring).result.unwrap(), 300_003);
            assert!(received.join().unwrap() == data.concat());
        }
    });
}

#[test]
fn a_transfer_without_bytes_makes_no_call() {
    let test = "uring::whole::a_transfer_without_bytes_makes_no_call";
    let Some(mut ring) = ring(test, 1) else {
        return;
    };
    // Both transfers would fail: one end cannot be written, the other cannot be read.
    let (reader, writer) = std::io::pipe().unwrap();
    ring.submit_write(reader, SegmentQueue::new(), 1);
    assert_eq!(only(&mut ring).result.unwrap(), 0);
    ring.submit_read(writer, vec![Vec::new(), Vec::new()], 2);
    assert_eq!(only(&mut ring).result.unwrap(), 0);
    assert!(ring.wait().unwrap().is_none());
    assert!(ring.try_wait().unwrap().is_none());
}

#[test]
fn a_read_of_some_bytes_does_not_wait_for_more() {
    let test = "uring::whole::a_read_of_some_bytes_does_not_wait_for_more";
    let Some(mut ring) = ring(test, 1) else {
        return;
    };
    let (reader, mut writer) = std::io::pipe().unwrap();
    let reader = Arc::new(reader);
    ring.submit_read_some(Arc::clone(&reader), vec![vec![0; 4], vec![0; 4]], 1);
    assert!(ring.try_wait().unwrap().is_none());
    assert_eq!(ring.len(), 1);
    writer.write_all(b"hello").unwrap();
    let done = only(&mut ring);
    assert_eq!(done.result.unwrap(), 5);
    assert_eq!(done.data.into_buffers().unwrap(), [b"hell", b"o\0\0\0"]);
    drop(writer);
    ring.submit_read_some(reader, vec![vec![0; 4]], 2);
    assert_eq!(only(&mut ring).result.unwrap(), 0);
}

#[test]
fn a_non_blocking_descriptor_without_bytes_is_waited_for() {
    use rustix::fs::inotify;

    let test = "uring::whole::a_non_blocking_descriptor_without_bytes_is_waited_for";
    let Some(mut ring) = ring(test, 1) else {
        return;
    };
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    let file = TemporaryFile::new("uring-watched");
    std::fs::write(&file.0, "").unwrap();
    inotify::add_watch(&watch, &file.0, inotify::WatchFlags::MODIFY).unwrap();
    ring.submit_read_some(watch, vec![vec![0; 64]], 1);
    assert!(ring.try_wait().unwrap().is_none());
    assert!(ring.try_wait().unwrap().is_none());
    std::fs::write(&file.0, "changed").unwrap();
    assert!(only(&mut ring).result.unwrap() > 0);
}

/// A reader is refused again when another one took the events.
#[test]
fn many_readers_of_one_non_blocking_descriptor_wait_for_their_turns() {
    use rustix::fs::inotify;

    let test = "uring::whole::many_readers_of_one_non_blocking_descriptor_wait_for_their_turns";
    let Some(mut ring) = ring(test, 8) else {
        return;
    };
    let watch = Arc::new(inotify::init(inotify::CreateFlags::NONBLOCK).unwrap());
    let file = TemporaryFile::new("uring-shared");
    let mut options = File::options();
    let mut changed = options.append(true).create(true).open(&file.0).unwrap();
    inotify::add_watch(&*watch, &file.0, inotify::WatchFlags::MODIFY).unwrap();
    for token in 0..8 {
        ring.submit_read_some(Arc::clone(&watch), vec![vec![0; 64]], token);
    }
    assert!(ring.try_wait().unwrap().is_none());
    for _ in 0..8 {
        changed.write_all(b"x").unwrap();
        let done = ring.wait().unwrap().expect("a transfer");
        assert!(done.result.unwrap() > 0);
        // The others are refused, and wait again.
        assert!(ring.try_wait().unwrap().is_none());
        assert!(ring.try_wait().unwrap().is_none());
    }
    assert!(ring.is_empty());
}

#[test]
fn an_appended_file_gets_the_bytes_at_its_end() {
    let test = "uring::whole::an_appended_file_gets_the_bytes_at_its_end";
    let Some(mut ring) = ring(test, 1) else {
        return;
    };
    let mut file = temporary_file();
    file.write_all(b"first").unwrap();
    add_flag(file.as_fd(), OFlags::APPEND);
    let file = Arc::new(file);
    ring.submit_write_at(Arc::clone(&file), queue_of(&[b"second".to_vec()]), 1, 1);
    assert_eq!(only(&mut ring).result.unwrap(), 6);
    assert_eq!(file.metadata().unwrap().len(), 11);
}

#[test]
fn aligned_buffers_are_filled_past_the_page_cache_and_others_are_refused() {
    let test =
        "uring::whole::aligned_buffers_are_filled_past_the_page_cache_and_others_are_refused";
    if ring(test, 1).is_none() {
        return;
    }
    let path = TemporaryFile::new("uring-direct");
    let data = payload(&[4096, 8192]);
    std::fs::write(&path.0, data.concat()).unwrap();
    let mut options = File::options();
    let direct = options
        .read(true)
        .custom_flags(OFlags::DIRECT.bits() as i32);
    let file = match direct.open(&path.0) {
        Ok(file) => Arc::new(file),
        Err(error) => return skip(test, &format!("no O_DIRECT here: {error}")),
    };
    let alignment = DirectAlignment::of(&*file).unwrap();
    let buffer = |bytes| AlignedBuffer::zeroed(bytes, alignment.memory_bytes.max(4096));
    let mut ring = Ring::with_buffers(2).unwrap();
    ring.submit_read_at(Arc::clone(&file), vec![buffer(4096), buffer(8192)], 0, 1);
    let done = ring.wait().unwrap().expect("a transfer");
    assert_eq!(done.result.unwrap(), 3 * 4096);
    let filled = done.data.into_buffers().unwrap();
    assert!(filled.iter().map(|buffer| buffer.to_vec()).eq(data));
    ring.submit_read_at(file, vec![buffer(4096), buffer(4095)], 0, 2);
    let done = ring.wait().unwrap().expect("a transfer");
    let error = done.result.unwrap_err();
    assert_eq!(error.io_error().raw_os_error(), Some(libc::EINVAL));
    assert_eq!(error.transferred(), 0);
}
