//! What has no safe interface; the only place of this crate where `unsafe` may
//! be.

pub mod evbuffer;
pub mod library;
pub mod uv;
