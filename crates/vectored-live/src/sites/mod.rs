//! Call sites: the line of a program that makes a call, by a sample of its stack.

use aya::maps::{HashMap, MapData};

use crate::record::Sample;

/// Where CPython keeps the running frame: `struct python` of `bpf/live.bpf.c`, by process.
pub(crate) type Pythons = HashMap<MapData, u32, [u64; 5]>;

/// Finds call sites, with what it knows of each process.
pub(crate) struct Sites {
    _pythons: Pythons,
}

impl Sites {
    pub(crate) fn new(pythons: Pythons) -> Sites {
        Sites { _pythons: pythons }
    }

    /// A process runs, or another program runs in it: the kernel may be told where its frames are.
    pub(crate) fn begin(&mut self, _process: u32) {}

    /// A process mapped a file into memory, at this address: it may be a library.
    pub(crate) fn map(&mut self, _process: u32, _address: u64) {}

    /// The call site of a sample: the innermost frame outside the C library; `None` if it is unknown.
    pub(crate) fn site(&mut self, _process: u32, _sample: &Sample) -> Option<Vec<u8>> {
        None
    }

    /// A process has ended.
    pub(crate) fn forget(&mut self, _process: u32) {}
}
