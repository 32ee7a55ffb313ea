//! Lists moved by io_uring, Linux AIO and POSIX AIO.

mod direct;
mod faults;
mod model;
mod refused;
mod support;
