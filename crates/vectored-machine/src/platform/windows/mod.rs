//! Windows.

pub mod cpus;
pub mod fd;
pub mod files;
pub mod plain_calls;
pub mod times;
