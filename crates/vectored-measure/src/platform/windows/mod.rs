//! Windows.

pub(crate) mod calls;
pub(crate) mod cpus;
pub(crate) mod descriptors;
pub(crate) mod fd;
pub(crate) mod files;
pub(crate) mod plain_calls;
pub(crate) mod rings;
pub(crate) mod times;
