//! Tests of successful copies by `vectored copy`.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Bench, VECTORED, case};

pub fn content() -> Vec<u8> {
    (0..100_000_u32).map(|n| (n * 31 % 251) as u8).collect()
}

fn bench() -> Bench {
    let bench = Bench::new();
    fs::write(bench.work().join("from"), content()).unwrap();
    bench
}

/// Runs `words` in a shell. `COPY` stands for `vectored copy`. Returns the exit status and standard error.
pub fn said_in_shell(bench: &Bench, words: &str) -> (i32, String) {
    let mut shell = bench.program("sh");
    shell
        // The shell closes descriptors that the caller of the tests left open, for example `time -o FILE`.
        .args([
            "-c",
            &format!("exec 3>&- 4>&-; {words}").replace("COPY", "\"$0\" copy"),
        ])
        .arg(VECTORED);
    let output = shell.stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), said)
}

/// Runs each line `WORDS => STATUS: MESSAGE`. An empty message means an empty standard error.
#[track_caller]
pub fn check(bench: &Bench, lines: &str) {
    for line in lines.lines() {
        let (words, code, expected) = case(line);
        let (status, said) = said_in_shell(bench, words);
        let is_told = said.contains(expected) && (said.is_empty() || !expected.is_empty());
        assert!(code == status && is_told, "{line}: {status}, {said}");
    }
}

#[test]
fn every_byte_is_copied_by_the_technique_and_the_buffers_that_are_asked_for() {
    let bench = bench();
    let cases = "\
--buffer-size 200k from to => 0: 100000 bytes, 1 read
--buffer-size 1 < from > to => 0: 100000 bytes, 100000 reads
--buffer-size 4k --technique read-write < from > to => 0: 100000 bytes, 25 reads
--technique stdio < from > to => 0: 100000 bytes
from to => 0: 100000 bytes, 1 call of copy_file_range
from /dev/null => 0: 100000 bytes, 1 call of sendfile
from | cat > to => 0:  of splice
--technique read-write from | cat > to => 0:  reads";
    for (words, _, expected) in cases.lines().map(case) {
        let expected = format!("{expected}\n");
        let (code, said) = said_in_shell(&bench, &format!("rm -f to; COPY --report {words}"));
        assert!(code == 0 && said.contains(&expected), "{words}: {said}");
        if !words.contains("null") {
            assert_eq!(
                fs::read(bench.work().join("to")).unwrap(),
                content(),
                "{words}"
            );
        }
    }
}

#[test]
fn copy_is_silent_and_a_closed_pipe_is_no_failure() {
    let bench = bench();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = bench.std_vectored();
    command
        .args(["copy", "from"])
        .stdout(writer)
        .stderr(Stdio::piped());
    let output = command.output().unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
    assert!(bench.saved().is_empty());
}

#[test]
fn a_copy_that_would_never_end_or_cannot_begin_is_refused() {
    let bench = bench();
    check(
        &bench,
        "\
COPY from >> from => 2: never end
COPY --technique read-write from >> from => 2: never end
COPY --technique stdio from >> from => 2: never end
(head -c 100000 <&1 >/dev/null; COPY from) 1<>from => 2: never end
COPY from 1<>from => 0: 
COPY --technique splice --buffer-size 4k from refused => 2: --buffer-size is for
COPY from >&- => 1: standard output is closed
COPY from - >&- => 1: standard output is closed
COPY 3<from <&3 3<&- 1<from => 1: cannot write to standard output after 0 bytes: Bad file
COPY from 1<>/dev/null => 0: 
COPY from > /dev/full => 1: cannot write to standard output after 0 bytes: 
COPY --technique stdio from > /dev/full => 1: cannot copy 'from' to standard output: No space left",
    );
    assert_eq!(fs::read(bench.work().join("from")).unwrap(), content());
}

#[test]
fn an_error_counts_the_bytes_of_the_output() {
    let bench = bench();
    // `ulimit -f` counts in blocks of 512 bytes.
    for words in ["from", "- < from", "--buffer-size 64k from"] {
        let (code, said) = said_in_shell(&bench, &format!("ulimit -f 100; COPY {words} > out"));
        let expected = "error: cannot write to standard output after 51200 bytes: File too large";
        assert!(code == 1 && said.starts_with(expected), "{said}");
        let length = fs::metadata(bench.work().join("out")).unwrap().len();
        assert_eq!(length, 51_200);
    }
}

