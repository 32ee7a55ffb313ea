//! The conditions that asynchronous techniques refuse.

use vectored_results::model::{Conditions, IovecSetup, SyncMode};

/// The refusal of a technique with several transfers in flight.
pub fn refuses(conditions: &Conditions) -> Option<&'static str> {
    if conditions.iovec_setup == IovecSetup::Once {
        Some("fills the array of each transfer itself: use --iovec-setup timed")
    } else if conditions.sync == SyncMode::Fsync {
        Some(
            "cannot be measured with --sync fsync, since fsync(2) would wait for every transfer in flight: use --sync \
             dsync",
        )
    } else {
        None
    }
}
