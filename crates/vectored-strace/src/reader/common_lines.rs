//! The loop that reads lines of common form into a batch.

use std::io::Read;

use memchr::memchr;

use super::Reader;
use crate::call::call_prefix::CommonForm;
use crate::call::call_result::Tail;
use crate::line::clock::Timestamp;
use crate::reader::batch::Batch;
use crate::reader::common_line::{Amounts, CLOCK_NS, CommonCall, CommonPrefix};
use crate::reader::parsed_line::{LineKind, ParsedLine};

impl<R: Read> Reader<R> {
    /// Reads lines into a batch until it is full, the buffer has no further whole line, or a line has another form.
    ///
    /// Afterwards the reader is in the state in which [`advance`](Self::advance) would have left it.
    pub(crate) fn read_common_lines(&mut self, batch: &mut Batch) {
        let is_within_call = self.deferred.is_some() || self.broken_off.is_some();
        if is_within_call || self.has_hex || self.in_summary || self.times_are_void {
            return;
        }
        let unread = self.lines.unread();
        let mut lines = 0;
        let mut at = 0;
        let mut last_ns = 0;
        while !batch.is_full() {
            let rest = &unread[at..];
            let Some(start) = CommonPrefix::of(rest, &mut self.seconds) else {
                break;
            };
            // The first line of a thread may need an event of its creation before it; one of a thread whose call is
            // unfinished, that of a lost call.
            if !self.threads.is_known(start.thread) || self.unfinished.has(start.thread) {
                break;
            }
            let call = &rest[start.end..];
            let Some(cached) = self.prefixes.find(call) else {
                break;
            };
            if cached.common_form == CommonForm::None {
                break;
            }
            let prefix_bytes = cached.text_bytes();
            let Some(end) = memchr(b'\n', &call[prefix_bytes..]) else {
                break;
            };
            let (call, after) = call.split_at(prefix_bytes + end);
            // Whether a stack frame follows shows in the two bytes after the line feed.
            if after.len() < 3 || after[1..].starts_with(b" >") {
                break;
            }
            let Some(tail) = Tail::common(call).filter(|tail| tail.equals > prefix_bytes) else {
                break;
            };
            // Without a value the result is more than a short number: `-1 EAGAIN`, `3</tmp/x>`.
            if cached.common_form == CommonForm::Arguments || tail.value.is_none() {
                let line = ParsedLine {
                    number: self.lines.count + lines + 1,
                    thread: start.thread,
                    began_ns: Some(start.began_ns),
                    clock_ns: CLOCK_NS,
                    kind: LineKind::Call(cached.prefix, tail),
                };
                batch.push(&line, call, None);
            } else {
                let Some(amounts) = Amounts::of(call, cached.prefix, cached.common_form, tail)
                else {
                    break;
                };
                let took_ns = tail.took_ns.unwrap_or_default();
                let index = batch.index_of(cached);
                batch.push_common(CommonCall::new(start, index, took_ns, amounts));
            }
            last_ns = start.began_ns;
            lines += 1;
            at += start.end + call.len() + 1;
        }
        if lines > 0 {
            self.lines.consume(lines, at);
            self.clock.read(Timestamp::OfEpoch(last_ns));
            self.counts.times = true;
            self.counts.durations = true;
            self.counts.calls += lines;
        }
    }
}

#[cfg(test)]
mod tests;
