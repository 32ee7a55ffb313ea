//! The channel from the thread that reads logs (the producer) to the thread of the sink (the consumer).
//!
//! Parsed lines cross it in batches and in order, so that the sink receives what it would receive from one thread.

use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use crate::call::transfers::Segments;
use crate::counts::Counts;
use crate::event_sink::{EventSink, Item};
use crate::reader::Reader;
use crate::reader::batch::Batch;

/// Full batches that may wait for the consumer.
const MAX_WAITING_BATCHES: usize = 3;

/// A message from the producer to the consumer.
enum Message<'a> {
    Begin,
    Events(Batch),
    End {
        counts: Box<Counts>,
        /// The file of the log, unless it has several.
        file: Option<&'a Path>,
    },
}

/// Makes the two ends of the channel.
pub(crate) fn new<'a>() -> (Producer<'a>, Consumer<'a>) {
    let (messages, received) = sync_channel(MAX_WAITING_BATCHES);
    let (used, unused) = channel();
    let producer = Producer {
        messages,
        unused,
        batch: Batch::numbered(1),
        batches: 1,
    };
    let consumer = Consumer {
        received,
        used,
        segments: Segments::new(),
        counts: Counts::default(),
    };
    (producer, consumer)
}

/// The sending end. Its methods return a break once the consumer is gone.
pub(crate) struct Producer<'a> {
    messages: SyncSender<Message<'a>>,
    /// Batches that come back to be filled again.
    unused: Receiver<Batch>,
    batch: Batch,
    /// Number of batches so far, including the current one.
    batches: u64,
}

impl<'a> Producer<'a> {
    /// Begins a log.
    pub(crate) fn begin(&mut self) -> ControlFlow<()> {
        self.send(Message::Begin)
    }

    /// Sends the event to which a reader advanced, if any.
    #[inline]
    pub(crate) fn event<R: Read>(&mut self, reader: &Reader<R>) -> ControlFlow<()> {
        let (line, text, site) = reader.parsed_line();
        self.batch.push(line, text, site);
        if self.batch.is_full() { self.flush() } else { ControlFlow::Continue(()) }
    }

    /// Sends the lines of common form that come next.
    #[inline]
    pub(crate) fn common_lines<R: Read>(&mut self, reader: &mut Reader<R>) -> ControlFlow<()> {
        loop {
            reader.read_common_lines(&mut self.batch);
            if !self.batch.is_full() {
                return ControlFlow::Continue(());
            }
            self.flush()?;
        }
    }

    /// Ends a log.
    pub(crate) fn end(&mut self, counts: Counts, file: Option<&'a Path>) -> ControlFlow<()> {
        self.flush()?;
        let counts = Box::new(counts);
        self.send(Message::End { counts, file })
    }

    /// Sends the current batch.
    #[cold]
    pub(crate) fn flush(&mut self) -> ControlFlow<()> {
        let mut unused = self.unused.try_recv().unwrap_or_default();
        self.batches += 1;
        unused.clear(self.batches);
        let batch = std::mem::replace(&mut self.batch, unused);
        self.send(Message::Events(batch))
    }

    fn send(&mut self, message: Message<'a>) -> ControlFlow<()> {
        match self.messages.send(message) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

/// The receiving end.
pub(crate) struct Consumer<'a> {
    received: Receiver<Message<'a>>,
    used: Sender<Batch>,
    segments: Segments,
    /// Counts of the current log that are known only after arguments are read.
    counts: Counts,
}

impl Consumer<'_> {
    /// Delivers all items, until the sink breaks. Returns the counts that come from reading arguments.
    pub(crate) fn deliver(mut self, sink: &mut impl EventSink) -> Counts {
        let mut of_arguments = Counts::default();
        while let Ok(message) = self.received.recv() {
            let flow = match message {
                Message::Begin => sink.on_item(Item::Begin),
                Message::Events(batch) => self.deliver_events(batch, sink),
                Message::End { mut counts, file } => {
                    if let Some(file) = file {
                        self.counts.set_file(file);
                    }
                    counts.add(&self.counts);
                    of_arguments.add(&std::mem::take(&mut self.counts));
                    sink.on_item(Item::End(&counts))
                }
            };
            if flow.is_break() {
                break;
            }
        }
        of_arguments.add(&self.counts);
        of_arguments
    }

    fn deliver_events(&mut self, batch: Batch, sink: &mut impl EventSink) -> ControlFlow<()> {
        batch.deliver(&mut self.segments, &mut self.counts, sink)?;
        // The producer is gone after the last line; then the batch is dropped.
        let _ = self.used.send(batch);
        ControlFlow::Continue(())
    }
}
