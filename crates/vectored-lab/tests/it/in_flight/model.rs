//! Lists arrive as a naive model says: their bytes, one after another.

use std::collections::VecDeque;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::thread;

use proptest::prelude::*;
use rustix::fs::OFlags;
use vectored_lab::in_flight::{Event, Place};

use super::support::{
    BLANK, Events, Guarded, concatenated, config, lists, payload, queues, unnamed_file, write,
};

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

    /// `Place::Stream` of a file that can seek is its position, also with Linux AIO and POSIX AIO, which have offsets only.
    #[test]
    fn lists_at_the_position_of_a_file_are_in_order(
        sizes in lists(10), depth in 1..20_u32, begin in 0..50_u64, share in 0.0..1.2_f64, appends in any::<bool>()
    ) {
        let data = payload(&sizes);
        let all = concatenated(&data);
        let held = ((all.len() as f64 * share) as usize).min(all.len());
        for mut queue in queues("lists_at_the_position_of_a_file_are_in_order", depth) {
            let name = queue.interface().name();
            let mut file = unnamed_file();
            file.write_all_at(&vec![0; begin as usize], 0).unwrap();
            if appends {
                rustix::fs::fcntl_setfl(&file, OFlags::APPEND).unwrap();
            }
            file.seek(SeekFrom::Start(begin)).unwrap();
            let mut events = Events::default();
            write(&mut queue, &file, Place::Stream, &data, &mut events).unwrap();
            events.expect(data.len(), 1);
            let mut content = vec![0; all.len()];
            file.read_exact_at(&mut content, begin).unwrap();
            prop_assert!(content == all, "{name}");
            prop_assert_eq!(file.metadata().unwrap().len(), begin + all.len() as u64, "{}", name);
            if !appends {
                prop_assert_eq!(file.stream_position().unwrap(), begin + all.len() as u64, "{}", name);
            }

            // The last lists may be past the end.
            file.set_len(begin + held as u64).unwrap();
            file.seek(SeekFrom::Start(begin)).unwrap();
            let mut guarded = Guarded::new(&sizes);
            let count = sizes.len() as u64;
            if count == 0 {
                continue;
            }
            let read = guarded.read(&mut queue, &file, Place::Stream, count, &mut |_| ());
            prop_assert_eq!(read.is_ok(), held == all.len(), "{}", name);
            prop_assert!(guarded.content().concat()[..held] == all[..held], "{name}");
            prop_assert_eq!(file.stream_position().unwrap(), begin + held as u64, "{}", name);
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
