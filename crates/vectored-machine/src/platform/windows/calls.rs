//! System calls that only Linux has.

use std::io;

use super::fd::AsFd;

/// Does nothing: Windows cannot be asked to acknowledge at once.
pub fn acknowledge_now(_socket: impl AsFd) -> io::Result<()> {
    Ok(())
}
