//! Events on their way from who reads to who follows, many at a time and in order.

use std::ops::ControlFlow;

use crate::call::call_prefix::Slot;
use crate::call::transfers::Segments;
use crate::counts::Counts;
use crate::event_sink::EventSink;
use crate::item::Item;
use crate::reader::common_line::Usual;
use crate::reader::parsed_line::{Head, read_event};

/// So many events are handed over at once, and about so many bytes of text at most: with its heads,
/// a batch fits the second level cache of either side.
const BATCH_EVENTS: usize = 1024;
const BATCH_BYTES: usize = 192 << 10;

/// Usual calls, and others as heads with their texts one after the other.
#[derive(Default)]
pub(crate) struct Batch {
    /// No other that is under way has the same; 0 is none.
    number: u64,
    usual: Vec<Usual>,
    /// How those begin.
    beginnings: Vec<Slot>,
    others: Vec<Packed>,
    texts: Vec<u8>,
}

struct Packed {
    head: Head,
    /// So many usual calls come before it.
    usual_before: usize,
    text_bytes: usize,
    /// The call site comes after the text.
    site_bytes: Option<usize>,
}

impl Batch {
    /// An empty one.
    pub(crate) fn numbered(number: u64) -> Self {
        Self {
            number,
            ..Self::default()
        }
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.usual.len() + self.others.len() >= BATCH_EVENTS || self.texts.len() >= BATCH_BYTES
    }

    /// Adds any event.
    #[inline]
    pub(crate) fn push(&mut self, head: &Head, text: &[u8], site: Option<&[u8]>) {
        self.others.push(Packed {
            head: *head,
            usual_before: self.usual.len(),
            text_bytes: text.len(),
            site_bytes: site.map(<[u8]>::len),
        });
        self.texts.extend_from_slice(text);
        self.texts.extend_from_slice(site.unwrap_or_default());
    }

    /// Adds a usual call.
    #[inline]
    pub(crate) fn push_usual(&mut self, usual: Usual) {
        self.usual.push(usual);
    }

    /// The place of a beginning in this batch.
    #[inline]
    pub(crate) fn beginning(&mut self, slot: &mut Slot) -> u32 {
        if slot.told.0 != self.number {
            self.tell(slot);
        }
        slot.told.1
    }

    #[cold]
    fn tell(&mut self, slot: &mut Slot) {
        slot.told = (self.number, self.beginnings.len() as u32);
        self.beginnings.push(slot.clone());
    }

    /// Tells what is in it.
    pub(crate) fn follow(
        &self,
        segments: &mut Segments,
        counts: &mut Counts,
        follower: &mut impl EventSink,
    ) -> ControlFlow<()> {
        counts.paths |= self.beginnings.iter().any(Slot::shows_path);
        let mut usual_told = 0;
        let mut texts = self.texts.as_slice();
        for packed in &self.others {
            self.follow_usual(usual_told..packed.usual_before, follower)?;
            usual_told = packed.usual_before;
            let (text, rest) = texts.split_at(packed.text_bytes);
            let (site, rest) = rest.split_at(packed.site_bytes.unwrap_or(0));
            texts = rest;
            let site = packed.site_bytes.map(|_| site);
            if let Some(event) = read_event(&packed.head, text, site, segments, counts) {
                follower.follow(Item::Event(event))?;
            }
        }
        self.follow_usual(usual_told..self.usual.len(), follower)
    }

    #[inline]
    fn follow_usual(
        &self,
        range: std::ops::Range<usize>,
        follower: &mut impl EventSink,
    ) -> ControlFlow<()> {
        for usual in &self.usual[range] {
            let slot = &self.beginnings[usual.beginning as usize];
            let (beginning, text) = (slot.beginning, slot.text());
            match usual.transfer(beginning, text) {
                Some(event) => follower.follow_usual(&event)?,
                None => follower.follow(Item::Event(usual.other(beginning, text)))?,
            }
        }
        ControlFlow::Continue(())
    }

    /// Nothing is in it any more but room, and it counts as another.
    pub(crate) fn renew(&mut self, number: u64) {
        self.number = number;
        self.usual.clear();
        self.beginnings.clear();
        self.others.clear();
        self.texts.clear();
    }
}
