//! `vectored copy`: a filter.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Bench, VECTORED};

pub fn content() -> Vec<u8> {
    (0..100_000_u32).map(|n| (n * 31 % 251) as u8).collect()
}

#[test]
fn every_byte_is_copied_with_buffers_of_any_size() {
    for (args, expected) in [
        (&["--buffer-size", "200k"][..], "100000 bytes, 1 read\n"),
        (&["--buffer-size", "1"], "100000 bytes, 100000 reads\n"),
        (
            &["--buffer-size", "4096", "--technique", "read-write"],
            "100000 bytes, 25 reads\n",
        ),
        (&["--buffer-size", "64KiB"], "100000 bytes, 2 reads\n"),
        (&["--technique", "stdio"], "100000 bytes\n"),
    ] {
        let bench = Bench::new();
        let (from, to) = (bench.work().join("from"), bench.work().join("to"));
        fs::write(&from, content()).unwrap();
        let mut command = bench.std_vectored();
        command.args(["copy", "--report", "--sync"]).args(args);
        command.stdin(File::open(&from).unwrap());
        command.stdout(File::create(&to).unwrap());
        let output = command.stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{args:?}: {said}");
        assert_eq!(fs::read(&to).unwrap(), content(), "{args:?}");
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
    let copied_by = |technique: &str, from: &Path, to: File| {
        let mut command = bench.std_vectored();
        command
            .args(["copy", "--technique", technique])
            .stdin(File::open(from).unwrap())
            .stdout(to);
        let output = command.stderr(Stdio::piped()).output().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "once");
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let copied = |from: &Path, to: File| copied_by("auto", from, to);
    let write = || File::options().write(true).open(&file).unwrap();
    for technique in ["auto", "read-write", "stdio"] {
        let appended = File::options().append(true).open(&file).unwrap();
        let (code, message) = copied_by(technique, &file, appended);
        assert!(code == 2 && message.contains("never end"), "{message}");
    }
    // Not appending, but ahead.
    let mut ahead = write();
    ahead.seek(SeekFrom::End(0)).unwrap();
    assert_eq!(copied(&file, ahead).0, 2);
    // The same place is its end in the end.
    assert_eq!(copied(&file, write()).0, 0);
}

#[test]
fn a_full_device_is_reported_with_a_remedy() {
    let bench = Bench::new();
    let file = bench.work().join("file");
    fs::write(&file, content()).unwrap();
    for technique in ["auto", "read-write", "stdio"] {
        let mut command = bench.std_vectored();
        command.args(["copy", "--technique", technique]);
        command.stdin(File::open(&file).unwrap());
        command.stdout(File::options().write(true).open("/dev/full").unwrap());
        let output = command.stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{technique}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("free some space"), "{technique}: {stderr}");
        if technique != "stdio" {
            assert!(
                stderr.contains("cannot write to standard output after 0 bytes: "),
                "{stderr}"
            );
        }
    }
}

/// Standard error of `vectored copy` with these words in a shell, whose redirections come after them; and its exit status.
pub fn said_in_shell(bench: &Bench, words: &str) -> (i32, String) {
    let mut shell = bench.program("sh");
    shell
        .args(["-c", &words.replace("COPY", "\"$0\" copy")])
        .arg(VECTORED);
    let output = shell.stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), said)
}

#[test]
fn an_error_counts_the_bytes_of_the_output() {
    let bench = Bench::new();
    fs::write(bench.work().join("in"), vec![7; 300_000]).unwrap();
    // In blocks of 512 bytes.
    for (options, input) in [("", "in"), ("", "- < in"), ("--buffer-size 128k", "in")] {
        let words = format!("ulimit -f 100; COPY {options} {input} > out");
        let (code, said) = said_in_shell(&bench, &words);
        let expected = "error: cannot write to standard output after 51200 bytes: File too large";
        assert!(code == 1 && said.starts_with(expected), "{said}");
        assert_eq!(
            fs::metadata(bench.work().join("out")).unwrap().len(),
            51_200
        );
    }
    // A pipe that does not block, full after 64 KiB.
    let (reader, writer) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    for options in [
        &[][..],
        &["--buffer-size", "100k"],
        &["--technique", "splice"],
    ] {
        let mut command = bench.std_vectored();
        command
            .arg("copy")
            .args(options)
            .arg("in")
            .stdout(writer.try_clone().unwrap());
        let output = command.stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let held = rustix::io::ioctl_fionread(&reader).unwrap();
        let expected = format!("cannot write to standard output after {held} bytes: ");
        assert!(
            output.status.code() == Some(1) && said.contains(&expected),
            "{said}"
        );
        assert!(held > 0, "{options:?}");
        assert!(said.contains("os.set_blocking(1, True)"), "{said}");
        (&reader).read_exact(&mut vec![0; held as usize]).unwrap();
    }
    // An empty pipe.
    rustix::io::ioctl_fionbio(&reader, true).unwrap();
    let mut command = bench.std_vectored();
    let output = command.arg("copy").stdin(reader).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("os.set_blocking(0, True)"), "{said}");
}

