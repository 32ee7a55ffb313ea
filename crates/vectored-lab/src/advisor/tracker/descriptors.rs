//! What a descriptor leads to, by the tables and by what the log shows.

use crate::advisor::descriptors::fd_kind::{Kind, kind_of_path, kind_of_text};
use crate::advisor::descriptors::name_set::last_part;
use crate::advisor::descriptors::open_file::Opening;
use crate::advisor::descriptors::runtime::{runtime_of_file, surer};
use crate::advisor::runs::barriers::Reason;
use crate::advisor::tracker::{By, Log, WRITES};
use vectored_strace::event::{Descriptor, Named, OpenFlags};

impl Log {
    pub(super) fn open(
        &mut self,
        descriptor: Descriptor<'_>,
        path: &[u8],
        flags: OpenFlags,
        by: By,
    ) {
        let kind = match (flags.directory || flags.path_only, descriptor.leads_to) {
            (true, _) => Kind::Other,
            (false, Some(text)) if kind_of_text(text) != Kind::File => kind_of_text(text),
            _ => kind_of_path(path),
        };
        let name = descriptor.leads_to.unwrap_or(path);
        let runtime = runtime_of_file(path);
        if let Some(process) = self.tables.process_mut(by.process)
            && runtime.is_some()
        {
            process.runtime = surer(process.runtime, runtime);
        }
        let is_fifo = kind == Kind::File && self.fifos.has(last_part(name));
        let mut opening = Opening::new(kind, flags, descriptor.number);
        opening.position = (!flags.append).then_some(0);
        match descriptor.leads_to {
            Some(text) => opening.text.extend_from_slice(text),
            None => opening.path.extend_from_slice(path),
        }
        if kind.is_shared_object() {
            opening.group = self.groups.join(&opening.text, &opening.path);
        }
        if opening.kind.has_peer() {
            // `/dev/stdin`: another descriptor leads to the same stream.
            opening.shared_reads = Some(Reason::OtherReaders);
        }
        if is_fifo {
            turn_to_fifo(&mut opening);
            // It waits for the other end.
            self.wait(by, Reason::Connect);
        }
        if flags.creates {
            // Others may wait for a file to be there, as for one that is renamed.
            self.release(by, Reason::Names);
        }
        if kind == Kind::File && flags.append {
            self.reopen(&mut opening, by);
        }
        let group = opening.group;
        let close_on_exec = flags.close_on_exec;
        let place = self
            .tables
            .open(by.process, descriptor.number, opening, close_on_exec);
        if let Some(place) = place {
            // It may have been truncated.
            self.groups.note(group, self.event, place, false);
        }
    }

    /// A pipe or socket that is new.
    pub(super) fn make(
        &mut self,
        descriptor: Descriptor<'_>,
        kind: Kind,
        close_on_exec: bool,
        by: By,
    ) {
        let mut opening = Opening::new(kind, OpenFlags::default(), descriptor.number);
        if let Some(text) = descriptor.leads_to {
            opening.text.extend_from_slice(text);
            opening.kind = refined(kind, kind_of_text(text));
        }
        if opening.kind.is_shared_object() {
            opening.group = self.groups.join(&opening.text, b"");
        }
        let number = descriptor.number;
        self.tables.open(by.process, number, opening, close_on_exec);
    }

    pub(super) fn kind_of(&mut self, descriptor: Descriptor<'_>, by: By) -> Kind {
        let opening = self.resolve(descriptor, by);
        let opening = self.tables.openings.get(opening);
        opening.map_or(Kind::Unknown, |opening| opening.kind)
    }

    /// The opening that a descriptor leads to, by the tables and by what the log shows, which is
    /// right where the two differ.
    #[inline]
    pub(super) fn resolve(&mut self, descriptor: Descriptor<'_>, by: By) -> u32 {
        let known = self.tables.opening_of(by.process, descriptor.number);
        if let Some(place) = known {
            let Some(text) = descriptor.leads_to else {
                return place;
            };
            let Some(opening) = self.tables.openings.get(place) else {
                return place;
            };
            if opening.text == text {
                return place;
            }
        }
        self.resolve_otherwise(known, descriptor, by)
    }

    /// Where the log shows what the tables do not tell.
    fn resolve_otherwise(&mut self, known: Option<u32>, descriptor: Descriptor<'_>, by: By) -> u32 {
        if let (Some(place), Some(text)) = (known, descriptor.leads_to)
            && self.takes_name(place, text)
        {
            return place;
        }
        self.inherit(descriptor, by)
    }

    /// Whether an opening may now be shown so. A socket that is connected is shown otherwise than
    /// before.
    pub(super) fn takes_name(&mut self, place: u32, text: &[u8]) -> bool {
        let kind = kind_of_text(text);
        let Some(opening) = self.tables.openings.get(place) else {
            return false;
        };
        let is_first = opening.text.is_empty();
        let both_sockets = opening.kind.is_socket() && kind.is_socket();
        let is_other = matches!(opening.kind, Kind::Other | Kind::Datagram | Kind::Nothing);
        let fits = match opening.kind {
            Kind::Unknown => is_first,
            known => known == kind || is_other && is_first,
        };
        if !(both_sockets || is_first && fits || is_other && kind == opening.kind) {
            return false;
        }
        self.end_lanes(place);
        self.flush_both(place);
        if let Some(opening) = self.tables.openings.get_mut(place) {
            opening.text.clear();
            opening.text.extend_from_slice(text);
            opening.kind = refined(opening.kind, kind);
            let old = std::mem::take(&mut opening.group);
            if opening.kind.is_shared_object() {
                opening.group = self.groups.join(&opening.text, b"");
                self.groups.carry(old, opening.group);
            }
            let held = self.groups.leave(old);
            self.book.settle(held.unwrap_or_default());
        }
        true
    }

