//! Files that are open with `O_DIRECT`.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use proptest::prelude::*;
use rustix::fs::OFlags;
use vectored::{AlignedBuffer, DirectAlignment};
use vectored_lab::in_flight::{Place, ReadList, WriteList};

use super::support::{config, payload, queues, unnamed_file};
use crate::honest_reads::skip;

/// A file that is open with `O_DIRECT`, and its alignment; `None`, which is reported, where there is none.
fn direct_file(test: &str) -> Option<(File, DirectAlignment)> {
    let file = unnamed_file();
    let alignment = DirectAlignment::of(&file).and_then(|alignment| {
        let flags = rustix::fs::fcntl_getfl(&file)?;
        rustix::fs::fcntl_setfl(&file, flags | OFlags::DIRECT)?;
        Ok(alignment)
    });
    match alignment {
        Ok(alignment) => Some((file, alignment)),
        Err(error) => {
            skip(
                test,
                &format!("no O_DIRECT in the directory of the build: {error}"),
            );
            None
        }
    }
}

fn aligned(bytes: &[u8], alignment: DirectAlignment) -> AlignedBuffer {
    let mut buffer = AlignedBuffer::zeroed(bytes.len(), alignment.memory_bytes);
    buffer.copy_from_slice(bytes);
    buffer
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn aligned_lists_go_to_a_direct_file_and_come_back(
        blocks in prop::collection::vec(prop::collection::vec(0..6_usize, 0..8), 1..12),
        depth in 1..10_u32,
    ) {
        let test = "aligned_lists_go_to_a_direct_file_and_come_back";
        for mut queue in queues(test, depth) {
            let Some((file, alignment)) = direct_file(test) else {
                return Ok(());
            };
            let block = alignment.offset_bytes;
            let bytes = |list: &Vec<usize>| list.iter().map(|count| count * block).collect();
            let data = payload(&blocks.iter().map(bytes).collect::<Vec<_>>());
            let buffers: Vec<Vec<AlignedBuffer>> = data
                .iter()
                .map(|list| list.iter().map(|bytes| aligned(bytes, alignment)).collect())
                .collect();
            let slices: Vec<Vec<&[u8]>> = buffers
                .iter()
                .map(|list| list.iter().map(|buffer| &**buffer).collect())
                .collect();
            let place = Place::Offset(2 * block as u64);
            let count = data.len() as u64;
            let mut list = |number: u64| WriteList::Slices(&slices[number as usize]);
            queue.write(file.as_fd(), place, count, &mut list, &mut |_| ()).unwrap();

            let model: Vec<u8> = data.iter().map(|list| list.concat()).collect::<Vec<_>>().concat();
            let mut back: Vec<Vec<AlignedBuffer>> = data
                .iter()
                .map(|list| list.iter().map(|b| AlignedBuffer::zeroed(b.len(), alignment.memory_bytes)).collect())
                .collect();
            let mut back_slices: Vec<Vec<&mut [u8]>> = back
                .iter_mut()
                .map(|list| list.iter_mut().map(|buffer| &mut **buffer).collect())
                .collect();
            let mut lists: Vec<ReadList<'_, '_>> =
                back_slices.iter_mut().map(|list| ReadList::Slices(list)).collect();
            queue.read(file.as_fd(), place, count, &mut lists, &mut |_| ()).unwrap();
            let name = queue.interface().name();
            for (back, list) in back.iter().zip(&data) {
                prop_assert!(back.iter().map(|b| b.to_vec()).collect::<Vec<_>>() == *list, "{name}");
            }
            // Without O_DIRECT, so that the memory need not be aligned.
            let flags = rustix::fs::fcntl_getfl(&file).unwrap();
            rustix::fs::fcntl_setfl(&file, flags - OFlags::DIRECT).unwrap();
            let mut content = vec![0; model.len()];
            file.read_exact_at(&mut content, 2 * block as u64).unwrap();
            prop_assert!(content == model, "{name}");
        }
    }
}

#[test]
fn a_list_that_is_not_aligned_is_refused_by_a_direct_file() {
    let test = "a_list_that_is_not_aligned_is_refused_by_a_direct_file";
    for mut queue in queues(test, 2) {
        let Some((file, alignment)) = direct_file(test) else {
            return;
        };
        let block = alignment.offset_bytes;
        let buffer = AlignedBuffer::zeroed(2 * block, alignment.memory_bytes);
        let (whole, part): ([&[u8]; 1], [&[u8]; 1]) = ([&buffer], [&buffer[..block - 1]]);
        let mut list = |number| match number {
            0 => WriteList::Slices(&whole),
            _ => WriteList::Slices(&part),
        };
        let written = queue.write(file.as_fd(), Place::Offset(0), 2, &mut list, &mut |_| ());
        let error = written.unwrap_err();
        assert_eq!(error.list(), 1);
        assert_eq!(error.transferred(), 0);
        assert_eq!(error.io_error().raw_os_error(), Some(libc::EINVAL));
    }
}
