//! Reads records of a tag, a length and a value of up to 16 bytes, and sums the values of each tag.

use std::io::{self, BufReader, ErrorKind, Read, Write};

use vectored_pairs::{Invocation, Version};

fn main() -> io::Result<()> {
    let invocation = Invocation::from_args()?;
    let input = invocation.input()?;
    let sums = match invocation.version {
        Version::Before => parse(input, invocation.count)?,
        Version::After => parse(BufReader::with_capacity(1 << 16, input), invocation.count)?,
    };
    let text: String = sums.iter().map(|sum| format!("{sum}\n")).collect();
    invocation.output()?.write_all(text.as_bytes())
}

/// The sum of the values of each tag.
fn parse(mut input: impl Read, max_records: u64) -> io::Result<[u64; 4]> {
    let mut sums = [0_u64; 4];
    for _ in 0..max_records {
        let mut head = [0; 2];
        match input.read_exact(&mut head) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
            other => other?,
        }
        let [tag, length] = head;
        let mut value = [0; 16];
        let value = value
            .get_mut(..usize::from(length))
            .ok_or(ErrorKind::InvalidData)?;
        input.read_exact(value)?;
        let number = value.iter().fold(0, |number: u64, &byte| {
            number.wrapping_mul(31) + u64::from(byte)
        });
        let sum = &mut sums[usize::from(tag) % 4];
        *sum = sum.wrapping_add(number);
    }
    Ok(sums)
}
