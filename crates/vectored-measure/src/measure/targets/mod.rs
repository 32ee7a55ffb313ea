//! Real targets: they receive the bytes of a sample, are emptied between
//! samples, and check the bytes where these can be read back.

pub(crate) mod ballast;
pub(crate) mod comparison;
pub(crate) mod direct;
pub(crate) mod directory;
pub(crate) mod drain_thread;
pub(crate) mod file;
#[cfg(unix)]
pub(crate) mod foreign_socket;
pub(crate) mod null;
pub(crate) mod open;
pub(crate) mod overwrite;
pub(crate) mod page_cache_bypass;
pub(crate) mod reader_thread;
pub(crate) mod sink;
pub(crate) mod stream_kind;
pub(crate) mod stream_sink;

pub(crate) use crate::measure::targets::ballast::Ballast;
pub use crate::measure::targets::direct::check_direct;
pub use crate::measure::targets::directory::check_directory;
pub use crate::measure::targets::file::FILE_SPAN_BYTES;
pub(crate) use crate::measure::targets::file::FileEnd;
#[cfg(target_os = "linux")]
pub(crate) use crate::measure::targets::file::sync_flags;
pub(crate) use crate::measure::targets::open::{DrainMode, OpenChoice, OpenTarget, TargetOpener};
pub(crate) use crate::measure::targets::page_cache_bypass::bypass_page_cache;
pub(crate) use crate::measure::targets::reader_thread::stay_on;
pub use crate::measure::targets::sink::{Batch, Mismatch, Sink};
pub(crate) use crate::measure::targets::stream_kind::StreamKind;
