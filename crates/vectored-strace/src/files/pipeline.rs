//! The thread that reads logs line by line, and the caller's thread, which reads the arguments of calls and passes events on.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::call::transfers::Segments;
use crate::counts::Counts;
use crate::files::{Item, LogReader, OnItem};
use crate::reader::parsed_line::{ParsedLine, read_event};

/// Most lines of a batch.
const BATCH_LINES: usize = 1024;

/// Bytes of text at which a batch is full.
const BATCH_BYTES: usize = 192 << 10;

/// Full batches that may wait.
const WAITING_BATCHES: usize = 2;

pub(super) enum Message<'a> {
    Begin,
    Lines(Batch<'a>),
    End(Box<Counts>),
}

/// Lines, and their texts and call sites one after the other.
#[derive(Default)]
pub(super) struct Batch<'a> {
    lines: Vec<Line<'a>>,
    texts: Vec<u8>,
}

struct Line<'a> {
    parsed: ParsedLine,
    file: &'a Path,
    text_bytes: usize,
    site_bytes: Option<usize>,
}

/// The sending end. Its methods return a break once nobody follows.
pub(super) struct Sender<'a> {
    messages: SyncSender<Message<'a>>,
    batch: Batch<'a>,
}

impl<'a> Sender<'a> {
    pub(super) fn begin(&mut self) -> ControlFlow<()> {
        self.send(Message::Begin)
    }

    /// Sends the line that a reader reached.
    pub(super) fn line(&mut self, file: &'a Path, reader: &LogReader) -> ControlFlow<()> {
        let (parsed, text, site) = reader.parsed();
        self.batch.texts.extend_from_slice(text);
        self.batch.texts.extend_from_slice(site.unwrap_or_default());
        self.batch.lines.push(Line {
            parsed: *parsed,
            file,
            text_bytes: text.len(),
            site_bytes: site.map(<[u8]>::len),
        });
        if self.batch.lines.len() < BATCH_LINES && self.batch.texts.len() < BATCH_BYTES {
            return ControlFlow::Continue(());
        }
        self.flush()
    }

    pub(super) fn end(&mut self, counts: &Counts) -> ControlFlow<()> {
        self.flush()?;
        self.send(Message::End(Box::new(counts.clone())))
    }

    /// Sends the lines so far.
    pub(super) fn flush(&mut self) -> ControlFlow<()> {
        let batch = std::mem::take(&mut self.batch);
        self.send(Message::Lines(batch))
    }

    fn send(&mut self, message: Message<'a>) -> ControlFlow<()> {
        match self.messages.send(message) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

/// Makes the two ends.
pub(super) fn new<'a>() -> (Sender<'a>, Receiver<Message<'a>>) {
    let (messages, received) = sync_channel(WAITING_BATCHES);
    let batch = Batch::default();
    (Sender { messages, batch }, received)
}

/// Passes on all items, until a break. Returns what is counted when arguments are read.
pub(super) fn follow(received: Receiver<Message>, on_item: &mut OnItem) -> Counts {
    let mut segments = Segments::new();
    let (mut all, mut counts) = (Counts::default(), Counts::default());
    for message in received {
        let flow = match message {
            Message::Begin => on_item(Item::Begin),
            Message::Lines(batch) => deliver(&batch, &mut segments, &mut counts, on_item),
            Message::End(mut of_log) => {
                of_log.add(&counts);
                all.add(&std::mem::take(&mut counts));
                on_item(Item::End(&of_log))
            }
        };
        if flow.is_break() {
            break;
        }
    }
    all.add(&counts);
    all
}

fn deliver(
    batch: &Batch,
    segments: &mut Segments,
    counts: &mut Counts,
    on_item: &mut OnItem,
) -> ControlFlow<()> {
    let mut texts = batch.texts.as_slice();
    for same_file in batch
        .lines
        .chunk_by(|one, next| std::ptr::eq(one.file, next.file))
    {
        for line in same_file {
            let (text, rest) = texts.split_at(line.text_bytes);
            let (site, rest) = rest.split_at(line.site_bytes.unwrap_or(0));
            texts = rest;
            let site = line.site_bytes.map(|_| site);
            if let Some(event) = read_event(&line.parsed, text, site, segments, counts) {
                on_item(Item::Event(event))?;
            }
        }
        counts.set_file(same_file[0].file);
    }
    ControlFlow::Continue(())
}
