//! Tests of files that are open with `O_DIRECT`.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{ErrorKind, IoSlice, IoSliceMut, Seek};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use proptest::prelude::*;
use vectored::copy::{Options, Technique};
use vectored::cost::CopyThresholds;
use vectored::files::{AlignedBuffer, DirectAlignment};
use vectored::{CostModel, Gather, Scatter, read_exact};

use crate::support::{TemporaryFile, emulator, file_writers, skip};

fn open(path: &TemporaryFile) -> std::io::Result<File> {
    let mut options = File::options();
    options
        .read(true)
        .write(true)
        .create(true)
        .custom_flags(libc::O_DIRECT);
    options.open(&path.0)
}

/// Returns the alignment of a file. qemu 7.2 reports `STATX_DIOALIGN` with fields of 0.
fn alignment_of(file: &File) -> DirectAlignment {
    match DirectAlignment::of(file) {
        Err(error) if error.kind() == ErrorKind::Unsupported && emulator().is_some() => {
            DirectAlignment::CONSERVATIVE
        }
        alignment => alignment.unwrap(),
    }
}

#[test]
fn a_file_that_reports_no_alignment_gets_the_conservative_one() {
    let null = File::create("/dev/null").unwrap();
    let alignment = DirectAlignment::of(&null).unwrap();
    assert_eq!(alignment, DirectAlignment::CONSERVATIVE);
}

/// Opens a file with `O_DIRECT`. Reports a skip and returns `None` if direct I/O is not available.
fn direct_file(test: &str, path: &TemporaryFile) -> Option<(File, DirectAlignment)> {
    match open(path) {
        Ok(file) => {
            let alignment = alignment_of(&file);
            Some((file, alignment))
        }
        Err(error) => {
            let name = format!("direct::{test}");
            skip(
                &name,
                &format!("O_DIRECT on the temporary directory: {error}"),
            );
            None
        }
    }
}

/// Makes aligned buffers. A length is a count times the offset alignment of the file.
fn blocks(alignment: DirectAlignment, counts: &[usize]) -> Vec<AlignedBuffer> {
    let mut bytes = (1..=251).cycle();
    let block = |&count: &usize| {
        let len = count * alignment.offset_bytes;
        let mut block = AlignedBuffer::zeroed(len, alignment.memory_bytes);
        block.fill_with(|| bytes.next().unwrap());
        block
    };
    counts.iter().map(block).collect()
}

fn list(blocks: &[AlignedBuffer]) -> Vec<IoSlice<'_>> {
    blocks.iter().map(|block| IoSlice::new(block)).collect()
}

fn concat(blocks: &[AlignedBuffer]) -> Vec<u8> {
    blocks
        .iter()
        .flat_map(|block| block.iter().copied())
        .collect()
}

fn copying_up_to(bytes: u32) -> CostModel {
    CostModel::default().with(|costs| costs.copy_thresholds = CopyThresholds::everywhere(bytes))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_aligned_list_is_written_to_and_read_from_a_direct_file(
        counts in prop::collection::vec(prop_oneof![8 => 0..4_usize, 1 => 4..40_usize], 0..40),
        threshold in prop_oneof![Just(0_u32), 500..10_000_u32],
        staging_bytes in prop_oneof![Just(1 << 18), 500..20_000_usize],
    ) {
        const NAME: &str = "any_aligned_list_is_written_to_and_read_from_a_direct_file";
        let path = TemporaryFile::new("direct-any");
        let Some((mut file, alignment)) = direct_file(NAME, &path) else {
            return Ok(());
        };
        let blocks = blocks(alignment, &counts);
        let model = concat(&blocks);
        let model_bytes = model.len() as u64;
        let costs = copying_up_to(threshold).with(|costs| costs.staging_bytes = staging_bytes);
        let mut writers = file_writers();
        let mut gather = Gather::with_model(costs);
        let gathered = move |fd: BorrowedFd<'_>, list: &[IoSlice<'_>]| gather.write_all(fd, list);
        writers.push(("Gather with a threshold of its own", Box::new(gathered)));
        for (name, write_all) in &mut writers {
            file.set_len(0).unwrap();
            file.rewind().unwrap();
            let written = write_all(file.as_fd(), &list(&blocks));
            prop_assert_eq!(written.unwrap(), model_bytes, "{}", name);
            prop_assert!(fs::read(&path.0).unwrap() == model, "{}", name);
        }
        file.rewind().unwrap();

        let mut scatter = Scatter::with_model(costs);
        for reader in 0..4 {
            file.rewind().unwrap();
            let mut places: Vec<_> = counts
                .iter()
                .map(|count| {
                    AlignedBuffer::zeroed(count * alignment.offset_bytes, alignment.memory_bytes)
                })
                .collect();
            let mut segments: Vec<_> =
                places.iter_mut().map(|place| IoSliceMut::new(place)).collect();
            let read = match reader {
                0 => read_exact(&file, &mut segments),
                1 => scatter.read_exact(&file, &mut segments),
                2 => scatter.read_up_to_eof(&file, &mut segments),
                _ => scatter.read_exact_at(&file, &mut segments, 0),
            };
            prop_assert_eq!(read.unwrap(), model_bytes);
            prop_assert!(concat(&places) == model);
        }
    }
}

#[test]
fn short_files_are_copied() {
    let [from, to] = ["direct-from", "direct-to"].map(TemporaryFile::new);
    if direct_file("short_files_are_copied", &from).is_none() {
        return;
    }
    for bytes in [4096, 16_384, 65_536, 131_072] {
        let content: Vec<u8> = (1..=251).cycle().take(bytes).collect();
        fs::write(&from.0, &content).unwrap();
        for technique in [None, Some(Technique::ReadWrite)] {
            for (is_input, is_output) in [(true, false), (false, true), (true, true)] {
                let source = if is_input { open(&from) } else { File::open(&from.0) };
                let sink = File::create(&to.0);
                let sink = if is_output { open(&to) } else { sink };
                let options = Options::new();
                let copied = options
                    .technique(technique)
                    .copy(source.unwrap(), sink.unwrap());
                assert_eq!(copied.unwrap().bytes, bytes as u64, "{technique:?}");
                assert!(fs::read(&to.0).unwrap() == content, "{bytes} {technique:?}");
                fs::write(&to.0, b"").unwrap();
            }
        }
    }
}
