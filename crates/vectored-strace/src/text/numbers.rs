//! Numbers at the beginning or end of a text, as strace writes them.

use crate::counts::SkipReason;

/// A number of up to this many digits fits 64 bits: 10¹⁹ − 1 < 2⁶⁴.
const MAX_SAFE_DIGITS: usize = 19;

/// The nanoseconds of the last digit in a decimal fraction of a second. `digits` is the number of digits; `None` for
/// more than nine.
pub(crate) fn unit_ns(digits: usize) -> Option<u64> {
    Some(10_u64.pow(9_u32.checked_sub(digits as u32)?))
}

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
pub(crate) fn trailing(text: &[u8]) -> Result<(u64, usize), SkipReason> {
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let start = text.len() - digits.count();
    Ok((leading(&text[start..])?.0, start))
}

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

/// The nanoseconds of a decimal fraction of a second at the beginning of `text`, and the number of its digits, one to
/// nine.
pub(crate) fn fraction_ns(text: &[u8]) -> Result<(u64, usize), SkipReason> {
    let (value, digits) = leading(text)?;
    let unit_ns = unit_ns(digits).ok_or(SkipReason::Overflow)?;
    Ok((value * unit_ns, digits))
}

/// The nanoseconds of `12` or `12.000345` at the beginning of `text`, and its length in bytes.
pub(crate) fn seconds_ns(text: &[u8]) -> Result<(u64, usize), SkipReason> {
    let (whole, mut bytes) = leading(text)?;
    let mut ns = whole.checked_mul(1_000_000_000);
    if text.get(bytes) == Some(&b'.') {
        let (fraction, digits) = fraction_ns(&text[bytes + 1..])?;
        ns = ns.and_then(|ns| ns.checked_add(fraction));
        bytes += 1 + digits;
    }
    Ok((ns.ok_or(SkipReason::Overflow)?, bytes))
}

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
