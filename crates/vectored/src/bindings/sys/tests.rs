use std::fs::File;
use std::io::{IoSlice, Read as _};
use std::ptr::{null, without_provenance_mut};

use proptest::prelude::*;

use super::*;
use crate::cost::CostModel;
use crate::cursor::SegmentCursor;
use crate::error::TransferError;
use crate::gather::Gather;
use crate::sys::span::Span;
use crate::testing::{any_limits, any_sizes};
use crate::write::all::{resume_write, send_all_referenced, write_all};
use crate::write::once::write_once;

/// Entries at addresses that cannot be read, because Miri reports a slice of such memory. The empty entries are at
/// null, where test builds of the standard library also report a slice.
fn entries_of_nothing(sizes: &[usize]) -> Vec<iovec> {
    let mut at = 4096;
    let mut entry = |&iov_len: &usize| {
        let address = if iov_len == 0 { 0 } else { at };
        at += iov_len + 1;
        iovec {
            iov_base: without_provenance_mut(address),
            iov_len,
        }
    };
    sizes.iter().map(&mut entry).collect()
}

/// A sink that keeps addresses. Each number in `most` limits the bytes of one call; 0 makes the call fail
/// with `EAGAIN`.
struct AddressSink<'m> {
    most: std::iter::Cycle<std::slice::Iter<'m, usize>>,
    taken: Vec<usize>,
}

impl AddressSink<'_> {
    fn call(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let most = *self.most.next().unwrap_or(&1);
        if most == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let bytes = slices.iter().flat_map(|slice| {
            let start = slice.start().addr();
            start..start + slice.byte_len()
        });
        let before = self.taken.len();
        self.taken.extend(bytes.take(most));
        Ok(self.taken.len() - before)
    }
}

fn check(
    sizes: &[usize],
    most: &[usize],
    mut send: impl FnMut(
        &[IoSlice<'_>],
        &mut SegmentCursor,
        &mut AddressSink<'_>,
    ) -> Result<u64, TransferError>,
) {
    let iov = entries_of_nothing(sizes);
    let model = iov.iter().flat_map(|entry| {
        let start = entry.iov_base.addr();
        start..start + entry.iov_len
    });
    // SAFETY: the `iov.len()` entries exist, and the bytes of the segments are not read.
    let segments = unsafe { raw::list(iov.as_ptr(), iov.len()) }.unwrap();
    let mut sink = AddressSink {
        most: most.iter().cycle(),
        taken: Vec::new(),
    };
    let mut cursor = SegmentCursor::new();
    while send(segments, &mut cursor, &mut sink).is_err() {
        let left = cursor.bytes_left_in(segments);
        assert_eq!(
            left as usize,
            sizes.iter().sum::<usize>() - sink.taken.len()
        );
    }
    assert_eq!(cursor, SegmentCursor::at(sizes.len(), 0));
    assert_eq!(sink.taken, model.collect::<Vec<_>>());
}

proptest! {
    #[test]
    fn a_raw_list_is_sent_without_a_reference_to_its_bytes(
        sizes in any_sizes(),
        most in prop::collection::vec(0..90_usize, 0..8).prop_filter("progress", |all| all.iter().any(|&n| n > 0) || all.is_empty()),
        limits in any_limits(),
    ) {
        check(&sizes, &most, |segments, cursor, sink| {
            send_all_referenced(segments, cursor, limits, || Ok(()), |slices| sink.call(slices))
        });
        let copies_nothing = CostModel { staging_bytes: 0, ..CostModel::default() };
        let mut gather = Gather::within(limits, copies_nothing);
        check(&sizes, &most, |segments, cursor, sink| {
            gather.send_all(segments, cursor, || Ok(()), |slices| sink.call(slices))
        });
    }
}

fn entry(bytes: &[u8]) -> iovec {
    iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    }
}

const EMPTY: iovec = iovec {
    iov_base: null::<u8>().cast_mut().cast(),
    iov_len: 0,
};

#[test]
fn a_list_with_null_addresses_of_empty_segments_arrives() {
    let (one, other) = (b"one, ".to_vec(), b"other".to_vec());
    let iov = [EMPTY, entry(&one), EMPTY, entry(&other), EMPTY];
    // SAFETY: the segments are bytes of the vectors, or empty.
    let list = unsafe { RawList::new(iov.as_ptr(), iov.len()) }.unwrap();
    let (mut reader, writer) = io::pipe().unwrap();
    let (mut gather, start) = (Gather::default(), SegmentCursor::new);
    // SAFETY: no segment is dereferenced.
    let slices = unsafe { list.slices() }.unwrap();
    assert_eq!(resume_write(&writer, slices, &mut start()).unwrap(), 10);
    assert_eq!(write_once(&writer, slices).unwrap(), 10);
    assert_eq!(gather.write_all(&writer, slices).unwrap(), 10);
    assert_eq!(list.gather_all(&mut gather, &writer).unwrap(), 10);
    let inside = &mut SegmentCursor::at(1, 5);
    assert_eq!(gather.resume_write(&writer, slices, inside).unwrap(), 5);
    assert_eq!(*inside, SegmentCursor::at(5, 0));
    drop(writer);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "one, other".repeat(4) + "other");
}

