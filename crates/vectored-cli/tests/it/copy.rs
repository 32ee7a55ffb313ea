//! `vectored copy`: a filter.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::path::Path;
use std::process::Stdio;

use crate::support::Bench;

fn content() -> Vec<u8> {
    (0..100_000_u32).map(|n| (n * 31 % 251) as u8).collect()
}

#[test]
fn every_byte_is_copied_with_buffers_of_any_size() {
    for (args, reads) in [
        (&[][..], Some(1)),
        (&["--buffer-size", "1"], Some(100_000)),
        (
            &["--buffer-size", "4096", "--technique", "read-write"],
            Some(25),
        ),
        (&["--buffer-size", "64KiB"], Some(2)),
        (&["--technique", "stdio"], None),
    ] {
        let bench = Bench::new();
        let (from, to) = (bench.work().join("from"), bench.work().join("to"));
        fs::write(&from, content()).unwrap();
        let mut command = bench.std_vectored();
        command.args(["copy", "--report", "--fsync"]).args(args);
        command.stdin(File::open(&from).unwrap());
        command.stdout(File::create(&to).unwrap());
        let output = command.stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{args:?}: {said}");
        assert_eq!(fs::read(&to).unwrap(), content(), "{args:?}");
        let expected = match reads {
            Some(1) => "100000 bytes, 1 read\n".to_owned(),
            Some(reads) => format!("100000 bytes, {reads} reads\n"),
            None => "100000 bytes\n".to_owned(),
        };
        assert_eq!(said, expected, "{args:?}");
    }
}

#[test]
fn copy_is_silent_and_a_closed_pipe_is_no_failure() {
    let bench = Bench::new();
    let mut command = bench.vectored();
    let output = command
        .arg("copy")
        .write_stdin(content())
        .assert()
        .success();
    assert_eq!(output.get_output().stdout, content());
    assert!(output.get_output().stderr.is_empty());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = bench.std_vectored();
    command
        .arg("copy")
        .stdin(File::open("/proc/self/maps").unwrap());
    let output = command
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
    assert!(bench.saved().is_empty());
}

#[test]
fn a_copy_that_would_never_end_or_cannot_begin_is_refused() {
    let bench = Bench::new();
    let file = bench.work().join("file");
    fs::write(&file, "once").unwrap();
    let copied = |from: &Path, to: File| {
        let mut command = bench.std_vectored();
        command
            .arg("copy")
            .stdin(File::open(from).unwrap())
            .stdout(to);
        let output = command.stderr(Stdio::piped()).output().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "once");
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let write = || File::options().write(true).open(&file).unwrap();
    let (code, message) = copied(&file, File::options().append(true).open(&file).unwrap());
    assert!(code == 2 && message.contains("never end"), "{message}");
    // Not appending, but ahead.
    let mut ahead = write();
    ahead.seek(SeekFrom::End(0)).unwrap();
    assert_eq!(copied(&file, ahead).0, 2);
    // The same place is its end in the end.
    assert_eq!(copied(&file, write()).0, 0);
    let (code, message) = copied(Path::new("/"), write());
    assert!(
        code == 1 && message.contains("cannot read standard input"),
        "{message}"
    );
}

#[test]
fn a_full_device_is_reported_with_a_remedy() {
    let bench = Bench::new();
    let file = bench.work().join("file");
    fs::write(&file, content()).unwrap();
    for technique in ["read-write", "stdio"] {
        let mut command = bench.std_vectored();
        command.args(["copy", "--technique", technique]);
        command.stdin(File::open(&file).unwrap());
        command.stdout(File::options().write(true).open("/dev/full").unwrap());
        let output = command.stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{technique}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("free some space"), "{technique}: {stderr}");
    }
}
