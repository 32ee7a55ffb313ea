//! Numbers as strace writes them, at either end of a text.

use crate::counts::Reason;

/// No number of so many digits overflows 64 bits.
const SAFE_DIGITS: usize = 19;

/// The decimal number that `text` begins with, and how many bytes it takes.
#[inline]
pub(crate) fn leading(text: &[u8]) -> Result<(u64, usize), Reason> {
    let mut value = 0_u64;
    let mut digits = 0;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        digits += 1;
    }
    match digits {
        0 => Err(Reason::Unreadable),
        digits if digits <= SAFE_DIGITS => Ok((value, digits)),
        digits => Ok((checked(&text[..digits])?, digits)),
    }
}

/// The decimal number that `text` ends with, and where it begins.
#[inline]
pub(crate) fn trailing(text: &[u8]) -> Result<(u64, usize), Reason> {
    if let Some((value, digits)) = few_digits(text) {
        return Ok((value, text.len() - digits));
    }
    let mut value = 0_u64;
    let mut power = 1_u64;
    let mut start = text.len();
    while start > 0 {
        let digit = text[start - 1].wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_add(power.wrapping_mul(u64::from(digit)));
        power = power.wrapping_mul(10);
        start -= 1;
    }
    match text.len() - start {
        0 => Err(Reason::Unreadable),
        digits if digits <= SAFE_DIGITS => Ok((value, start)),
        _ => Ok((checked(&text[start..])?, start)),
    }
}

/// The decimal number that `text` ends with, and its digits, if they are one to seven; else it may
/// still end with one.
#[inline]
pub(crate) fn few_digits(text: &[u8]) -> Option<(u64, usize)> {
    let (bytes, others) = digits_and_others(u64::from_le_bytes(*text.last_chunk()?));
    // The last byte is the highest.
    let bits = others.leading_zeros() & !7;
    if bits == 0 || bits == u64::BITS {
        return None;
    }
    let digits = bytes & (u64::MAX << (u64::BITS - bits));
    Some((join_eight(digits), bits as usize / 8))
}

/// As [`few_digits`], of the number that `text` begins with.
#[inline]
pub(crate) fn few_digits_first(text: [u8; 8]) -> Option<(u64, usize)> {
    let (bytes, others) = digits_and_others(u64::from_le_bytes(text));
    let bits = others.trailing_zeros() & !7;
    if bits == 0 || bits == u64::BITS {
        return None;
    }
    // Zeros go before them.
    Some((join_eight(bytes << (u64::BITS - bits)), bits as usize / 8))
}

/// Eight bytes, of which each that is a digit becomes 0 to 9; and the high bit of each that is none.
#[inline]
fn digits_and_others(word: u64) -> (u64, u64) {
    let bytes = word ^ (EACH * 0x30);
    // 10 to 127 carry into the high bit, others have it.
    let carried = (bytes & (EACH * 0x7f)) + EACH * (0x80 - 10);
    (bytes, (carried | bytes) & (EACH * 0x80))
}

/// 1 in each byte.
const EACH: u64 = 0x0101_0101_0101_0101;

/// The number that `text` begins with, decimal or `0x…`, and how many bytes it takes.
pub(crate) fn leading_any(text: &[u8]) -> Result<(u64, usize), Reason> {
    let Some(hexadecimal) = text.strip_prefix(b"0x") else {
        return leading(text);
    };
    let mut value = 0_u64;
    let mut digits = 0;
    for byte in hexadecimal {
        let Some(digit) = (*byte as char).to_digit(16) else {
            break;
        };
        if value >> 60 != 0 {
            return Err(Reason::Overflow);
        }
        value = value << 4 | u64::from(digit);
        digits += 1;
    }
    match digits {
        0 => Err(Reason::Unreadable),
        digits => Ok((value, digits + 2)),
    }
}

/// Nanoseconds of the fraction whose digits `text` begins with, and how many digits they are: none
/// to nine.
pub(crate) fn fraction_ns(text: &[u8]) -> Result<(u64, usize), Reason> {
    let (value, digits) = leading(text)?;
    let power = u32::try_from(digits)
        .ok()
        .and_then(|digits| 9_u32.checked_sub(digits))
        .ok_or(Reason::Overflow)?;
    Ok((value * 10_u64.pow(power), digits))
}

