//! The text of a call, and where its arguments and result are.

use crate::call::arguments::Arguments;
use crate::call::call_prefix::CallPrefix;
use crate::call::call_result::Tail;
use crate::counts::SkipReason;

/// The text of a call from after its opening bracket to the end of its result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'a> {
    /// The name and first argument.
    pub(crate) prefix: CallPrefix,
    /// The text, without the duration.
    pub(crate) text: &'a [u8],
    /// Position of the last ` = ` in the text, that of its equals sign.
    pub(crate) equals: usize,
    /// The result, if it is a number and nothing else.
    pub(crate) value: Option<u64>,
}

impl<'a> Body<'a> {
    /// The body of a call whose prefix and tail were read.
    #[inline]
    pub(crate) fn of(call: &'a [u8], prefix: CallPrefix, tail: Tail) -> Self {
        let start = prefix.name_bytes + 1;
        Self {
            prefix,
            text: &call[start..tail.end],
            equals: tail.equals - start,
            value: tail.value,
        }
    }

    /// The result, found by the last ` = `. Wrong only if the result is a path that contains ` = `.
    pub(crate) fn result(&self) -> &'a [u8] {
        self.text.get(self.equals + 2..).unwrap_or_default()
    }

    /// A reader of the arguments from the first one on, and of the result after them.
    #[inline]
    pub(crate) fn arguments(&self) -> Arguments<'a> {
        self.prefix.arguments(self.text)
    }

    /// The text of the arguments, found by the last ` = `.
    #[inline]
    pub(crate) fn arguments_text(&self) -> Result<&'a [u8], SkipReason> {
        let before = self.text.get(..self.equals).ok_or(SkipReason::Unreadable)?;
        // The common case: one blank before the equals sign, and none before the bracket.
        if let [arguments @ .., last, b')', b' '] = before
            && !last.is_ascii_whitespace()
        {
            return Ok(&before[..arguments.len() + 1]);
        }
        let arguments = before.trim_ascii_end().strip_suffix(b")");
        Ok(arguments.ok_or(SkipReason::Unreadable)?.trim_ascii_end())
    }
}
