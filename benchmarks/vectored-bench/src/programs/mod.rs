//! Programs that send many small or medium buffers, by the ways that they can send them:
//! `cargo xtask bench-programs`, described in `docs/measured/programs.md`.
//!
//! [`catalogue`] names the programs; each has a file of its own. A [`case::Case`] is a program with a size and a
//! count; its contenders are the techniques, one [`session::Session`] each. [`measure`] compares the bytes that
//! arrive, then samples all techniques in turns. [`figures`] and [`render`] are pure functions of the samples.

pub mod case;
pub mod catalogue;
mod clock;
mod deliver;
pub mod figures;
mod file;
mod file_sinks;
mod framed;
mod grpc;

mod h2_client;
pub mod harness;
mod http1;
mod http2;
mod list;
mod logs;

pub mod measure;
pub mod options;
mod payload;
pub mod policies;
mod raw_client;
pub mod render;
mod resp;
pub mod session;
mod sinks;
mod tar_archive;
mod wal;
