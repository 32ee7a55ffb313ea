#![no_main]

use std::io::{self, Read};

use libfuzzer_sys::fuzz_target;
use vectored_strace::{Counts, ReadOptions, Reader};

// Reading a log does not panic, and gives the same events whatever the sizes of the reads are.
fuzz_target!(|data: &[u8]| {
    let Some((sizes, log)) = data.split_at_checked(4) else {
        return;
    };
    let whole = events(Reader::new(log));
    let mut options = ReadOptions::default();
    options.buffer_bytes = 1;
    let input = SizedReads {
        rest: log,
        sizes: sizes.iter().cycle(),
    };
    assert_eq!(whole, events(Reader::with_options(input, options)));
    assert_eq!(whole.1.bytes, log.len() as u64);
});

fn events<R: Read>(mut reader: Reader<R>) -> (Vec<String>, Counts) {
    let mut events = Vec::new();
    while let Some(event) = reader.next().expect("a slice has no errors") {
        events.push(format!("{event:?}"));
    }
    (events, reader.counts())
}

/// An input whose reads return as many bytes as `sizes` says, each plus one.
struct SizedReads<'a, S> {
    rest: &'a [u8],
    sizes: S,
}

impl<'s, S: Iterator<Item = &'s u8>> Read for SizedReads<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes.next().map_or(1, |size| usize::from(*size) + 1);
        let bytes = size.min(buffer.len()).min(self.rest.len());
        let (head, rest) = self.rest.split_at(bytes);
        buffer[..bytes].copy_from_slice(head);
        self.rest = rest;
        Ok(bytes)
    }
}
