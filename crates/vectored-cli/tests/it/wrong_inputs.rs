//! Wrong inputs of every command. Each message says what was wrong, on what, and names a remedy.

use std::fs;
use std::os::unix::net::UnixListener;

use crate::support::Bench;

/// Arguments, the exit code, and words of the message.
type Wrong<'a> = (&'a [&'a str], i32, &'a [&'a str]);

const INPUTS: &[Wrong<'_>] = &[
    (
        &["measure", "--sizes", "4.5k"],
        2,
        &["'4.5k'", "whole number", "512KiB"],
    ),
    (
        &["measure", "--sizes", "4X"],
        2,
        &["unit 'X'", "use B, KiB"],
    ),
    (
        &["measure", "--segments", "0"],
        2,
        &["--segments", "'0' is zero"],
    ),
    (
        &["measure", "--segments", ""],
        2,
        &["''", "the list is empty", "for example 2,16 or 16..1024"],
    ),
    (
        &["measure", "--segments", "-3"],
        2,
        &["'-3'", "greater than zero"],
    ),
    (
        &["measure", "--segments", "1000000000000"],
        2,
        &["1,000,000,000,000 segments", "1,048,576", "--segments"],
    ),
    (
        &["measure", "--budget", "0"],
        2,
        &["greater than zero, for example 18s"],
    ),
    (
        &["measure", "--budget", "-5s"],
        2,
        &["cannot be negative", "18s"],
    ),
    (
        &["measure", "--budget", ""],
        2,
        &["a number with its unit", "18s"],
    ),
    (&["measure", "--budget", "1000000h"], 2, &["at most 24h"]),
    (
        &["measure", "--target", ""],
        2,
        &["expected file", "the path of a directory"],
    ),
    (
        &["measure", "--target", "binary"],
        2,
        &["'binary'", "an existing file", "its directory"],
    ),
    (
        &["measure", "--seed", "1.5"],
        2,
        &["whole number, 0 or more"],
    ),
    (
        &["measure", "--color", "maybe"],
        2,
        &["'maybe'", "auto, always, never"],
    ),
    (
        &["measure", "--output", "socket"],
        2,
        &["'socket'", "it is a socket", "--output"],
    ),
    (
        &["measure", "--output", "loop"],
        2,
        &["'loop'", "symbolic links", "--output"],
    ),
    (
        &["measure", "--output", "binary/x"],
        2,
        &["'binary/x'", "Not a directory", "--output"],
    ),
    (
        &["measure", "--no-save", "--no-save"],
        2,
        &["--no-save", "multiple times"],
    ),
    (
        &["report", "folder"],
        2,
        &["'folder'", "directory", "latest"],
    ),
    (
        &["report", "binary"],
        1,
        &[
            "'binary'",
            "it is not a text file",
            "a result that vectored saved",
        ],
    ),
    (
        &["report", "broken"],
        1,
        &["'broken'", "not JSON", "name a saved result"],
    ),
    (
        &["report", "empty"],
        1,
        &["'empty'", "it is empty", "a result that vectored saved"],
    ),
    (&["report", "/dev/null"], 1, &["'/dev/null'", "it is empty"]),
    (&["report", ""], 2, &["the name is empty", "latest"]),
    (
        &["report", "latest~3"],
        2,
        &[
            "no saved result 'latest~3'",
            "0 results",
            "run `vectored measure` first",
        ],
    ),
    (
        &["report", "--markdown", "folder"],
        2,
        &["'folder'", "it is a directory", "--markdown"],
    ),
    (
        &["compare", "broken", "--against", "broken"],
        1,
        &["'broken'", "not JSON", "latest"],
    ),
    (
        &["compare", "a", "--against", "b", "--fail-if-slower", ""],
        2,
        &["expected a share", "5% or 0.05"],
    ),
    (&["history", "--prune", "0"], 2, &["--prune", "30d or 12h"]),
    (&["history", "--dry-run"], 2, &["--prune"]),
    (
        &["history", "--prune", "1d", "--keep", "-1"],
        2,
        &["--keep", "whole number, 0 or more"],
    ),
    (
        &["host", "--dir", "nowhere"],
        2,
        &["'nowhere'", "does not exist", "--dir"],
    ),
    (
        &["host", "--output", "/dev/full"],
        1,
        &["'/dev/full'", "No space left"],
    ),
    (
        &["copy", "--buffer-size", "2G"],
        2,
        &["2048 MiB", "at most 1 GiB"],
    ),
    (
        &["copy", "--buffer-size", "4k,8k"],
        2,
        &["'4k,8k' is a list", "4096"],
    ),
    (
        &["reproduce", "apue-3.5", "--min", "8k", "--max", "4k"],
        2,
        &["--min 8 KiB and --max 4 KiB", "smaller --min"],
    ),
    (
        &["reproduce", "mincer", "--repeats", "99999999999"],
        2,
        &["4,294,967,295"],
    ),
];

#[test]
fn wrong_input_is_reported_with_a_remedy() {
    let bench = Bench::new();
    let work = bench.work();
    fs::create_dir(work.join("folder")).unwrap();
    fs::write(work.join("binary"), [0xff, 0xfe, 0, 1, 0x80]).unwrap();
    fs::write(work.join("broken"), "{\"schema\":").unwrap();
    fs::write(work.join("empty"), "\n").unwrap();
    std::os::unix::fs::symlink("loop", work.join("loop")).unwrap();
    let _socket = UnixListener::bind(work.join("socket")).unwrap();
    let mut wrong = Vec::new();
    for (args, code, words) in INPUTS {
        let mut command = bench.vectored();
        let output = command.args(*args).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        let is_told = words.iter().all(|word| message.contains(word));
        let is_first = message.starts_with("error: ") && output.stdout.is_empty();
        if output.status.code() != Some(*code) || !is_told || !is_first {
            wrong.push(format!("{args:?}: {:?} {message}", output.status.code()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(bench.saved().is_empty());
}

#[test]
fn a_block_device_is_refused_as_an_output() {
    // Whichever there is, it must not be opened for writing.
    let devices = fs::read_dir("/sys/class/block").into_iter().flatten();
    let mut devices =
        devices.map(|entry| std::path::Path::new("/dev").join(entry.unwrap().file_name()));
    let Some(device) = devices.find(|path| path.exists()) else {
        return crate::support::skip(
            "a_block_device_is_refused_as_an_output",
            "there is no block device",
        );
    };
    let bench = Bench::new();
    let mut command = bench.vectored();
    // Nothing is to be written if it is not refused, either.
    command
        .args(["report", "nowhere.json", "--csv"])
        .arg(&device);
    let output = command.assert().code(2).get_output().clone();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("it is a block device"), "{message}");
}
