//! A write-ahead log. Each batch of records is one write and one fdatasync(2). Recovery finds every whole record.
//!
//! ```text
//! cargo run -p vectored --example wal
//! ```

use std::error::Error;
use std::fs::File;
use std::io;
use std::path::Path;

use vectored::SegmentQueue;
use vectored::cost::TargetKind;
use vectored::queue::QueuePolicy;
use vectored::queue::Segment;

struct Log {
    file: File,
    queue: SegmentQueue,
}

impl Log {
    /// Opens a log and returns its records. Truncates a part of a record that a crash has left at the end.
    fn open(path: &Path) -> io::Result<(Log, Vec<Vec<u8>>)> {
        let mut options = File::options();
        let file = options.append(true).create(true).open(path)?;
        let bytes = std::fs::read(path)?;
        let (mut records, mut rest) = (Vec::new(), &bytes[..]);
        while let Some(record) = take_record(&mut rest) {
            records.push(record.to_vec());
        }
        file.set_len((bytes.len() - rest.len()) as u64)?;
        file.sync_all()?; // a new file also needs an fsync of its directory
        let queue = SegmentQueue::with_policy(QueuePolicy::for_target(TargetKind::File));
        Ok((Log { file, queue }, records))
    }

    /// Adds a record to the batch. A long record is not copied: the queue owns the record until the record is written.
    fn append(&mut self, record: impl Into<Segment>) -> io::Result<()> {
        let record = record.into();
        let length = u32::try_from(record.len()).map_err(io::Error::other)?;
        self.queue.put_slice(&length.to_le_bytes());
        self.queue.put_slice(&checksum(&record).to_le_bytes());
        self.queue.push(record);
        Ok(())
    }

    /// Makes the batch durable.
    ///
    /// After an error of the write, for example on a full disk, call `commit` again. The queue holds exactly the bytes
    /// that are missing in the file. After an error of the sync, open the log again: the kernel may have dropped pages
    /// that were not written.
    fn commit(&mut self) -> io::Result<()> {
        self.queue.write_to(&self.file)?;
        self.file.sync_data()
    }
}

/// Removes a record from the front of `bytes`. Returns `None` if `bytes` does not begin with a whole record that has
/// the right checksum.
fn take_record<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (header, rest) = bytes.split_at_checked(8)?;
    let number = |bytes: &[u8]| bytes.try_into().map(u32::from_le_bytes).ok();
    let (record, rest) = rest.split_at_checked(number(&header[..4])? as usize)?;
    (number(&header[4..])? == checksum(record)).then(|| *bytes = rest)?;
    Some(record)
}

/// The checksum is FNV-1a, because the code is short. A real log uses CRC-32C. The checksum of no bytes is not 0, so
/// zeros are not an empty record.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    bytes.iter().fold(0x811c_9dc5, step)
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::temp_dir().join(format!("vectored-wal-{}", std::process::id()));
    let recovered = write_and_recover(&path);
    std::fs::remove_file(&path)?;
    let expected = [b"one", &[b'x'; 100_000][..], b"", b"after the crash"];
    assert_eq!(recovered?, expected);
    println!("all whole records were recovered");
    Ok(())
}

fn write_and_recover(path: &Path) -> io::Result<Vec<Vec<u8>>> {
    let (mut log, _) = Log::open(path)?;
    log.append("one")?;
    log.append(vec![b'x'; 100_000])?;
    log.commit()?; // two records by one write
    log.append("")?;
    log.append("lost in a crash")?;
    log.commit()?;
    // This code simulates a crash before the last byte was on storage. The byte is then read as 0.
    let bytes = log.file.metadata()?.len();
    log.file.set_len(bytes - 1)?;
    log.file.set_len(bytes)?;
    let (mut log, _) = Log::open(path)?;
    log.append("after the crash")?;
    log.commit()?;
    Ok(Log::open(path)?.1)
}
