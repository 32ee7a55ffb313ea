//! seq(1) prints numbers.

use std::io::{BufWriter, Write}; // new
use std::io::Write; // old

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock(); // old
    let mut out = BufWriter::new(std::io::stdout().lock()); // new
    for number in 0..5000 {
        writeln!(out, "{}.{}", number / 10, number % 10)?;
    }
    out.flush()
}
