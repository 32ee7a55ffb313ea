//! Tests of transfers that move no byte or all bytes.

use std::io::Write;
use std::sync::Arc;

use vectored::SegmentQueue;

use super::{only, ring};

#[test]
fn a_transfer_without_bytes_makes_no_call() {
    let test = "uring::whole::a_transfer_without_bytes_makes_no_call";
    let Some(mut ring) = ring(test, 1) else {
        return;
    };
    // A call of either transfer would fail, because each transfer has the wrong end of the pipe.
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
