//! `--target` and `--sync`: measured targets, and refused ones.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::Path;
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use crate::support::{Bench, entries, refused, skip, stdout_of};

/// A short real run; the cells of its result.
fn measured(bench: &Bench, args: &[&str]) -> Vec<Value> {
    let mut command = bench.vectored();
    // On a busy machine that may be for one cell only.
    let budget = if args.iter().any(|arg| arg.contains(',')) {
        "5s"
    } else {
        "200ms"
    };
    command.args(["measure", "--budget", budget, "--segments", "2"]);
    command.args(["--sizes", "64"]).args(args);
    command.assert().success();
    let results = bench.only_result();
    results["cells"].as_array().unwrap().clone()
}

fn fifo(bench: &Bench) -> std::path::PathBuf {
    let path = bench.work().join("fifo");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    path
}

#[test]
fn every_name_is_measured_and_leaves_nothing_behind() {
    let bench = Bench::new();
    let names = "null,tcp,unix,pipe,file-overwrite,file";
    let cells = measured(&bench, &["--target", names]);
    assert!(entries(&bench.work()).is_empty());
    let of = |name: &str| -> Vec<_> { cells.iter().map(|cell| cell[name].clone()).collect() };
    let expected = ["file", "file-overwrite", "pipe", "unix", "tcp", "null"];
    assert_eq!(of("target"), expected);
    assert_eq!(of("path"), vec![Value::Null; 6]);
    assert_eq!(of("sync"), ["none"; 6]);
    let spans: Vec<_> = of("span_bytes").iter().map(Value::as_u64).collect();
    let mib = |count: u64| Some(count << 20);
    assert_eq!(spans, [mib(32), mib(64), None, None, None, None]);
    let proved: Vec<_> = cells.iter().map(|c| c["proof_calls"] != 0).collect();
    assert_eq!(proved, [true, true, true, true, true, false]);
    let host = bench.only_result()["host"].clone();
    for name in ["tcp_send_buffer_bytes", "tcp_receive_buffer_bytes"] {
        assert!(host[name].as_u64().unwrap() > 0, "{name}");
    }
}

#[test]
fn a_directory_is_measured_with_a_file_in_it() {
    let bench = Bench::new();
    let folder = bench.work().join("folder");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("kept"), "precious").unwrap();
    // The directory of other files does not matter then.
    let cells = measured(&bench, &["--target", "folder", "--dir", "nowhere"]);
    assert_eq!(cells[0]["target"], "file");
    let whole = folder.canonicalize().unwrap();
    assert_eq!(cells[0]["path"], whole.to_str().unwrap());
    assert!(cells[0]["file_system"].is_string());
    assert_eq!(entries(&folder), [folder.join("kept")]);
    let directory = bench.only_result()["host"]["directory"]["path"].clone();
    assert_eq!(directory, whole.to_str().unwrap());
}

#[test]
fn adaptive_is_calibrated_in_the_directory_that_is_measured() {
    let bench = Bench::new();
    let folder = bench.work().join("here");
    fs::create_dir(&folder).unwrap();
    let output = bench
        .vectored()
        .args([
            "measure",
            "--budget",
            "1ms",
            "--segments",
            "2",
            "--sizes",
            "16,64",
        ])
        // No file can be made there, and none is.
        .args(["--dir", "nowhere", "--target"])
        .arg(&folder)
        .assert()
        .success()
        .get_output()
        .clone();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!stderr.contains("cannot calibrate"), "{stderr}");
    let results = bench.only_result();
    let models = results["cost_models"].as_array().unwrap();
    let [model] = &models[..] else {
        panic!("{models:?}");
    };
    assert_eq!(model["source"], "calibration");
    assert_eq!(model["path"], results["cells"][0]["path"]);
    assert_ne!(model["judged_cells"], 0);
}

#[test]
fn a_socket_that_is_not_listened_on_is_refused_with_the_remedy() {
    let bench = Bench::new();
    let path = bench.work().join("deaf");
    drop(UnixListener::bind(&path).unwrap());
    let nobody = ["no program listens on it", "start the program"];
    let target = path.to_str().unwrap();
    refused(&bench, &["--target", target], 1, &nobody);
    fs::remove_file(&path).unwrap();
    let _datagrams = UnixDatagram::bind(&path).unwrap();
    let other = ["not a stream socket"];
    refused(&bench, &["--target", target], 1, &other);
}

