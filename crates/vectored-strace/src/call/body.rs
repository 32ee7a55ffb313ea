//! The text of a call, and the places of its arguments and result.

use crate::call::arguments::Arguments;
use crate::call::call_result::{Tail, is_success};
use crate::counts::SkipReason;
use crate::event::{Action, Descriptor};

/// The text of a call, from after the opening bracket to the end of the result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'a> {
    pub(crate) text: &'a [u8],
    /// The position in the text of the equals sign of the last ` = `.
    pub(crate) equals: usize,
}

impl<'a> Body<'a> {
    /// `start` is the length of the name and the opening bracket.
    pub(crate) fn new(call: &'a [u8], start: usize, tail: Tail) -> Self {
        Self {
            text: &call[start..tail.end],
            equals: tail.equals - start,
        }
    }

    /// The result: the text after the last ` = `. The result is wrong only if it is a path that contains ` = `.
    pub(crate) fn result(&self) -> &'a [u8] {
        self.text.get(self.equals + 2..).unwrap_or_default()
    }

    pub(crate) fn succeeded(&self) -> bool {
        is_success(self.result())
    }

    /// Whether the log has an address in place of a path. An address after EFAULT, or in a call that never returned, does
    /// not count: strace itself writes these. `paths` has a bit for each argument that is a path.
    pub(crate) fn lacks_path(&self, paths: u8) -> bool {
        let mut arguments = self.arguments();
        let mut left = paths;
        while left != 0 {
            if left & 1 != 0 && arguments.rest().starts_with(b"0x") {
                let result = self.result();
                return !(result.starts_with(b"-1 EFAULT") || result.starts_with(b"?"));
            }
            left >>= 1;
            if left != 0 && arguments.any().and_then(|_| arguments.comma()).is_err() {
                break;
            }
        }
        false
    }

    pub(crate) fn arguments(&self) -> Arguments<'a> {
        Arguments::new(self.text)
    }

    /// The action of a call whose arguments are not read. The first argument is the descriptor, if it can be one.
    pub(crate) fn other(&self) -> Action<'a> {
        let descriptor = self.first_descriptor();
        Action::Other { descriptor }
    }

    pub(crate) fn first_descriptor(&self) -> Option<Descriptor<'a>> {
        self.arguments().descriptor().ok()
    }

    /// The text of the arguments: up to the last ` = `.
    pub(crate) fn arguments_text(&self) -> Result<&'a [u8], SkipReason> {
        let before = self.text.get(..self.equals).ok_or(SkipReason::Unreadable)?;
        let arguments = before.trim_ascii_end().strip_suffix(b")");
        Ok(arguments.ok_or(SkipReason::Unreadable)?.trim_ascii_end())
    }
}
