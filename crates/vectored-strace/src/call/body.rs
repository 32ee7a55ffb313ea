//! The text of a call, and where its arguments and result are.

use crate::call::arguments::Arguments;
use crate::call::call_result::Tail;
use crate::call::names::{CallName, Syscall};
use crate::counts::SkipReason;
use crate::event::Descriptor;

/// The text of a call from after its opening bracket to the end of its result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'a> {
    pub(crate) call: Syscall,
    pub(crate) text: &'a [u8],
    /// Position of the equals sign of the last ` = ` in the text.
    pub(crate) equals: usize,
}

impl<'a> Body<'a> {
    /// The body of a call whose name and tail were read.
    pub(crate) fn new(call: &'a [u8], name: CallName, tail: Tail) -> Self {
        let start = name.bytes + 1;
        Self {
            call: name.call,
            text: &call[start..tail.end],
            equals: tail.equals - start,
        }
    }

    /// The result, found by the last ` = `. Wrong only if the result is a path that contains ` = `.
    pub(crate) fn result(&self) -> &'a [u8] {
        self.text.get(self.equals + 2..).unwrap_or_default()
    }

    /// Whether a path in the arguments, if there is one, is a string. In a log of strace it is an address only if the
    /// call failed.
    pub(crate) fn shows_path(&self) -> bool {
        let mut arguments = self.arguments();
        let is_address = |arguments: Arguments| arguments.rest().starts_with(b"0x");
        let is_missing = match self.call {
            Syscall::Open
            | Syscall::Create
            | Syscall::AskPath
            | Syscall::StatusOfPath
            | Syscall::Truncate
            | Syscall::ChangeFolder
            | Syscall::MakeFolder
            | Syscall::Link(_)
            | Syscall::Pipe
                if is_address(arguments) =>
            {
                true
            }
            Syscall::OpenAt
            | Syscall::AskAt
            | Syscall::StatusAt
            | Syscall::MakeFolder
            | Syscall::Link(_)
            | Syscall::Watch => {
                let is_folder = !arguments.rest().starts_with(b"\"");
                is_folder
                    && arguments.any().and_then(|_| arguments.comma()).is_ok()
                    && is_address(arguments)
            }
            Syscall::SocketPair => {
                memchr::memchr(b'[', self.text).is_none() && self.result() == b"0"
            }
            _ => false,
        };
        !is_missing || self.result().starts_with(b"-1 EFAULT") || self.result().starts_with(b"?")
    }

    /// A reader of the arguments from the first one on, and of the result after them.
    pub(crate) fn arguments(&self) -> Arguments<'a> {
        Arguments::new(self.text)
    }

    /// The first argument, if it is a descriptor or a number that may be one.
    pub(crate) fn first_descriptor(&self) -> Option<Descriptor<'a>> {
        self.arguments().descriptor().ok()
    }

    /// The text of the arguments, found by the last ` = `.
    pub(crate) fn arguments_text(&self) -> Result<&'a [u8], SkipReason> {
        let before = self.text.get(..self.equals).ok_or(SkipReason::Unreadable)?;
        let arguments = before.trim_ascii_end().strip_suffix(b")");
        Ok(arguments.ok_or(SkipReason::Unreadable)?.trim_ascii_end())
    }
}