    /// A descriptor that was open before the log began, or whose opening did not show.
    pub(super) fn inherit(&mut self, descriptor: Descriptor<'_>, by: By) -> u32 {
        let kind = descriptor.leads_to.map_or(Kind::Unknown, kind_of_text);
        let mut opening = Opening::new(kind, OpenFlags::default(), descriptor.number);
        opening.is_inherited = true;
        if let Some(text) = descriptor.leads_to {
            opening.text.extend_from_slice(text);
        }
        let number = descriptor.number;
        if kind.is_shared_object() {
            opening.group = self.groups.join(&opening.text, b"");
            if let Some(place) = self.shared_with(&opening, by) {
                return place;
            }
            if kind == Kind::File && self.fifos.has(last_part(&opening.text)) {
                turn_to_fifo(&mut opening);
            }
        }
        let group = opening.group;
        let place = self.tables.open(by.process, number, opening, false);
        if let Some(place) = place {
            self.groups.set_inherited(group, place);
        }
        self.settle();
        // The process is there: it was asked for before.
        place.unwrap_or(u32::MAX)
    }
}

impl Log {
    /// A descriptor that was open before the log began, and has the number and the name of one of another
    /// process: the two may be one process, whose threads strace was attached to, or have it from the same
    /// parent. So it is taken for the same opening.
    fn shared_with(&mut self, new: &Opening, by: By) -> Option<u32> {
        let place = self.groups.inherited(new.group)?;
        let known = self.tables.openings.get(place)?;
        let is_same = known.is_inherited && known.first_number == new.number;
        if !is_same || known.text != new.text {
            return None;
        }
        // The group goes on: the other opening is in it.
        self.groups.leave(new.group);
        self.tables.count_with_another(by.process);
        let shared = self.tables.share(by.process, new.number, place);
        self.settle();
        shared
    }

    /// Appending to a file that the same thread closed a moment ago, after a write or two: what keeps the
    /// writes apart is only that.
    fn reopen(&mut self, opening: &mut Opening, by: By) {
        let serial = self.tables.at(by.thread).map_or(0, |thread| thread.serial);
        let is_before = |place: &u32| {
            self.tables.openings.get(*place).is_some_and(|before| {
                before.group == opening.group && before.lanes[WRITES].user.thread == serial
            })
        };
        let Some(index) = self.closed.iter().position(is_before) else {
            return;
        };
        let place = self.closed.remove(index);
        if let Some(before) = place.and_then(|place| self.tables.openings.get_mut(place)) {
            let mut lane = std::mem::take(&mut before.lanes[WRITES]);
            lane.crossed.get_or_insert(Reason::Reopened);
            opening.lanes[WRITES] = lane;
            // The calls stay together with the run that they are in.
            opening.pending[WRITES] = std::mem::take(&mut before.pending[WRITES]);
            opening.reopened = before.reopened + u64::from(!before.was_counted[WRITES]);
        }
        if let Some(place) = place {
            self.forget(place);
        }
    }

    /// As [`Analysis::name_fifo`](crate::advisor::analysis::Analysis::name_fifo).
    pub(in crate::advisor) fn name_fifo(&mut self, path: &[u8]) {
        self.fifos.insert(last_part(path));
    }

    /// Something turns out to be a FIFO.
    pub(super) fn fifo(&mut self, named: Named<'_>, by: By) {
        let descriptor = match named {
            Named::Path(path) => return self.name_fifo(path),
            Named::Descriptor(descriptor) => descriptor,
        };
        let place = self.resolve(descriptor, by);
        let Some(opening) = self.tables.openings.get(place) else {
            return;
        };
        if opening.kind != Kind::File {
            return;
        }
        self.end_lanes(place);
        self.flush_both(place);
        if let Some(opening) = self.tables.openings.get_mut(place) {
            let name = match opening.text.is_empty() {
                true => &opening.path,
                false => &opening.text,
            };
            self.fifos.insert(last_part(name));
            turn_to_fifo(opening);
        }
    }
}

/// What was taken for a file is a FIFO. Who else writes to that does not show.
fn turn_to_fifo(opening: &mut Opening) {
    opening.kind = Kind::Pipe;
    opening.has_other_writers = true;
}

/// What is known already, and what the log shows: the more exact of the two.
fn refined(known: Kind, shown: Kind) -> Kind {
    match (known, shown) {
        (Kind::Unknown | Kind::Socket, shown) => shown,
        (known, Kind::Socket | Kind::Unknown) => known,
        // A packet pipe is shown as any other.
        (Kind::Other | Kind::Datagram | Kind::Nothing, _) => known,
        (_, shown) => shown,
    }
}
