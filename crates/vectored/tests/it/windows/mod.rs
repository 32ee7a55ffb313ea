//! Handles and sockets of Windows.

mod children;
mod files;
mod sockets;
