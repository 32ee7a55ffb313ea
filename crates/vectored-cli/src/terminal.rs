//! Standard output and standard error: the width, colours and characters that suit them.

pub mod status_line;

#[cfg(unix)]
use std::io::IoSlice;
use std::io::{self, IsTerminal, Write};
#[cfg(unix)]
use std::os::fd::AsFd;
#[cfg(windows)]
use std::os::windows::io::AsHandle as AsFd;
use std::sync::OnceLock;

use anyhow::Context;
use clap::ValueEnum;
#[cfg(unix)]
use rustix::io::Errno;
#[cfg(unix)]
use vectored::{SegmentCursor, resume_write};
#[cfg(unix)]
use vectored_machine::platform::files::{Standard, was_closed};
use vectored_report::{Document, TerminalOptions, terminal, visible};

use crate::charset::to_ascii;

/// The widest line that COLUMNS can ask for, as wide as a terminal can say that it is.
const MAX_WIDTH: usize = u16::MAX as usize;

/// When escape sequences for colours are printed: `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless an environment variable disables them
    #[default]
    Auto,
    /// Also in files and pipes
    Always,
    /// Nowhere
    Never,
}

/// The value of `--color`. `Auto` until it is set.
static COLOR: OnceLock<ColorWhen> = OnceLock::new();

pub fn set_color(when: ColorWhen) {
    COLOR.get_or_init(|| when);
}

/// Width, colours and characters of printed tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    options: TerminalOptions,
    /// Whether only ASCII can be shown.
    is_ascii: bool,
}

impl Screen {
    /// For standard output, or for a file given with `--output`.
    pub fn of_output(to_file: bool) -> Self {
        if to_file {
            Screen::new(variable, Destination::File)
        } else {
            Screen::on(&io::stdout())
        }
    }

    pub fn on(stream: &(impl IsTerminal + AsFd)) -> Self {
        if !stream.is_terminal() {
            return Screen::new(variable, Destination::Pipe);
        }
        let columns = columns_of(stream);
        Screen::new(variable, Destination::Terminal { columns })
    }

    fn new(variable: impl Fn(&str) -> Option<String>, destination: Destination) -> Self {
        let when = COLOR.get().copied().unwrap_or_default();
        let columns = variable("COLUMNS").and_then(|text| text.trim().parse().ok());
        let of_terminal = match destination {
            Destination::Terminal { columns } => Some(columns),
            Destination::Pipe | Destination::File => None,
        };
        let width = columns.or(of_terminal).filter(|&width| width > 0);
        Screen {
            options: TerminalOptions {
                color: wants_color(when, &variable, destination),
                width: width
                    .unwrap_or(TerminalOptions::default().width)
                    .min(MAX_WIDTH),
                details: false,
            },
            is_ascii: !shows_unicode(&variable, destination),
        }
    }

    /// A document, with its sections if `details` are wanted.
    pub fn show(&self, document: &Document, details: bool) -> String {
        self.set(|options| terminal(document, &TerminalOptions { details, ..options }))
    }

    /// The text that `render` returns, in characters that can be shown.
    pub fn set(&self, render: impl Fn(TerminalOptions) -> String) -> String {
        let text = render(self.options);
        if !self.is_ascii {
            return text;
        }
        let ascii = to_ascii(&text);
        // Where two characters replace one, a line can become too wide.
        let width = self.options.width;
        let excess = |(before, after): (&str, &str)| {
            if columns(after) > width {
                columns(after).saturating_sub(columns(before))
            } else {
                0
            }
        };
        let excess = std::iter::zip(text.lines(), ascii.lines())
            .map(excess)
            .max();
        match excess {
            None | Some(0) => ascii,
            Some(excess) => to_ascii(&render(TerminalOptions {
                width: width.saturating_sub(excess).max(1),
                ..self.options
            })),
        }
    }
}

/// The width of a terminal; 0 if it is unknown.
#[cfg(unix)]
fn columns_of(stream: &impl AsFd) -> usize {
    let size = rustix::termios::tcgetwinsize(stream);
    size.map_or(0, |size| usize::from(size.ws_col))
}

/// The width of the console; 0 if it is unknown.
#[cfg(windows)]
fn columns_of<T>(_stream: &T) -> usize {
    let size = console::Term::stdout().size_checked();
    size.map_or(0, |(_, columns)| usize::from(columns))
}

/// Columns of a line, without its escape sequences.
fn columns(line: &str) -> usize {
    let mut in_escape = false;
    let visible = line.chars().filter(|&c| {
        let was_in_escape = in_escape;
        in_escape = c == '\x1b' || (in_escape && c != 'm');
        !was_in_escape && !in_escape
    });
    visible.count()
}

/// The destination of a text.
#[derive(Clone, Copy)]
enum Destination {
    /// 0 columns if the width is unknown.
    Terminal {
        columns: usize,
    },
    Pipe,
    /// A file given with an option.
    File,
}

