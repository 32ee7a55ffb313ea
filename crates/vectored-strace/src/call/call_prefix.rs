//! The prefix of a call: its name and first argument, usually a descriptor.
//!
//! A log has few different prefixes and each of them often. So a prefix is parsed once and kept in a [`PrefixCache`];
//! later calls are compared with the cached text.

use crate::call::arguments::Arguments;
use crate::call::names::{Syscall, name};
use crate::event::Descriptor;

/// The prefix of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallPrefix {
    /// The call.
    pub(crate) name: Syscall,
    /// Length of its name in the text.
    pub(crate) name_bytes: usize,
    /// Its first argument.
    pub(crate) first: FirstArgument,
}

/// The first argument of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstArgument {
    /// Not read.
    Unread,
    /// No descriptor.
    Other,
    /// A descriptor with a text of `bytes` bytes. `leads_to` has the positions of what `-y` shows within the text, or
    /// 0 twice.
    Descriptor {
        number: i32,
        bytes: u16,
        leads_to: (u16, u16),
    },
}

impl CallPrefix {
    /// The prefix of a call whose arguments were not read.
    pub(crate) fn of_name(name: Syscall, name_bytes: usize) -> Self {
        Self {
            name,
            name_bytes,
            first: FirstArgument::Unread,
        }
    }

    /// A reader of the arguments of a call with this prefix; `arguments` begins after the opening bracket.
    #[inline]
    pub(crate) fn arguments<'a>(&self, arguments: &'a [u8]) -> Arguments<'a> {
        match self.first {
            FirstArgument::Descriptor {
                number,
                bytes,
                leads_to: (start, end),
            } if usize::from(bytes) <= arguments.len() => {
                let leads_to = match end {
                    0 => None,
                    _ => arguments.get(usize::from(start)..usize::from(end)),
                };
                Arguments::with_first(arguments, Descriptor { number, leads_to }, bytes.into())
            }
            _ => Arguments::new(arguments),
        }
    }
}

/// The prefixes parsed so far: a direct-mapped cache.
#[derive(Debug)]
pub(crate) struct PrefixCache {
    /// A power of two of slots. A prefix replaces another one in its slot.
    slots: Vec<CachedPrefix>,
    /// Right shift from the hash of a prefix to the index of its slot.
    shift: u32,
}

/// Fewest and most slots. Fewer are used when many parts of a log are read at once.
const SLOTS: std::ops::RangeInclusive<usize> = 64..=2048;

/// Bytes of the reader's buffer for each slot.
const BUFFER_BYTES_PER_SLOT: usize = 128;

/// Longest prefix that is cached, in bytes. Longer ones are parsed each time.
const TEXT_BYTES: usize = 112;

/// A prefix in the cache.
#[derive(Clone, Debug)]
struct CachedPrefix {
    text: [u8; TEXT_BYTES],
    text_bytes: usize,
    /// The parsed prefix.
    prefix: CallPrefix,
}

/// Bytes of a call that may be hashed.
const HASHED_BYTES: usize = 64;

impl PrefixCache {
    /// Makes the cache of a reader with a buffer of `buffer_bytes`.
    pub(crate) fn new(buffer_bytes: usize) -> Self {
        let slots = (buffer_bytes / BUFFER_BYTES_PER_SLOT).clamp(*SLOTS.start(), *SLOTS.end());
        let slots = slots.next_power_of_two();
        let none = CachedPrefix {
            text: [0; TEXT_BYTES],
            // Longer than any call, so that an empty slot matches none.
            text_bytes: usize::MAX,
            prefix: CallPrefix::of_name(Syscall::Other, 0),
        };
        Self {
            slots: vec![none; slots],
            shift: u64::BITS - slots.trailing_zeros(),
        }
    }

    /// The prefix of a call; `None` if `text` does not begin with a name and an opening bracket.
    #[inline]
    pub(crate) fn read(&mut self, text: &[u8]) -> Option<CallPrefix> {
        let index = match text.first_chunk() {
            Some(text) => self.slot_of(text),
            None => {
                let mut longer = [0; HASHED_BYTES];
                longer[..text.len()].copy_from_slice(text);
                self.slot_of(&longer)
            }
        };
        let slot = &mut self.slots[index];
        if text.len() >= slot.text_bytes && text[..slot.text_bytes] == slot.text[..slot.text_bytes]
        {
            return Some(slot.prefix);
        }
        slot.fill(text)
    }

    #[inline]
    fn slot_of(&self, text: &[u8; HASHED_BYTES]) -> usize {
        (hash(text) >> self.shift) as usize
    }
}

impl CachedPrefix {
    #[cold]
    fn fill(&mut self, text: &[u8]) -> Option<CallPrefix> {
        let (prefix, text_bytes) = read(text)?;
        if let Some(text_bytes) = text_bytes.filter(|&bytes| bytes <= TEXT_BYTES)
            && let Some(prefix_text) = text.get(..text_bytes)
        {
            self.text[..text_bytes].copy_from_slice(prefix_text);
            self.text_bytes = text_bytes;
            self.prefix = prefix;
        }
        Some(prefix)
    }
}