#[test]
fn a_named_file_is_made_with_the_mode_of_the_input_and_not_overwritten_unasked() {
    let bench = bench();
    let [from, to, got] = ["from", "to", "got"].map(|name| bench.work().join(name));
    for (mode, words, after) in [
        (0o755, "umask 022; COPY from to --sync", 0o755),
        (0o4777, "umask 027; COPY from to", 0o750),
        (0o444, "umask 0; COPY from to", 0o444),
        // A pipe gives the copy no mode. The umask is applied to the default mode.
        (0o755, "umask 027; cat from | COPY - to", 0o640),
        (
            0o755,
            "umask 0; head -c 200000 /dev/zero > to; chmod 640 to; COPY --force from to",
            0o640,
        ),
    ] {
        fs::set_permissions(&from, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(
            said_in_shell(&bench, &format!("rm -f to; {words}")),
            (0, String::new())
        );
        let mode = fs::metadata(&to).unwrap().mode() & 0o7777;
        assert_eq!(
            (mode, fs::read(&to).unwrap()),
            (after, content()),
            "{words}"
        );
    }
    fs::write(&to, "kept").unwrap();
    fs::hard_link(&from, bench.work().join("link")).unwrap();
    check(
        &bench,
        "\
COPY from to => 2: 'to' exists
COPY from to => 2: --force
sleep 1 | timeout -s INT 0.5 COPY --force - to => 124: 
COPY --force from from => 2: are the same file
COPY --force from link => 2: are the same file
COPY --force - link < from => 2: are the same file
COPY from nowhere/to => 2: cannot make 'nowhere/to': No such file or directory
COPY from . => 2: name a file in it
COPY from /dev/null => 0: 
mkfifo fifo; cat fifo > got & COPY from fifo; wait => 0: ",
    );
    assert_eq!(fs::read_to_string(&to).unwrap(), "kept");
    for copied in [from, got] {
        assert_eq!(fs::read(copied).unwrap(), content());
    }
}

#[test]
fn a_file_that_could_not_be_finished_is_removed_if_the_copy_made_it() {
    let bench = bench();
    let to = bench.work().join("to");
    let too_large = "after 51200 bytes: File too large";
    check(
        &bench,
        &format!("ulimit -f 100; COPY from to => 1: cannot write to 'to' {too_large}"),
    );
    assert!(!to.exists());
    fs::write(&to, "before").unwrap();
    check(
        &bench,
        &format!("ulimit -f 100; COPY --force from to => 1: {too_large}"),
    );
    assert_eq!(fs::metadata(&to).unwrap().len(), 51_200);
    fs::remove_file(&to).unwrap();
    // The signal arrives when the output file exists. In the last case, the file also has a byte, and all bytes
    // were read from the pipe except the bytes that the pipe holds.
    for signal in [Signal::INT, Signal::HUP, Signal::XCPU, Signal::USR1] {
        for (fed, least) in [(0, 0), (0, 0), (0, 0), (content().len(), 1)] {
            let (reader, mut feeder) = std::io::pipe().unwrap();
            let mut command = bench.program("/usr/bin/env");
            command.args(["--default-signal=HUP", VECTORED, "copy", "-", "to"]);
            let mut copy = command.stdin(reader).spawn().unwrap();
            drop(command);
            feeder.write_all(&content()[..fed]).unwrap();
            while !fs::metadata(&to).is_ok_and(|found| found.len() >= least) {
                assert!(copy.try_wait().unwrap().is_none());
                std::thread::yield_now();
            }
            kill_process(Pid::from_child(&copy), signal).unwrap();
            assert_eq!(copy.wait().unwrap().signal(), Some(signal.as_raw()));
            assert!(!to.exists());
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn holes_are_kept_where_they_are() {
    let bench = Bench::new();
    let from = bench.work().join("from");
    let file = File::create(&from).unwrap();
    let write = |offset, bytes: &[u8]| file.write_all_at(bytes, offset).unwrap();
    write(1 << 20, &content());
    write(3 << 20, b"in the middle");
    file.set_len(5 << 20).unwrap();
    let of = |name: &str| fs::metadata(bench.work().join(name)).unwrap();
    // The input starts at a position with no data after it. A file of /sys is shorter than its reported size.
    check(
        &bench,
        "\
COPY --sparse --report from to => 0: 5242880 bytes, 
COPY --sparse < from > out => 0: 
(dd bs=1 count=0 skip=4194304 status=none; COPY --sparse --report) < from > hole => 0: 1048576 bytes, 0 reads
COPY --sparse /sys/devices/system/cpu/possible cpus && cmp /sys/devices/system/cpu/possible cpus => 0: 
COPY --sparse from >> log; COPY --sparse from >> log => 2: the output has bytes where the holes would be",
    );
    for name in ["to", "out"] {
        assert!(fs::read(bench.work().join(name)).unwrap() == fs::read(&from).unwrap());
        assert_eq!(of(name).blocks(), of("from").blocks());
    }
    assert_eq!((of("hole").len(), of("hole").blocks()), (1 << 20, 0));
}