/// The conventions of <https://no-color.org> and <https://bixense.com/clicolors>, the option first.
fn wants_color(
    when: ColorWhen,
    variable: &impl Fn(&str) -> Option<String>,
    destination: Destination,
) -> bool {
    match (when, destination) {
        (ColorWhen::Always, _) => true,
        (ColorWhen::Never, _) => false,
        // The environment variables concern terminals and pipes.
        (ColorWhen::Auto, Destination::File) => false,
        _ if variable("NO_COLOR").is_some() => false,
        _ if variable("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
        (ColorWhen::Auto, Destination::Pipe) => false,
        (ColorWhen::Auto, Destination::Terminal { .. }) => {
            !is_dumb(variable) && variable("CLICOLOR").as_deref() != Some("0")
        }
    }
}

/// Whether the console does not heed escape sequences: they are turned on if it knows them.
#[cfg(windows)]
fn is_dumb(variable: &impl Fn(&str) -> Option<String>) -> bool {
    variable("TERM").as_deref() == Some("dumb")
        || !console::Term::stdout().features().colors_supported()
}

/// Whether the terminal does not support escape sequences, or TERM is not set.
#[cfg(unix)]
fn is_dumb(variable: &impl Fn(&str) -> Option<String>) -> bool {
    matches!(variable("TERM").as_deref(), None | Some("dumb"))
}

/// Whether standard error is a terminal that can redraw a line.
pub fn can_redraw() -> bool {
    io::stderr().is_terminal() && !is_dumb(&variable)
}

/// Whether standard output and standard error are the same terminal, file or pipe.
#[cfg(unix)]
pub fn are_read_together() -> bool {
    let identity = |found: rustix::fs::Stat| (found.st_dev, found.st_ino);
    let output = rustix::fs::fstat(io::stdout()).map(identity);
    output.is_ok() && output == rustix::fs::fstat(io::stderr()).map(identity)
}

/// Whether standard output and standard error are the console.
#[cfg(windows)]
pub fn are_read_together() -> bool {
    io::stdout().is_terminal() && io::stderr().is_terminal()
}

/// Whether messages on standard error must be ASCII.
pub fn messages_are_ascii() -> bool {
    Screen::on(&io::stderr()).is_ascii
}

/// Prints an error or a note on standard error, in characters that can be shown.
pub fn print_message(text: &str) {
    // A message may have the name of a file.
    let mut text = visible(text);
    if messages_are_ascii() {
        text = to_ascii(&text);
    }
    let stderr = io::stderr();
    if stderr.is_terminal() {
        text = wrapped(&text, Screen::on(&stderr).options.width);
    }
    // In one call, so that what other ranks and their launcher print stands before or after it. Standard error may be closed.
    let _ = write_whole(&stderr, &format!("{text}\n"));
}

/// Writes a text. If the stream does not block, which other processes that share it can decide, it is waited for.
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

/// A text in lines of at most this many characters, but for longer words. Lines after the first are indented.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            lines += "\n  ";
            used = 2;
        } else if used > 0 {
            lines.push(' ');
            used += 1;
        }
        lines += word;
        used += length;
    }
    lines
}

/// Whether the locale and the terminal can show characters beyond ASCII. A locale that is not set counts
/// as UTF-8, as in systemd: containers and services rarely have one, and their output is usually shown as
/// UTF-8. The Linux console supports UTF-8, but its built-in font lacks `×` and `…`.
fn shows_unicode(variable: &impl Fn(&str) -> Option<String>, destination: Destination) -> bool {
    if matches!(destination, Destination::Terminal { .. })
        && variable("TERM").as_deref() == Some("linux")
    {
        return false;
    }
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(variable);
    locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// An environment variable that is not empty.
fn variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?.to_string_lossy().into_owned();
    (!value.is_empty()).then_some(value)
}

/// Prints on standard output. A pipe whose reader has gone is no error, unlike a closed standard output.
pub fn print(text: &str) -> anyhow::Result<()> {
    printed(|| write_whole(&io::stdout(), text))
}

/// Prints the help or the version on standard output.
pub fn print_help(help: &clap::Error) -> anyhow::Result<()> {
    printed(|| help.print().and_then(|()| io::stdout().flush()))
}

fn printed(write: impl FnOnce() -> io::Result<()>) -> anyhow::Result<()> {
    #[cfg(unix)]
    if was_closed(Standard::Output) {
        anyhow::bail!("standard output is closed");
    }
    match write() {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("cannot write to standard output"),
    }
}

