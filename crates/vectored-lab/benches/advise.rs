//! How fast logs of strace are read, against `wc -l`: `cargo bench -p vectored-lab --bench advise`.
//! With `--test`, a small log, once.
//!
//! Both take turns on the same file in the page cache; what counts is the ratio of the medians.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use vectored_lab::advisor::strace::{Item, read_logs};

fn main() -> io::Result<()> {
    let small_form = std::env::args().any(|argument| argument == "--test");
    let (bytes, rounds) = if small_form {
        (1 << 20, 1)
    } else {
        (512 << 20, 9)
    };
    let path = std::env::temp_dir().join(format!("vectored-advise-{}.log", std::process::id()));
    let measured = write_log(&path, bytes).and_then(|()| measure(&path, rounds));
    std::fs::remove_file(&path)?;
    let (reading_s, counting_s) = measured?;
    let gigabytes = bytes as f64 / 1e9;
    println!(
        "reading {:.2} GB/s, wc -l {:.2} GB/s, ratio {:.1}",
        gigabytes / reading_s,
        gigabytes / counting_s,
        reading_s / counting_s
    );
    Ok(())
}

/// The median seconds of reading and of `wc -l`.
fn measure(path: &Path, rounds: usize) -> io::Result<(f64, f64)> {
    let mut reading_s = Vec::new();
    let mut counting_s = Vec::new();
    for _ in 0..rounds {
        let start = Instant::now();
        let mut events = 0_u64;
        let follow = |item: Item<'_>| {
            events += u64::from(matches!(item, Item::Event(_)));
            ControlFlow::Continue(())
        };
        let counts = read_logs(&[PathBuf::from(path)], follow).map_err(io::Error::other)?;
        reading_s.push(start.elapsed().as_secs_f64());
        assert_eq!((events, counts.calls), (counts.lines, counts.lines));
        let start = Instant::now();
        let counted = Command::new("wc")
            .arg("-l")
            .arg(path)
            .stdout(Stdio::null())
            .status()?;
        counting_s.push(start.elapsed().as_secs_f64());
        assert!(counted.success());
    }
    Ok((median(reading_s), median(counting_s)))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A log of a server with four threads, as `-f -ttt -T -yy -s1 -v` makes it.
fn write_log(path: &Path, bytes: usize) -> io::Result<()> {
    let mut log = BufWriter::new(File::create(path)?);
    let mut now_us = 1_795_312_736_000_000_u64;
    let mut written = 0;
    let socket = "13<TCP:[127.0.0.1:59072->127.0.0.1:37149]>";
    let mut line = Vec::new();
    for call in 0_u64.. {
        if written >= bytes {
            break;
        }
        now_us += 13 + call % 7;
        let size = call % 1000;
        line.clear();
        let (seconds, micros) = (now_us / 1_000_000, now_us % 1_000_000);
        write!(line, "{}  {seconds}.{micros:06} ", 9658 + call / 3 % 4)?;
        match call % 8 {
            0 => write!(line, "read(5</srv/data/in.db>, \"x\"..., 4096) = {}", 4096 - size)?,
            1 => line.extend_from_slice(
                b"epoll_wait(19<anon_inode:[eventpoll]>, [{events=EPOLLIN, data=0x7f01}], 128, -1) = 1",
            ),
            2 => line.extend_from_slice(b"futex(0x7f7b10116990, FUTEX_WAKE_PRIVATE, 1) = 1"),
            3 => write!(
                line,
                "writev({socket}, [{{iov_base=\"H\"..., iov_len=17}}, {{iov_base=\"x\"..., iov_len={size}}}], 2) = {}",
                size + 17
            )?,
            4 => write!(line, "lseek(5</srv/data/in.db>, {call}, SEEK_SET) = {call}")?,
            5 => write!(line, "pwrite64(6</srv/data/journal.log>, \"\\0\"..., 24, {}) = 24", call * 24)?,
            _ => write!(line, "write({socket}, \"H\"..., {size}) = {size}")?,
        }
        line.extend_from_slice(b" <0.000022>\n");
        written += line.len();
        log.write_all(&line)?;
    }
    log.flush()
}
