//! Real targets: they receive the bytes of a sample, are emptied between samples, and check the bytes where these can be read back.

mod comparison;
mod direct;
mod end;
mod file;
#[cfg(unix)]
mod foreign_socket;
mod open;
mod reader_thread;
mod stream_kind;
mod stream_sink;
mod thread_beside;

#[cfg(unix)]
pub(crate) use comparison::compare_file;
pub use direct::{check_direct, check_directory};
pub(crate) use end::{Batch, End, Mismatch};
pub use file::FILE_SPAN_BYTES;
pub(crate) use file::filled_file;
#[cfg(target_os = "linux")]
pub(crate) use file::sync_flags;
pub(crate) use open::{THREAD_BYTES, TargetOpener};
pub(crate) use stream_kind::StreamKind;
pub(crate) use stream_sink::OpenStream;
pub(crate) use thread_beside::ThreadBeside;
