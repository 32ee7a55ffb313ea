//! The arguments of a call, one after the other, as strace writes them.

use memchr::{memchr, memchr2};

use crate::counts::Reason;
use crate::event::Descriptor;
use crate::text::numbers::{leading, leading_any};

/// A position in the text after a call's opening bracket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a> {
    text: &'a [u8],
    at: usize,
    /// The descriptor that comes first, and how many bytes it takes, if that is known.
    first: Option<(Descriptor<'a>, usize)>,
}

impl<'a> Arguments<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            at: 0,
            first: None,
        }
    }

    /// Those that begin with a descriptor, of so many bytes.
    #[inline]
    pub(crate) fn with_first(text: &'a [u8], first: Descriptor<'a>, bytes: usize) -> Self {
        Self {
            text,
            at: 0,
            first: Some((first, bytes)),
        }
    }

    /// What was not yet read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    /// `3`, `3</tmp/x>`, `3</tmp/x>(deleted)`, `-1`.
    #[inline]
    pub(crate) fn descriptor(&mut self) -> Result<Descriptor<'a>, Reason> {
        match self.first {
            Some((first, bytes)) if self.at == 0 => {
                self.at = bytes;
                Ok(first)
            }
            _ => self.read_descriptor(),
        }
    }

    fn read_descriptor(&mut self) -> Result<Descriptor<'a>, Reason> {
        let negative = self.eat(b"-");
        let (number, digits) = leading(self.rest())?;
        let number = i32::try_from(number).map_err(|_| Reason::Overflow)?;
        self.at += digits;
        // `0x7ffd8400` is an address.
        if self.text.get(self.at) == Some(&b'x') {
            return Err(Reason::Unreadable);
        }
        Ok(Descriptor {
            number: if negative { -number } else { number },
            leads_to: self.annotation()?,
        })
    }

    /// A number that is not negative, decimal or hexadecimal.
    pub(crate) fn number(&mut self) -> Result<u64, Reason> {
        let (number, digits) = leading_any(self.rest())?;
        self.at += digits;
        Ok(number)
    }

    /// `[3, 4]`, as `pipe` and `socketpair` return them.
    pub(crate) fn two_descriptors(&mut self) -> Result<[Descriptor<'a>; 2], Reason> {
        self.expect(b"[")?;
        let first = self.descriptor()?;
        self.comma()?;
        if self.eat(b"...") {
            return Err(Reason::ListCut);
        }
        let second = self.descriptor()?;
        self.expect(b"]")?;
        Ok([first, second])
    }

    /// A string, without its quotes and with its escapes, and whether it was cut (`"abc"...`).
    pub(crate) fn string(&mut self) -> Result<&'a [u8], Reason> {
        self.expect(b"\"")?;
        let start = self.at;
        self.at = end_of_string(self.text, start)?;
        let string = &self.text[start..self.at - 1];
        self.eat(b"...");
        Ok(string)
    }

    /// Any argument, passed over: what was in it.
    pub(crate) fn any(&mut self) -> Result<&'a [u8], Reason> {
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            let byte = *self.text.get(self.at).ok_or(Reason::Unreadable)?;
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

    /// The comma before the next argument, and blanks: a resumed call may have two.
    pub(crate) fn comma(&mut self) -> Result<(), Reason> {
        self.expect(b",")?;
        self.spaces();
        Ok(())
    }

    /// The closing bracket and what stands before the result.
    pub(crate) fn close(&mut self) -> Result<(), Reason> {
        self.spaces();
        self.expect(b")")?;
        self.spaces();
        self.expect(b"= ")
    }

    /// Whether `text` comes next; it then is read.
    pub(crate) fn eat(&mut self, text: &[u8]) -> bool {
        let comes = self.rest().starts_with(text);
        if comes {
            self.at += text.len();
        }
        comes
    }

    pub(crate) fn expect(&mut self, text: &[u8]) -> Result<(), Reason> {
        if self.eat(text) {
            Ok(())
        } else {
            Err(Reason::Unreadable)
        }
    }

    pub(crate) fn spaces(&mut self) {
        while self.text.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
    }

    /// What `-y` says of a descriptor or `-Y` of a thread.
    pub(crate) fn annotation(&mut self) -> Result<Option<&'a [u8]>, Reason> {
        if self.text.get(self.at) != Some(&b'<') {
            return Ok(None);
        }
        let start = self.at + 1;
        self.at = end_of_annotation(self.text, self.at)?;
        let leads_to = &self.text[start..self.at - 1];
        self.eat(b"(deleted)");
        Ok(Some(leads_to))
    }

    fn skip_comment(&mut self) -> Result<(), Reason> {
        let length = memchr::memmem::find(self.rest(), b"*/").ok_or(Reason::Unreadable)?;
        self.at += length + 1;
        Ok(())
    }
}

