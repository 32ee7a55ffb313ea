//! `vectored receive`.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use vectored_lab::remote::{End, ReceiveLimits, Receiver, ReceiverEvent, Token};
use vectored_lab::report::bytes_in_words;

use crate::args::ReceiveArgs;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::notes::Notes;
use crate::terminal::print;
use crate::token_file::read_token;

/// Refused connections are reported once in this time, so that whoever connects again and again fills no log.
const REFUSALS_EVERY: Duration = Duration::from_secs(1);

/// Runs the command.
pub fn run(args: &ReceiveArgs) -> Result<ExitCode, Failure> {
    let (token, is_new) = match &args.token_file {
        Some(path) => (read_token(path)?, false),
        None => (Token::random().context("cannot make a token")?, true),
    };
    let interrupt = Interrupt::watch()?;
    let limits = ReceiveLimits::new(args.max_bytes, args.max_time);
    let receiver = Receiver::listen(args.listen, token, limits).with_context(|| {
        format!(
            "cannot listen on {}; name another address or port with --listen",
            args.listen
        )
    })?;
    let address = receiver
        .address()
        .context("cannot find the address that is listened on")?;
    let mut text = format!("listening on {address}\n");
    if is_new {
        text += &format!("token {token}\n");
    }
    print(&text)?;
    let notes = Notes { quiet: args.quiet };
    if !address.ip().is_loopback() {
        notes.note(&format!(
            "{} can be reached from other machines, and the line is not encrypted",
            address.ip()
        ));
    }
    let mut log = Log {
        notes,
        silent_until: None,
        unreported: 0,
    };
    receiver
        .serve(interrupt.flag(), &mut |from, event| log.event(from, event))
        .context("cannot serve clients")?;
    Ok(interrupt
        .exit_code()
        .map_or(ExitCode::SUCCESS, ExitCode::from))
}

/// What happened, on standard error.
struct Log {
    notes: Notes,
    silent_until: Option<Instant>,
    unreported: u64,
}

impl Log {
    fn event(&mut self, from: SocketAddr, event: ReceiverEvent) {
        match event {
            ReceiverEvent::Accepted => self.notes.note(&format!("{from} is served")),
            ReceiverEvent::Ended {
                why,
                batches,
                bytes,
            } => self.notes.note(&format!(
                "{from} has ended: {why}; {batches} batches with {}",
                bytes_in_words(bytes)
            )),
            ReceiverEvent::Refused(why) => self.refused(from, why),
        }
    }

    fn refused(&mut self, from: SocketAddr, why: End) {
        let now = Instant::now();
        if self.silent_until.is_some_and(|until| now < until) {
            self.unreported += 1;
            return;
        }
        let others = match std::mem::take(&mut self.unreported) {
            0 => String::new(),
            count => format!("; {count} more connections since the last message"),
        };
        self.notes
            .note(&format!("{from} is refused: {why}{others}"));
        self.silent_until = Some(now + REFUSALS_EVERY);
    }
}
