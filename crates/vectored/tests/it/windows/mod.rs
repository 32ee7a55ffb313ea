//! Tests of handles, sockets and lists of pages on Windows.

mod children;
mod files;
mod pages;
mod sockets;
