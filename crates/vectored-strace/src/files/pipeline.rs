//! Logs are read in a thread of their own, ahead of who follows what is in them: their heads and
//! texts go from one to the other, many at a time and in order, so that the result is the same.

use std::io::Read;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use crate::call::transfers::Segments;
use crate::counts::Counts;
use crate::event_sink::EventSink;
use crate::item::Item;
use crate::reader::Reader;
use crate::reader::batch::Batch;

/// So many batches may wait.
const BATCHES: usize = 3;

/// What the one who reads tells the one who follows.
enum Told {
    Begin,
    Events(Batch),
    End(Counts),
}

/// Both ends of the way from who reads to who follows.
pub(crate) fn ahead() -> (Ahead, Behind) {
    let (told, heard) = sync_channel(BATCHES);
    let (used, unused) = channel();
    let ahead = Ahead {
        told,
        unused,
        batch: Batch::numbered(1),
        batches: 1,
    };
    let behind = Behind {
        heard,
        used,
        segments: Segments::new(),
        counts: Counts::default(),
    };
    (ahead, behind)
}

/// The end of who reads. Each of its answers is a break once nobody follows any more.
pub(crate) struct Ahead {
    told: SyncSender<Told>,
    unused: Receiver<Batch>,
    batch: Batch,
    /// How many there were, with this one.
    batches: u64,
}

impl Ahead {
    /// A log begins.
    pub(crate) fn begin(&mut self) -> ControlFlow<()> {
        self.tell(Told::Begin)
    }

    /// The event that a reader went to, if it did.
    #[inline]
    pub(crate) fn event<R: Read>(&mut self, reader: &Reader<R>) -> ControlFlow<()> {
        let (head, text, site) = reader.head();
        self.batch.push(head, text, site);
        if self.batch.is_full() {
            self.hand_over()
        } else {
            ControlFlow::Continue(())
        }
    }

    /// The usual calls that come next, however many.
    #[inline]
    pub(crate) fn usual<R: Read>(&mut self, reader: &mut Reader<R>) -> ControlFlow<()> {
        loop {
            reader.read_usual(&mut self.batch);
            if !self.batch.is_full() {
                return ControlFlow::Continue(());
            }
            self.hand_over()?;
        }
    }

    /// A log ends, of which so much was read.
    pub(crate) fn end(&mut self, counts: Counts) -> ControlFlow<()> {
        self.hand_over()?;
        self.tell(Told::End(counts))
    }

    /// Hands over what was not yet.
    #[cold]
    pub(crate) fn hand_over(&mut self) -> ControlFlow<()> {
        let mut unused = self.unused.try_recv().unwrap_or_default();
        self.batches += 1;
        unused.renew(self.batches);
        let batch = std::mem::replace(&mut self.batch, unused);
        self.tell(Told::Events(batch))
    }

    fn tell(&mut self, told: Told) -> ControlFlow<()> {
        match self.told.send(told) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

/// The end of who follows.
pub(crate) struct Behind {
    heard: Receiver<Told>,
    used: Sender<Batch>,
    segments: Segments,
    /// What showed only when the arguments of calls were read.
    counts: Counts,
}

impl Behind {
    /// Follows to the end, or as long as that is wanted: what showed only here, when the arguments
    /// of calls were read.
    pub(crate) fn follow(mut self, follower: &mut impl EventSink) -> Counts {
        let mut showed = Counts::default();
        while let Ok(told) = self.heard.recv() {
            let flow = match told {
                Told::Begin => follower.follow(Item::Begin),
                Told::Events(batch) => self.follow_events(batch, follower),
                Told::End(mut counts) => {
                    counts.add(&self.counts);
                    showed.add(&std::mem::take(&mut self.counts));
                    follower.follow(Item::End(&counts))
                }
            };
            if flow.is_break() {
                break;
            }
        }
        showed.add(&self.counts);
        showed
    }

    fn follow_events(&mut self, batch: Batch, follower: &mut impl EventSink) -> ControlFlow<()> {
        batch.follow(&mut self.segments, &mut self.counts, follower)?;
        // Nobody takes it back any more once all is read.
        let _ = self.used.send(batch);
        ControlFlow::Continue(())
    }
}