#[test]
fn a_directory_can_be_read_from() {
    let bench = Bench::new();
    let cells = measured(&bench, &["--target", "./", "--operation", "read"]);
    assert_eq!(cells[0]["target"], "file");
    assert!(entries(&bench.work()).is_empty());
}

#[test]
fn a_fifo_is_measured_and_kept() {
    let bench = Bench::new();
    let path = fifo(&bench);
    let cells = measured(&bench, &["--target", "fifo"]);
    assert_eq!(cells[0]["target"], "fifo");
    assert_ne!(cells[0]["proof_calls"], 0);
    assert!(path.metadata().unwrap().file_type().is_fifo());
}

#[test]
fn a_fifo_with_another_reader_is_refused() {
    let bench = Bench::new();
    let path = fifo(&bench);
    let both = fs::File::options().read(true).write(true).open(&path);
    refused(
        &bench,
        &["--target", "./fifo"],
        2,
        &["fifo", "another process has it open", "mkfifo"],
    );
    drop(both);
}

#[test]
fn bytes_into_a_foreign_socket_are_reported_as_not_compared() {
    let bench = Bench::new();
    let listener = UnixListener::bind(bench.work().join("socket")).unwrap();
    let peer = std::thread::spawn(move || {
        let mut bytes = 0;
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            bytes += count;
        }
        bytes
    });
    let cells = measured(&bench, &["--target", "./socket"]);
    assert_eq!(cells[0]["target"], "socket");
    assert_eq!(cells[0]["drain"], "peer");
    assert_eq!(cells[0]["proof_calls"], 0);
    assert!(peer.join().unwrap() > 0);
    // The listener is closed.
    let mut command = bench.vectored();
    command.args(["measure", "--target", "./socket"]);
    let output = command.assert().code(1).get_output().clone();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("cannot connect to socket"), "{stderr}");
}

/// A thread that serves TCP connections to this address; the target.
fn listening(address: &str, serve: fn(TcpStream)) -> io::Result<String> {
    let listener = TcpListener::bind(address)?;
    let target = format!("tcp://{}", listener.local_addr()?);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            serve(stream.unwrap());
        }
    });
    Ok(target)
}

#[test]
fn bytes_into_a_tcp_connection_are_reported_as_not_compared() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let read_everything = |mut stream| {
            io::copy(&mut stream, &mut io::sink()).unwrap();
        };
        let target = match listening(address, read_everything) {
            Ok(target) => target,
            Err(error) => {
                let test = "bytes_into_a_tcp_connection_are_reported_as_not_compared";
                skip(test, &format!("cannot listen on {address}: {error}"));
                continue;
            }
        };
        let bench = Bench::new();
        let mut command = bench.vectored();
        command.args(["measure", "--budget", "5s", "--segments", "4"]);
        command.args(["--sizes", "100,16KiB", "--target", &target]);
        command.args(["--technique", "writev,send-zerocopy"]);
        let table = stdout_of(&mut command);
        let words: Vec<&str> = table.split_whitespace().collect();
        let words = words.join(" ");
        assert!(words.contains(&format!("remote {target}")), "{table}");
        assert!(words.contains("so the bytes are not verified"), "{table}");
        let copied = "send-zerocopy on remote: the kernel copied the bytes of all";
        assert!(words.contains(copied), "{table}");
        let results = bench.only_result();
        let cells = results["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 2);
        for cell in cells {
            assert_eq!(cell["target"], "remote");
            assert_eq!(cell["path"], target);
            assert_eq!(cell["drain"], "peer");
            assert_eq!(cell["proof_calls"], 0);
        }
    }
}