/// Hashes a call by its first 16 bytes, which contain the number of most descriptors, and, if these begin a path (`-y`),
/// by the rest of it: files of one directory differ late.
#[inline]
fn hash(text: &[u8; HASHED_BYTES]) -> u64 {
    let words = text.as_chunks().0;
    let word = |index: usize| u64::from_le_bytes(words[index]);
    let (low, high) = (word(0), word(1));
    let mut mixed = low.wrapping_mul(FACTORS[0]) ^ high.wrapping_mul(FACTORS[1]);
    let shows_path = with(low, b'<') | with(high, b'<') != 0;
    if shows_path && with(low, b' ') | with(high, b' ') == 0 {
        for index in 2..HASHED_BYTES / 8 {
            let blanks = with(word(index), b' ');
            // After the first blank, calls with the same prefix differ.
            let before = match blanks {
                0 => u64::MAX,
                _ => ((blanks & blanks.wrapping_neg()) - 1) >> 7,
            };
            mixed = (mixed.rotate_left(5) ^ (word(index) & before)).wrapping_mul(FACTORS[0]);
            if blanks != 0 {
                break;
            }
        }
    }
    (mixed ^ (mixed >> 29)).wrapping_mul(FACTORS[0])
}

/// Odd numbers near 2⁶⁴ ÷ π and 2⁶⁴ ÷ φ (multiplicative hashing).
const FACTORS: [u64; 2] = [0x517c_c1b7_2722_0a95, 0x9e37_79b9_7f4a_7c15];

/// Marks the first byte of a word that equals `byte` by its high bit. Bytes after it may be marked falsely.
#[inline]
fn with(word: u64, byte: u8) -> u64 {
    let others = word ^ u64::from_le_bytes([byte; 8]);
    others.wrapping_sub(u64::from_le_bytes([1; 8])) & !others & u64::from_le_bytes([0x80; 8])
}

/// Parses the prefix of a call, and returns how many bytes determine it: each call with the same bytes has this prefix.
/// `None` for these means that the prefix must not be cached.
fn read(text: &[u8]) -> Option<(CallPrefix, Option<usize>)> {
    let (name, name_bytes) = name(text)?;
    let mut prefix = CallPrefix::of_name(name, name_bytes);
    let arguments = text.get(name_bytes + 1..)?;
    let mut after = Arguments::new(arguments);
    let decisive_bytes = match after.descriptor() {
        Ok(descriptor) => {
            let bytes = arguments.len() - after.rest().len();
            prefix.first = first(descriptor, arguments, bytes);
            if arguments.get(bytes) == Some(&b' ') {
                // A context may follow elsewhere.
                return Some((prefix, None));
            }
            bytes + 1
        }
        Err(_) => {
            let digits_at = usize::from(arguments.first() == Some(&b'-'));
            let digits = arguments[digits_at..].iter();
            let digits = digits.take_while(|byte| byte.is_ascii_digit()).count();
            let is_address = arguments.get(digits_at + digits) == Some(&b'x');
            // Anything else may begin as a descriptor does and end differently.
            if digits > 0 && !(is_address && digits < 10) {
                return Some((prefix, None));
            }
            prefix.first = FirstArgument::Other;
            digits_at + digits + 1
        }
    };
    let known = prefix.first != FirstArgument::Unread;
    Some((prefix, known.then_some(name_bytes + 1 + decisive_bytes)))
}

fn first(descriptor: Descriptor, arguments: &[u8], bytes: usize) -> FirstArgument {
    let Ok(bytes) = u16::try_from(bytes) else {
        return FirstArgument::Unread;
    };
    let leads_to = match descriptor.leads_to {
        None => (0, 0),
        Some(text) => {
            // Only a sign and digits come before the bracket.
            let bracket = arguments.iter().position(|byte| *byte == b'<').unwrap_or(0);
            let start = bracket + 1;
            // Both are less than `bytes`, which fits.
            (start as u16, (start + text.len()) as u16)
        }
    };
    FirstArgument::Descriptor {
        number: descriptor.number,
        bytes,
        leads_to,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Calls with equal or similar prefixes.
    const CALLS: &str = r"(write|copy_file_range|f|)\((-|)[0-9]{0,2}(|x|<[ab>, ]{0,3}>)(|\(deleted\)|\(d)(, |\)| |)[a>,]{0,9}.{0,9}";

    proptest! {
        #[test]
        fn a_cached_prefix_is_the_prefix_parsed_anew(
            calls in proptest::collection::vec(CALLS, 1..60),
        ) {
            let mut prefixes = PrefixCache::new(0);
            for call in calls.iter().chain(&calls) {
                let anew = read(call.as_bytes()).map(|read| read.0);
                prop_assert_eq!(prefixes.read(call.as_bytes()), anew, "{}", call);
            }
        }

        #[test]
        fn the_first_descriptor_is_the_same_wherever_the_arguments_are_cut(call in CALLS) {
            if let Some((prefix, decisive_bytes)) = read(call.as_bytes()) {
                let arguments = &call.as_bytes()[prefix.name_bytes + 1..];
                for end in 0..=arguments.len() {
                    let cut = &arguments[..end];
                    let known = prefix.arguments(cut).descriptor();
                    let is_decided =
                        decisive_bytes.is_some_and(|bytes| prefix.name_bytes + 1 + end >= bytes);
                    if is_decided && prefix.first == FirstArgument::Other {
                        prop_assert!(known.is_err());
                    }
                    prop_assert_eq!(known, Arguments::new(cut).descriptor());
                }
            }
        }
    }
}
