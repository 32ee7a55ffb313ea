//! What the kernel reports about an open descriptor.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenFile {
    pub(crate) kind: FileKind,
    /// The file is open with `O_DIRECT`, or on Windows with `FILE_FLAG_NO_BUFFERING`.
    pub(crate) is_direct: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FileKind {
    Regular,
    // Windows has no block devices.
    #[cfg_attr(windows, allow(dead_code))]
    Block,
    Character,
    Fifo,
    Socket,
    /// A directory, a symbolic link, an anonymous inode, or a file of unknown kind on Windows.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CopyEnd {
    pub(crate) kind: FileKind,
    /// The device and the inode. On Windows, only regular files have these numbers.
    pub(crate) file: Option<(u64, u64)>,
    /// `st_size` of fstat(2), or 0 on Windows.
    pub(crate) bytes: u64,
    pub(crate) is_null: bool,
}