#[test]
fn a_list_that_cannot_be_is_refused() {
    let null_device = File::create("/dev/null").unwrap();
    let one = b"one".to_vec();
    let mut long = entry(&one);
    long.iov_len = isize::MAX as usize + 1;
    let mut gather = Gather::default();
    for iov in [
        vec![long],
        vec![entry(&one), long],
        vec![long; 2],
        vec![entry(&one), EMPTY, long],
    ] {
        // SAFETY: the list is refused before a byte is read.
        let list = unsafe { RawList::new(iov.as_ptr(), iov.len()) }.unwrap();
        // SAFETY: no segment is dereferenced.
        let refused = unsafe { list.slices() }.unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EINVAL));
        let error = list.gather_all(&mut gather, &null_device).unwrap_err();
        assert_eq!(error.io_error().raw_os_error(), Some(libc::EINVAL));
        assert_eq!(error.transferred(), 0);
    }
}

#[test]
fn a_segment_at_no_address_or_beyond_the_last_one_is_an_error() {
    let wrapping = iovec {
        iov_base: without_provenance_mut(usize::MAX - 7),
        iov_len: 100_000,
    };
    let after = iovec {
        iov_base: without_provenance_mut(wrapping.iov_base.addr().wrapping_add(100_000)),
        ..wrapping
    };
    let (_reader, writer) = io::pipe().unwrap();
    let mut gather = Gather::default();
    let at_null = iovec {
        iov_len: 4000,
        ..EMPTY
    };
    let lists = [
        vec![wrapping],
        vec![wrapping, after],
        vec![wrapping; 1100],
        vec![at_null],
        vec![EMPTY, at_null],
    ];
    // Under Miri, this process reads the memory instead of the kernel, so the last two lists are left out.
    for iov in lists.into_iter().take(if cfg!(miri) { 3 } else { 5 }) {
        // SAFETY: this process copies no long segment, and the kernel refuses the addresses, so no byte is
        // read.
        let list = unsafe { RawList::new(iov.as_ptr(), iov.len()) }.unwrap();
        // SAFETY: no segment is dereferenced.
        let slices = unsafe { list.slices() };
        let written = slices.and_then(|slices| Ok(write_all(&writer, slices)?));
        let gathered = list.gather_all(&mut gather, &writer);
        for refused in [written, gathered.map_err(io::Error::from)] {
            let code = refused.unwrap_err().raw_os_error();
            assert!(
                matches!(code, Some(libc::EINVAL | libc::EFAULT)),
                "{code:?}"
            );
        }
        // SAFETY: the list is refused before a byte is read.
        let refused = unsafe { RawListMut::new(iov.as_ptr(), iov.len()) };
        let code = refused.unwrap_err().raw_os_error();
        let is_null = iov.last().is_some_and(|entry| entry.iov_base.is_null());
        assert_eq!(
            code,
            Some(if is_null { libc::EFAULT } else { libc::EINVAL })
        );
    }
}

#[test]
fn an_array_that_cannot_be_is_refused() {
    let code = |iov: *const iovec, count| {
        // SAFETY: the array is null, or has more entries than any array can have.
        let refused = unsafe { (RawList::new(iov, count), RawListMut::new(iov, count)) };
        let codes = [refused.0.unwrap_err(), refused.1.unwrap_err()];
        assert_eq!(codes[0].raw_os_error(), codes[1].raw_os_error());
        codes[0].raw_os_error()
    };
    assert_eq!(code(null(), 1), Some(libc::EFAULT));
    assert_eq!(code(null(), usize::MAX), Some(libc::EFAULT));
    assert_eq!(code(&EMPTY, usize::MAX), Some(libc::EINVAL));
    // SAFETY: an empty list has no entry.
    let empty = unsafe { RawList::new(null(), 0) }.unwrap();
    assert!(empty.contains(SegmentCursor::new()) && !empty.contains(SegmentCursor::at(1, 0)));
}

#[test]
fn a_list_is_read_into_where_it_is() {
    let mut bytes = *b"abcdef";
    let base = bytes.as_mut_ptr();
    let at = |offset, iov_len| iovec {
        iov_base: base.wrapping_add(offset).cast(),
        iov_len,
    };
    let iov = [at(4, 2), EMPTY, at(0, 3)];
    // SAFETY: the two segments lie in `bytes` and do not overlap.
    let mut list = unsafe { RawListMut::new(iov.as_ptr(), iov.len()) }.unwrap();
    let (reader, mut writer) = io::pipe().unwrap();
    io::Write::write_all(&mut writer, b"56123").unwrap();
    let cursor = &mut SegmentCursor::new();
    // SAFETY: no segment is dereferenced.
    let read = crate::Scatter::default().resume_read(&reader, unsafe { list.slices() }, cursor);
    assert_eq!(read.unwrap(), 5);
    assert!(list.contains(*cursor));
    drop(list);
    assert_eq!(&bytes, b"123d56");

    let code = |entry: iovec| {
        // SAFETY: the list is refused before a byte is read.
        let refused = unsafe { RawListMut::new(&entry, 1) };
        refused.unwrap_err().raw_os_error()
    };
    let long = iovec {
        iov_len: isize::MAX as usize + 1,
        ..at(0, 0)
    };
    assert_eq!(code(long), Some(libc::EINVAL));
    assert_eq!(
        code(iovec {
            iov_len: 1,
            ..EMPTY
        }),
        Some(libc::EFAULT)
    );
}
