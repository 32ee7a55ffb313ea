//! Attaches the programs, and hands on what they record.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::io;
use std::iter::successors;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use aya::maps::{HashMap, Map, MapData};
use aya::programs::{BtfTracePoint, ProgramError};
use aya::{Btf, Ebpf, EbpfLoader};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use vectored_strace::event::Event;
use vectored_strace::x86_64::{CALLS, name_of};

use crate::calls::class_in_kernel;
use crate::drain::{CPU_WORDS, Drain, Rings, SAMPLE_WORDS, SAMPLES, give_way, now_ns};
use crate::events::Events;
use crate::open_before::{threads_of, tree_of};
use crate::order::{Order, Pass};
use crate::sites::Sites;
use crate::sys::Shared;
use crate::{Refusal, Seen, Target};

#[repr(C, align(8))]
struct Aligned<T: ?Sized>(T);

/// The programs, compiled from `bpf/live.bpf.c`.
static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!("../bpf/live.x86.o"));

/// The programs, and the tracepoints to which they are attached. What `on_exit` keeps of a thread is valid until
/// `on_switch` runs.
const PROGRAMS: [(&str, &str); 6] = [
    ("on_switch", "sched_switch"),
    ("on_exit", "sys_exit"),
    ("on_fork", "sched_process_fork"),
    ("on_exec", "sched_process_exec"),
    ("on_end", "sched_process_exit"),
    ("on_signal", "signal_deliver"),
];

/// The most slots of the ring of a CPU, as a power of two: 64 MiB.
const MOST_SLOTS_LOG2: u32 = 20;
/// The most slots of all rings together, as a power of two: 1 GiB. With many CPUs, each ring is therefore smaller.
const ALL_SLOTS_LOG2: u32 = 24;

/// One of this many equal calls or runs has a sample of its stack.
const STACK_EVERY: u32 = 128;

/// The inode of the first PID namespace, whose process numbers are the kernel's (`PROC_PID_INIT_INO`).
const FIRST_NAMESPACE: u64 = 0xeffffffc;

/// A [`Refusal`], or an error of the loader. Such an error means a refusal.
type Failed = Box<dyn Error>;

/// Programs that are attached to the kernel. They are detached when this value is dropped, or when this process ends.
pub struct Watch {
    /// `None` once the programs are detached.
    programs: Option<Ebpf>,
    wanted: HashMap<MapData, u32, u32>,
    drain: Drain,
    order: Order,
    events: Events,
    command: Option<u32>,
    cgroup: Option<PathBuf>,
    began_ns: u64,
    /// CPU time of the watched threads before the watch began.
    cpu_before: u64,
    has_ended: bool,
}

/// The rings that the programs write, as memory of this process.
fn rings(
    take: &mut impl FnMut(&str) -> Result<Map, Failed>,
    cpus: usize,
    slots_log2: u32,
) -> Result<Rings, Failed> {
    Ok(Rings {
        ring: share(&take("ring")?, (cpus * 8) << slots_log2, false)?,
        cpus: share(&take("cpus")?, cpus * CPU_WORDS, true)?,
        samples: share(&take("samples")?, cpus * SAMPLES * SAMPLE_WORDS, false)?,
        count: cpus,
        slots_log2,
    })
}

