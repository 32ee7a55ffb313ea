//! The flags of `pwritev2(2)` on real descriptors.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use rustix::fs::MemfdFlags;
use vectored::files::{OnRefusal, WriteFlags, write_all_with};

use crate::support::{TemporaryFile, list, mixed_sizes, payload};

const FLAGS: [WriteFlags; 4] = [
    WriteFlags::DSYNC,
    WriteFlags::SYNC,
    WriteFlags::APPEND,
    WriteFlags::DONTCACHE,
];

/// Every set of flags without `NOWAIT`, with which any write may be `WouldBlock`, that this kernel can honour: one without
/// `pwritev2` (before Linux 4.7, and qemu-user 7.2) has nothing in place of `APPEND`.
fn all_sets() -> impl Iterator<Item = WriteFlags> {
    let appends = has_pwritev2();
    let sets = (0..1 << FLAGS.len()).map(|bits| {
        let indices = (0..FLAGS.len()).filter(move |index| bits & (1 << index) != 0);
        indices.fold(WriteFlags::empty(), |set, index| set | FLAGS[index])
    });
    sets.filter(move |flags| appends || !flags.contains(WriteFlags::APPEND))
}

fn has_pwritev2() -> bool {
    let null = File::create("/dev/null").unwrap();
    // glibc calls pwritev(2) if there are no flags.
    let append = rustix::io::ReadWriteFlags::APPEND;
    rustix::io::pwritev2(&null, &[std::io::IoSlice::new(b"x")], 0, append).is_ok()
}

#[test]
fn the_bytes_arrive_with_every_set_of_flags() {
    for flags in all_sets() {
        let on_disk = TemporaryFile::new(&format!("flags-{flags:?}"));
        let in_memory = rustix::fs::memfd_create("vectored-test", MemfdFlags::empty()).unwrap();
        for mut file in [
            File::options()
                .read(true)
                .write(true)
                .create_new(true)
                .open(&on_disk.0)
                .unwrap(),
            File::from(in_memory),
        ] {
            let data = payload(&mixed_sizes(1500));
            let segments = list(&data);
            let write = |offset| {
                let fallback = OnRefusal::Fallback;
                write_all_with(&file, &segments, offset, flags, fallback)
            };
            let total = data.concat().len() as u64;
            assert_eq!(write(None).unwrap(), total, "{flags:?}");
            // The bytes go to the offset, or to the end with `APPEND`.
            assert_eq!(write(Some(5)).unwrap(), total, "{flags:?}");
            let at = if flags.contains(WriteFlags::APPEND) { total } else { 5 };
            assert_eq!(file.metadata().unwrap().len(), at + total, "{flags:?}");
            let mut content = vec![0; total as usize];
            file.read_exact_at(&mut content, at).unwrap();
            assert!(content == data.concat(), "{flags:?}");
            assert_eq!(file.stream_position().unwrap(), total, "{flags:?}");
            file.seek(SeekFrom::Start(0)).unwrap();
        }
    }
}
