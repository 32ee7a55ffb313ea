//! Tests of `WriteFileGather` and `ReadFileScatter`.

use std::fs::{self, File};
use std::io::{ErrorKind, IoSlice, IoSliceMut};

use proptest::prelude::*;
use vectored::files::write_all_at;
use vectored::files::{AlignedBuffer, DirectAlignment};
use vectored::windows::{open_unbuffered, page_bytes, read_file_scatter, write_file_gather};

use crate::support::{TemporaryFile, skip};

fn open(path: &TemporaryFile) -> File {
    let mut options = File::options();
    options.read(true).write(true).create(true);
    open_unbuffered(&path.0, &mut options).unwrap()
}

/// Makes buffers of whole pages. The bytes of two pages differ.
fn buffers(pages: &[usize]) -> Vec<AlignedBuffer> {
    let mut next = (1..=251_u8).cycle();
    let mut buffer = |&count: &usize| {
        let mut buffer = AlignedBuffer::zeroed(count * page_bytes(), page_bytes());
        buffer
            .iter_mut()
            .for_each(|byte| *byte = next.next().unwrap());
        buffer
    };
    pages.iter().map(&mut buffer).collect()
}

fn bytes_of(buffers: &[AlignedBuffer]) -> Vec<u8> {
    buffers.iter().flat_map(|buffer| buffer.to_vec()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn any_list_of_pages_is_in_the_file_and_comes_back(
        pages in prop::collection::vec(0..5_usize, 0..40), sectors in 0..20_u64
    ) {
        let path = TemporaryFile::new("pages");
        let file = open(&path);
        let offset = sectors * DirectAlignment::of(&file).unwrap().offset_bytes as u64;
        let data = buffers(&pages);
        let segments: Vec<_> = data.iter().map(|b| IoSlice::new(b)).collect();
        let expected = bytes_of(&data);
        prop_assert_eq!(write_file_gather(&file, &segments, offset).unwrap(), expected.len() as u64);
        if !expected.is_empty() {
            let content = fs::read(&path.0).unwrap();
            prop_assert!(content[..offset as usize].iter().all(|&byte| byte == 0));
            prop_assert!(content[offset as usize..] == expected);
        }

        let mut back = buffers(&pages);
        back.iter_mut().for_each(|buffer| buffer.fill(0));
        let mut segments: Vec<_> = back.iter_mut().map(|b| IoSliceMut::new(b)).collect();
        prop_assert_eq!(read_file_scatter(&file, &mut segments, offset).unwrap(), expected.len() as u64);
        prop_assert!(bytes_of(&back) == expected);
    }
}

#[test]
fn offsets_have_64_bits_and_a_read_ends_with_the_file() {
    let path = TemporaryFile::new("far-pages");
    let file = open(&path);
    let data = buffers(&[1, 2]);
    let far = 5 << 30;
    let segments: Vec<_> = data.iter().map(|b| IoSlice::new(b)).collect();
    let bytes = 3 * page_bytes() as u64;
    assert_eq!(write_file_gather(&file, &segments, far).unwrap(), bytes);
    assert_eq!(fs::metadata(&path.0).unwrap().len(), far + bytes);

    // The read asks for more bytes than the file has.
    let mut back = buffers(&[1, 3]);
    let mut segments: Vec<_> = back.iter_mut().map(|b| IoSliceMut::new(b)).collect();
    assert_eq!(read_file_scatter(&file, &mut segments, far).unwrap(), bytes);
    assert!(back[0][..] == data[0][..]);
    assert!(back[1][..data[1].len()] == data[1][..]);
    let mut segments: Vec<_> = back.iter_mut().map(|b| IoSliceMut::new(b)).collect();
    let end = far + (4 * page_bytes()) as u64;
    assert_eq!(read_file_scatter(&file, &mut segments, end).unwrap(), 0);
}

#[test]
fn the_last_segment_may_be_shorter_than_a_page() {
    let path = TemporaryFile::new("short-pages");
    let file = open(&path);
    let sector = DirectAlignment::of(&file).unwrap().offset_bytes;
    let data = buffers(&[1, 2]);
    let segments = [IoSlice::new(&data[0]), IoSlice::new(&data[1][..sector])];
    match write_file_gather(&file, &segments, 0) {
        Ok(bytes) => {
            assert_eq!(bytes, (page_bytes() + sector) as u64);
            assert!(fs::read(&path.0).unwrap() == bytes_of(&data)[..bytes as usize]);
        }
        Err(error) if error.kind() == ErrorKind::InvalidInput && error.transferred() == 0 => skip(
            "windows::pages::the_last_segment_may_be_shorter_than_a_page",
            "WriteFileGather takes whole pages only, as that of Wine 8 does",
        ),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn what_does_not_meet_the_conditions_is_refused_before_any_byte() {
    let path = TemporaryFile::new("refused-pages");
    let file = open(&path);
    let data = buffers(&[1, 2]);
    let refusal = |segments: &[IoSlice<'_>], offset| {
        let error = write_file_gather(&file, segments, offset).unwrap_err();
        assert_eq!(
            (error.kind(), error.transferred()),
            (ErrorKind::InvalidInput, 0)
        );
        error.to_string()
    };
    let short = refusal(&[IoSlice::new(&data[0][..512]), IoSlice::new(&data[1])], 0);
    assert!(short.contains("the length of segment 0, 512,"), "{short}");
    let offset = refusal(&[IoSlice::new(&data[0])], 100);
    assert!(offset.contains("offset 100"), "{offset}");

    let ordinary = File::options().write(true).open(&path.0).unwrap();
    let error = write_file_gather(&ordinary, &[IoSlice::new(&data[0])], 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(
        error.to_string().contains("FILE_FLAG_OVERLAPPED"),
        "{error}"
    );
    assert_eq!(fs::metadata(&path.0).unwrap().len(), 0);
}

/// The functions of the crate root at an offset wait for the end of an overlapped call.
#[test]
fn an_unbuffered_file_takes_aligned_lists_by_ordinary_calls() {
    let path = TemporaryFile::new("ordinary-pages");
    let file = open(&path);
    let data = buffers(&[1, 1, 40, 1, 0, 3]);
    let segments: Vec<_> = data.iter().map(|b| IoSlice::new(b)).collect();
    let bytes = bytes_of(&data);
    assert_eq!(
        write_all_at(&file, &segments, 0).unwrap(),
        bytes.len() as u64
    );
    assert!(fs::read(&path.0).unwrap() == bytes);
}
