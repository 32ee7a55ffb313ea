//! Lists moved by io_uring, Linux AIO and POSIX AIO arrive as a naive model says.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::thread;

use proptest::prelude::*;
use vectored_lab::in_flight::{
    Event, InFlight, Interface, ListError, Place, ReadList, Unavailable, WriteList,
};

use crate::honest_reads::skip;

/// The value of the bytes around the buffers of a read, and of those that are not filled. No payload has it.
const BLANK: u8 = 0xff;

/// Guard bytes before each buffer, and behind the last one.
const GUARD_BYTES: usize = 5;

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(60)
    }
}

/// The queues that this machine offers.
fn queues(test: &str, depth: u32) -> Vec<InFlight> {
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
fn unnamed_file() -> File {
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
fn payload(lists: &[Vec<usize>]) -> Vec<Vec<Vec<u8>>> {
    let mut bytes = (1..=251_u8).cycle();
    let mut buffer = |&size: &usize| bytes.by_ref().take(size).collect();
    lists
        .iter()
        .map(|sizes| sizes.iter().map(&mut buffer).collect())
        .collect()
}

fn concatenated(lists: &[Vec<Vec<u8>>]) -> Vec<u8> {
    lists
        .iter()
        .map(|list| list.concat())
        .collect::<Vec<_>>()
        .concat()
}

/// Sizes of the segments of some lists.
fn lists(most: usize) -> impl Strategy<Value = Vec<Vec<usize>>> {
    let size = prop_oneof![Just(0), 1..9_usize, 1..700_usize, 1..9000_usize];
    let list = prop_oneof![
        9 => prop::collection::vec(size, 0..30),
        1 => (1000..2100_usize, 0..4_usize).prop_map(|(count, size)| vec![size; count]),
    ];
    prop::collection::vec(list, 0..most)
}

/// Checks the order of events: every list begins in turn, ends once, and `width` are in flight at most.
#[derive(Default)]
struct Events {
    begun: u64,
    in_flight: Vec<u64>,
    most: usize,
}

impl Events {
    fn note(&mut self, event: Event) {
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

    fn expect(&self, count: usize, width: u32) {
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
fn write(
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
struct Guarded {
    memory: Vec<u8>,
    lists: Vec<Vec<usize>>,
}

impl Guarded {
    fn new(lists: &[Vec<usize>]) -> Guarded {
        let sizes = lists.iter().flatten();
        let bytes: usize = sizes.map(|size| GUARD_BYTES + size).sum();
        Guarded {
            memory: vec![BLANK; bytes + GUARD_BYTES],
            lists: lists.to_vec(),
        }
    }

    /// Reads `count` lists into these buffers, which are `Slices` or an `Array` by turns.
    fn read(
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
    fn content(&self) -> Vec<Vec<u8>> {
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

proptest! {
    #![proptest_config(config())]

    #[test]
    fn lists_in_a_file_are_those_of_the_model(
        sizes in lists(40), depth in 1..20_u32, offset in 0..5000_u64
    ) {
        let data = payload(&sizes);
        let mut model = vec![0; offset as usize];
        model.extend(concatenated(&data));
        if model.len() == offset as usize {
            model.clear(); // nothing is written, so the file does not grow
        }
        for mut queue in queues("lists_in_a_file_are_those_of_the_model", depth) {
            let file = unnamed_file();
            // A second time over the first: the queue is used again.
            for _ in 0..2 {
                let mut events = Events::default();
                write(&mut queue, &file, Place::Offset(offset), &data, &mut events).unwrap();
                events.expect(data.len(), depth);
            }
            let mut content = Vec::new();
            (&file).read_to_end(&mut content).unwrap();
            prop_assert!(content == model, "{}", queue.interface().name());
        }
    }

    #[test]
    fn lists_from_a_file_are_those_of_the_model(
        sizes in lists(12).prop_filter("a list", |lists| !lists.is_empty()),
        depth in 1..20_u32,
        rounds in 1..5_u64,
        surplus in 0..3_u64,
    ) {
        let count = rounds * sizes.len() as u64 - surplus.min(sizes.len() as u64);
        // Enough for any order in which the lists are used.
        let largest = sizes.iter().map(|list| list.iter().sum::<usize>()).max().unwrap_or(0);
        let content = concatenated(&payload(&[vec![largest * count as usize + 17]]));
        let file = unnamed_file();
        file.write_all_at(&content, 0).unwrap();
        for mut queue in queues("lists_from_a_file_are_those_of_the_model", depth) {
            let mut guarded = Guarded::new(&sizes);
            let mut free: VecDeque<usize> = (0..sizes.len()).collect();
            let mut used = Vec::new();
            let mut model: Vec<Vec<u8>> =
                sizes.iter().map(|list| vec![BLANK; list.iter().sum()]).collect();
            let mut events = Events::default();
            let mut at = 17;
            let mut on_event = |event| {
                events.note(event);
                match event {
                    Event::Began(_) => {
                        let list = free.pop_front().unwrap();
                        let bytes = model[list].len();
                        model[list].copy_from_slice(&content[at..at + bytes]);
                        at += bytes;
                        used.push(list);
                    }
                    Event::Ended(number) => free.push_back(used[number as usize]),
                }
            };
            guarded.read(&mut queue, &file, Place::Offset(17), count, &mut on_event).unwrap();
            events.expect(count as usize, depth);
            prop_assert!(guarded.content() == model, "{}", queue.interface().name());
        }
    }

    #[test]
    fn lists_through_a_pipe_are_in_order(sizes in lists(10), depth in 1..20_u32, portion in 1..9000_usize) {
        let data = payload(&sizes);
        let model = concatenated(&data);
        for mut queue in queues("lists_through_a_pipe_are_in_order", depth) {
            let (mut reader, writer) = io::pipe().unwrap();
            rustix::pipe::fcntl_setpipe_size(&writer, 4096).unwrap();
            let receiver = thread::spawn(move || {
                let mut all = Vec::new();
                let mut buffer = vec![0; portion];
                while let bytes @ 1.. = reader.read(&mut buffer).unwrap() {
                    all.extend_from_slice(&buffer[..bytes]);
                }
                all
            });
            let mut events = Events::default();
            write(&mut queue, &writer, Place::Stream, &data, &mut events).unwrap();
            events.expect(data.len(), 1);
            drop(writer);
            prop_assert!(receiver.join().unwrap() == model, "{}", queue.interface().name());
        }
    }

    #[test]
    fn lists_from_a_pipe_are_in_order(sizes in lists(10), depth in 1..20_u32, portion in 1..9000_usize) {
        let data = payload(&sizes);
        for mut queue in queues("lists_from_a_pipe_are_in_order", depth) {
            let (reader, mut writer) = io::pipe().unwrap();
            rustix::pipe::fcntl_setpipe_size(&writer, 4096).unwrap();
            let content = concatenated(&data);
            let sender = thread::spawn(move || {
                content.chunks(portion).for_each(|part| writer.write_all(part).unwrap());
            });
            let mut guarded = Guarded::new(&sizes);
            let mut events = Events::default();
            let count = sizes.len() as u64;
            let mut on_event = |event| events.note(event);
            if count > 0 {
                guarded.read(&mut queue, &reader, Place::Stream, count, &mut on_event).unwrap();
            }
            events.expect(sizes.len(), 1);
            sender.join().unwrap();
            let model: Vec<Vec<u8>> = data.iter().map(|list| list.concat()).collect();
            prop_assert!(guarded.content() == model, "{}", queue.interface().name());
        }
    }
}

#[test]
fn a_depth_of_zero_is_an_error_that_names_the_range() {
    for interface in Interface::ALL {
        let error: Unavailable = InFlight::new(interface, 0).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("between 1 and"), "{text}");
        assert!(text.contains(interface.name()), "{text}");
    }
}
