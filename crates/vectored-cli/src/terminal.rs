//! Standard output, and the terminal that it may be.

use std::io::{self, IsTerminal, Write};

use anyhow::Context;
use vectored_lab::report::TableOptions;

/// How a table is to be set: for the terminal, if it goes to one.
pub fn table_options(to_file: bool) -> TableOptions {
    let stdout = io::stdout();
    if to_file || !stdout.is_terminal() {
        return TableOptions::default();
    }
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let width = rustix::termios::tcgetwinsize(&stdout)
        .map(|size| usize::from(size.ws_col))
        .ok()
        .filter(|&width| width > 0);
    TableOptions {
        color: !no_color,
        width: width.unwrap_or(TableOptions::default().width),
    }
}

/// Prints on standard output. A reader that has gone away has seen enough.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("cannot write to standard output"),
    }
}
