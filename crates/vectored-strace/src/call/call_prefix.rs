//! How calls begin: with a name and, mostly, a descriptor. A log has few of these beginnings and each
//! of them often, so that they are read once and compared from then on.

use crate::call::arguments::Arguments;
use crate::call::names::{Name, Shape, name};
use crate::event::Descriptor;

/// How a call begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beginning {
    /// What its name says.
    pub(crate) name: Name,
    /// How long its name is.
    pub(crate) name_bytes: usize,
    /// Whether its first argument is a descriptor.
    pub(crate) first: First,
}

/// The first argument of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// It was not looked at.
    Unread,
    /// It is no descriptor.
    Other,
    /// It is a descriptor, whose text has so many bytes, and what `-y` shows is from there to there
    /// in it; nothing if both are 0.
    Descriptor {
        number: i32,
        bytes: u16,
        leads_to: (u16, u16),
    },
}

impl Beginning {
    /// Of a call whose arguments were not looked at.
    pub(crate) fn of_name(name: Name, name_bytes: usize) -> Self {
        Self {
            name,
            name_bytes,
            first: First::Unread,
        }
    }

    /// The arguments of a call that begins so, from after the opening bracket.
    #[inline]
    pub(crate) fn arguments<'a>(&self, arguments: &'a [u8]) -> Arguments<'a> {
        match self.first {
            First::Descriptor {
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

/// Beginnings that came before.
#[derive(Debug)]
pub(crate) struct Beginnings {
    /// A power of two of them: those of the same slot push each other out.
    slots: Vec<Slot>,
    /// The hash of a beginning is shifted so far.
    shift: u32,
}

/// So many beginnings are kept at most, and at least: fewer where many logs are read at once.
const SLOTS: std::ops::RangeInclusive<usize> = 64..=2048;

/// A slot for so many bytes of the reader's buffer.
const BUFFER_BYTES_PER_SLOT: usize = 128;

/// Longer beginnings are read each time.
const TEXT_BYTES: usize = 112;

/// A beginning that came before.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    text: [u8; TEXT_BYTES],
    text_bytes: usize,
    /// All bits of those of the first bytes that decide.
    mask: [u64; MASK_WORDS],
    /// What calls are that begin so.
    pub(crate) beginning: Beginning,
    /// How such a call is read if it is a usual one.
    pub(crate) manner: Manner,
    /// In which batch it was told last, and its place there.
    pub(crate) told: (u64, u32),
}

/// So many words of a beginning are compared at once, whatever its length.
const MASK_WORDS: usize = MASK_BYTES / 8;

const MASK_BYTES: usize = 64;

impl Beginnings {
    /// For a reader with a buffer of so many bytes.
    pub(crate) fn new(buffer_bytes: usize) -> Self {
        let slots = (buffer_bytes / BUFFER_BYTES_PER_SLOT).clamp(*SLOTS.start(), *SLOTS.end());
        let slots = slots.next_power_of_two();
        let none = Slot {
            text: [0; TEXT_BYTES],
            // No call is so long.
            text_bytes: usize::MAX,
            mask: [0; MASK_WORDS],
            beginning: Beginning::of_name(Name::Other, 0),
            manner: Manner::Unusual,
            told: (0, 0),
        };
        Self {
            slots: vec![none; slots],
            shift: u64::BITS - slots.trailing_zeros(),
        }
    }

    /// How a call begins; `None` if `text` does not begin with a name and its bracket.
    #[inline]
    pub(crate) fn read(&mut self, text: &[u8]) -> Option<Beginning> {
        let place = match text.first_chunk() {
            Some(text) => self.place(text),
            None => {
                let mut longer = [0; MASK_BYTES];
                longer[..text.len()].copy_from_slice(text);
                self.place(&longer)
            }
        };
        let slot = &mut self.slots[place];
        if text.len() >= slot.text_bytes && text[..slot.text_bytes] == slot.text[..slot.text_bytes]
        {
            return Some(slot.beginning);
        }
        slot.fill(text)
    }

    /// The beginning of a call that came before; `None` if it did not, or if so few bytes follow that
    /// they cannot be compared at once.
    #[inline]
    pub(crate) fn find(&mut self, text: &[u8]) -> Option<&mut Slot> {
        let compared: &[u8; MASK_BYTES] = text.first_chunk()?;
        let place = self.place(compared);
        let slot = &mut self.slots[place];
        let words = compared.as_chunks().0.iter().zip(slot.text.as_chunks().0);
        let differences = words.zip(slot.mask).fold(0, |all, ((given, known), mask)| {
            all | ((u64::from_le_bytes(*given) ^ u64::from_le_bytes(*known)) & mask)
        });
        let is_same = differences == 0
            && match slot.text_bytes {
                0..=MASK_BYTES => true,
                bytes => {
                    bytes <= text.len() && text[MASK_BYTES..bytes] == slot.text[MASK_BYTES..bytes]
                }
            };
        is_same.then_some(slot)
    }

    #[inline]
    fn place(&self, text: &[u8; MASK_BYTES]) -> usize {
        (hash(text) >> self.shift) as usize
    }
}

impl Slot {
    /// The bytes that decide that a call begins so.
    pub(crate) fn text(&self) -> &[u8] {
        self.text.get(..self.text_bytes).unwrap_or_default()
    }

    /// Whether what `-y` shows is in them, of a call that moves bytes.
    #[inline]
    pub(crate) fn shows_path(&self) -> bool {
        matches!(
            (self.beginning.name, self.beginning.first),
            (
                Name::Transfer(..),
                First::Descriptor {
                    leads_to: (_, 1..),
                    ..
                }
            )
        )
    }

    /// How many they are.
    #[inline]
    pub(crate) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    #[cold]
    fn fill(&mut self, text: &[u8]) -> Option<Beginning> {
        let (beginning, text_bytes) = read(text)?;
        if let Some(text_bytes) = text_bytes.filter(|&bytes| bytes <= TEXT_BYTES)
            && let Some(decisive) = text.get(..text_bytes)
        {
            self.text[..text_bytes].copy_from_slice(decisive);
            self.text_bytes = text_bytes;
            self.mask = mask(text_bytes);
            self.beginning = beginning;
            self.manner = Manner::of(beginning, decisive);
            self.told = (0, 0);
        }
        Some(beginning)
    }
}

/// How a usual call is read, by how it begins: one that took a time and returned a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// There is more to such a call than what it did.
    Unusual,
    /// Few numbers tell all.
    Transfer { positional: bool },
    /// Only its name matters, and its descriptor.
    Name,
    /// By its arguments.
    Arguments,
}

