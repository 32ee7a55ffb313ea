//! All bytes arrive, in order, once.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustix::fs::OFlags;
use vectored::SegmentQueue;

use super::{only, queue_of, ring};
use crate::support::{TemporaryFile, add_flag};

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

#[test]
fn an_appended_file_gets_the_bytes_at_its_end() {
    let test = "uring::whole::an_appended_file_gets_the_bytes_at_its_end";
    let Some(mut ring) = ring(test, 1) else {
        return;
    };
    let path = TemporaryFile::new("uring-appended");
    let mut file = File::create(&path.0).unwrap();
    file.write_all(b"first").unwrap();
    add_flag(file.as_fd(), OFlags::APPEND);
    let file = Arc::new(file);
    ring.submit_write_at(Arc::clone(&file), queue_of(&[b"second".to_vec()]), 1, 1);
    assert_eq!(only(&mut ring).result.unwrap(), 6);
    assert_eq!(file.metadata().unwrap().len(), 11);
}
