//! The system calls of Windows. `WSASend` and `WSARecv` take lists for sockets. Calls on handles take one buffer.

pub(crate) mod codes;
pub(crate) mod event;
pub(crate) mod files;
mod handles;
pub(crate) mod native;
mod sockets;
pub(crate) mod syscalls;
