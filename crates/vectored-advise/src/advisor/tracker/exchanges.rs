//! Follows the exchanges of TCP sockets, and finds the exchanges that stall.

use crate::advisor::fd_kind::FdKind;
use crate::advisor::findings::stream_writes::parts_of;
use crate::advisor::keys::DescriptorId;
use crate::advisor::runs::pattern::{PatternStep, call_number, size_class};
use crate::advisor::stalls::counts::Owner;
use crate::advisor::stalls::exchange::{Moved, Part};
use crate::advisor::tracker::Tracker;
use crate::model::FindingKind;
use vectored_strace::event::{Descriptor, Direction, Event, TcpOption, Transfer};

impl Tracker {
    pub(super) fn exchange(
        &mut self,
        event: &Event<'_>,
        transfer: &Transfer<'_>,
        key: DescriptorId,
    ) {
        let (Ok(bytes @ 1..), Some(began_ns), Some(took_ns)) =
            (transfer.result, event.began_ns, event.took_ns)
        else {
            return;
        };
        let ended_ns = began_ns.saturating_add(took_ns);
        self.tcp_ends.insert(self.kernel.open_files[key].name());
        let thread = &mut self.kernel.threads[self.thread];
        let open_file = &mut self.kernel.open_files[key];
        let step = PatternStep {
            call: call_number(event.name),
            size_class: size_class(bytes),
        };
        let moved = Moved {
            event: self.event,
            polled_ns: thread.polled_ns,
            part: Part { step, bytes },
            site: self.call.site,
            began_ns,
            ended_ns,
            joins: transfer.more || open_file.is_corked,
        };
        let exchange = &mut open_file.exchange;
        let answered = if transfer.direction == Direction::Write {
            exchange.write(moved)
        } else {
            // A program may wait in several polls. If the last poll ended because its time was up, a timer ended the
            // wait.
            let touched = exchange.touched;
            let (polled, ready) = thread.polled;
            let is_wait = (polled <= touched || ready > 0) && thread.slept <= touched;
            let since_ns = thread.polled_ns.saturating_sub(exchange.polled_ns);
            let polled_ns = if polled > touched { since_ns } else { 0 };
            let is_loopback = is_loopback(open_file.name());
            let exchange = &mut open_file.exchange;
            exchange.read(moved, polled_ns, is_wait, is_loopback)
        };
        let Some(mut answered) = answered else {
            return;
        };
        if answered.kind == FindingKind::Stall {
            let since_ns = ended_ns.saturating_sub(answered.wait.waited_ns);
            answered.wait.alone_ns = ended_ns.saturating_sub(since_ns.max(thread.answered_ns));
            thread.answered_ns = ended_ns;
        }
        let process = &self.kernel.processes[self.process];
        let open_file = &self.kernel.open_files[key];
        let owner = Owner {
            program: process.program,
            runtime: process.runtime,
            process: process.number,
            descriptor: transfer.descriptor.number,
            path: open_file.name(),
            serves: open_file.exchange.serves,
        };
        let peer = parts_of(owner.path);
        let peer = peer.map(|[kind, own, arrow, peer]| [kind, peer, arrow, own, b"]"].concat());
        // If the peer is in the log, the finding belongs to the peer.
        let has_peer = peer.is_some_and(|peer| self.tcp_ends.has(&peer));
        if answered.kind == FindingKind::Stall || !has_peer {
            self.stalls.add(&answered, &owner);
        }
    }

    pub(super) fn set_tcp_option(
        &mut self,
        descriptor: Descriptor<'_>,
        option: TcpOption,
        on: bool,
    ) {
        let key = self.resolve(descriptor);
        let open_file = &mut self.kernel.open_files[key];
        match option {
            TcpOption::Cork => {
                open_file.is_corked = on;
                if !on {
                    // The kernel sends the gathered bytes.
                    open_file.exchange.joins = false;
                }
            }
            TcpOption::NoDelay => open_file.exchange.no_delay = Some(on),
            _ => {}
        }
    }

    pub(super) fn connect(&mut self, event: &Event<'_>, descriptor: Descriptor<'_>) {
        let key = self.resolve(descriptor);
        let open_file = &mut self.kernel.open_files[key];
        if matches!(open_file.kind, FdKind::Tcp | FdKind::Socket) {
            open_file.exchange.round_trip_ns = event.took_ns;
        }
    }
}

/// Whether a socket is connected over the loopback interface: `TCP:[127.0.0.1:39046->127.0.0.1:19302]`.
fn is_loopback(text: &[u8]) -> bool {
    let begins = ["127.", "[::1]", "[::ffff:127."].map(str::as_bytes);
    parts_of(text).is_some_and(|[.., peer]| begins.iter().any(|begin| peer.starts_with(begin)))
}