/// Where a string ends, after its quote, whose first byte is at `start`.
fn end_of_string(text: &[u8], start: usize) -> Result<usize, Reason> {
    let mut at = start;
    loop {
        let rest = text.get(at..).ok_or(Reason::Unreadable)?;
        at += memchr2(b'"', b'\\', rest).ok_or(Reason::Unreadable)?;
        if text[at] == b'"' {
            return Ok(at + 1);
        }
        at += 2;
    }
}

/// Where `<…>` ends, after its bracket, that begins at `start`.
///
/// strace escapes angle brackets in paths since 4.9; it has itself `->` between addresses and
/// `</dev/null<char 1:3>>`. So the closing one is that after which an argument can end.
fn end_of_annotation(text: &[u8], start: usize) -> Result<usize, Reason> {
    let mut at = start;
    loop {
        at += memchr(b'>', &text[at..]).ok_or(Reason::Unreadable)? + 1;
        match text.get(at) {
            None | Some(b',' | b')' | b']' | b'}' | b' ') => return Ok(at),
            Some(b'(') if text[at..].starts_with(b"(deleted)") => return Ok(at),
            _ => (),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, number: i32, leads_to: Option<&str>, rest: &str) {
        let mut arguments = Arguments::new(text.as_bytes());
        let descriptor = arguments.descriptor().unwrap();
        assert_eq!(descriptor.number, number);
        assert_eq!(descriptor.leads_to, leads_to.map(str::as_bytes));
        assert_eq!(arguments.rest(), rest.as_bytes());
    }

    #[test]
    fn descriptors_tell_what_they_lead_to() {
        check("3)", 3, None, ")");
        check("-1, x", -1, None, ", x");
        check("3</tmp/a b>, 4", 3, Some("/tmp/a b"), ", 4");
        check("3</tmp/x>(deleted)) = 0", 3, Some("/tmp/x"), ") = 0");
        check(
            "1</dev/pts/0<char 136:0>>)",
            1,
            Some("/dev/pts/0<char 136:0>"),
            ")",
        );
        let tcp = "TCPv6:[[::1]:44636->[::1]:54623]";
        check(&format!("16<{tcp}>, \">\", 1"), 16, Some(tcp), ", \">\", 1");
        let unix = "UNIX-STREAM:[1->2, \"/run/x\"]";
        check(&format!("6<{unix}>]"), 6, Some(unix), "]");
        check("3</tmp/a>b>, 1", 3, Some("/tmp/a>b"), ", 1");
    }

    #[test]
    fn arguments_of_any_form_are_passed_over() {
        for argument in [
            "NULL",
            "\"a, b)\\\" c\\\\\"...",
            "{a=[1, 2], b=htons(3), c=\"}\"}",
            "5</tmp/a, (b>",
            "[16 => 0]",
            "0x1 /* a, b) */",
            "~[RTMIN RT_1]",
            "1<<3",
        ] {
            let text = format!("{argument}, 7) = 0");
            let mut arguments = Arguments::new(text.as_bytes());
            let read = arguments.any();
            assert_eq!(read.unwrap(), argument.as_bytes());
            arguments.comma().unwrap();
            assert_eq!(arguments.number(), Ok(7));
            arguments.close().unwrap();
            assert_eq!(arguments.rest(), b"0");
        }
    }

    #[test]
    fn what_never_closes_is_no_argument() {
        for text in ["", "\"abc", "\"abc\\", "{1, 2", "3<", "1 /* x"] {
            assert_eq!(
                Arguments::new(text.as_bytes()).any(),
                Err(Reason::Unreadable),
                "{text}"
            );
        }
    }
}
