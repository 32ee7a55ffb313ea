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
                part: Part { step, bytes },
                site,
                began_ns,
                ended_ns,
                joins: transfer.more || open_file.is_corked,
            });
        }
        let is_loopback = is_loopback(open_file.name());
        let written = open_file.exchange.written;
        // With poll the program may wait in several calls, but in none whose time was up, and in no sleep.
        let (since_ns, is_wait) = match thread.polled {
            (polled, ready) if polled > written => (0, ready > 0),
            _ => (began_ns, true),
        };
        let is_wait = is_wait && thread.slept <= written;
        let answered = open_file
            .exchange
            .answer(since_ns, ended_ns, is_loopback)
            .filter(|_| is_wait);
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
            is_loopback,
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

    pub(super) fn poll(&mut self, ready: u64, caller: Caller) {
        if let Some(thread) = self.kernel.at(caller.thread) {
            thread.polled = (self.event, ready);
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
