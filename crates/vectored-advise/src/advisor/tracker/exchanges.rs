//! Follows the exchanges of TCP sockets, and finds the ones that stall.

use crate::advisor::descriptors::fd_kind::FdKind;
use crate::advisor::descriptors::keys::DescriptorId;
use crate::advisor::descriptors::open_file::OpenFile;
use crate::advisor::runs::pattern::{PatternStep, call_number, size_class};
use crate::advisor::stalls::counts::Owner;
use crate::advisor::stalls::exchange::{Moved, Part};
use crate::advisor::tracker::{Caller, Tracker};
use vectored_strace::event::{Descriptor, Direction, Event, TcpOption, Transfer};

/// Ends of TCP connections that are known at once.
const TCP_ENDS_MAX: usize = 4096;

impl Tracker {
    /// Notes a transfer through a TCP socket.
    pub(super) fn exchange(
        &mut self,
        event: &Event<'_>,
        transfer: &Transfer<'_>,
        key: DescriptorId,
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
        self.note_end(key);
        let (thread, open_file) = self.kernel.both(caller.thread, key);
        let step = PatternStep {
            call: call_number(event.name),
            size_class: size_class(bytes),
        };
        let moved = Moved {
            event: number,
            polled_ns: thread.polled_ns,
            part: Part { step, bytes },
            site,
            began_ns,
            ended_ns,
            joins: transfer.more || open_file.is_corked,
        };
        let exchange = &mut open_file.exchange;
        let (mut answered, mut received) = (None, None);
        if transfer.direction == Direction::Write {
            received = exchange.write(moved);
        } else {
            // The program may wait in several polls; if the time of the last was up, a timer ended the wait.
            let touched = exchange.touched;
            let (polled, ready) = thread.polled;
            let is_wait = (polled <= touched || ready > 0) && thread.slept <= touched;
            let since_ns = thread.polled_ns.saturating_sub(exchange.polled_ns);
            let polled_ns = if polled > touched { since_ns } else { 0 };
            let is_loopback = is_loopback(open_file.name());
            let exchange = &mut open_file.exchange;
            answered = exchange.read(moved, polled_ns, is_wait, is_loopback);
        }
        if let Some(answered) = &mut answered {
            let since_ns = ended_ns.saturating_sub(answered.wait.waited_ns);
            answered.wait.alone_ns = ended_ns.saturating_sub(since_ns.max(thread.answered_ns));
            thread.answered_ns = ended_ns;
        }
        if answered.is_none() && received.is_none() {
            return;
        }
        let peer = self.peer_of(key).map(|peer| peer.exchange.served_ns);
        let process = self.kernel.process(caller.process);
        let program = process.map(|process| (process.program, process.runtime, process.number));
        let Some((program, runtime, process)) = program else {
            return;
        };
        let open_file = &self.kernel.open_files[key];
        let owner = Owner {
            program,
            runtime,
            process,
            descriptor: transfer.descriptor.number,
            path: open_file.name(),
            serves: open_file.exchange.serves,
        };
        if let Some(mut answered) = answered {
            answered.served_ns = peer.flatten();
            self.stalls.add(&answered, &owner);
        }
        // A peer in the log has the finding itself.
        if let Some(received) = received.filter(|_| peer.is_none()) {
            self.stalls.add_received(&received, &owner);
        }
    }

    /// Notes that this end of a TCP connection is in the log.
    fn note_end(&mut self, key: DescriptorId) {
        let name = self.kernel.open_files[key].name();
        if self.tcp_ends.get(name) != Some(&key) {
            if self.tcp_ends.len() >= TCP_ENDS_MAX {
                self.tcp_ends.clear();
            }
            self.tcp_ends.insert(name.to_vec(), key);
        }
    }

    /// The other end of a TCP connection, if it is in the log: `TCP:[A->B]` has `TCP:[B->A]`.
    fn peer_of(&self, key: DescriptorId) -> Option<&OpenFile> {
        let name = self.kernel.open_files[key].name();
        let (start, rest) = name.split_at(name.iter().position(|&byte| byte == b'[')? + 1);
        let rest = rest.strip_suffix(b"]")?;
        let arrow = rest.windows(2).position(|pair| pair == b"->")?;
        let peer = [start, &rest[arrow + 2..], b"->", &rest[..arrow], b"]"].concat();
        let open_file = self.kernel.open_files.get(*self.tcp_ends.get(&peer)?)?;
        (open_file.name() == peer).then_some(open_file)
    }

    pub(super) fn set_tcp_option(
        &mut self,
        descriptor: Descriptor<'_>,
        option: TcpOption,
        on: bool,
        caller: Caller,
    ) {
        let key = self.resolve(descriptor, caller);
        let open_file = &mut self.kernel.open_files[key];
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
        let thread = self.kernel.at(caller.thread);
        thread.polled = (self.event, ready);
        thread.polled_ns = thread.polled_ns.saturating_add(event.took_ns.unwrap_or(0));
    }

    pub(super) fn shut_down(&mut self, descriptor: Option<Descriptor<'_>>, caller: Caller) {
        if let Some(descriptor) = descriptor {
            let key = self.resolve(descriptor, caller);
            self.kernel.open_files[key].exchange.shut_down();
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
        let open_file = &mut self.kernel.open_files[key];
        if matches!(open_file.kind, FdKind::Tcp | FdKind::Socket) {
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
