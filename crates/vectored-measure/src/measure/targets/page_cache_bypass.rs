//! An open file whose transfers bypass the page cache.

use std::fs::File;
use std::io;

use vectored_machine::platform::fd::AsFd;
use vectored_machine::platform::files::{evict, set_direct};

/// Lets the transfers of a file bypass the page cache from now on, and evicts what is in it: otherwise the first
/// transfer of each page would have to do that. Its bytes must have been synced.
pub(crate) fn bypass_page_cache(file: &File) -> io::Result<()> {
    match evict(file) {
        Err(error) if error.kind() != io::ErrorKind::Unsupported => return Err(error),
        _ => {}
    }
    set_direct(file.as_fd(), true)
}
