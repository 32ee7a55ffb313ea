#![no_main]

use std::io::{self, Read};

use libfuzzer_sys::fuzz_target;
use vectored_advise::advisor::{Analysis, Options, advise};
use vectored_advise::model::Advisory;
use vectored_advise::report::{TOP, document};
use vectored_machine::model::{DescriptorKind, Operation, Price};
use vectored_report::{TerminalOptions, json, parse, terminal};
use vectored_strace::{Counts, Reader, Rewritten};

// Reading a log does not panic, and the events do not depend on the sizes of the reads. The same holds for the advice: its
// saved form can be read back, and its text does not control a terminal.
fuzz_target!(|data: &[u8]| {
    let Some((sizes, log)) = data.split_at_checked(4) else {
        return;
    };
    let whole = events(Reader::new(log));
    let input = || SizedReads {
        rest: log,
        sizes: sizes.iter().cycle(),
    };
    assert_eq!(whole, events(Reader::with_options(input(), 0, 1)));
    // Logs of perf and bpftrace are rewritten; other logs stay as they are.
    let rewritten = events(Reader::new(Rewritten::new(log)));
    let in_pieces = Rewritten::new(input());
    assert_eq!(rewritten, events(Reader::with_options(in_pieces, 0, 1)));
    let mut analysis = Analysis::new(Options {
        shows_all: true,
        ..Options::default()
    });
    let mut reader = Reader::new(Rewritten::new(log));
    while let Some(event) = reader.next().expect("a slice has no errors") {
        analysis.follow(&event);
    }
    let targets = [
        DescriptorKind::File,
        DescriptorKind::Pipe,
        DescriptorKind::Tcp,
    ];
    let prices = targets.map(|target| {
        [Operation::Write, Operation::Read].map(|operation| price(target, operation))
    });
    let advisory = advise(
        analysis.finish(),
        prices.as_flattened(),
        Advisory::default(),
    );
    parse::<Advisory>(&json(&advisory)).expect("advice is saved and read back");
    let text = terminal(&document(&advisory, TOP), &TerminalOptions::default());
    let is_control = |c: &char| c.is_control() && *c != '\n';
    assert_eq!(text.chars().find(is_control), None);
});

fn price(target: DescriptorKind, operation: Operation) -> Price {
    Price {
        target,
        operation,
        call_ns: 300.0,
        call_low_ns: 250.0,
        call_high_ns: 400.0,
        medium_call_ns: 350.0,
        answer_call_ns: 200.0,
        copy_segment_ns: 3.0,
        copy_byte_ns: 0.05,
        ..Price::default()
    }
}

fn events<R: Read>(mut reader: Reader<R>) -> (Vec<String>, Counts) {
    let mut events = Vec::new();
    while let Some(event) = reader.next().expect("a slice has no errors") {
        events.push(format!("{event:?}"));
    }
    (events, reader.counts())
}

/// An input whose reads return one byte more than `sizes` says.
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
