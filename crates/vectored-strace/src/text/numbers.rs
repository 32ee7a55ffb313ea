//! Numbers at either end of a text, as strace writes them.
//!
//! The functions for eight bytes or fewer treat them as one 64-bit word, with a digit in each byte (SWAR: SIMD within
//! a register): nearly all numbers of a log are that short.

use crate::counts::SkipReason;

/// Numbers of up to this many digits fit 64 bits: 10¹⁹ − 1 < 2⁶⁴.
const MAX_SAFE_DIGITS: usize = 19;

/// The decimal number at the beginning of `text`, and its length in bytes.
#[inline]
pub(crate) fn leading(text: &[u8]) -> Result<(u64, usize), SkipReason> {
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
        0 => Err(SkipReason::Unreadable),
        digits if digits <= MAX_SAFE_DIGITS => Ok((value, digits)),
        digits => Ok((checked(&text[..digits])?, digits)),
    }
}

/// The decimal number at the end of `text`, and the position where it begins.
#[inline]
pub(crate) fn trailing(text: &[u8]) -> Result<(u64, usize), SkipReason> {
    if let Some((value, digits)) = trailing_short_number(text) {
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
        0 => Err(SkipReason::Unreadable),
        digits if digits <= MAX_SAFE_DIGITS => Ok((value, start)),
        _ => Ok((checked(&text[start..])?, start)),
    }
}

/// The decimal number at the end of `text` and its count of digits, if these are one to seven and `text` has at least
/// eight bytes. `None` does not mean that there is no number.
#[inline]
pub(crate) fn trailing_short_number(text: &[u8]) -> Option<(u64, usize)> {
    let (bytes, others) = digits_and_others(u64::from_le_bytes(*text.last_chunk()?));
    // The last byte of the text is the highest of the word.
    let bits = others.leading_zeros() & !7;
    if bits == 0 || bits == u64::BITS {
        return None;
    }
    let digits = bytes & (u64::MAX << (u64::BITS - bits));
    Some((join_eight(digits), bits as usize / 8))
}

/// Turns the digits among eight bytes into their values 0 to 9. The second word has the high bit of each byte that is
/// no digit.
#[inline]
fn digits_and_others(word: u64) -> (u64, u64) {
    let bytes = word ^ (EACH * 0x30);
    // Adding 0x80 − 10 to the low seven bits carries into the high bit for 10 to 127. Larger bytes have that bit.
    let carried = (bytes & (EACH * 0x7f)) + EACH * (0x80 - 10);
    (bytes, (carried | bytes) & (EACH * 0x80))
}

/// The value 1 in each byte.
const EACH: u64 = 0x0101_0101_0101_0101;

/// The number at the beginning of `text`, decimal or `0x…`, and its length in bytes.
pub(crate) fn leading_any(text: &[u8]) -> Result<(u64, usize), SkipReason> {
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
            return Err(SkipReason::Overflow);
        }
        value = value << 4 | u64::from(digit);
        digits += 1;
    }
    match digits {
        0 => Err(SkipReason::Unreadable),
        digits => Ok((value, digits + 2)),
    }
}

/// The nanoseconds of a decimal fraction of a second at the beginning of `text`, and its count of digits, one to nine.
pub(crate) fn fraction_ns(text: &[u8]) -> Result<(u64, usize), SkipReason> {
    let (value, digits) = leading(text)?;
    let power = u32::try_from(digits)
        .ok()
        .and_then(|digits| 9_u32.checked_sub(digits))
        .ok_or(SkipReason::Overflow)?;
    Ok((value * 10_u64.pow(power), digits))
}

/// The value of eight digits; `None` if a byte is no digit.
#[inline]
pub(crate) fn eight_digits(text: [u8; 8]) -> Option<u64> {
    let word = u64::from_le_bytes(text);
    // Digits are 0x30 to 0x39: the high half of each byte is 3, and still 3 after 6 is added.
    let high = word & 0xf0f0_f0f0_f0f0_f0f0;
    let added = word.wrapping_add(0x0606_0606_0606_0606) & 0xf0f0_f0f0_f0f0_f0f0;
    if high | added >> 4 != 0x3333_3333_3333_3333 {
        return None;
    }
    Some(join_eight(word & 0x0f0f_0f0f_0f0f_0f0f))
}