/// Prints on standard error, for reports while standard output belongs to a command.
pub fn print_aside(text: &str) -> anyhow::Result<()> {
    match write_whole(&io::stderr(), text) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("cannot write to standard error"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMINAL: Destination = Destination::Terminal { columns: 80 };

    /// Variables as `NAME=value NAME=value`.
    fn of(variables: &'static str) -> impl Fn(&str) -> Option<String> {
        move |name| {
            let mut pairs = variables.split(' ').filter_map(|pair| pair.split_once('='));
            let (_, value) = pairs.find(|(other, _)| *other == name)?;
            Some(value.to_owned())
        }
    }

    #[test]
    fn colours_follow_the_option_and_then_the_environment() {
        use ColorWhen::{Always, Auto, Never};
        for (when, destination, variables, expected) in [
            (Auto, TERMINAL, "TERM=xterm", true),
            (Auto, TERMINAL, "TERM=dumb", false),
            (Auto, TERMINAL, "", false),
            (Auto, TERMINAL, "TERM=xterm NO_COLOR=1", false),
            (Auto, TERMINAL, "TERM=xterm CLICOLOR=0", false),
            (Auto, TERMINAL, "TERM=xterm CLICOLOR=1", true),
            (Auto, TERMINAL, "TERM=dumb CLICOLOR_FORCE=1", true),
            (Auto, TERMINAL, "TERM=xterm CLICOLOR_FORCE=0", true),
            (
                Auto,
                TERMINAL,
                "TERM=xterm CLICOLOR_FORCE=1 NO_COLOR=1",
                false,
            ),
            (Auto, Destination::Pipe, "TERM=xterm", false),
            (Auto, Destination::Pipe, "CLICOLOR_FORCE=1", true),
            (Auto, Destination::Pipe, "CLICOLOR_FORCE=1 CLICOLOR=0", true),
            (Auto, Destination::File, "CLICOLOR_FORCE=1", false),
            (Always, Destination::File, "NO_COLOR=1", true),
            (Always, Destination::Pipe, "TERM=dumb CLICOLOR=0", true),
            (Never, TERMINAL, "TERM=xterm CLICOLOR_FORCE=1", false),
        ] {
            let wants = wants_color(when, &of(variables), destination);
            assert_eq!(wants, expected, "{when:?} {variables}");
        }
    }

    #[test]
    fn columns_come_before_the_terminal_and_that_before_the_default() {
        let width = |variables, destination| Screen::new(of(variables), destination).options.width;
        let default = TerminalOptions::default().width;
        assert_eq!(width("", TERMINAL), 80);
        assert_eq!(width("COLUMNS=61", TERMINAL), 61);
        assert_eq!(width("COLUMNS=61", Destination::Pipe), 61);
        assert_eq!(width("COLUMNS=61", Destination::File), 61);
        assert_eq!(width("", Destination::Pipe), default);
        assert_eq!(width("", Destination::Terminal { columns: 0 }), default);
        for wrong in ["COLUMNS=wide", "COLUMNS=-5", "COLUMNS=0"] {
            assert_eq!(width(wrong, Destination::Pipe), default, "{wrong}");
        }
        let most = width("COLUMNS=18446744073709551615", Destination::Pipe);
        assert_eq!(most, MAX_WIDTH);
    }

    #[test]
    fn a_locale_without_utf_8_and_the_console_are_ascii() {
        for (destination, variables, expected) in [
            (TERMINAL, "", true),
            (TERMINAL, "LANG=C", false),
            (TERMINAL, "LANG=POSIX", false),
            (TERMINAL, "LANG=en_US.ISO-8859-1", false),
            (TERMINAL, "LANG=de_DE.UTF-8", true),
            (TERMINAL, "LANG=C.utf8", true),
            (TERMINAL, "LANG=de_DE.UTF-8 LC_ALL=C", false),
            (TERMINAL, "LANG=C LC_CTYPE=C.UTF-8", true),
            (TERMINAL, "LANG=C.UTF-8 TERM=linux", false),
            (Destination::Pipe, "LANG=C.UTF-8 TERM=linux", true),
            (Destination::File, "LC_ALL=C", false),
        ] {
            assert_eq!(
                shows_unicode(&of(variables), destination),
                expected,
                "{variables}"
            );
        }
    }

    #[test]
    fn a_line_that_grows_in_ascii_is_set_again_more_narrowly() {
        let screen = Screen {
            options: TerminalOptions {
                width: 10,
                ..TerminalOptions::default()
            },
            is_ascii: true,
        };
        let widths = std::cell::RefCell::new(Vec::new());
        let text = screen.set(|options| {
            widths.borrow_mut().push(options.width);
            match options.width {
                10 => "\x1b[1m±2 \x1b[0m3456789\n".to_owned(),
                _ => "±2\n3456789\n".to_owned(),
            }
        });
        assert_eq!(text, "+-2\n3456789\n");
        assert_eq!(widths.take(), [10, 9]);
    }

    #[test]
    fn a_message_is_wrapped_at_words() {
        assert_eq!(
            wrapped("error: one two three", 12),
            "error: one\n  two three"
        );
        assert_eq!(
            wrapped("a longer-word-than-the-line b", 8),
            "a\n  longer-word-than-the-line\n  b"
        );
        assert_eq!(wrapped("short", 80), "short");
    }
}