/// The value of eight digits; `None` if one of the bytes is none.
#[inline]
pub(crate) fn eight_digits(text: [u8; 8]) -> Option<u64> {
    let word = u64::from_le_bytes(text);
    // Digits are 0x30 to 0x39: the high half of each byte is 3, also after 6 is added.
    let high = word & 0xf0f0_f0f0_f0f0_f0f0;
    let added = word.wrapping_add(0x0606_0606_0606_0606) & 0xf0f0_f0f0_f0f0_f0f0;
    if high | added >> 4 != 0x3333_3333_3333_3333 {
        return None;
    }
    Some(join_eight(word & 0x0f0f_0f0f_0f0f_0f0f))
}

/// The value of eight bytes of 0 to 9, the lowest of which comes first.
#[inline]
fn join_eight(digits: u64) -> u64 {
    // Neighbours join: digits to pairs, to fours, to eight.
    let pairs = digits.wrapping_mul(1 + (10 << 8)) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(1 + (100 << 16)) >> 16 & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(1 + (10_000 << 32)) >> 32
}

/// The value of six digits between two other bytes, `.006254 `; `None` if these are others.
#[inline]
pub(crate) fn six_digits_between(first: u8, text: [u8; 8], last: u8) -> Option<u64> {
    let [is_first, a, b, c, d, e, f, is_last] = text;
    if is_first != first || is_last != last {
        return None;
    }
    six_digits([a, b, c, d, e, f])
}

/// The value of six digits.
#[inline]
pub(crate) fn six_digits(text: [u8; 6]) -> Option<u64> {
    let [a, b, c, d, e, f] = text;
    eight_digits([b'0', b'0', a, b, c, d, e, f])
}

fn checked(digits: &[u8]) -> Result<u64, Reason> {
    digits
        .iter()
        .try_fold(0_u64, |value, byte| {
            value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))
        })
        .ok_or(Reason::Overflow)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn digits_at_once_are_as_digits_one_by_one(text: [u8; 8], digits in "[0-9]{8}") {
            let slowly = |text: &[u8]| match leading(text) {
                Ok((number, length)) if length == text.len() => Some(number),
                _ => None,
            };
            let digits: [u8; 8] = digits.into_bytes().try_into().unwrap();
            prop_assert_eq!(eight_digits(digits), slowly(&digits));
            prop_assert_eq!(eight_digits(text), slowly(&text));
            // One digit replaced by any byte.
            for at in 0..8 {
                let mut wrong = digits;
                wrong[at] = text[at];
                prop_assert_eq!(eight_digits(wrong), slowly(&wrong));
                let six: [u8; 6] = wrong[..6].try_into().unwrap();
                prop_assert_eq!(six_digits(six), slowly(&six));
            }
        }

        #[test]
        fn few_digits_at_once_are_as_one_by_one(text in "(.{0,9})[0-9]{0,9}", bytes: [u8; 8]) {
            for text in [text.as_bytes(), &bytes] {
                let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
                let expected = leading(&text[text.len() - digits..]).ok();
                let expected = expected.filter(|_| text.len() >= 8 && digits < 8);
                prop_assert_eq!(few_digits(text), expected);
            }
        }

        #[test]
        fn a_number_is_read_from_either_end(number: u64, zeros in 0..3_usize) {
            let digits = format!("{}{number}", "0".repeat(zeros));
            let text = format!("{digits}, x");
            prop_assert_eq!(leading(text.as_bytes()), Ok((number, digits.len())));
            let text = format!("x, {digits}");
            prop_assert_eq!(trailing(text.as_bytes()), Ok((number, 3)));
            let text = format!("{number:#x}<");
            prop_assert_eq!(leading_any(text.as_bytes()), Ok((number, text.len() - 1)));
        }

        #[test]
        fn what_has_more_than_64_bits_is_an_overflow(number in u128::from(u64::MAX) + 1..) {
            let text = number.to_string();
            prop_assert_eq!(leading(text.as_bytes()), Err(Reason::Overflow));
            prop_assert_eq!(trailing(text.as_bytes()), Err(Reason::Overflow));
            let text = format!("{number:#x}");
            prop_assert_eq!(leading_any(text.as_bytes()), Err(Reason::Overflow));
        }
    }

    #[test]
    fn a_fraction_has_as_many_digits_as_its_clock() {
        assert_eq!(fraction_ns(b"000012>"), Ok((12_000, 6)));
        assert_eq!(fraction_ns(b"5 "), Ok((500_000_000, 1)));
        assert_eq!(fraction_ns(b"123456789"), Ok((123_456_789, 9)));
        assert_eq!(fraction_ns(b"1234567890"), Err(Reason::Overflow));
        assert_eq!(fraction_ns(b" "), Err(Reason::Unreadable));
    }
}
