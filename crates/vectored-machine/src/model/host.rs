//! A machine, as results describe it.

use serde::{Deserialize, Serialize};

/// The machine that a run was made on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// The node name.
    pub name: String,
    /// Operating system and processor, such as `Linux x86_64`.
    pub system: String,
    /// Kernel release and version.
    pub kernel: String,
    /// The processor.
    pub cpu: CpuInfo,
    /// Physical memory.
    pub memory_bytes: u64,
    /// The detected hypervisor or container, if any.
    pub virtualization: Option<String>,
    /// `IOV_MAX`.
    pub iov_max: usize,
    /// Capacity of a new pipe.
    pub pipe_bytes: Option<u64>,
    /// Send and receive buffer of a new Unix stream socket, from `getsockopt`.
    pub unix_send_buffer_bytes: Option<u64>,
    /// See [`Host::unix_send_buffer_bytes`].
    pub unix_receive_buffer_bytes: Option<u64>,
    /// Send and receive buffer of the TCP connection that is measured, from `getsockopt`.
    pub tcp_send_buffer_bytes: Option<u64>,
    /// See [`Host::tcp_send_buffer_bytes`].
    pub tcp_receive_buffer_bytes: Option<u64>,
    /// The directory of the measured file, if a file was measured.
    pub directory: Option<DirectoryInfo>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// The CPU that the measuring thread was pinned to.
    pub pinned_cpu: Option<usize>,
    /// The CPU that reader and writer threads were pinned to.
    pub reader_cpu: Option<usize>,
    /// One-minute load average when the run began.
    pub load_average: Option<f64>,
    /// Share of CPU time that the hypervisor took away during the run.
    pub steal_share: Option<f64>,
    /// The share of the measuring thread's runnable time in which it waited for a CPU: other threads used the CPU, or a CPU
    /// limit was reached. `None` on other systems than Linux, and before the end of the run.
    pub cpu_wait_share: Option<f64>,
    /// Involuntary context switches of the measuring thread.
    pub involuntary_switches: Option<u64>,
    /// Possible disturbances of the figures, in words.
    pub warnings: Vec<String>,
}

/// The processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuInfo {
    /// Model name.
    pub model: String,
    /// CPUs that this process may use.
    pub allowed_cpus: Vec<usize>,
    /// Level-1 data cache of one core.
    pub l1d_bytes: Option<u64>,
    /// Level-2 cache.
    pub l2_bytes: Option<u64>,
    /// Level-3 cache.
    pub l3_bytes: Option<u64>,
    /// Frequency governor.
    pub governor: Option<String>,
    /// Mitigations that the kernel reports as active: `[vulnerability, mitigation]`.
    pub mitigations: Vec<(String, String)>,
}

/// The directory that temporary files were made in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectoryInfo {
    /// The path of the directory.
    pub path: String,
    /// File system type.
    pub file_system: String,
    /// Mount options.
    pub mount_options: Option<String>,
    /// Free space when the run began.
    pub free_bytes: u64,
    /// `st_blksize`: the block size preferred for I/O.
    pub st_blksize: u64,
    /// Read-ahead of the block device, in KiB.
    pub read_ahead_kb: Option<u64>,
}

/// The clock and the empty loop, measured before anything else.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timer {
    /// The clock that samples are timed with.
    pub clock: String,
    /// The smallest observed step between two readings.
    pub step_ns: u64,
    /// Time of one reading.
    pub reading_ns: f64,
    /// Time of one turn of the sampling loop with a technique that does nothing.
    pub empty_loop_ns: f64,
}
