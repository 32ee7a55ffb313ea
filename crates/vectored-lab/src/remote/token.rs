//! The secret that a receiver and its clients share.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::str::FromStr;

/// Bytes of a token: 128 bits.
pub(crate) const TOKEN_BYTES: usize = 16;

/// A secret of 128 bits. As text it has 32 hexadecimal digits.
///
/// # Examples
///
/// ```
/// use vectored_lab::remote::Token;
///
/// let token: Token = "000102030405060708090a0b0c0d0e0f".parse().unwrap();
/// assert_eq!(token.to_string(), "000102030405060708090a0b0c0d0e0f");
/// assert!("0001".parse::<Token>().is_err());
/// ```
#[derive(Clone, Copy)]
pub struct Token([u8; TOKEN_BYTES]);

impl Token {
    /// A new token from the kernel's random numbers.
    ///
    /// # Errors
    ///
    /// If `/dev/urandom` cannot be read.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; TOKEN_BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Token(bytes))
    }

    pub(crate) fn bytes(&self) -> [u8; TOKEN_BYTES] {
        self.0
    }

    /// Whether these are its bytes. Takes the same time wherever they differ.
    pub(crate) fn is(&self, bytes: &[u8; TOKEN_BYTES]) -> bool {
        let pairs = std::iter::zip(&self.0, bytes);
        let difference = pairs.fold(0, |all, (ours, theirs)| {
            // Keeps the compiler from an early end once a byte differs.
            std::hint::black_box(all | (ours ^ theirs))
        });
        difference == 0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(secret)")
    }
}

/// The error for a text that is no token. It does not repeat the text.
#[derive(Debug)]
pub struct NoToken;

impl fmt::Display for NoToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected 32 hexadecimal digits")
    }
}

impl std::error::Error for NoToken {}

impl FromStr for Token {
    type Err = NoToken;

    fn from_str(text: &str) -> Result<Self, NoToken> {
        let mut bytes = [0; TOKEN_BYTES];
        let digits: Vec<u32> = text.chars().map_while(|digit| digit.to_digit(16)).collect();
        if digits.len() != 2 * TOKEN_BYTES || text.chars().count() != digits.len() {
            return Err(NoToken);
        }
        for (byte, pair) in std::iter::zip(&mut bytes, digits.chunks(2)) {
            *byte = (16 * pair[0] + pair[1]) as u8;
        }
        Ok(Token(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_its_text_and_nothing_else() {
        let token = Token::random().unwrap();
        let again: Token = token.to_string().parse().unwrap();
        assert!(token.is(&again.bytes()));
        for at in 0..TOKEN_BYTES {
            let mut other = token.bytes();
            other[at] ^= 1;
            assert!(!token.is(&other));
        }
        assert!(!Token::random().unwrap().is(&token.bytes()));
        for wrong in ["", "0", &"0".repeat(31), &"0".repeat(33), &"g".repeat(32)] {
            assert!(wrong.parse::<Token>().is_err(), "{wrong}");
        }
        assert_eq!(format!("{token:?}"), "Token(secret)");
    }
}
