//! Real targets: they receive the bytes of a sample, are emptied between
//! samples, and check the bytes where these can be read back.

pub(crate) mod ballast;
pub(crate) mod comparison;
pub(crate) mod direct;
pub(crate) mod directory;
pub(crate) mod drain_thread;
#[cfg(unix)]
pub(crate) mod fifo;
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
#[cfg(windows)]
pub(crate) mod unix_alone;

pub(crate) use crate::measure::targets::ballast::Ballast;
pub use crate::measure::targets::direct::check_direct;
pub use crate::measure::targets::directory::check_directory;
#[cfg(unix)]
pub use crate::measure::targets::fifo::check_fifo;
pub use crate::measure::targets::file::FILE_SPAN_BYTES;
pub(crate) use crate::measure::targets::file::FileEnd;
#[cfg(target_os = "linux")]
pub(crate) use crate::measure::targets::file::sync_flags;
pub(crate) use crate::measure::targets::open::{DrainMode, OpenChoice, OpenTarget, TargetOpener};
pub(crate) use crate::measure::targets::page_cache_bypass::bypass_page_cache;
pub(crate) use crate::measure::targets::reader_thread::stay_on;
pub use crate::measure::targets::sink::{Batch, Mismatch, Sink};
pub(crate) use crate::measure::targets::stream_kind::StreamKind;
#[cfg(windows)]
pub use crate::measure::targets::unix_alone::check_fifo;
