//! Lists of pages in flight.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::thread;

use vectored::files::AlignedBuffer;
use vectored::windows::{Completion, CompletionPort, page_bytes};

use super::pages::{buffers, bytes_of, open};
use crate::support::TemporaryFile;

const LISTS: usize = 40;

fn lists() -> Vec<Vec<AlignedBuffer>> {
    (0..LISTS)
        .map(|list| buffers(&vec![1 + list % 3; 1 + list % 5]))
        .collect()
}

#[test]
fn many_transfers_move_their_own_bytes() {
    let path = TemporaryFile::new("port");
    let mut port = CompletionPort::new().unwrap();
    let file = port.add(open(&path)).unwrap();
    let mut model: HashMap<_, Vec<u8>> = HashMap::new();
    let mut expected = Vec::new();
    let mut places = Vec::new();
    for list in lists() {
        let (bytes, offset) = (bytes_of(&list), expected.len() as u64);
        let id = port.write(file, list, offset).unwrap();
        expected.extend_from_slice(&bytes);
        places.push((offset, bytes.clone()));
        assert!(model.insert(id, bytes).is_none(), "an id is used twice");
    }
    assert_eq!(port.in_flight(), LISTS);
    while let Some(Completion {
        id,
        buffers,
        result,
        ..
    }) = port.wait().unwrap()
    {
        let bytes = model
            .remove(&id)
            .expect("a transfer that was started and has not ended");
        assert_eq!(result.unwrap(), bytes.len());
        assert!(bytes_of(&buffers) == bytes);
    }
    assert!(model.is_empty());
    assert!(fs::read(&path.0).unwrap() == expected);

    let mut ids = HashMap::new();
    for (offset, bytes) in places {
        let pages = bytes.len() / page_bytes();
        let id = port.read(file, buffers(&[pages]), offset).unwrap();
        ids.insert(id, bytes);
    }
    // The port may be sent to another thread.
    let waiting = thread::spawn(move || {
        while let Some(Completion {
            id,
            buffers,
            result,
            ..
        }) = port.wait().unwrap()
        {
            assert_eq!(result.unwrap(), ids[&id].len());
            assert!(bytes_of(&buffers) == ids.remove(&id).unwrap());
        }
        ids.len()
    });
    assert_eq!(waiting.join().unwrap(), 0);
}

#[test]
fn a_port_that_is_dropped_waits_for_its_transfers_and_closes_its_files() {
    let path = TemporaryFile::new("dropped-port");
    for _ in 0..20 {
        let mut port = CompletionPort::new().unwrap();
        let file = port.add(open(&path)).unwrap();
        for (index, list) in lists().into_iter().enumerate() {
            let offset = (index * 15 * page_bytes()) as u64;
            port.write(file, list, offset).unwrap();
        }
        drop(port);
        // No handle is left that forbids this.
        fs::remove_file(&path.0).unwrap();
        assert!(!path.0.exists());
    }
}

#[test]
fn cancelled_transfers_have_their_completions() {
    let path = TemporaryFile::new("cancelled-port");
    let mut port = CompletionPort::new().unwrap();
    let file = port.add(open(&path)).unwrap();
    for list in lists() {
        port.write(file, list, 0).unwrap();
    }
    port.cancel();
    let mut ended = 0;
    while let Some(completion) = port.wait().unwrap() {
        if let Err(error) = completion.result {
            assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        }
        ended += 1;
    }
    assert_eq!(ended, LISTS);
}

#[test]
fn a_read_behind_the_end_has_no_bytes_and_a_read_across_it_is_short() {
    let path = TemporaryFile::new("end-port");
    let page = page_bytes();
    let mut port = CompletionPort::new().unwrap();
    let file = port.add(open(&path)).unwrap();
    port.write(file, buffers(&[3]), 0).unwrap();
    assert_eq!(port.wait().unwrap().unwrap().result.unwrap(), 3 * page);
    port.read(file, buffers(&[4]), 2 * page as u64).unwrap();
    assert_eq!(port.wait().unwrap().unwrap().result.unwrap(), page);
    port.read(file, buffers(&[1]), 9 * page as u64).unwrap();
    assert_eq!(port.in_flight(), 1);
    assert_eq!(port.wait().unwrap().unwrap().result.unwrap(), 0);
    assert!(port.wait().unwrap().is_none());
}

#[test]
fn a_refused_list_comes_back_and_the_port_goes_on() {
    let path = TemporaryFile::new("refused-port");
    let mut port = CompletionPort::new().unwrap();
    let file = port.add(open(&path)).unwrap();
    let list = buffers(&[1, 2]);
    let (bytes, place) = (bytes_of(&list), list[1].as_ptr());
    let refused = port.write(file, list, 100).unwrap_err();
    assert_eq!(refused.error.kind(), ErrorKind::InvalidInput);
    assert!(refused.to_string().contains("offset 100"), "{refused}");
    assert!(bytes_of(&refused.buffers) == bytes);
    assert_eq!(refused.buffers[1].as_ptr(), place);
    let empty = port.write(file, Vec::new(), 0).unwrap_err();
    assert!(empty.to_string().contains("no bytes"), "{empty}");
    assert_eq!(port.in_flight(), 0);
    port.write(file, refused.buffers, 0).unwrap();
    assert_eq!(port.wait().unwrap().unwrap().result.unwrap(), bytes.len());

    let ordinary = File::options().write(true).open(&path.0).unwrap();
    let error = port.add(ordinary).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
#[should_panic(expected = "another port")]
fn a_file_of_another_port_is_a_programmer_error() {
    let path = TemporaryFile::new("other-port");
    let mut port = CompletionPort::new().unwrap();
    let file = port.add(open(&path)).unwrap();
    let mut other = CompletionPort::new().unwrap();
    let _ = other.write(file, buffers(&[1]), 0);
}