/// The value of eight digits, each 0 to 9 in its byte, the first in the lowest byte.
#[inline]
fn join_eight(digits: u64) -> u64 {
    // Joins neighbours: digits to pairs, pairs to fours, fours to all eight.
    let pairs = digits.wrapping_mul(1 + (10 << 8)) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(1 + (100 << 16)) >> 16 & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(1 + (10_000 << 32)) >> 32
}

/// The value of six digits.
#[inline]
pub(crate) fn six_digits(text: [u8; 6]) -> Option<u64> {
    let [a, b, c, d, e, f] = text;
    eight_digits([b'0', b'0', a, b, c, d, e, f])
}

/// The value of any count of digits, or an overflow.
fn checked(digits: &[u8]) -> Result<u64, SkipReason> {
    digits
        .iter()
        .try_fold(0_u64, |value, byte| {
            value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))
        })
        .ok_or(SkipReason::Overflow)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn fixed_digits_have_the_value_of_digits_read_one_by_one(text: [u8; 8], digits in "[0-9]{8}") {
            let one_by_one = |text: &[u8]| match leading(text) {
                Ok((number, length)) if length == text.len() => Some(number),
                _ => None,
            };
            let digits: [u8; 8] = digits.into_bytes().try_into().unwrap();
            prop_assert_eq!(eight_digits(digits), one_by_one(&digits));
            prop_assert_eq!(eight_digits(text), one_by_one(&text));
            // Replace one digit by any byte.
            for at in 0..8 {
                let mut wrong = digits;
                wrong[at] = text[at];
                prop_assert_eq!(eight_digits(wrong), one_by_one(&wrong));
                let six: [u8; 6] = wrong[..6].try_into().unwrap();
                prop_assert_eq!(six_digits(six), one_by_one(&six));
            }
        }

        #[test]
        fn short_numbers_have_the_value_of_digits_read_one_by_one(text in "(.{0,9})[0-9]{0,9}", bytes: [u8; 8]) {
            for text in [text.as_bytes(), &bytes] {
                let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
                let expected = leading(&text[text.len() - digits..]).ok();
                let expected = expected.filter(|_| text.len() >= 8 && digits < 8);
                prop_assert_eq!(trailing_short_number(text), expected);
            }
        }

        #[test]
        fn numbers_are_read_from_either_end(number: u64, zeros in 0..3_usize) {
            let digits = format!("{}{number}", "0".repeat(zeros));
            let text = format!("{digits}, x");
            prop_assert_eq!(leading(text.as_bytes()), Ok((number, digits.len())));
            let text = format!("x, {digits}");
            prop_assert_eq!(trailing(text.as_bytes()), Ok((number, 3)));
            let text = format!("{number:#x}<");
            prop_assert_eq!(leading_any(text.as_bytes()), Ok((number, text.len() - 1)));
        }

        #[test]
        fn more_than_64_bits_are_an_overflow(number in u128::from(u64::MAX) + 1..) {
            let text = number.to_string();
            prop_assert_eq!(leading(text.as_bytes()), Err(SkipReason::Overflow));
            prop_assert_eq!(trailing(text.as_bytes()), Err(SkipReason::Overflow));
            let text = format!("{number:#x}");
            prop_assert_eq!(leading_any(text.as_bytes()), Err(SkipReason::Overflow));
        }
    }

    #[test]
    fn fractions_have_one_to_nine_digits() {
        assert_eq!(fraction_ns(b"000012>"), Ok((12_000, 6)));
        assert_eq!(fraction_ns(b"5 "), Ok((500_000_000, 1)));
        assert_eq!(fraction_ns(b"123456789"), Ok((123_456_789, 9)));
        assert_eq!(fraction_ns(b"1234567890"), Err(SkipReason::Overflow));
        assert_eq!(fraction_ns(b" "), Err(SkipReason::Unreadable));
    }
}
