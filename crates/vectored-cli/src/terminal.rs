//! Standard output, and the terminal that it may be.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use anyhow::Context;
use vectored_lab::report::TableOptions;

/// How a table is to be set: for the terminal, if it goes to one.
pub fn table_options(to_file: bool) -> TableOptions {
    match to_file {
        true => TableOptions::default(),
        false => table_options_on(&io::stdout()),
    }
}

/// How a table is to be set that goes there.
pub fn table_options_on(to: &(impl IsTerminal + AsFd)) -> TableOptions {
    if !to.is_terminal() {
        return TableOptions::default();
    }
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let width = rustix::termios::tcgetwinsize(to)
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

/// Prints on standard error, where standard output is somebody else's.
pub fn print_aside(text: &str) -> anyhow::Result<()> {
    match io::stderr().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("cannot write to standard error"),
    }
}
