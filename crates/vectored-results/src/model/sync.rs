//! Durability of writes to a file.

use crate::model::words::words;

words! {
    /// How durable each write to a file must be before the next call.
    #[derive(Default)]
    pub enum SyncMode {
        /// A write need not be durable: the kernel writes it back later.
        #[default]
        None = "none",
        /// The data, before each system call returns: `O_DSYNC`.
        Dsync = "dsync",
        /// The data and all metadata of the file, before each system call returns: `O_SYNC`.
        Sync = "sync",
        /// Both, by one `fsync(2)` after each call of the technique, which is part of the timed call.
        Fsync = "fsync",
    }
}
