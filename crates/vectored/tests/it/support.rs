//! Payloads, and the two ways of writing a whole list under one name.

use std::io::IoSlice;
use std::os::fd::BorrowedFd;

use vectored::{Gather, TransferError, write_all_vectored};

/// Buffers of these sizes. Their bytes run from 1 to 251 and so never agree with a zeroed file or
/// with themselves shifted by less than that.
pub fn payload(sizes: &[usize]) -> Vec<Vec<u8>> {
    let mut bytes = (1..=251u8).cycle();
    sizes
        .iter()
        .map(|&size| bytes.by_ref().take(size).collect())
        .collect()
}

pub fn list(data: &[Vec<u8>]) -> Vec<IoSlice<'_>> {
    data.iter().map(|bytes| IoSlice::new(bytes)).collect()
}

type WriteAll = Box<dyn FnMut(BorrowedFd<'_>, &[IoSlice<'_>]) -> Result<u64, TransferError>>;

/// Every function that writes a whole list, by name: what holds for one must hold for all.
pub fn writers() -> Vec<(&'static str, WriteAll)> {
    let mut gather = Gather::default();
    vec![
        (
            "write_all_vectored",
            Box::new(|fd, segments| write_all_vectored(fd, segments)),
        ),
        (
            "Gather",
            Box::new(move |fd, segments| gather.write_all(fd, segments)),
        ),
    ]
}

/// Sizes on both sides of every border of the default model, with empties among them.
pub fn mixed_sizes(count: usize) -> Vec<usize> {
    let sizes = [7, 0, 100, 4096, 12, 13, 14, 0, 0, 900, 1, 2000, 300, 600, 5];
    (0..count).map(|i| sizes[i * i % sizes.len()]).collect()
}
