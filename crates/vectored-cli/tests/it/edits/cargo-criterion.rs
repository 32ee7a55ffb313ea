//! Reads a file of measurements byte by byte, as a JSON parser does.

use std::fs::File;
use std::io::BufReader; // new
use std::io::Read;

fn main() -> std::io::Result<()> {
    let mut samples = 0;
    let file = File::open("input")?;
    let file = BufReader::new(file); // new
    for byte in file.bytes() {
        samples += u32::from(byte? == b',');
    }
    println!("{samples} samples");
    Ok(())
}
