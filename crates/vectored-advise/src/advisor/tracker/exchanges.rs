//! Follows the exchanges of TCP sockets, of which some stall.

use crate::advisor::descriptors::fd_kind::FdKind;
use crate::advisor::runs::pattern::{PatternStep, call_number, size_class};
use crate::advisor::stalls::counts::Owner;
use crate::advisor::stalls::exchange::{Part, Written};
use crate::advisor::tracker::{Caller, Tracker};
use vectored_strace::event::{Descriptor, Direction, Event, TcpOption, Transfer};

impl Tracker {
    /// Notes a transfer through a TCP socket.
    pub(super) fn exchange(
        &mut self,
        event: &Event<'_>,
        transfer: &Transfer<'_>,
        key: usize,
        caller: Caller,
        site: u32,
    ) {
        let (Ok(bytes @ 1..), Some(began_ns), Some(took_ns)) =
            (transfer.result, event.began_ns, event.took_ns)
        else {
            return;
        };
        let ended_ns = began_ns.saturating_add(took_ns);
        let number = self.event;
        let Some((thread, open_file)) = self.kernel.both(caller.thread, key) else {
            return;
        };
        if transfer.direction == Direction::Write {
            let step = PatternStep {
                call: call_number(event.name),
                size_class: size_class(bytes),
            };
            return open_file.exchange.write(Written {
                event: number,
                polled_ns: thread.polled_ns,
                part: Part { step, bytes },
                site,
                began_ns,
                ended_ns,
                joins: transfer.more || open_file.is_corked,
            });
        }
        let is_loopback = is_loopback(open_file.name());
        let written = open_file.exchange.written;
        // The program may wait in several polls; if the time of the last was up, a timer ended the wait.
        let (polled, ready) = thread.polled;
        let is_wait = (polled <= written || ready > 0) && thread.slept <= written;
        let since_written_ns = thread
            .polled_ns
            .saturating_sub(open_file.exchange.polled_ns);
        let polled_ns = if polled > written { since_written_ns } else { 0 };
        let mut answered = open_file
            .exchange
            .answer(began_ns, ended_ns, polled_ns, is_loopback)
            .filter(|_| is_wait);
        if let Some(answered) = &mut answered {
            let since_ns = ended_ns.saturating_sub(answered.waited_ns);
            answered.alone_ns = ended_ns.saturating_sub(since_ns.max(thread.answered_ns));
            thread.answered_ns = ended_ns;
        }
        let process = self.kernel.process(caller.process);
        let program = process.map(|process| (process.program, process.runtime, process.number));
        let open_file = self.kernel.open_files.get(key);
        let (Some(answered), Some((program, runtime, process)), Some(open_file)) =
            (answered, program, open_file)
        else {
            return;
        };
        let owner = Owner {
            program,
            runtime,
            process,
            descriptor: transfer.descriptor.number,
            path: open_file.name(),
        };
        self.stalls.add(&answered, &owner);
    }

    pub(super) fn set_tcp_option(
        &mut self,
        descriptor: Descriptor<'_>,
        option: TcpOption,
        on: bool,
        caller: Caller,
    ) {
        let key = self.resolve(descriptor, caller);
        let Some(open_file) = self.kernel.open_files.get_mut(key) else {
            return;
        };
        match option {
            TcpOption::Cork => {
                open_file.is_corked = on;
                if !on {
                    open_file.exchange.uncork();
                }
            }
            TcpOption::NoDelay => open_file.exchange.no_delay = Some(on),
            _ => {}
        }
    }

    pub(super) fn poll(&mut self, event: &Event<'_>, ready: u64, caller: Caller) {
        if let Some(thread) = self.kernel.at(caller.thread) {
            thread.polled = (self.event, ready);
            thread.polled_ns = thread.polled_ns.saturating_add(event.took_ns.unwrap_or(0));
        }
    }

    /// Notes a `shutdown`.
    pub(super) fn shut_down(&mut self, descriptor: Option<Descriptor<'_>>, caller: Caller) {
        let key = descriptor.map(|descriptor| self.resolve(descriptor, caller));
        if let Some(open_file) = key.and_then(|key| self.kernel.open_files.get_mut(key)) {
            open_file.exchange.shut_down();
        }
    }

    /// Takes the time of `connect` as the round trip.
    pub(super) fn connect(
        &mut self,
        event: &Event<'_>,
        descriptor: Descriptor<'_>,
        caller: Caller,
    ) {
        let key = self.resolve(descriptor, caller);
        if let Some(open_file) = self.kernel.open_files.get_mut(key)
            && matches!(open_file.kind, FdKind::Tcp | FdKind::Socket)
        {
            open_file.exchange.round_trip_ns = event.took_ns;
        }
    }
}

/// Whether a socket is connected over the loopback interface: `TCP:[127.0.0.1:39046->127.0.0.1:19302]`.
fn is_loopback(text: &[u8]) -> bool {
    let peer = text.windows(2).position(|pair| pair == b"->");
    let peer = peer.map_or(&b""[..], |at| &text[at + 2..]);
    peer.starts_with(b"127.") || peer.starts_with(b"[::1]") || peer.starts_with(b"[::ffff:127.")
}
