//! What a descriptor is open on.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenFile {
    pub(crate) kind: FileKind,
    /// Open with `O_DIRECT`; on Windows with `FILE_FLAG_NO_BUFFERING`.
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
    /// A directory, a symbolic link, an anonymous inode, or what Windows does not name.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CopyEnd {
    pub(crate) kind: FileKind,
    /// Device and inode. On Windows only regular files have them.
    pub(crate) file: Option<(u64, u64)>,
    /// `st_size`; 0 on Windows.
    pub(crate) bytes: u64,
    pub(crate) is_null: bool,
}
