//! The host: its description, the features that it offers, and the directories of temporary files.

mod directory;
mod environment;
mod host_probe;

pub use crate::host::directory::check_room;
pub use crate::host::environment::{
    Environment, Pinning, host_name, last_level_cache_bytes, pin_measuring_thread,
};
pub use crate::host::host_probe::probe_host;
pub use crate::platform::cpus::allowed as allowed_cpus;
