//! Direct I/O: transfers between the segments and the device, past the page cache.

use serde::{Deserialize, Serialize};
use vectored::files::DirectAlignment;

/// The alignment with which a file was written or read with `O_DIRECT` (macOS: `F_NOCACHE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DirectIo {
    /// Segments begin at multiples of this many bytes in memory: a power of two.
    pub memory_bytes: usize,
    /// Offsets in the file and lengths are multiples of this many bytes: a power of two.
    pub offset_bytes: usize,
}

impl DirectIo {
    /// The size of every segment must be a multiple of this many bytes, so that adjacent segments are aligned in memory.
    pub fn step_bytes(self) -> usize {
        self.memory_bytes.max(self.offset_bytes)
    }

    pub fn nearest_size(self, bytes: usize) -> usize {
        let step = self.step_bytes();
        let below = bytes / step * step;
        if bytes - below >= step.div_ceil(2) || below == 0 {
            below + step
        } else {
            below
        }
    }
}

impl From<DirectAlignment> for DirectIo {
    fn from(alignment: DirectAlignment) -> Self {
        DirectIo {
            memory_bytes: alignment.memory_bytes,
            offset_bytes: alignment.offset_bytes,
        }
    }
}
