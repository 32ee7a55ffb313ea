//! Lists, buffers and queues for the tests of transfers in flight.

use std::fs::File;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::AsFd;

use proptest::prelude::*;
use vectored_lab::in_flight::{Event, InFlight, Interface, ListError, Place, ReadList, WriteList};

use crate::honest_reads::skip;

/// The value of the bytes around the buffers of a read, and of those that are not filled. No payload has it.
pub const BLANK: u8 = 0xff;

/// Guard bytes before each buffer, and after the last one.
const GUARD_BYTES: usize = 5;

pub fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(60)
    }
}

/// The queues that this machine offers.
pub fn queues(test: &str, depth: u32) -> Vec<InFlight> {
    let mut queues = Vec::new();
    for interface in Interface::ALL {
        match InFlight::new(interface, depth) {
            Ok(queue) => queues.push(queue),
            Err(error) => skip(test, &error.to_string()),
        }
    }
    assert!(!queues.is_empty());
    queues
}

/// A file that is gone when it is closed.
pub fn unnamed_file() -> File {
    let name = format!(
        "in-flight-{}-{:016x}",
        std::process::id(),
        fastrand::u64(..)
    );
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut options = File::options();
    let file = options.read(true).write(true).create_new(true).open(&path);
    std::fs::remove_file(&path).unwrap();
    file.unwrap()
}

/// Buffers of these sizes, list by list. Their bytes run from 1 to 251 and begin anew.
pub fn payload(lists: &[Vec<usize>]) -> Vec<Vec<Vec<u8>>> {
    let mut bytes = (1..=251_u8).cycle();
    let mut buffer = |&size: &usize| bytes.by_ref().take(size).collect();
    lists
        .iter()
        .map(|sizes| sizes.iter().map(&mut buffer).collect())
        .collect()
}

pub fn concatenated(lists: &[Vec<Vec<u8>>]) -> Vec<u8> {
    lists
        .iter()
        .map(|list| list.concat())
        .collect::<Vec<_>>()
        .concat()
}

/// Sizes of the segments of some lists.
pub fn lists(most: usize) -> impl Strategy<Value = Vec<Vec<usize>>> {
    let size = prop_oneof![Just(0), 1..9_usize, 1..700_usize, 1..9000_usize];
    let list = prop_oneof![
        9 => prop::collection::vec(size, 0..30),
        1 => (1000..2100_usize, 0..4_usize).prop_map(|(count, size)| vec![size; count]),
    ];
    prop::collection::vec(list, 0..most)
}

/// Checks the order of events: every list begins in turn, ends once, and `width` are in flight at most.
#[derive(Default)]
pub struct Events {
    begun: u64,
    in_flight: Vec<u64>,
    most: usize,
}

impl Events {
    pub fn note(&mut self, event: Event) {
        match event {
            Event::Began(list) => {
                assert_eq!(list, self.begun, "lists begin in turn");
                self.begun += 1;
                self.in_flight.push(list);
                self.most = self.most.max(self.in_flight.len());
            }
            Event::Ended(list) => {
                let place = self.in_flight.iter().position(|&begun| begun == list);
                self.in_flight
                    .remove(place.expect("a list that ends has begun"));
            }
        }
    }

    pub fn expect(&self, count: usize, width: u32) {
        assert_eq!(self.begun, count as u64);
        assert!(
            self.in_flight.is_empty(),
            "{:?} did not end",
            self.in_flight
        );
        assert!(self.most <= width as usize, "{} were in flight", self.most);
    }
}

/// Writes the lists, of which each is `Slices` or an `Array` by turns.
pub fn write(
    queue: &mut InFlight,
    fd: &impl AsFd,
    place: Place,
    data: &[Vec<Vec<u8>>],
    events: &mut Events,
) -> Result<(), ListError> {
    let slices: Vec<Vec<&[u8]>> = data
        .iter()
        .map(|list| list.iter().map(Vec::as_slice).collect())
        .collect();
    let arrays: Vec<Vec<IoSlice<'_>>> = data
        .iter()
        .map(|list| list.iter().map(|segment| IoSlice::new(segment)).collect())
        .collect();
    let mut list = |number: u64| match number % 2 {
        0 => WriteList::Slices(&slices[number as usize]),
        _ => WriteList::Array(&arrays[number as usize]),
    };
    let count = data.len() as u64;
    queue.write(fd.as_fd(), place, count, &mut list, &mut |event| {
        events.note(event);
    })
}

/// Buffers to read into, with guard bytes around each.
pub struct Guarded {
    memory: Vec<u8>,
    lists: Vec<Vec<usize>>,
}

impl Guarded {
    pub fn new(lists: &[Vec<usize>]) -> Guarded {
        let sizes = lists.iter().flatten();
        let bytes: usize = sizes.map(|size| GUARD_BYTES + size).sum();
        Guarded {
            memory: vec![BLANK; bytes + GUARD_BYTES],
            lists: lists.to_vec(),
        }
    }

    /// Reads `count` lists into these buffers, which are `Slices` or an `Array` by turns.
    pub fn read(
        &mut self,
        queue: &mut InFlight,
        fd: &impl AsFd,
        place: Place,
        count: u64,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError> {
        let mut rest = self.memory.as_mut_slice();
        let mut slices: Vec<Vec<&mut [u8]>> = Vec::new();
        for sizes in &self.lists {
            let mut list = Vec::new();
            for &size in sizes {
                let (segment, behind) = rest[GUARD_BYTES..].split_at_mut(size);
                list.push(segment);
                rest = behind;
            }
            slices.push(list);
        }
        let mut arrays: Vec<Vec<IoSliceMut<'_>>> = Vec::new();
        let mut kept = Vec::new();
        for (number, list) in slices.into_iter().enumerate() {
            match number % 2 {
                0 => kept.push(list),
                _ => arrays.push(list.into_iter().map(IoSliceMut::new).collect()),
            }
        }
        let mut arrays = arrays.iter_mut();
        let mut both = Vec::new();
        for list in &mut kept {
            both.push(ReadList::Slices(list));
            both.extend(arrays.next().map(|list| ReadList::Array(list)));
        }
        queue.read(fd.as_fd(), place, count, &mut both, on_event)
    }

    /// The content of each list.
    ///
    /// # Panics
    ///
    /// If a guard was changed.
    pub fn content(&self) -> Vec<Vec<u8>> {
        let mut rest = self.memory.as_slice();
        let mut contents = Vec::new();
        for sizes in &self.lists {
            let mut content = Vec::new();
            for &size in sizes {
                assert_eq!(rest[..GUARD_BYTES], [BLANK; GUARD_BYTES]);
                content.extend_from_slice(&rest[GUARD_BYTES..GUARD_BYTES + size]);
                rest = &rest[GUARD_BYTES + size..];
            }
            contents.push(content);
        }
        assert_eq!(rest, [BLANK; GUARD_BYTES]);
        contents
    }
}
