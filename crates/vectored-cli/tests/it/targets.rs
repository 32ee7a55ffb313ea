//! Tests of `--target` and `--sync`: measured and refused targets.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixDatagram, UnixListener};

use serde_json::{Value, json};
use vectored::CostModel;
use vectored::cost::TargetKind;

use crate::support::{
    Bench, VECTORED, entries, needs_strace, one_line, refused, stderr_of, stdout_of,
};

fn measured(bench: &Bench, args: &[&str]) -> Vec<Value> {
    // On a busy machine, the budget may suffice for one cell only.
    let is_long = args.iter().any(|arg| arg.contains(','));
    let budget = if is_long { "5s" } else { "200ms" };
    let words = format!("measure --segments 2 --sizes 64 --budget {budget}");
    bench.command(&words).args(args).assert().success();
    let results = bench.only_result();
    results["cells"].as_array().unwrap().clone()
}

#[test]
fn a_directory_is_measured_with_a_file_in_it() {
    let bench = Bench::new();
    let folder = bench.work().join("folder");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("kept"), "precious").unwrap();
    // `--dir` is not used if `--target` names a directory.
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

/// Starts a thread that accepts TCP connections. Returns the value of `--target`.
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
fn a_peer_that_is_too_slow_is_refused_before_it_holds_the_run() {
    let read_slowly = |mut stream: TcpStream| {
        let mut buffer = [0; 6000];
        while let Ok(1..) = stream.read(&mut buffer) {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    };
    let never_read = |stream: TcpStream| std::mem::forget(stream);
    for serve in [read_slowly as fn(TcpStream), never_read] {
        let target = listening("127.0.0.1:0", serve).unwrap();
        let bench = Bench::new();
        let stderr = stderr_of(&mut bench.command(&format!("measure --target {target}")), 1);
        assert!(
            stderr.contains("too slow to be measured; use one"),
            "{stderr}"
        );
        assert!(bench.saved().is_empty());
    }
}

#[test]
fn bytes_into_a_tcp_connection_are_reported_as_not_compared() {
    let read_everything = |mut stream| {
        io::copy(&mut stream, &mut io::sink()).unwrap();
    };
    let target = listening("127.0.0.1:0", read_everything).unwrap();
    let bench = Bench::new();
    let words = "measure --budget 5s --segments 4 --sizes 100,16KiB --technique writev";
    let mut command = bench.command(words);
    let table = one_line(&stdout_of(command.args(["--details", "--target", &target])));
    for words in [
        &*format!("remote {target}"),
        "so the bytes are not verified",
    ] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let results = bench.only_result();
    let of = |cell: &Value| {
        json!([
            cell["target"],
            cell["path"],
            cell["drain"],
            cell["proof_calls"]
        ])
    };
    let cells = results["cells"].as_array().unwrap().iter();
    let expected = json!(["remote", target, "peer", 0]);
    assert_eq!(
        cells.map(of).collect::<Vec<_>>(),
        [expected.clone(), expected]
    );
}

#[test]
fn a_program_that_closes_the_connection_is_an_error_with_the_remedy() {
    let leave = |mut stream: TcpStream| {
        stream.read_exact(&mut [0; 1 << 10]).unwrap();
    };
    let target = listening("127.0.0.1:0", leave).unwrap();
    let words = ["has closed the connection", "`socat -u`"];
    refused(&Bench::new(), &["--target", &target], 1, &words);
}

#[test]
fn adaptive_is_calibrated_in_the_directory_that_is_measured() {
    let bench = Bench::new();
    fs::create_dir(bench.work().join("here")).unwrap();
    // `--dir` names a missing directory, where no file can be created.
    let words = "measure --budget 1ms --segments 2 --sizes 16,64 --dir nowhere --target here";
    let stderr = stderr_of(&mut bench.command(words), 0);
    assert!(!stderr.contains("cannot calibrate"), "{stderr}");
    let results = bench.only_result();
    assert_eq!(results["complete"], false);
    let [model] = &results["cost_models"].as_array().unwrap()[..] else {
        panic!("{results}");
    };
    assert_eq!(model["source"], "calibration");
    assert_eq!(model["path"], results["cells"][0]["path"]);
    assert_ne!(model["judged_cells"], 0);
    let [saved] = &bench.saved()[..] else {
        panic!("{results}");
    };
    let loaded = CostModel::load(saved, TargetKind::File).unwrap();
    assert_eq!(Some(loaded.call_ns), model["call_ns"].as_f64());
}

#[test]
fn an_fsync_follows_each_write_that_was_flushed() {
    needs_strace!();
    let trace = Bench::new();
    let log = trace.work().join("log");
    let mut command = trace.program("strace");
    command.args(["-f", "-e", "trace=fsync,write,writev", "-o"]);
    command.arg(&log).arg(VECTORED);
    command.args(["measure", "--target", "file", "--sync", "fsync", "--quiet"]);
    command.args(["--segments", "2", "--sizes", "64", "--budget", "50ms"]);
    command.args(["--technique", "stdio,writev", "--iovec-setup", "once"]);
    assert!(command.output().unwrap().status.success());
    let log = fs::read_to_string(log).unwrap();
    // The saved result is synced after the last list.
    let lines = log
        .lines()
        .take_while(|line| !line.contains("vectored-results"));
    let lines: Vec<&str> = lines.collect();
    let mut writers = BTreeSet::new();
    for pair in lines.windows(2) {
        if pair[1].contains(" fsync(") {
            assert!(pair[0].ends_with(" = 128"), "{pair:?}");
            // A line starts with a call such as `123 writev(5, `. stdio writes to a duplicate of the descriptor.
            let call = pair[0].split_once(", ").unwrap().0;
            writers.insert(call.split_once(' ').unwrap().1.trim().to_owned());
        }
    }
    // The writers are the `write` of the floor, `writev`, and the `write` of stdio.
    assert!(writers.len() >= 3, "{writers:?}");
    // Every list is synced, except the untimed lists that check the bytes.
    let is_list = |line: &str| line.ends_with(" = 128");
    let pairs = lines.windows(2).filter(|pair| is_list(pair[0]));
    let unsynced = pairs.filter(|pair| !pair[1].contains(" fsync(")).count();
    let cell = &trace.only_result()["cells"][0];
    assert!(
        unsynced as u64 <= cell["proof_calls"].as_u64().unwrap(),
        "{unsynced}"
    );
    assert_eq!(cell["sync"], "fsync");
}