impl Manner {
    fn of(beginning: Beginning, decisive: &[u8]) -> Self {
        let is_descriptor = matches!(beginning.first, First::Descriptor { .. });
        match beginning.name {
            name if name.makes_threads() || !is_usual(decisive) => Self::Unusual,
            Name::Transfer(Shape::Plain { positional }, _) => {
                match is_descriptor && decisive.ends_with(b",") {
                    true => Self::Transfer { positional },
                    false => Self::Unusual,
                }
            }
            Name::Other => Self::Name,
            _ => Self::Arguments,
        }
    }
}

/// Whether a call begins with a letter, by which the end of its time is told.
fn is_usual(call: &[u8]) -> bool {
    call.first().is_some_and(u8::is_ascii_lowercase)
}

/// All bits of so many bytes of the first ones.
fn mask(bytes: usize) -> [u64; MASK_WORDS] {
    let of_word = |word: usize| match bytes.saturating_sub(word * 8) {
        0 => 0,
        1..8 => u64::MAX >> (64 - 8 * (bytes - word * 8)),
        8.. => u64::MAX,
    };
    std::array::from_fn(of_word)
}

/// A number by which the slot of a call is found: of its first bytes, which hold the number of most
/// descriptors, and of what `-y` shows, in which the files of a folder differ late.
#[inline]
fn hash(text: &[u8; MASK_BYTES]) -> u64 {
    let words = text.as_chunks().0;
    let word = |index: usize| u64::from_le_bytes(words[index]);
    let (low, high) = (word(0), word(1));
    let mut mixed = low.wrapping_mul(FACTORS[0]) ^ high.wrapping_mul(FACTORS[1]);
    let shows_path = with(low, b'<') | with(high, b'<') != 0;
    if shows_path && with(low, b' ') | with(high, b' ') == 0 {
        for index in 2..MASK_WORDS {
            let blanks = with(word(index), b' ');
            // What comes after the first blank differs from call to call.
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

/// 2^64 ÷ π and ÷ φ, odd.
const FACTORS: [u64; 2] = [0x517c_c1b7_2722_0a95, 0x9e37_79b9_7f4a_7c15];

/// The high bit of the first of the bytes that are `byte`, and maybe of some after it.
#[inline]
fn with(word: u64, byte: u8) -> u64 {
    let others = word ^ u64::from_le_bytes([byte; 8]);
    others.wrapping_sub(u64::from_le_bytes([1; 8])) & !others & u64::from_le_bytes([0x80; 8])
}

/// How a call begins, and how many of its bytes decide that: each call with the same ones begins so.
/// Without them it cannot be told.
fn read(text: &[u8]) -> Option<(Beginning, Option<usize>)> {
    let (name, name_bytes) = name(text)?;
    let mut beginning = Beginning::of_name(name, name_bytes);
    let arguments = text.get(name_bytes + 1..)?;
    let mut after = Arguments::new(arguments);
    let decisive = match after.descriptor() {
        Ok(descriptor) => {
            let bytes = arguments.len() - after.rest().len();
            beginning.first = first(descriptor, arguments, bytes);
            bytes + 1
        }
        Err(_) => {
            let digits_at = usize::from(arguments.first() == Some(&b'-'));
            let digits = arguments[digits_at..].iter();
            let digits = digits.take_while(|byte| byte.is_ascii_digit()).count();
            let is_address = arguments.get(digits_at + digits) == Some(&b'x');
            // Anything else may begin as a descriptor does, and end otherwise.
            if digits > 0 && !(is_address && digits < 10) {
                return Some((beginning, None));
            }
            beginning.first = First::Other;
            digits_at + digits + 1
        }
    };
    let known = beginning.first != First::Unread;
    Some((beginning, known.then_some(name_bytes + 1 + decisive)))
}

fn first(descriptor: Descriptor, arguments: &[u8], bytes: usize) -> First {
    let Ok(bytes) = u16::try_from(bytes) else {
        return First::Unread;
    };
    let leads_to = match descriptor.leads_to {
        None => (0, 0),
        Some(text) => {
            // Only digits stand before its bracket.
            let bracket = arguments.iter().position(|byte| *byte == b'<').unwrap_or(0);
            let start = bracket + 1;
            // Both are less than `bytes`.
            (start as u16, (start + text.len()) as u16)
        }
    };
    First::Descriptor {
        number: descriptor.number,
        bytes,
        leads_to,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Calls that begin alike, or nearly so.
    const CALLS: &str = r"(write|copy_file_range|f|)\((-|)[0-9]{0,2}(|x|<[ab>, ]{0,3}>)(|\(deleted\)|\(d)(, |\)| |)[a>,]{0,9}.{0,9}";

    proptest! {
        #[test]
        fn a_beginning_that_came_before_is_read_as_if_it_were_new(
            calls in proptest::collection::vec(CALLS, 1..60),
        ) {
            let mut beginnings = Beginnings::new(0);
            for call in calls.iter().chain(&calls) {
                let anew = read(call.as_bytes()).map(|read| read.0);
                prop_assert_eq!(beginnings.read(call.as_bytes()), anew, "{}", call);
            }
        }

        #[test]
        fn the_first_descriptor_is_the_same_wherever_the_arguments_are_cut(call in CALLS) {
            if let Some((beginning, decisive)) = read(call.as_bytes()) {
                let arguments = &call.as_bytes()[beginning.name_bytes + 1..];
                for end in 0..=arguments.len() {
                    let cut = &arguments[..end];
                    let known = beginning.arguments(cut).descriptor();
                    let is_decided =
                        decisive.is_some_and(|bytes| beginning.name_bytes + 1 + end >= bytes);
                    if is_decided && beginning.first == First::Other {
                        prop_assert!(known.is_err());
                    }
                    prop_assert_eq!(known, Arguments::new(cut).descriptor());
                }
            }
        }
    }
}