impl Watch {
    /// Attaches the programs, and starts the command. From then on, the calling thread gives way when the watched
    /// programs need all CPUs. `follow` gets events that describe running processes. These events have no names,
    /// because no calls made them.
    ///
    /// # Errors
    ///
    /// The error says why calls cannot be watched, and names the remedy.
    pub fn start(target: Target<'_>, follow: &mut dyn FnMut(&Event<'_>)) -> Result<Watch, Refusal> {
        Watch::attach(target, follow).map_err(|error| match error.downcast::<Refusal>() {
            Ok(refusal) => *refusal,
            Err(error) => of_loader(&*error),
        })
    }

    fn attach(target: Target<'_>, follow: &mut dyn FnMut(&Event<'_>)) -> Result<Watch, Failed> {
        let (roots, cgroup, command) = match target {
            Target::Processes(numbers) => (numbers, None, None),
            Target::Cgroup(path) => (&[][..], Some(path), None),
            Target::Command(command) => (&[][..], None, Some(command)),
        };
        // A later process may get the number of one that ended.
        let starts = roots.iter().map(|&root| Ok((root, process_of(root)?)));
        let starts = starts.collect::<Result<BTreeMap<_, _>, Refusal>>()?;
        let cgroup_number = cgroup.map_or(Ok(0), number_of_cgroup)?;
        let cpus = aya::util::nr_cpus()
            .map_err(|(what, error)| format!("cannot count the CPUs by {what}: {error}"))?;
        let slots_log2 = MOST_SLOTS_LOG2
            .min(ALL_SLOTS_LOG2 - cpus.next_power_of_two().ilog2().min(ALL_SLOTS_LOG2 - 12));
        let btf = Btf::from_sys_fs().map_err(|_| Refusal::Machine(NO_BTF.to_owned()))?;
        if fs::metadata("/proc/self/ns/pid").is_ok_and(|own| own.ino() != FIRST_NAMESPACE) {
            return Err(Refusal::Machine(NAMESPACE.to_owned()))?;
        }
        let mut programs = load(&btf, cpus, slots_log2, cgroup_number)?;
        let mut take = |name: &str| {
            programs
                .take_map(name)
                .ok_or_else(|| Failed::from(format!("the programs have no map {name}")))
        };
        let mut wanted = HashMap::<_, u32, u32>::try_from(take("wanted")?)?;
        let rings = rings(&mut take, cpus, slots_log2)?;
        let sites = Sites::new(HashMap::try_from(take("pythons")?)?);
        let mut want = |process: u32| wanted.insert(process, 1, 0);
        roots.iter().try_for_each(|&root| want(root))?;
        for (name, _) in PROGRAMS {
            program(&mut programs, name)?.attach()?;
        }
        let began_ns = now_ns();
        let drain = Drain::start(rings)?;
        let mut events = Events::new(sites);
        // The children so far are looked up now; later forks are recorded.
        let all: BTreeSet<u32> = cgroup
            .map_or_else(|| roots.to_vec(), processes_in)
            .into_iter()
            .flat_map(tree_of)
            .collect();
        let mut cpu_before = 0;
        for &process in &all {
            want(process)?;
            cpu_before += cpu_ns(process);
            match events.tell(process, now_ns(), follow) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Refusal::Machine(format!(
                        "cannot read what process {process} has open: {error}; run it with sudo, or give the program \
                         CAP_SYS_PTRACE"
                    )))?;
                }
                _ => {}
            }
        }
        // A process may have ended before the programs were attached, or before the process was wanted. Then no
        // record of its end exists.
        for process in all {
            let is_over = match starts.get(&process) {
                Some(start) => has_ended(start),
                None => match process_of(process) {
                    Err(Refusal::Target(_)) => true,
                    start => has_ended(&start?),
                },
            };
            if is_over {
                // An error says that the process is no longer in the map: the record of its end has removed it.
                let _ = wanted.remove(&process);
            }
        }
        // The samples so far belong to calls that are not reported.
        drain.sample_again();
        // A process that this thread forks is watched from its start. Other threads may start programs that are not watched.
        let start = |command: &mut Command| {
            let thread = rustix::thread::gettid().as_raw_pid() as u32;
            wanted.insert(std::process::id(), thread, 0)?;
            let child = command.spawn();
            // The child exists already: an error here would make the caller run the command twice.
            let _ = wanted.remove(&std::process::id());
            Ok::<_, Failed>(child.map_err(Refusal::Command)?.id())
        };
        let command = command.map(start).transpose()?;
        if let Some(command) = command {
            events.tell_command(command, follow);
        }
        give_way();
        Ok(Watch {
            programs: Some(programs),
            wanted,
            drain,
            order: Order::default(),
            events,
            command,
            cgroup: cgroup.map(Path::to_owned),
            began_ns,
            cpu_before,
            has_ended: false,
        })
    }

    /// The process of the command. The caller has to wait for this process.
    pub fn command(&self) -> Option<u32> {
        self.command
    }

    /// Hands on the events of some milliseconds, and returns what was seen so far.
    pub fn next(&mut self, follow: &mut dyn FnMut(&Event<'_>)) -> Seen {
        match self.drain.passes.recv_timeout(PATIENCE) {
            Ok(pass) => self.take(pass, follow),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.has_ended = true,
        }
        self.has_ended = self.has_ended || self.has_ended();
        self.seen(self.has_ended, 0)
    }

    fn take(&mut self, pass: Pass, follow: &mut dyn FnMut(&Event<'_>)) {
        self.drain.done(pass.bytes);
        let (lost, events) = (pass.lost, &mut self.events);
        self.order.take(pass, |record, slots, sample| {
            events.take(record, slots, sample, follow);
        });
        if lost > 0 {
            events.gap(lost, true, follow);
        }
        if events.sites.has_news() {
            self.drain.sample_again();
        }
    }

    /// Detaches the programs, and hands on all that they have recorded.
    pub fn finish(mut self, follow: &mut dyn FnMut(&Event<'_>)) -> Seen {
        let now = self.events.processes().map(cpu_ns).sum();
        self.programs = None;
        // A program in the kernel that began before the detaching may still run.
        std::thread::sleep(DETACHED);
        self.drain.stop();
        while let Ok(pass) = self.drain.passes.try_recv() {
            self.take(pass, follow);
        }
        self.seen(true, now)
    }

    fn seen(&self, is_over: bool, cpu_now: u64) -> Seen {
        let (begin_ns, last_ns) = self.events.times_ns;
        let end_ns = if self.has_ended { last_ns } else { now_ns() };
        Seen {
            calls: self.events.calls,
            lost: self.events.lost,
            is_over,
            wall: Duration::from_nanos(end_ns.saturating_sub(begin_ns.unwrap_or(self.began_ns))),
            cpu: Duration::from_nanos(
                (self.events.cpu_ns + cpu_now).saturating_sub(self.cpu_before),
            ),
        }
    }

    fn has_ended(&self) -> bool {
        if let Some(cgroup) = &self.cgroup {
            let events = fs::read_to_string(cgroup.join("cgroup.events"));
            return !events.is_ok_and(|events| events.contains("populated 1"));
        }
        self.wanted.keys().next().is_none()
    }
}

/// When no pass comes for this time, the watch checks whether it is over.
const PATIENCE: Duration = Duration::from_millis(50);

/// Time after which no detached program runs any more.
const DETACHED: Duration = Duration::from_millis(10);

fn load(btf: &Btf, cpus: usize, slots_log2: u32, cgroup: u64) -> Result<Ebpf, Failed> {
    let mut classes = [0_u8; CALLS];
    for (number, class) in (0..).zip(&mut classes) {
        *class = class_in_kernel(name_of(number));
    }
    let entries = |each: usize| u32::try_from(cpus * each);
    let mut programs = EbpfLoader::new()
        .btf(Some(btf))
        .override_global("slots_log2", &slots_log2, true)
        .override_global("stack_every", &STACK_EVERY, true)
        .override_global("cgroup", &cgroup, true)
        .override_global("class_of", &classes[..], true)
        .map_max_entries("ring", entries(1 << slots_log2)?)
        .map_max_entries("cpus", entries(1)?)
        .map_max_entries("samples", entries(SAMPLES)?)
        .load(&OBJECT.0)?;
    for (name, tracepoint) in PROGRAMS {
        let program = program(&mut programs, name)?;
        // The kernel's verifier ends with EAGAIN if the loading thread gets a signal.
        let is_interrupted = |loaded: &Result<(), ProgramError>| match loaded {
            Err(ProgramError::LoadError { io_error, .. }) => {
                io_error.kind() == io::ErrorKind::WouldBlock
            }
            _ => false,
        };
        let mut attempts = (0..50).map(|_| program.load(tracepoint, btf));
        attempts
            .find(|loaded| !is_interrupted(loaded))
            .ok_or("signals interrupt the verifier")??;
    }
    Ok(programs)
}

fn program<'a>(programs: &'a mut Ebpf, name: &str) -> Result<&'a mut BtfTracePoint, Failed> {
    let program = programs.program_mut(name).ok_or("a program is missing")?;
    Ok(program.try_into()?)
}

