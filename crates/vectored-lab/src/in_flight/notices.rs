//! Notifications of sends without a copy.

/// Sends of which the kernel has notified that they are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZerocopyNotices {
    /// All of them.
    pub sends: u64,
    /// Those of which it copied the bytes after all (`IORING_NOTIF_USAGE_ZC_COPIED`).
    pub copied: u64,
}
