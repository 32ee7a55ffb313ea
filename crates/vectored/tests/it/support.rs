//! Payloads, and functions that write a whole list.

use std::fs;
use std::io::IoSlice;
#[cfg(any(target_os = "linux", windows))]
use std::io::Write;
#[cfg(unix)]
use std::os::fd::AsFd;
use std::path::PathBuf;

use vectored::bindings::BorrowedDescriptor;
use vectored::files::write_all_at;
use vectored::{CostModel, Gather, TransferError, write_all};

/// Makes buffers of these sizes. The bytes count from 1 to 251 again and again. So the bytes differ from a file of
/// zeros. A shift of up to 250 bytes changes the bytes.
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

type WriteAll =
    Box<dyn FnMut(BorrowedDescriptor<'_>, &[IoSlice<'_>]) -> Result<u64, TransferError>>;

/// Returns functions that write a whole list, with their names. The conformance suite tests all such functions.
pub fn writers() -> Vec<(&'static str, WriteAll)> {
    let mut gather = Gather::default();
    let mut referencing =
        Gather::with_model(CostModel::default().with(|costs| costs.staging_bytes = 0));
    vec![
        (
            "write_all",
            Box::new(|fd, segments| write_all(fd, segments)),
        ),
        (
            "Gather",
            Box::new(move |fd, segments| gather.write_all(fd, segments)),
        ),
        (
            "Gather that copies nothing",
            Box::new(move |fd, segments| referencing.write_all(fd, segments)),
        ),
    ]
}

/// Reports that a test cannot run here, so that the test does not pass silently.
#[cfg(any(target_os = "linux", windows))]
pub fn skip(test: &str, reason: &str) {
    eprintln!("skipped: {test}: {reason}");
    if let Some(path) = std::env::var_os("VECTORED_SKIPS") {
        let file = fs::File::options().append(true).create(true).open(path);
        writeln!(file.unwrap(), "{test}: {reason}").unwrap();
    }
}

/// Returns the emulator that runs this program, if the variable `VECTORED_RUNNER` names an emulator. qemu-user passes
/// calls to the kernel, but not always with all of their data.
#[cfg(target_os = "linux")]
pub fn emulator() -> Option<String> {
    std::env::var("VECTORED_RUNNER").ok()
}

/// Returns `writers` and the functions that write at an offset, with offset 0. Only for files and devices.
pub fn file_writers() -> Vec<(&'static str, WriteAll)> {
    let mut gather = Gather::default();
    let mut all = writers();
    all.push((
        "write_all_at",
        Box::new(|fd, segments| write_all_at(fd, segments, 0)),
    ));
    all.push((
        "Gather::write_all_at",
        Box::new(move |fd, segments| gather.write_all_at(fd, segments, 0)),
    ));
    all
}

/// Returns sizes below and above every threshold of the default model, and zeros.
#[cfg(windows)]
pub fn mixed_sizes(count: usize) -> Vec<usize> {
    let sizes = [7, 0, 100, 4096, 12, 13, 14, 0, 0, 900, 1, 2000, 300, 600, 5];
    (0..count).map(|i| sizes[i * i % sizes.len()]).collect()
}

/// The file at this path is removed when the test ends, even after a panic.
pub struct TemporaryFile(pub PathBuf);

impl TemporaryFile {
    pub fn new(name: &str) -> TemporaryFile {
        let name = format!("vectored-test-{}-{name}", std::process::id());
        TemporaryFile(std::env::temp_dir().join(name))
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(unix)]
pub fn set_nonblocking(fd: impl AsFd) {
    rustix::io::ioctl_fionbio(fd, true).unwrap();
}