fn share(map: &Map, words: usize, is_written: bool) -> Result<Shared, Failed> {
    let Map::Array(data) = map else {
        return Err("a map of the programs is no array".into());
    };
    let shared = Shared::map(data.fd().as_fd(), words, is_written);
    let mib = words >> 17;
    Ok(shared.map_err(|error| format!("cannot map {mib} MiB of the kernel: {error}"))?)
}

fn process_of(number: u32) -> Result<OwnedFd, Refusal> {
    let known = i32::try_from(number).ok().and_then(Pid::from_raw);
    let opened = known.ok_or(Errno::SRCH);
    let opened = opened.and_then(|known| pidfd_open(known, PidfdFlags::empty()));
    opened.map_err(|error| match error {
        Errno::SRCH | Errno::INVAL => Refusal::Target(format!("there is no process {number}")),
        error => {
            let what = format!("cannot watch for the end of process {number}: {error}");
            Refusal::Machine(what)
        }
    })
}

fn has_ended(process: &OwnedFd) -> bool {
    let mut ends = [PollFd::new(process, PollFlags::IN)];
    poll(&mut ends, Some(&Timespec::default())) != Ok(0)
}

fn number_of_cgroup(path: &Path) -> Result<u64, Refusal> {
    let metadata = fs::metadata(path.join("cgroup.controllers")).and_then(|_| fs::metadata(path));
    metadata.map(|metadata| metadata.ino()).map_err(|error| {
        Refusal::Target(format!(
            "'{}' is no cgroup of version 2 ({error}): expected a folder below /sys/fs/cgroup",
            path.display()
        ))
    })
}

