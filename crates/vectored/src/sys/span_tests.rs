//! Tests of `span.rs`. A bench also compiles `span.rs`, so the tests are in a separate file.

use std::io::{IoSlice, IoSliceMut};

use super::span::{Span, part, part_mut, spans};

#[test]
fn a_span_is_the_slice_and_a_part_is_its_part() {
    let mut data = *b"0123456789";
    let place = data.as_ptr();
    let segment = IoSlice::new(&data[2..8]);
    assert_eq!(
        (segment.start(), segment.byte_len()),
        (place.wrapping_add(2), 6)
    );
    assert_eq!(segment.end(), place.wrapping_add(8));
    assert_eq!(*part(&segment, 1, 4), *b"345");
    assert!(part(&segment, 6, 6).is_empty());
    let list = [b"ab".to_vec(), Vec::new()];
    let lengths = spans(&list).iter().map(Span::byte_len);
    assert_eq!(lengths.collect::<Vec<_>>(), [2, 0]);

    let mut segment = IoSliceMut::new(&mut data[2..8]);
    part_mut(&mut segment, 1, 3).copy_from_slice(b"ab");
    assert_eq!(segment.byte_len(), 6);
    assert_eq!(&data, b"012ab56789");
}

#[test]
#[should_panic(expected = "to <= length_of(entry)")]
fn a_part_is_within_its_segment() {
    let _ = part(&IoSlice::new(b"abc"), 2, 4);
}
