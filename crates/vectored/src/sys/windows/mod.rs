//! Windows: `WSASend` and `WSARecv` for sockets, which take lists; calls of one buffer for all handles.

pub(crate) mod codes;
pub(crate) mod event;
pub(crate) mod files;
mod handles;
pub(crate) mod native;
mod sockets;
pub(crate) mod syscalls;
