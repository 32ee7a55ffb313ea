//! Usual lines, many at a time.

use std::io::Read;

use memchr::memchr;

use super::Reader;
use crate::call::call_prefix::Manner;
use crate::call::call_result::Tail;
use crate::line::clock::Stamp;
use crate::reader::batch::Batch;
use crate::reader::common_line::{Amounts, CLOCK_NS, Start, Usual};
use crate::reader::parsed_line::{Head, Kind};

impl<R: Read> Reader<R> {
    /// Reads the lines that come next into a batch, until it is full, as long as they are usual and
    /// in the buffer: what they leave known is what [`advance`](Self::advance) would have left.
    pub(crate) fn read_usual(&mut self, batch: &mut Batch) {
        let something_waits = self.deferred.is_some() || self.broken_off.is_some();
        if something_waits || self.has_hex || self.in_summary || self.times_are_void {
            return;
        }
        let unread = self.lines.unread();
        let mut lines = 0;
        let mut at = 0;
        let mut last_ns = 0;
        while !batch.is_full() {
            let rest = &unread[at..];
            let Some(start) = Start::of(rest, &mut self.seconds) else {
                break;
            };
            if !self.threads.is_known(start.thread) {
                break;
            }
            let call = &rest[start.call..];
            let Some(slot) = self.beginnings.find(call) else {
                break;
            };
            if slot.manner == Manner::Unusual {
                break;
            }
            let decisive = slot.text_bytes();
            let Some(end) = memchr(b'\n', &call[decisive..]) else {
                break;
            };
            let (call, after) = call.split_at(decisive + end);
            // Two bytes after its end tell whether a stack follows.
            if after.len() < 3 || after[1..].starts_with(b" >") {
                break;
            }
            let Some(tail) = Tail::usual(call).filter(|tail| tail.equals > decisive) else {
                break;
            };
            // Without a value it returned more than a few digits: `-1 EAGAIN`, `3</tmp/x>`.
            if slot.manner == Manner::Arguments || tail.value.is_none() {
                let head = Head {
                    number: self.lines.count + lines + 1,
                    thread: start.thread,
                    began_ns: Some(start.began_ns),
                    clock_ns: CLOCK_NS,
                    kind: Kind::Call(slot.beginning, tail),
                };
                batch.push(&head, call, None);
            } else {
                let Some(amounts) = Amounts::of(call, slot.beginning, slot.manner, tail) else {
                    break;
                };
                let took_ns = tail.took_ns.unwrap_or_default();
                let beginning = batch.beginning(slot);
                batch.push_usual(Usual::new(start, beginning, took_ns, amounts));
            }
            last_ns = start.began_ns;
            lines += 1;
            at += start.call + call.len() + 1;
        }
        if lines > 0 {
            self.lines.used(lines, at);
            self.clock.read(Stamp::OfEpoch(last_ns));
            self.counts.times = true;
            self.counts.durations = true;
            self.counts.calls += lines;
        }
    }
}

#[cfg(test)]
mod tests;
