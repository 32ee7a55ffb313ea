//! Direct I/O on a real file.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{ErrorKind, IoSlice};
use std::os::unix::fs::OpenOptionsExt;

use vectored::{AlignedBuffer, DirectAlignment, write_all_direct_at};

use crate::support::{TemporaryFile, skip};

fn open(path: &TemporaryFile) -> std::io::Result<File> {
    let mut options = File::options();
    options
        .write(true)
        .create(true)
        .custom_flags(libc::O_DIRECT);
    options.open(&path.0)
}

fn buffers(alignment: DirectAlignment, count: usize) -> Vec<AlignedBuffer> {
    (0..count)
        .map(|index| {
            let bytes = alignment.offset_bytes * (1 + index % 3);
            let mut buffer = AlignedBuffer::zeroed(bytes, alignment.memory_bytes);
            buffer.fill(1 + (index % 251) as u8);
            buffer
        })
        .collect()
}

#[test]
fn what_the_check_lets_pass_the_kernel_takes() {
    const NAME: &str = "direct::what_the_check_lets_pass_the_kernel_takes";
    let path = TemporaryFile::new("direct");
    let file = match open(&path) {
        Ok(file) => file,
        Err(error) => {
            return skip(
                NAME,
                &format!("O_DIRECT on the temporary directory: {error}"),
            );
        }
    };
    let told = DirectAlignment::of(&file).unwrap();
    for alignment in [told, DirectAlignment::CONSERVATIVE] {
        for count in [1, 2, 1025] {
            let data = buffers(alignment, count);
            let segments: Vec<_> = data.iter().map(|buffer| IoSlice::new(buffer)).collect();
            let offset = 2 * alignment.offset_bytes as u64;
            let bytes = write_all_direct_at(&file, &segments, offset, alignment).unwrap();
            let model: Vec<u8> = data
                .iter()
                .flat_map(|buffer| buffer.iter().copied())
                .collect();
            assert_eq!(bytes, model.len() as u64);
            let content = fs::read(&path.0).unwrap();
            assert!(
                content[offset as usize..][..model.len()] == model,
                "{count}"
            );
        }
    }
}

#[test]
fn what_is_not_aligned_is_named_before_any_byte() {
    let path = TemporaryFile::new("direct-misaligned");
    let file = File::create(&path.0).unwrap();
    let alignment = DirectAlignment::CONSERVATIVE;
    let buffer = AlignedBuffer::zeroed(3 * 4096, 4096);
    for (range, offset, what) in [
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
        assert!(error.to_string().contains(what), "{error}");
        assert!(error.to_string().contains("4096 bytes"), "{error}");
    }
    assert_eq!(file.metadata().unwrap().len(), 0);
}

#[test]
fn a_file_that_cannot_tell_gets_the_conservative_alignment() {
    let null = File::create("/dev/null").unwrap();
    let alignment = DirectAlignment::of(&null).unwrap();
    assert_eq!(alignment, DirectAlignment::CONSERVATIVE);
}
