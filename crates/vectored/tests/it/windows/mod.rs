//! Handles, sockets and lists of pages of Windows.

mod children;
mod files;
mod pages;
mod sockets;