#[test]
fn a_closed_standard_stream_is_an_error() {
    let bench = Bench::new();
    fs::write(bench.work().join("in"), content()).unwrap();
    for (words, expected) in [
        ("COPY in >&-", "standard output is closed"),
        ("COPY in - >&-", "standard output is closed"),
        (
            "COPY 3<in <&3 3<&- 1<in",
            "cannot write to standard output after 0 bytes: Bad file",
        ),
    ] {
        let (code, said) = said_in_shell(&bench, words);
        assert!(code == 1 && said.contains(expected), "{words}: {said}");
    }
    // An open /dev/null is as good as any other output.
    assert_eq!(
        said_in_shell(&bench, "COPY in 1<>/dev/null"),
        (0, String::new())
    );
}

#[test]
fn a_named_file_is_made_with_the_mode_of_the_input_and_not_overwritten_unasked() {
    let bench = Bench::new();
    let [from, to] = ["from", "to"].map(|name| bench.work().join(name));
    fs::write(&from, content()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    for (before, umask, after) in [
        (0o755, "022", 0o755),
        (0o4777, "027", 0o750),
        (0o444, "0", 0o444),
    ] {
        set(&from, before).unwrap();
        assert_eq!(
            said_in_shell(&bench, &format!("umask {umask}; COPY from to --sync")).0,
            0
        );
        assert_eq!((mode(&to), fs::read(&to).unwrap()), (after, content()));
        fs::remove_file(&to).unwrap();
    }
    // From a stream as any program makes a file.
    assert_eq!(
        said_in_shell(&bench, "umask 027; cat from | COPY - to").0,
        0
    );
    assert_eq!((mode(&to), fs::read(&to).unwrap()), (0o640, content()));
    fs::write(&to, vec![1; 200_000]).unwrap();
    let (code, said) = said_in_shell(&bench, "COPY from to");
    assert!(
        code == 2 && said.contains("'to' exists") && said.contains("--force"),
        "{said}"
    );
    assert_eq!(fs::read(&to).unwrap(), vec![1; 200_000]);
    assert_eq!(said_in_shell(&bench, "COPY --force from to").0, 0);
    assert_eq!((mode(&to), fs::read(&to).unwrap()), (0o640, content()));
    // A device and a FIFO are not overwritten.
    assert_eq!(said_in_shell(&bench, "COPY from /dev/null").0, 0);
    let words = "mkfifo fifo; cat fifo > got & COPY from fifo; wait";
    assert_eq!(said_in_shell(&bench, words).0, 0);
    assert_eq!(fs::read(bench.work().join("got")).unwrap(), content());
    fs::hard_link(&from, bench.work().join("link")).unwrap();
    for words in [
        "COPY --force from from",
        "COPY --force from link",
        "COPY --force - link < from",
    ] {
        let (code, said) = said_in_shell(&bench, words);
        assert!(
            code == 2 && said.contains("are the same file"),
            "{words}: {said}"
        );
    }
    assert_eq!(fs::read(&from).unwrap(), content());
    for (words, expected) in [
        (
            "COPY from nowhere/to",
            "cannot make 'nowhere/to': its directory does not exist; make that first, or choose another file",
        ),
        ("COPY from .", "name a file in it"),
    ] {
        let (code, said) = said_in_shell(&bench, words);
        assert!(code == 2 && said.contains(expected), "{words}: {said}");
    }
}

#[test]
fn a_file_that_could_not_be_finished_is_removed_if_the_copy_made_it() {
    let bench = Bench::new();
    let to = bench.work().join("to");
    fs::write(bench.work().join("in"), vec![7; 300_000]).unwrap();
    let (code, said) = said_in_shell(&bench, "ulimit -f 100; COPY in to");
    let expected = "cannot write to 'to' after 51200 bytes: File too large";
    assert!(code == 1 && said.contains(expected), "{said}");
    assert!(!to.exists());
    fs::write(&to, "before").unwrap();
    assert_eq!(
        said_in_shell(&bench, "ulimit -f 100; COPY --force in to").0,
        1
    );
    assert_eq!(fs::metadata(&to).unwrap().len(), 51_200);
    fs::remove_file(&to).unwrap();
    let copying = |input: std::io::PipeReader| {
        let mut command = bench.program("/usr/bin/env");
        command.args(["--default-signal=HUP", VECTORED, "copy", "-", "to"]);
        command.stdin(input).spawn().unwrap()
    };
    // A signal, while it waits for its input.
    for signal in [
        Signal::INT,
        Signal::TERM,
        Signal::HUP,
        Signal::QUIT,
        Signal::XCPU,
        Signal::ALARM,
        Signal::USR1,
    ] {
        let (reader, mut feeder) = std::io::pipe().unwrap();
        let mut copy = copying(reader);
        feeder.write_all(&content()).unwrap();
        // It has taken all but what the pipe holds.
        while !fs::metadata(&to).is_ok_and(|found| found.len() > 0) {
            assert!(copy.try_wait().unwrap().is_none());
            std::thread::yield_now();
        }
        kill_process(Pid::from_child(&copy), signal).unwrap();
        assert_eq!(copy.wait().unwrap().signal(), Some(signal.as_raw()));
        assert!(!to.exists());
        // At once when the file is there.
        for _ in 0..10 {
            let (reader, _feeder) = std::io::pipe().unwrap();
            let mut copy = copying(reader);
            while !to.exists() {
                assert!(copy.try_wait().unwrap().is_none());
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
    let blocks = |name: &str| fs::metadata(bench.work().join(name)).unwrap().blocks();
    let (code, said) = said_in_shell(
        &bench,
        "COPY --sparse --report from to && COPY --sparse < from > out",
    );
    assert!(code == 0 && said.starts_with("5242880 bytes, "), "{said}");
    for name in ["to", "out"] {
        assert!(fs::read(bench.work().join(name)).unwrap() == fs::read(&from).unwrap());
        assert_eq!(blocks(name), blocks("from"));
    }
    // From a position, and nothing but a hole.
    let words = "(dd bs=1 count=0 skip=4194304 status=none; COPY --sparse --report) < from > hole";
    assert_eq!(
        said_in_shell(&bench, words),
        (0, "1048576 bytes, 0 reads\n".to_owned())
    );
    assert_eq!(
        (
            fs::metadata(bench.work().join("hole")).unwrap().len(),
            blocks("hole")
        ),
        (1 << 20, 0)
    );
    // Files of /sys are shorter than their size says.
    let possible = "/sys/devices/system/cpu/possible";
    let words = format!("COPY --sparse {possible} possible && cmp {possible} possible");
    assert_eq!(said_in_shell(&bench, &words), (0, String::new()));
    let (code, said) = said_in_shell(&bench, "COPY --sparse from >> to");
    let expected = "the output has bytes where the holes would be";
    assert!(code == 2 && said.contains(expected), "{said}");
}

/// Bytes that are appended during the copy may be missing; a file that becomes shorter ends the copy.
#[test]
#[cfg(target_os = "linux")]
fn a_file_that_is_written_meanwhile_has_no_new_holes() {
    let bench = Bench::new();
    let [log, to] = ["log", "to"].map(|name| bench.work().join(name));
    fs::write(&log, "").unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut log = File::options().append(true).open(&log).unwrap();
            for n in 1.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                if n % 3000 == 0 {
                    log.set_len(0).unwrap();
                }
                log.write_all(&[7; 777]).unwrap();
            }
        });
        let copies = |_| {
            let (code, said) = said_in_shell(&bench, "COPY --sparse --force log to");
            let is_whole = fs::read(&to).unwrap().iter().all(|byte| *byte == 7);
            (code == 0 && is_whole).then_some(()).ok_or(said)
        };
        let copied: Result<(), String> = (0..100).try_for_each(copies);
        is_over.store(true, Ordering::Relaxed);
        copied.unwrap();
    });
}

#[test]
#[cfg(target_os = "linux")]
fn a_technique_that_is_named_is_used_or_refused() {
    let bench = Bench::new();
    fs::write(bench.work().join("from"), content()).unwrap();
    for (words, code, expected) in [
        (
            "COPY --report from to",
            0,
            "100000 bytes, 1 call of copy_file_range\n",
        ),
        (
            "COPY --report from /dev/null",
            0,
            "100000 bytes, 1 call of sendfile\n",
        ),
        ("COPY --report from | cat > piped", 0, " of splice\n"),
        (
            "COPY --report --technique read-write from | cat > piped",
            0,
            " reads\n",
        ),
        (
            "cat from | COPY --report --technique splice - spliced",
            0,
            " of splice\n",
        ),
        (
            "COPY --technique splice --buffer-size 4k from refused",
            2,
            "--buffer-size is for",
        ),
    ] {
        let (status, said) = said_in_shell(&bench, words);
        assert!(status == code && said.contains(expected), "{words}: {said}");
    }
    assert_eq!(fs::read(bench.work().join("to")).unwrap(), content());
    assert_eq!(fs::read(bench.work().join("spliced")).unwrap(), content());
    assert_eq!(fs::read(bench.work().join("piped")).unwrap(), content());
}