fn processes_in(cgroup: &Path) -> Vec<u32> {
    let own = fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
    let mut all: Vec<u32> = own.lines().filter_map(|line| line.parse().ok()).collect();
    for entry in fs::read_dir(cgroup).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|of| of.is_dir()) {
            all.extend(processes_in(&entry.path()));
        }
    }
    all
}

/// CPU time of the threads of a process so far, in ns.
fn cpu_ns(process: u32) -> u64 {
    let of_thread = |thread: u32| -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    let threads = threads_of(process).into_iter();
    threads.filter_map(of_thread).sum()
}

const NO_BTF: &str = "cannot attach programs to the kernel: it has no /sys/kernel/btf/vmlinux, which kernels since Linux 5.8 have with \
    CONFIG_DEBUG_INFO_BTF=y";
const NAMESPACE: &str = "programs in the kernel number processes as the host does; run it in the namespace of processes of the host: \
    docker run --pid=host, or hostPID: true in Kubernetes";
const NO_RIGHT: &str = "programs in the kernel need the capabilities CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE; run it with sudo, or give them \
    to the program: sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace=ep \"$(command -v vectored)\"";
const LOCKED: &str = "cannot attach programs to the kernel: it is locked down for confidentiality (/sys/kernel/security/lockdown)";

fn of_loader(error: &(dyn Error + 'static)) -> Refusal {
    let chain = || successors(Some(error), |&error| error.source());
    let refuses = |error: &(dyn Error + 'static)| {
        let number = error.downcast_ref().and_then(io::Error::raw_os_error);
        matches!(number, Some(libc::EPERM | libc::EACCES))
    };
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let is_locked = || read("/sys/kernel/security/lockdown").contains("[confidentiality]");
    Refusal::Machine(if chain().any(refuses) {
        if is_locked() { LOCKED } else { NO_RIGHT }.to_owned()
    } else {
        let words: Vec<String> = chain().map(ToString::to_string).collect();
        format!(
            "cannot attach programs to the kernel {}, Linux 5.8 or later is needed: {}",
            read("/proc/sys/kernel/osrelease").trim(),
            words.join(": ")
        )
    })
}
