//! Reads the arguments of a call, as strace writes them, one after the other.

use memchr::{memchr, memchr2};

use crate::counts::SkipReason;
use crate::event::Descriptor;
use crate::text::numbers::{leading, leading_any};

/// A position in the text after a call's opening bracket. Each method moves the position past what it reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Arguments<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    /// Reads a descriptor: `3`, `3</tmp/x>`, `3</tmp/x>(deleted)`, `-1`.
    pub(crate) fn descriptor(&mut self) -> Result<Descriptor<'a>, SkipReason> {
        let negative = self.eat(b"-");
        let (number, digits) = leading(self.rest())?;
        let number = i32::try_from(number).map_err(|_| SkipReason::Overflow)?;
        self.at += digits;
        // The text `0x7ffd8400` is an address.
        if self.text.get(self.at) == Some(&b'x') {
            return Err(SkipReason::Unreadable);
        }
        Ok(Descriptor {
            number: if negative { -number } else { number },
            leads_to: self.annotation()?,
        })
    }

    pub(crate) fn number(&mut self) -> Result<u64, SkipReason> {
        let (number, digits) = leading_any(self.rest())?;
        self.at += digits;
        Ok(number)
    }

    /// Reads up to six arguments and the result after them. A missing argument is empty.
    pub(crate) fn parts(mut self) -> Result<([&'a [u8]; 6], &'a [u8]), SkipReason> {
        let mut parts = [&b""[..]; 6];
        parts[0] = self.any()?;
        let mut count = 1;
        while self.comma().is_ok() {
            let part = self.any()?;
            if let Some(place) = parts.get_mut(count) {
                *place = part;
            }
            count += 1;
        }
        self.close()?;
        Ok((parts, self.rest()))
    }

    /// Reads two descriptors as `pipe` and `socketpair` return them: `[3, 4]`.
    pub(crate) fn two_descriptors(&mut self) -> Result<[Descriptor<'a>; 2], SkipReason> {
        self.expect(b"[")?;
        let first = self.descriptor()?;
        self.comma()?;
        if self.eat(b"...") {
            return Err(SkipReason::ListCut);
        }
        let second = self.descriptor()?;
        self.expect(b"]")?;
        Ok([first, second])
    }

    /// Reads a string, and the dots after a string that strace cut (`"abc"...`). Returns the string with its escapes,
    /// without its quotes.
    pub(crate) fn string(&mut self) -> Result<&'a [u8], SkipReason> {
        self.expect(b"\"")?;
        let start = self.at;
        self.at = end_of_string(self.text, start)?;
        let string = &self.text[start..self.at - 1];
        self.eat(b"...");
        self.skip_context();
        Ok(string)
    }

    /// Skips an argument of any form, and returns its text.
    pub(crate) fn any(&mut self) -> Result<&'a [u8], SkipReason> {
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            let byte = *self.text.get(self.at).ok_or(SkipReason::Unreadable)?;
            match byte {
                b'"' => {
                    self.at = end_of_string(self.text, self.at + 1)?;
                    continue;
                }
                b'<' if self.rest().starts_with(b"<<") => self.at += 1,
                b'<' => {
                    self.at = end_of_annotation(self.text, self.at)?;
                    continue;
                }
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' if depth > 0 => depth -= 1,
                b')' | b']' | b'}' => break,
                b',' if depth == 0 => break,
                b'/' if self.rest().starts_with(b"/*") => self.skip_comment()?,
                _ => (),
            }
            self.at += 1;
        }
        Ok(self.text[start..self.at].trim_ascii_end())
    }

    /// Reads the comma and the blanks before the next argument. A resumed call may have two commas.
    pub(crate) fn comma(&mut self) -> Result<(), SkipReason> {
        self.expect(b",")?;
        self.spaces();
        Ok(())
    }

    /// Reads the closing bracket and the text up to the equals sign before the result.
    pub(crate) fn close(&mut self) -> Result<(), SkipReason> {
        self.spaces();
        self.expect(b")")?;
        self.spaces();
        self.expect(b"= ")
    }

    pub(crate) fn eat(&mut self, text: &[u8]) -> bool {
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    pub(crate) fn expect(&mut self, text: &[u8]) -> Result<(), SkipReason> {
        if self.eat(text) { Ok(()) } else { Err(SkipReason::Unreadable) }
    }

    fn spaces(&mut self) {
        while self.text.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
    }

    /// Reads `<…>`, if present: `-y` adds it to a descriptor, and `-Y` adds it to a thread.
    pub(crate) fn annotation(&mut self) -> Result<Option<&'a [u8]>, SkipReason> {
        if self.text.get(self.at) != Some(&b'<') {
            return Ok(None);
        }
        let start = self.at + 1;
        self.at = end_of_annotation(self.text, self.at)?;
        let leads_to = &self.text[start..self.at - 1];
        self.eat(b"(deleted)");
        self.skip_context();
        Ok(Some(leads_to))
    }

    /// Skips the context that `--secontext` adds to a file: ` [user_tmp_t]`.
    fn skip_context(&mut self) {
        if let Some(context) = self.rest().strip_prefix(b" [")
            && let Some(end) = memchr(b']', context)
            && !context[..end].contains(&b'=')
        {
            self.at += end + 3;
        }
    }

    fn skip_comment(&mut self) -> Result<(), SkipReason> {
        let length = memchr::memmem::find(self.rest(), b"*/").ok_or(SkipReason::Unreadable)?;
        self.at += length + 1;
        Ok(())
    }
}

/// The position after the closing quote of a string whose first byte is at `start`.
fn end_of_string(text: &[u8], start: usize) -> Result<usize, SkipReason> {
    let mut at = start;
    loop {
        let rest = text.get(at..).ok_or(SkipReason::Unreadable)?;
        at += memchr2(b'"', b'\\', rest).ok_or(SkipReason::Unreadable)?;
        if text[at] == b'"' {
            return Ok(at + 1);
        }
        at += 2;
    }
}

/// The position after the closing bracket of a `<…>` that begins at `start`.
///
/// Brackets nest: strace writes `->` between addresses, and `</dev/null<char 1:3>>`. Before 4.9, strace did not escape
/// brackets in paths. So the closing bracket is the first bracket after which an argument can end.
fn end_of_annotation(text: &[u8], start: usize) -> Result<usize, SkipReason> {
    let mut at = start;
    loop {
        at += memchr(b'>', &text[at..]).ok_or(SkipReason::Unreadable)? + 1;
        match text.get(at) {
            None | Some(b',' | b')' | b']' | b'}' | b' ') => return Ok(at),
            Some(b'(') if text[at..].starts_with(b"(deleted)") => return Ok(at),
            _ => (),
        }
    }
}
