//! A store of records, each a header of 16 bytes and a payload of 4 KiB.

use std::fs::File;
use std::io::{self, Seek, Write};

use vectored::GatherWriter;
use vectored_pairs::{Invocation, Version};

const PAYLOAD_BYTES: usize = 4096;

/// Records until the file is truncated, as a rotated log.
const RECORDS_A_FILE: u64 = 4096;

fn main() -> io::Result<()> {
    let invocation = Invocation::from_args()?;
    let payloads: Vec<u8> = (0..64 * PAYLOAD_BYTES)
        .map(|at| ((at * 31) >> 3) as u8)
        .collect();
    let mut file = invocation.output()?;
    for first in (0..invocation.count).step_by(RECORDS_A_FILE as usize) {
        file.set_len(0)?;
        file.rewind()?;
        let records = first..invocation.count.min(first + RECORDS_A_FILE);
        match invocation.version {
            Version::Before => store(&mut file, records, &payloads)?,
            Version::After => {
                let mut writer = GatherWriter::<File>::with_capacity(1 << 16, file);
                store(&mut writer, records, &payloads)?;
                file = writer.into_inner()?;
            }
        }
    }
    Ok(())
}

fn store(out: &mut impl Write, records: std::ops::Range<u64>, payloads: &[u8]) -> io::Result<()> {
    for number in records {
        let from = number as usize % 64 * PAYLOAD_BYTES;
        let payload = &payloads[from..from + PAYLOAD_BYTES];
        let mut header = [0; 16];
        header[..8].copy_from_slice(&number.to_le_bytes());
        header[8..12].copy_from_slice(&(PAYLOAD_BYTES as u32).to_le_bytes());
        header[12..].copy_from_slice(&checksum(payload).to_le_bytes());
        out.write_all(&header)?;
        out.write_all(payload)?;
    }
    Ok(())
}

/// A checksum of every sixteenth byte.
fn checksum(payload: &[u8]) -> u32 {
    payload.iter().step_by(16).fold(1, |sum: u32, &byte| {
        sum.wrapping_mul(31).wrapping_add(byte.into())
    })
}
