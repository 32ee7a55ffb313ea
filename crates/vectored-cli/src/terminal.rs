//! Chooses width and colours of standard output and standard error, and prints there.

pub mod status_line;

#[cfg(unix)]
use std::io::IoSlice;
use std::io::{self, IsTerminal, Write};
#[cfg(unix)]
use std::os::fd::AsFd;
#[cfg(windows)]
use std::os::windows::io::AsHandle as AsFd;

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anyhow::Context;
#[cfg(unix)]
use rustix::io::Errno;
use terminal_size::{Width, terminal_size_of};
#[cfg(unix)]
use vectored::{SegmentCursor, resume_write};
#[cfg(unix)]
use vectored_machine::platform::files::{Standard, was_closed};
use vectored_report::{Document, TerminalOptions, terminal, visible};

/// A terminal stores its width in a `u16`. `COLUMNS` cannot ask for more columns.
const MAX_WIDTH: usize = u16::MAX as usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen(TerminalOptions);

impl Screen {
    /// A file of `--output` has colours only with `--color always`.
    pub fn of_output(to_file: bool) -> Self {
        if to_file {
            let color = ColorChoice::global() == ColorChoice::Always;
            Screen::new(variable, None, color)
        } else {
            Screen::on(&io::stdout())
        }
    }

    /// The colours follow `--color`, <https://no-color.org> and <https://bixense.com/clicolors>.
    pub fn on<S: RawStream + IsTerminal + AsFd>(stream: &S) -> Self {
        let columns = IsTerminal::is_terminal(stream).then(|| columns_of(stream));
        let color = AutoStream::choice(stream) != ColorChoice::Never;
        Screen::new(variable, columns, color)
    }

    /// `terminal` is the number of columns. 0 means unknown.
    fn new(
        variable: impl Fn(&str) -> Option<String>,
        terminal: Option<usize>,
        color: bool,
    ) -> Self {
        let columns = variable("COLUMNS").and_then(|text| text.trim().parse().ok());
        let width = columns.or(terminal).filter(|&width| width > 0);
        let default = TerminalOptions::default();
        Screen(TerminalOptions {
            color,
            width: width.unwrap_or(default.width).min(MAX_WIDTH),
            ..default
        })
    }

    /// The document has its sections only with `details`.
    pub fn show(&self, document: &Document, details: bool) -> String {
        terminal(document, &TerminalOptions { details, ..self.0 })
    }
}

fn columns_of(stream: &impl AsFd) -> usize {
    terminal_size_of(stream).map_or(0, |(Width(columns), _)| usize::from(columns))
}

pub fn can_redraw() -> bool {
    // On Windows, a program must enable escape sequences.
    let heeds = || !cfg!(windows) || anstyle_query::windows::enable_ansi_colors() == Some(true);
    io::stderr().is_terminal() && anstyle_query::term_supports_color() && heeds()
}

pub fn print_message(text: &str) {
    // The message may contain a file name with control characters.
    let text = visible(text);
    // A single write(2) keeps the text together among the output of other ranks. Standard error may be closed.
    let _ = write_whole(&io::stderr(), &format!("{text}\n"));
}

/// Another process that shares the stream may set the stream to non-blocking. The function then waits.
#[cfg(unix)]
pub fn write_whole(stream: &impl AsFd, text: &str) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    let (list, mut at) = ([IoSlice::new(text.as_bytes())], SegmentCursor::new());
    while let Err(error) = resume_write(stream.as_fd(), &list, &mut at) {
        if error.kind() != io::ErrorKind::WouldBlock {
            return Err(error.into());
        }
        let polled = poll(&mut [PollFd::new(stream, PollFlags::OUT)], None);
        polled.map(drop).or_else(|error| match error {
            Errno::INTR => Ok(()),
            other => Err(other),
        })?;
    }
    Ok(())
}

#[cfg(windows)]
pub fn write_whole<S>(mut stream: &S, text: &str) -> io::Result<()>
where
    for<'a> &'a S: Write,
{
    stream.write_all(text.as_bytes())?;
    stream.flush()
}

fn variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?.to_string_lossy().into_owned();
    (!value.is_empty()).then_some(value)
}

/// A pipe whose reader has closed is not an error. A closed standard output is an error.
pub fn print(text: &str) -> anyhow::Result<()> {
    printed("output", || write_whole(&io::stdout(), text))
}

pub fn print_help(help: &clap::Error) -> anyhow::Result<()> {
    printed("output", || {
        help.print().and_then(|()| io::stdout().flush())
    })
}

/// Prints on standard error. A command uses standard output.
pub fn print_aside(text: &str) -> anyhow::Result<()> {
    printed("error", || write_whole(&io::stderr(), text))
}

fn printed(stream: &str, write: impl FnOnce() -> io::Result<()>) -> anyhow::Result<()> {
    #[cfg(unix)]
    if stream == "output" && was_closed(Standard::Output) {
        anyhow::bail!("standard output is closed");
    }
    match write() {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.with_context(|| format!("cannot write to standard {stream}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `variables` has the form `NAME=value NAME=value`.
    fn of(variables: &'static str) -> impl Fn(&str) -> Option<String> {
        move |name| {
            let mut pairs = variables.split(' ').filter_map(|pair| pair.split_once('='));
            let (_, value) = pairs.find(|(other, _)| *other == name)?;
            Some(value.to_owned())
        }
    }

    #[test]
    fn columns_come_before_the_terminal_and_that_before_the_default() {
        let default = TerminalOptions::default().width;
        for (variables, terminal, width) in [
            ("", Some(80), 80),
            ("COLUMNS=61", Some(80), 61),
            ("COLUMNS=61", None, 61),
            ("", None, default),
            ("", Some(0), default),
            ("COLUMNS=wide", None, default),
            ("COLUMNS=-5", None, default),
            ("COLUMNS=0", None, default),
            ("COLUMNS=18446744073709551615", None, MAX_WIDTH),
        ] {
            let screen = Screen::new(of(variables), terminal, false);
            assert_eq!(screen.0.width, width, "{variables} {terminal:?}");
        }
    }
}
