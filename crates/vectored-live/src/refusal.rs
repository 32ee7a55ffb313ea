//! Why the programs cannot be attached, with the remedy.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io;

/// Why calls cannot be watched.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// This system is not Linux on x86-64.
    Elsewhere,
    /// The capabilities are missing.
    NoRight,
    /// The kernel has no BTF.
    NoBtf,
    /// The kernel is locked down, so that its programs may read no memory.
    Locked,
    /// There is no process of this number.
    NoProcess(u32),
    /// What belongs to a process may not be read.
    NotReadable(u32, io::Error),
    /// It is no cgroup of version 2.
    NoCgroup(std::path::PathBuf, io::Error),
    /// The command could not be started.
    NotStarted(io::Error),
    /// Anything else, in words.
    Other(String),
}

impl Refusal {
    /// Whether no program can be attached on this machine by this user, whatever is to be watched.
    pub fn is_of_machine(&self) -> bool {
        matches!(
            self,
            Refusal::Elsewhere
                | Refusal::NoRight
                | Refusal::NoBtf
                | Refusal::Locked
                | Refusal::Other(_)
        )
    }

    /// The reason without a remedy.
    pub fn in_short(&self) -> String {
        match self {
            Refusal::NoRight => "programs in the kernel need CAP_BPF and CAP_PERFMON (vectored advise --help, --source)".to_owned(),
            other => other.to_string(),
        }
    }
}

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Elsewhere => {
                f.write_str("running programs are watched on Linux for x86-64 alone")
            }
            Refusal::NoRight => write!(
                f,
                "cannot attach programs to the kernel: this needs the capabilities CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE; run it with \
                 sudo, or give them to the program: sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace=ep \"$(command -v vectored)\""
            ),
            Refusal::NoBtf => write!(
                f,
                "cannot attach programs to the kernel: it has no /sys/kernel/btf/vmlinux, which kernels since Linux 5.8 have with \
                 CONFIG_DEBUG_INFO_BTF=y"
            ),
            Refusal::Locked => write!(
                f,
                "cannot attach programs to the kernel: it is locked down for confidentiality (/sys/kernel/security/lockdown)"
            ),
            Refusal::NoProcess(number) => write!(f, "there is no process {number}"),
            Refusal::NotReadable(number, error) => write!(
                f,
                "cannot read what process {number} has open: {error}; run it with sudo, or give the program CAP_SYS_PTRACE"
            ),
            Refusal::NoCgroup(path, error) => write!(
                f,
                "'{}' is no cgroup of version 2 ({error}): expected a folder below /sys/fs/cgroup",
                path.display()
            ),
            Refusal::NotStarted(error) => write!(f, "cannot run the command: {error}"),
            Refusal::Other(text) => f.write_str(text),
        }
    }
}

impl Error for Refusal {}
