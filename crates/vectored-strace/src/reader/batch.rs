//! A batch of parsed lines, in order, on its way to the thread of the sink.

use std::ops::ControlFlow;

use crate::call::call_prefix::CachedPrefix;
use crate::call::transfers::Segments;
use crate::counts::Counts;
use crate::event_sink::{EventSink, Item};
use crate::reader::common_line::CommonCall;
use crate::reader::parsed_line::{ParsedLine, read_event};

/// Most events of a batch.
const MAX_EVENTS: usize = 1024;

/// Bytes of text at which a batch is full. With its events it then fits the second-level cache of either thread's
/// processor.
const FULL_BYTES: usize = 192 << 10;

/// Calls of common form as a few numbers each, and other lines with their texts.
#[derive(Default)]
pub(crate) struct Batch {
    /// Identifies the batch among those that are in use; 0 in an unused one.
    number: u64,
    common: Vec<CommonCall>,
    /// The prefixes of the common calls, each once.
    prefixes: Vec<CachedPrefix>,
    others: Vec<OtherLine>,
    /// The texts and call sites of the other lines, one after the other.
    texts: Vec<u8>,
}

struct OtherLine {
    line: ParsedLine,
    /// Number of common calls in the batch before this line.
    common_before: usize,
    text_bytes: usize,
    /// Length of the call site, which follows the text.
    site_bytes: Option<usize>,
}

impl Batch {
    /// Makes an empty batch.
    pub(crate) fn numbered(number: u64) -> Self {
        Self {
            number,
            ..Self::default()
        }
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.common.len() + self.others.len() >= MAX_EVENTS || self.texts.len() >= FULL_BYTES
    }

    /// Adds a line of any form.
    #[inline]
    pub(crate) fn push(&mut self, line: &ParsedLine, text: &[u8], site: Option<&[u8]>) {
        self.others.push(OtherLine {
            line: *line,
            common_before: self.common.len(),
            text_bytes: text.len(),
            site_bytes: site.map(<[u8]>::len),
        });
        self.texts.extend_from_slice(text);
        self.texts.extend_from_slice(site.unwrap_or_default());
    }

    /// Adds a call of common form.
    #[inline]
    pub(crate) fn push_common(&mut self, call: CommonCall) {
        self.common.push(call);
    }

    /// The index of a prefix in this batch; adds the prefix if it is new.
    #[inline]
    pub(crate) fn index_of(&mut self, prefix: &mut CachedPrefix) -> u32 {
        if prefix.batch_index.0 != self.number {
            self.add_prefix(prefix);
        }
        prefix.batch_index.1
    }

    #[cold]
    fn add_prefix(&mut self, prefix: &mut CachedPrefix) {
        prefix.batch_index = (self.number, self.prefixes.len() as u32);
        self.prefixes.push(prefix.clone());
    }

    /// Delivers all events to a sink, in the order of their lines.
    pub(crate) fn deliver(
        &self,
        segments: &mut Segments,
        counts: &mut Counts,
        sink: &mut impl EventSink,
    ) -> ControlFlow<()> {
        counts.paths |= self.prefixes.iter().any(CachedPrefix::shows_path);
        let mut common_delivered = 0;
        let mut texts = self.texts.as_slice();
        for other in &self.others {
            self.deliver_common(common_delivered..other.common_before, sink)?;
            common_delivered = other.common_before;
            let (text, rest) = texts.split_at(other.text_bytes);
            let (site, rest) = rest.split_at(other.site_bytes.unwrap_or(0));
            texts = rest;
            let site = other.site_bytes.map(|_| site);
            if let Some(event) = read_event(&other.line, text, site, segments, counts) {
                sink.on_item(Item::Event(event))?;
            }
        }
        self.deliver_common(common_delivered..self.common.len(), sink)
    }

    #[inline]
    fn deliver_common(
        &self,
        range: std::ops::Range<usize>,
        sink: &mut impl EventSink,
    ) -> ControlFlow<()> {
        for call in &self.common[range] {
            let cached = &self.prefixes[call.prefix_index as usize];
            let (prefix, text) = (cached.prefix, cached.text());
            match call.transfer(prefix, text) {
                Some(event) => sink.on_common_transfer(&event)?,
                None => sink.on_item(Item::Event(call.other(prefix, text)))?,
            }
        }
        ControlFlow::Continue(())
    }

    /// Empties the batch, keeps its memory, and gives it another number.
    pub(crate) fn clear(&mut self, number: u64) {
        self.number = number;
        self.common.clear();
        self.prefixes.clear();
        self.others.clear();
        self.texts.clear();
    }
}
