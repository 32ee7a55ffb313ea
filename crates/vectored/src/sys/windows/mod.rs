//! Windows: `WSASend` and `WSARecv` for sockets, which take lists; calls of one buffer for all handles.

pub(crate) mod codes;
mod event;
pub(crate) mod files;
mod handles;
mod native;
mod sockets;
pub(crate) mod syscalls;
