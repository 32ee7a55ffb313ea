//! The file with the token of a receiver.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use vectored_lab::remote::Token;

use crate::failure::Failure;

/// More than a token with blanks around it has.
const MAX_BYTES: u64 = 256;

/// Reads a token, with or without blanks around it.
pub fn read_token(path: &Path) -> Result<Token, Failure> {
    let shown = path.display();
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text))
        .map_err(|error| {
            Failure::usage(format!("cannot read the token file '{shown}': {error}"))
        })?;
    // The text is not repeated: it may be a secret with a typing error.
    text.trim().parse().map_err(|error| {
        Failure::usage(format!("the token file '{shown}' holds no token: {error}"))
    })
}
