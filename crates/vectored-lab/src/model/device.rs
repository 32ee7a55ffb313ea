//! What a file system is on.

use serde::{Deserialize, Serialize};

/// What a file system is on, as the kernel reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// A block device that does not rotate (`queue/rotational` is 0).
    Ssd,
    /// A block device that rotates.
    Hdd,
    /// A disk that a hypervisor makes (`vda`, `xvda`). What it is made of is not known in the virtual machine.
    Virtual,
    /// Memory: tmpfs, ramfs, or a disk in memory.
    Ram,
    /// Another machine.
    Network,
}

impl DeviceKind {
    /// The name in the JSON and the tables.
    pub fn name(self) -> &'static str {
        match self {
            DeviceKind::Ssd => "ssd",
            DeviceKind::Hdd => "hdd",
            DeviceKind::Virtual => "virtual",
            DeviceKind::Ram => "ram",
            DeviceKind::Network => "network",
        }
    }
}
