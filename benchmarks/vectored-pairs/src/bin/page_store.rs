//! Updates pages of a store in pseudo-random order. A page has eight blocks of 512 bytes.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;

use vectored::files::write_all_at;
use vectored_pairs::{Invocation, Version};

const BLOCK_BYTES: usize = 512;
const BLOCKS: usize = 8;
const PAGE_BYTES: u64 = (BLOCK_BYTES * BLOCKS) as u64;

/// Pages of the store: 16 MiB.
const PAGES: u64 = 4096;

fn main() -> io::Result<()> {
    let invocation = Invocation::from_args()?;
    let file = invocation.store()?;
    let mut blocks = [[0; BLOCK_BYTES]; BLOCKS];
    for number in 0..invocation.count {
        // The factor is odd, so no page comes again before all pages have come.
        let page = number * 1_234_577 % PAGES;
        for (index, block) in blocks.iter_mut().enumerate() {
            fill(block, number + index as u64);
        }
        let offset = page * PAGE_BYTES;
        match invocation.version {
            Version::Before => write_each(&file, &blocks, offset)?,
            Version::After => {
                let segments = blocks.each_ref().map(|block| IoSlice::new(block));
                write_all_at(&file, &segments, offset)?;
            }
        }
    }
    Ok(())
}

fn write_each(file: &File, blocks: &[[u8; BLOCK_BYTES]], mut offset: u64) -> io::Result<()> {
    for block in blocks {
        file.write_all_at(block, offset)?;
        offset += BLOCK_BYTES as u64;
    }
    Ok(())
}

/// Fills a block with entries that depend on its number.
fn fill(block: &mut [u8; BLOCK_BYTES], number: u64) {
    for (index, entry) in block.chunks_exact_mut(8).enumerate() {
        let value = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index as u64;
        entry.copy_from_slice(&value.to_le_bytes());
    }
}
