//! Turns records into the events that the advisor takes.

use std::rc::Rc;

use libc::PROT_EXEC;
use rustc_hash::{FxHashMap, FxHashSet};
use vectored_strace::event::{Action, Direction, Event, Transfer};
use vectored_strace::x86_64::name_of;

use crate::action::{Call, Shown, fd};
use crate::open_before;
use crate::record::{Kind, Record, Run, Sample, Slot, texts};
use crate::sites::Sites;
use crate::socket_names::socket_name;

/// Sites of calls that are remembered. When there are more, all are forgotten.
const SITES_MAX: usize = 1 << 16;

/// All lengths from this length on count as equal in [`Alike`].
const LENGTH_MAX: i64 = 4096;

/// `SIGNAL_GROUP_EXIT` of the kernel.
const GROUP_EXIT: u64 = 4;

/// The thread, number, descriptor and length of a call. A call without a sample has the site of the last sample of an
/// alike call.
type Alike = (u32, u16, i32, u16);

type Follow<'f> = &'f mut dyn FnMut(&Event<'_>);

pub(crate) struct Events {
    pub(crate) sites: Sites,
    last_sites: FxHashMap<Alike, Option<Rc<[u8]>>>,
    /// The known processes, each with a time. All that the process did before this time is in events.
    since: FxHashMap<u32, u64>,
    /// Processes that have called `exit_group`.
    ended: FxHashSet<u32>,
    /// The process of the command, until the process begins the command's program.
    held: Option<u32>,
    own: u32,
    shown: Shown,
    pub(crate) calls: u64,
    /// Calls that were lost because the rings had no room.
    pub(crate) lost: u64,
    /// CPU time of the threads that have ended.
    pub(crate) cpu_ns: u64,
    /// When the command began its program, and the end of the last record.
    pub(crate) times_ns: (Option<u64>, u64),
}

impl Events {
    pub(crate) fn new(sites: Sites) -> Events {
        Events {
            sites,
            last_sites: FxHashMap::default(),
            since: FxHashMap::default(),
            ended: FxHashSet::default(),
            held: None,
            own: std::process::id(),
            shown: Shown::default(),
            calls: 0,
            lost: 0,
            cpu_ns: 0,
            times_ns: (None, 0),
        }
    }

    /// Passes on events that describe a process that already runs.
    pub(crate) fn tell(
        &mut self,
        process: u32,
        now_ns: u64,
        follow: Follow<'_>,
    ) -> std::io::Result<()> {
        self.since.insert(process, now_ns);
        self.sites.read(process);
        open_before::tell(process, false, follow)
    }

    /// Passes on events that describe the started command.
    pub(crate) fn tell_command(&mut self, process: u32, follow: Follow<'_>) {
        self.held = Some(process);
        self.since.insert(process, 0);
        // If no descriptor is left to read `/proc`, what the command has open is unknown.
        let _ = open_before::tell(process, true, follow);
    }

    pub(crate) fn processes(&self) -> impl Iterator<Item = u32> + '_ {
        self.since.keys().copied()
    }

    pub(crate) fn take(
        &mut self,
        record: &Record,
        slots: &[Slot],
        sample: Option<&Sample>,
        follow: Follow<'_>,
    ) {
        if record.kind == Kind::Gap {
            return self.gap(record.a1, record.a2 == 0, follow);
        }
        if record.process == self.own {
            return;
        }
        let since = self.since.get(&record.process).copied();
        if since.is_none() && record.kind != Kind::Exit {
            // The fork of the process was lost, or the process came into the cgroup. The process may have ended.
            let _ = self.tell(record.process, 0, follow);
        }
        let is_old = record.end_ns < since.unwrap_or_default();
        let is_new_child =
            record.kind == Kind::Fork && !self.since.contains_key(&(record.a3 as u32));
        if is_old && !is_new_child {
            return;
        }
        if self.held == Some(record.process) {
            // Before its execve, the process of the command runs the code of this program.
            if record.kind != Kind::Execute {
                return;
            }
            self.held = None;
            self.times_ns.0 = Some(record.end_ns);
        }
        self.times_ns.1 = record.end_ns;
        match record.kind {
            Kind::Run => self.run(record, slots, sample, follow),
            Kind::Call => self.call(record, slots, sample, follow),
            Kind::Fork => {
                if record.a1 == 0 {
                    self.since.insert(record.a3 as u32, 0);
                    self.sites.fork(record.process, record.a3 as u32);
                }
                let action = Action::Fork {
                    child: record.a0 as u32,
                    same_process: record.a1 != 0,
                    shares_descriptors: record.a2 != 0,
                };
                follow(&event(b"clone", action, record));
            }
            Kind::Execute => self.execute(record, slots, follow),
            Kind::Exit => self.exit(record, follow),
            Kind::Signal | Kind::Gap => {
                follow(&event(b"SIGNAL", Action::Signal, record));
            }
        }
    }

    /// Notes lost calls. Unless `keeps`, the lost calls may have changed descriptors. Then only the descriptors that
    /// can be seen now are known.
    pub(crate) fn gap(&mut self, calls: u64, keeps: bool, follow: Follow<'_>) {
        self.lost += calls;
        if keeps {
            return follow(&Event::new(b"", Action::Lost));
        }
        follow(&Event::new(b"", Action::Unread { descriptor: None }));
        let mut processes: Vec<u32> = self.processes().collect();
        processes.sort_unstable();
        for process in processes {
            if open_before::tell(process, false, follow).is_err() {
                self.forget(process);
            }
        }
    }

    fn forget(&mut self, process: u32) {
        self.since.remove(&process);
        self.ended.remove(&process);
        self.sites.forget(process);
    }

    /// The site of a call, by the sample of this call or of the last [`Alike`] call.
    fn site(&mut self, record: &Record, length: i64, sample: Option<&Sample>) -> Option<Rc<[u8]>> {
        let alike = (
            record.thread,
            record.number,
            record.a0,
            length.min(LENGTH_MAX) as u16,
        );
        if let Some(sample) = sample {
            let site = self.sites.site(record.process, sample);
            if self.last_sites.len() >= SITES_MAX {
                self.last_sites.clear();
            }
            self.last_sites.insert(alike, site);
        }
        self.last_sites.get(&alike).cloned().flatten()
    }

    fn call(
        &mut self,
        record: &Record,
        slots: &[Slot],
        sample: Option<&Sample>,
        follow: Follow<'_>,
    ) {
        self.calls += 1;
        let name = name_of(record.number);
        let (data, text) = slots[1..].split_at(record.data);
        let texts = texts(text);
        if name == "mmap" && record.result > 0 && record.a2 & PROT_EXEC as u64 != 0 {
            self.sites
                .map(record.process, record.a0, record.result as u64, record.a1);
        }
        if let (true, Some(path), "open" | "openat" | "openat2") =
            (record.result >= 0, texts.first(), name)
        {
            self.sites.open(record.process, record.result as i32, path);
        }
        let site = if record.result > 0 { self.site(record, record.result, sample) } else { None };
        let ends = matches!(name, "connect" | "accept" | "accept4")
            .then(|| data.first().and_then(socket_name))
            .flatten();
        let call = Call {
            name,
            record,
            data,
            texts: &texts,
        };
        if let Some(mut action) = call.action(&mut self.shown) {
            if let Action::Connect { descriptor }
            | Action::Other {
                descriptor: Some(descriptor),
            }
            | Action::Socket { descriptor, .. } = &mut action
            {
                descriptor.leads_to = ends.as_deref();
            }
            let mut event = event(name.as_bytes(), action, record);
            event.site = site.as_deref();
            follow(&event);
        }
    }

    /// Makes an event of each joined call. The times of the calls lie between the end of the first call and the record after the run.
    fn run(
        &mut self,
        record: &Record,
        slots: &[Slot],
        mut sample: Option<&Sample>,
        follow: Follow<'_>,
    ) {
        let run = Run::read(slots);
        let calls = run.results.len() as u64;
        self.calls += calls;
        let name = name_of(record.number);
        let direction = if name == "read" { Direction::Read } else { Direction::Write };
        let mut site: Option<(u16, Option<Rc<[u8]>>)> = None;
        for (n, &result) in run.results.iter().enumerate() {
            if site.as_ref().is_none_or(|site| site.0 != result) {
                site = Some((result, self.site(record, result.into(), sample.take())));
            }
            let segments =
                [if direction == Direction::Read { run.asked.into() } else { result.into() }];
            let mut transfer = Transfer::new(direction, fd(record.a0.into()), &segments);
            transfer.result = Ok(result.into());
            let mut event = event(name.as_bytes(), Action::Transfer(transfer), record);
            if n > 0 {
                event.began_ns =
                    Some(record.end_ns + u64::from(run.span_ns) * n as u64 / calls - 1);
                event.took_ns = Some(1);
                event.delayed_ns = 0;
            }
            event.site = site.as_ref().and_then(|site| site.1.as_deref());
            follow(&event);
        }
    }

    fn execute(&mut self, record: &Record, slots: &[Slot], follow: Follow<'_>) {
        self.calls += 1;
        let texts = texts(&slots[1..]);
        let program = texts.first().map_or(&b""[..], Vec::as_slice);
        self.sites
            .execute(record.process, program, record.a1, record.a2);
        let caller = record.a0 as u32;
        if caller != record.thread {
            // A thread other than the first called execve. This thread takes over the number of the first
            // thread; all other threads have ended.
            let child = Action::Fork {
                child: record.thread,
                same_process: true,
                shares_descriptors: true,
            };
            for (name, action) in [(&b""[..], child), (b"exited", exit_of(false))] {
                let mut one = Event::new(name, action);
                one.thread = caller;
                follow(&one);
            }
        }
        follow(&event(b"execve", Action::Execute { program }, record));
    }

    /// Hands on an end in the order of strace: first the call that ends a thread or its process, then the end itself.
    fn exit(&mut self, record: &Record, follow: Follow<'_>) {
        self.cpu_ns += record.result as u64;
        let is_last = record.a1 != 0;
        let is_group = record.a2 & GROUP_EXIT != 0 || is_last && record.thread == record.process;
        if record.a0 & 0x7f != 0 {
            follow(&event(b"killed", exit_of(true), record));
        } else {
            if !is_group || self.ended.insert(record.process) {
                let name = if is_group { &b"exit_group"[..] } else { b"exit" };
                self.calls += 1;
                follow(&event(name, exit_of(is_group), record));
            }
            follow(&event(b"exited", exit_of(false), record));
        }
        if is_last {
            self.forget(record.process);
        }
    }
}

fn exit_of(process_ended: bool) -> Action<'static> {
    Action::Exit { process_ended }
}

/// An event with the thread and the times of its record.
fn event<'a>(name: &'a [u8], action: Action<'a>, record: &Record) -> Event<'a> {
    let mut event = Event::new(name, action);
    // 0 would mean that the duration is unknown.
    let took_ns = (u64::from(record.waited_us) * 1000).max(1);
    event.thread = record.thread;
    event.began_ns = Some(record.end_ns.saturating_sub(took_ns));
    event.took_ns = Some(took_ns);
    event.delayed_ns = record.delayed_ns;
    event
}