#[test]
fn a_tcp_connection_that_cannot_be_measured_is_an_error_with_the_remedy() {
    let bench = Bench::new();
    let check = |target: &str, code, words: &[&str]| {
        refused(&bench, &["--target", target], code, words);
    };
    let form = ["expected tcp://HOST:PORT"];
    check("tcp://127.0.0.1", 2, &form);
    check("udp://127.0.0.1:1", 2, &form);
    check("tcp://::1:7", 2, &form);
    // Nobody listens on port 1.
    let sink = "`socat -b 1048576 -u TCP-LISTEN:1,fork OPEN:/dev/null`";
    check("tcp://127.0.0.1:1", 1, &["no program listens there", sink]);
    check("tcp://a..b:1", 1, &["check the name of the host"]);
    let read = ["--operation", "read", "--target", "tcp://127.0.0.1:1"];
    let words = ["cannot read from remote", "that vectored fills itself"];
    refused(&bench, &read, 2, &words);
    let leave = |mut stream: TcpStream| {
        stream.read_exact(&mut [0; 1 << 10]).unwrap();
    };
    let target = listening("127.0.0.1:0", leave).unwrap();
    check(&target, 1, &["has closed the connection", "`socat -u`"]);
}

#[test]
fn the_null_device_is_null() {
    let cells = measured(&Bench::new(), &["--target", "/dev/null,null"]);
    assert_eq!(cells.len(), 1);
    assert_eq!(cells[0]["target"], "null");
    assert_eq!(cells[0]["path"], Value::Null);
}

#[test]
fn another_device_needs_force() {
    let bench = Bench::new();
    refused(
        &bench,
        &["--target", "/dev/zero"],
        2,
        &["'/dev/zero'", "character device", "--force"],
    );
    let cells = measured(&bench, &["--target", "/dev/zero", "--force"]);
    assert_eq!(cells[0]["target"], "device");
    assert_eq!(cells[0]["path"], "/dev/zero");
    assert_eq!(cells[0]["proof_calls"], 0);
}

