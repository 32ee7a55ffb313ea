//! Files that are open with `O_DIRECT`.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{ErrorKind, IoSlice, IoSliceMut, Seek};
use std::os::unix::fs::OpenOptionsExt;

use proptest::prelude::*;
use vectored::copy::{Options, Technique};
use vectored::cost::{ChunkPolicy, CopyThresholds};
use vectored::files::{AlignedBuffer, DirectAlignment, write_all_direct_at};
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

/// The alignment of a file. qemu 7.2 says that `STATX_DIOALIGN` was answered, and leaves its fields 0.
fn alignment_of(file: &File) -> DirectAlignment {
    match DirectAlignment::of(file) {
        Err(error) if error.kind() == ErrorKind::Unsupported && emulator().is_some() => {
            DirectAlignment::CONSERVATIVE
        }
        alignment => alignment.unwrap(),
    }
}

#[test]
fn a_misaligned_list_is_an_error_that_names_the_cause_before_any_byte() {
    let path = TemporaryFile::new("direct-misaligned");
    let file = File::create(&path.0).unwrap();
    let alignment = DirectAlignment::CONSERVATIVE;
    let buffer = AlignedBuffer::zeroed(3 * 4096, 4096);
    for (range, offset, cause) in [
        (0..4096, 100, "offset 100"),
        (0..4000, 4096, "the length of segment 1, 4000,"),
        (1..4097, 4096, "the address of segment 1"),
    ] {
        let segments = [IoSlice::new(&buffer[..4096]), IoSlice::new(&buffer[range])];
        let error = write_all_direct_at(&file, &segments, offset, alignment).unwrap_err();
        assert_eq!(
            (error.kind(), error.transferred()),
            (ErrorKind::InvalidInput, 0)
        );
        assert!(error.to_string().contains(cause), "{error}");
        assert!(error.to_string().contains("4096 bytes"), "{error}");
    }
    assert_eq!(file.metadata().unwrap().len(), 0);
}

#[test]
fn a_file_that_reports_no_alignment_gets_the_conservative_one() {
    let null = File::create("/dev/null").unwrap();
    let alignment = DirectAlignment::of(&null).unwrap();
    assert_eq!(alignment, DirectAlignment::CONSERVATIVE);
}

/// A file that is open with `O_DIRECT` and its alignment; records a skip and returns `None` if there is none here.
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

/// Aligned blocks of `counts` times the file's offset alignment, each in an allocation of its own.
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

/// A model by which segments of up to `bytes` are copied.
fn copying_up_to(bytes: u32) -> CostModel {
    CostModel::default().with(|costs| costs.copy_thresholds = CopyThresholds::everywhere(bytes))
}

#[test]
fn aligned_blocks_reach_a_direct_file_by_every_writer_copied_or_not() {
    const NAME: &str = "aligned_blocks_reach_a_direct_file_by_every_writer_copied_or_not";
    let path = TemporaryFile::new("direct-writers");
    let Some((mut file, alignment)) = direct_file(NAME, &path) else {
        return;
    };
    let mut writers = file_writers();
    let write = move |fd: std::os::fd::BorrowedFd<'_>, segments: &[IoSlice<'_>]| {
        write_all_direct_at(fd, segments, 0, alignment)
    };
    writers.push(("write_all_direct_at", Box::new(write)));
    for bytes in [0, 512, 4096, 100_000] {
        let mut gather = Gather::with_model(copying_up_to(bytes));
        let write = move |fd: std::os::fd::BorrowedFd<'_>, segments: &[IoSlice<'_>]| {
            gather.write_all(fd, segments)
        };
        writers.push(("Gather with a threshold of its own", Box::new(write)));
    }
    let header_and_body = [vec![1; 5], vec![40, 1, 1, 40, 2]].concat();
    for counts in [
        &[1; 2][..],
        &[1; 16],
        &[1, 0, 3, 1],
        &[1; 2000],
        &header_and_body,
    ] {
        let blocks = blocks(alignment, counts);
        let model = concat(&blocks);
        for (name, write_all) in &mut writers {
            // Twice: the second list finds working memory allocated.
            for _ in 0..2 {
                file.set_len(0).unwrap();
                file.rewind().unwrap();
                let written = write_all(std::os::fd::AsFd::as_fd(&file), &list(&blocks));
                let written = written.unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(written, model.len() as u64, "{name}");
                assert!(fs::read(&path.0).unwrap() == model, "{name}");
            }
        }
    }
}

/// Calls of 300 bytes end within blocks, so the file refuses them, and the list is sent without copying.
#[test]
fn a_list_that_a_direct_file_refuses_in_parts_is_sent_without_copying() {
    const NAME: &str = "a_list_that_a_direct_file_refuses_in_parts_is_sent_without_copying";
    let path = TemporaryFile::new("direct-parts");
    let Some((mut file, alignment)) = direct_file(NAME, &path) else {
        return;
    };
    let blocks = blocks(alignment, &[1; 16]);
    let segments = list(&blocks);
    let model = concat(&blocks);
    let chunk_policy = Some(ChunkPolicy {
        threshold_bytes: 2000,
        chunk_bytes: 300,
    });
    let mut gather =
        Gather::with_model(copying_up_to(8192).with(|costs| costs.chunk_policy = chunk_policy));
    for writer in 0..3 {
        file.set_len(0).unwrap();
        file.rewind().unwrap();
        let mut cursor = vectored::SegmentCursor::new();
        let written = match writer {
            0 => gather.write_all(&file, &segments),
            1 => gather.resume_write(&file, &segments, &mut cursor),
            _ => gather.write_all_at(&file, &segments, 0),
        };
        assert_eq!(written.unwrap(), model.len() as u64);
        assert_eq!(cursor.is_at_end(&segments), writer == 1);
        assert!(fs::read(&path.0).unwrap() == model);
    }
    // A misaligned segment stays an error, after the bytes before it.
    let odd = [1; 100];
    let mixed = [IoSlice::new(&blocks[0]), IoSlice::new(&odd)];
    let error = gather.write_all_at(&file, &mixed, 0).unwrap_err();
    assert_eq!(error.io_error().raw_os_error(), Some(libc::EINVAL));
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
        let written = Gather::with_model(costs).write_all(&file, &list(&blocks));
        prop_assert_eq!(written.unwrap(), model_bytes);
        prop_assert!(fs::read(&path.0).unwrap() == model);

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
