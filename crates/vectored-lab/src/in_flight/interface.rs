//! The names of the interfaces.

/// An interface for asynchronous transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interface {
    /// io_uring(7), since Linux 5.6 here.
    IoUring,
    /// Linux native AIO: io_submit(2). Lists since Linux 2.6.19.
    LinuxAio,
    /// POSIX AIO: aio(7), of the C library.
    PosixAio,
}

impl Interface {
    /// Every interface.
    pub const ALL: [Interface; 3] = [Interface::IoUring, Interface::LinuxAio, Interface::PosixAio];

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Interface::IoUring => "io_uring",
            Interface::LinuxAio => "Linux native AIO",
            Interface::PosixAio => "POSIX AIO",
        }
    }
}
