//! A log whose lines are written in six pieces.

use std::io::{self, BufWriter, Write};

use vectored_pairs::{Invocation, Version};

fn main() -> io::Result<()> {
    let invocation = Invocation::from_args()?;
    let mut file = invocation.output()?;
    match invocation.version {
        Version::Before => log(&mut file, invocation.count),
        Version::After => {
            let mut writer = BufWriter::with_capacity(1 << 16, file);
            log(&mut writer, invocation.count)?;
            writer.flush()
        }
    }
}

fn log(out: &mut impl Write, lines: u64) -> io::Result<()> {
    const LEVELS: [&str; 4] = ["DEBUG", "INFO", "WARN", "ERROR"];
    const MESSAGES: [&str; 3] = [
        "request done in 17 ms, 200 OK",
        "cache miss, asking upstream",
        "connection closed by peer",
    ];
    for line in 0..lines {
        let time = format!(
            "2026-01-{:02}T{:02}:{:02}Z",
            line % 28 + 1,
            line / 60 % 24,
            line % 60
        );
        out.write_all(time.as_bytes())?;
        out.write_all(b" ")?;
        out.write_all(LEVELS[line as usize % 4].as_bytes())?;
        out.write_all(b" ")?;
        out.write_all(MESSAGES[line as usize % 3].as_bytes())?;
        out.write_all(b"\n")?;
    }
    Ok(())
}