#[test]
fn an_existing_file_is_refused_and_untouched() {
    let bench = Bench::new();
    let file = bench.work().join("precious");
    fs::write(&file, "precious").unwrap();
    std::os::unix::fs::symlink("precious", bench.work().join("link")).unwrap();
    for name in ["precious", "./precious", file.to_str().unwrap(), "./link"] {
        for force in [&[][..], &["--force"]] {
            let args = [&["--target", name], force].concat();
            let words = [
                name,
                "an existing file",
                "overwrites no file",
                "name its directory",
            ];
            refused(&bench, &args, 2, &words);
        }
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    assert_eq!(entries(&bench.work()).len(), 2);
}

#[test]
fn a_block_device_is_refused() {
    let is_block = |path: &&str| {
        let metadata = Path::new(path).metadata();
        metadata.is_ok_and(|metadata| metadata.file_type().is_block_device())
    };
    // It must not be opened, so any one will do.
    let names = ["/dev/loop0", "/dev/loop1", "/dev/zram0", "/dev/sr0"];
    let Some(device) = names.iter().find(|name| is_block(name)) else {
        return skip("a_block_device_is_refused", "no block device to refuse");
    };
    for force in [&[][..], &["--force"]] {
        let args = [&["--target", device], force].concat();
        let words = [device, "block device", "destroy", "directory"];
        refused(&Bench::new(), &args, 2, &words);
    }
}

#[test]
fn a_missing_path_is_refused() {
    let bench = Bench::new();
    refused(
        &bench,
        &["--target", "./nowhere"],
        2,
        &["'./nowhere'", "No such file", "the path of a directory"],
    );
    assert!(entries(&bench.work()).is_empty());
}

#[test]
fn targets_that_cannot_be_read_are_refused() {
    let bench = Bench::new();
    for name in ["file-overwrite", "null", "/dev/null", "./fifo"] {
        if name == "./fifo" {
            fifo(&bench);
        }
        refused(
            &bench,
            &["--operation", "read", "--target", name],
            2,
            &["cannot read from", "file, pipe, unix, tcp"],
        );
    }
}

#[test]
fn only_files_can_be_synced() {
    let bench = Bench::new();
    let check = |args: &[&str], words: &[&str]| refused(&bench, args, 2, words);
    check(
        &["--sync", "always"],
        &["'always'", "none, dsync, sync, fsync"],
    );
    let words = ["--sync fsync", "--target file or file-overwrite"];
    check(&["--sync", "fsync"], &words);
    check(&["--sync", "fsync", "--target", "file,tcp"], &words);
    check(
        &["--sync", "dsync", "--target", "file", "--operation", "read"],
        &["--sync dsync", "--operation write"],
    );
    check(
        &["--sync", "dsync", "--target", "file", "--technique", "mmap"],
        &["--sync dsync", "mmap", "--sync fsync", "--technique"],
    );
    for (target, mode) in [
        ("file", "dsync"),
        ("file-overwrite", "sync"),
        ("file", "fsync"),
    ] {
        let bench = Bench::new();
        let cells = measured(&bench, &["--target", target, "--sync", mode]);
        assert_eq!(cells[0]["target"], target);
        assert_eq!(cells[0]["sync"], mode);
        assert_ne!(cells[0]["proof_calls"], 0);
        assert!(entries(&bench.work()).is_empty());
    }
}

#[test]
fn an_fsync_is_part_of_each_call() {
    let trace = Bench::new();
    let log = trace.work().join("log");
    let mut command = Command::new("strace");
    command.args(["-f", "-c", "-e", "trace=fsync,write,writev", "-o"]);
    command.arg(&log).arg(env!("CARGO_BIN_EXE_vectored"));
    command.args(["measure", "--target", "file", "--sync", "fsync", "--quiet"]);
    command.args(["--segments", "2", "--sizes", "64", "--budget", "50ms"]);
    command.args(["--technique", "writev"]);
    command
        .current_dir(trace.work())
        .env("XDG_STATE_HOME", trace.state_home());
    match command.output() {
        Ok(output) if output.status.success() => {}
        other => {
            return skip(
                "an_fsync_is_part_of_each_call",
                &format!("strace: {other:?}"),
            );
        }
    }
    let log = fs::read_to_string(log).unwrap();
    let calls = |name: &str| -> usize {
        let line = log.lines().find(|line| line.ends_with(&format!(" {name}")));
        let words: Vec<&str> = line.unwrap().split_whitespace().collect();
        words[3].parse().unwrap()
    };
    // As many as there are techniques' calls, or a few: the result is saved
    // and printed, and the clock measured, by write alone.
    assert!(calls("fsync") >= calls("writev"), "{log}");
    assert!(calls("writev") > 2, "{log}");
}

#[test]
fn an_fsync_follows_what_was_flushed() {
    let trace = Bench::new();
    let log = trace.work().join("log");
    let mut command = Command::new("strace");
    command.args(["-f", "-e", "trace=fsync,write,writev", "-o"]);
    command.arg(&log).arg(env!("CARGO_BIN_EXE_vectored"));
    command.args(["measure", "--target", "file", "--sync", "fsync", "--quiet"]);
    command.args(["--segments", "2", "--sizes", "64", "--budget", "50ms"]);
    command.args(["--technique", "stdio,writev", "--iovec-setup", "once"]);
    command
        .current_dir(trace.work())
        .env("XDG_STATE_HOME", trace.state_home());
    match command.output() {
        Ok(output) if output.status.success() => {}
        other => {
            return skip(
                "an_fsync_follows_what_was_flushed",
                &format!("strace: {other:?}"),
            );
        }
    }
    let log = fs::read_to_string(log).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    let mut writers = BTreeSet::new();
    for pair in lines.windows(2) {
        if pair[1].contains(" fsync(") {
            assert!(pair[0].ends_with(" = 128"), "{pair:?}");
            // `123 writev(5, `: of its own duplicate if it is stdio's.
            let call = pair[0].split_once(", ").unwrap().0;
            writers.insert(call.split_once(' ').unwrap().1.trim().to_owned());
        }
    }
    // The floor's write, writev, and the write of the stream.
    assert!(writers.len() >= 3, "{writers:?}");
}

#[test]
fn the_table_of_every_target() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args(["--target", "file,file-overwrite,tcp,null,/dev/zero"]);
    command.args(["--force", "--segments", "2,16", "--sizes", "16,4KiB"]);
    insta::assert_snapshot!(stdout_of(&mut command));
}

#[test]
fn the_table_of_null_has_times() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args([
        "--target",
        "null",
        "--segments",
        "2,16",
        "--sizes",
        "16,4KiB",
    ]);
    insta::assert_snapshot!(stdout_of(&mut command));
}

#[test]
fn the_markdown_of_synced_files() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args(["--target", "/dev,file-overwrite", "--sync", "fsync"]);
    command.args(["--segments", "2", "--format", "markdown"]);
    insta::assert_snapshot!(stdout_of(&mut command));
}
