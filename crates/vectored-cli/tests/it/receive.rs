//! `vectored receive`, and measuring through it.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Bench, entries, refused, skip, stdout_of};

const TOKEN: &str = "00112233445566778899aabbccddeeff";

/// What a client sends first.
pub fn hello() -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&TOKEN[at..at + 2], 16).unwrap();
    let token = (0..TOKEN.len()).step_by(2).map(byte);
    b"vectrcv1".iter().copied().chain(token).collect()
}

/// A receiver in a directory of its own.
pub struct Receiver {
    bench: Bench,
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub address: SocketAddr,
}

impl Receiver {
    pub fn start(args: &[&str]) -> Self {
        let bench = Bench::new();
        fs::write(bench.work().join("token"), format!("{TOKEN}\n")).unwrap();
        let mut command = bench.std_vectored();
        command.args(["receive", "--listen", "127.0.0.1:0"]);
        if !args.contains(&"--no-token-file") {
            command.args(["--token-file", "token"]);
        }
        command.args(args.iter().filter(|arg| **arg != "--no-token-file"));
        Receiver::spawn(bench, command)
    }

    fn spawn(bench: Bench, mut command: Command) -> Self {
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ");
        let address = address
            .unwrap_or_else(|| panic!("{line:?}"))
            .parse()
            .unwrap();
        Receiver {
            bench,
            child,
            stdout,
            address,
        }
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        stream
    }

    fn measure(&self, bench: &Bench) -> assert_cmd::Command {
        fs::write(bench.work().join("token"), TOKEN).unwrap();
        let mut command = bench.vectored();
        let target = format!("tcp://{}", self.address);
        command.args(["measure", "--target", &target, "--token-file", "token"]);
        command.args(["--segments", "4", "--sizes", "100", "--budget", "2s"]);
        command
    }

    /// Measures through it, which proves that it serves.
    pub fn serves(&self) {
        let bench = Bench::new();
        stdout_of(&mut self.measure(&bench));
        let result = bench.only_result();
        assert!(result["cells"][0]["proof_calls"].as_u64() > Some(0));
    }

    /// Stops it; returns standard error.
    pub fn stop(mut self) -> String {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let mut stderr = String::new();
        let mut pipe = self.child.stderr.take().unwrap();
        pipe.read_to_string(&mut stderr).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(143), "{stderr}");
        // It writes nothing anywhere: the token file is the test's.
        assert_eq!(
            entries(&self.bench.work()),
            [self.bench.work().join("token")]
        );
        assert!(self.bench.saved().is_empty());
        stderr
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The techniques that send without a copy.
const ZEROCOPY: [&str; 2] = ["send-zerocopy", "uring-send-zerocopy"];

#[test]
fn a_receiver_proves_what_it_was_sent() {
    let receiver = Receiver::start(&[]);
    let bench = Bench::new();
    let mut command = receiver.measure(&bench);
    let techniques = "writev,send-zerocopy,uring-send-zerocopy";
    command.args(["--technique", techniques, "--cache", "hot,cold"]);
    let table = stdout_of(&mut command);
    let place = format!("remote tcp://{}", receiver.address);
    assert!(table.contains(&place), "{table}");
    let words: Vec<&str> = table.split_whitespace().collect();
    for name in ZEROCOPY {
        let copied = format!(" {name} on remote: the kernel copied the bytes of all");
        assert!(words.join(" ").contains(&copied), "{table}");
    }
    let results = bench.only_result();
    let cells = results["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    for cell in cells {
        assert_eq!(
            (&cell["target"], &cell["drain"]),
            (&"remote".into(), &"peer".into())
        );
        assert_eq!(cell["path"], format!("tcp://{}", receiver.address));
        assert!(cell["proof_calls"].as_u64() > Some(0));
        let techniques = cell["techniques"].as_array().unwrap();
        for name in ZEROCOPY {
            let zerocopy = techniques.iter().find(|one| one["name"] == name);
            let counts = &zerocopy.unwrap()["zerocopy"];
            assert!(counts["sends"].as_u64() > Some(0));
            assert_eq!(counts["sends"], counts["copied"]);
        }
    }
    let log = receiver.stop();
    assert!(
        log.contains("is served") && log.contains("it closed the connection"),
        "{log}"
    );
}

#[test]
fn without_a_token_file_a_new_token_is_printed() {
    let mut receiver = Receiver::start(&["--no-token-file"]);
    let mut line = String::new();
    receiver.stdout.read_line(&mut line).unwrap();
    let token = line.trim().strip_prefix("token ").unwrap().to_owned();
    assert_eq!(token.len(), 32);
    let bench = Bench::new();
    let mut command = receiver.measure(&bench);
    // The token of the other tests.
    let output = command.assert().code(1).get_output().clone();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.contains("refused the token") && !message.contains(TOKEN),
        "{message}"
    );
    fs::write(bench.work().join("token"), &token).unwrap();
    let mut command = bench.vectored();
    let target = format!("tcp://{}", receiver.address);
    command.args(["measure", "--target", &target, "--token-file", "token"]);
    command.args(["--segments", "4", "--sizes", "100", "--budget", "200ms"]);
    command.assert().success();
    let log = receiver.stop();
    assert!(!log.contains(&token), "{log}");
}

#[test]
fn a_second_client_is_told_that_another_one_is_served() {
    let receiver = Receiver::start(&[]);
    let mut first = receiver.connect();
    first.write_all(&hello()).unwrap();
    let mut answer = [0];
    first.read_exact(&mut answer).unwrap();
    assert_eq!(answer, *b"A");
    let bench = Bench::new();
    let output = receiver
        .measure(&bench)
        .assert()
        .code(1)
        .get_output()
        .clone();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("serves another client"), "{message}");
    drop(first);
    receiver.serves();
    receiver.stop();
}

#[test]
fn clients_that_say_nothing_or_little_keep_nobody_out() {
    let receiver = Receiver::start(&[]);
    let mut idle: Vec<TcpStream> = (0..40).map(|_| receiver.connect()).collect();
    for (number, stream) in idle.iter_mut().enumerate() {
        // The oldest ones may be closed already.
        let _ = stream.write_all(&hello()[..number % 24]);
    }
    receiver.serves();
    // All are disconnected, within the 2 seconds of the handshake or earlier.
    for mut stream in idle {
        match stream.read(&mut [0]) {
            Ok(0) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            other => panic!("{other:?}"),
        }
    }
    let log = receiver.stop();
    assert!(log.contains("its token did not come in time"), "{log}");
}

#[test]
fn what_cannot_be_a_receiver_is_wrong_usage() {
    let bench = Bench::new();
    fs::write(bench.work().join("token"), TOKEN).unwrap();
    fs::write(bench.work().join("short"), &TOKEN[1..]).unwrap();
    let check = |args: &[&str], words: &[&str]| refused(&bench, args, 2, words);
    check(&["--target", "tcp://127.0.0.1:1"], &["needs --token-file"]);
    check(
        &["--target", "tcp://127.0.0.1"],
        &["expected tcp://HOST:PORT"],
    );
    check(
        &["--target", "udp://127.0.0.1:1"],
        &["expected tcp://HOST:PORT"],
    );
    check(
        &["--token-file", "token"],
        &["add --target tcp://HOST:PORT"],
    );
    let with = |file: &'static str| ["--target", "tcp://127.0.0.1:1", "--token-file", file];
    check(&with("none"), &["cannot read the token file 'none'"]);
    check(
        &with("short"),
        &["'short' holds no token", "32 hexadecimal digits"],
    );
    let read = [&with("token")[..], &["--operation", "read"]].concat();
    check(&read, &["cannot read from remote"]);
    // Nobody listens on port 1.
    let budget = [&with("token")[..], &["--budget", "100ms"]].concat();
    refused(
        &bench,
        &budget,
        1,
        &["no program listens there", "vectored receive"],
    );
}

/// Two network namespaces that a veth pair joins: two machines.
struct TwoMachines {
    names: [String; 2],
}

impl TwoMachines {
    const ADDRESSES: [&str; 2] = ["192.0.2.1", "192.0.2.2"];

    /// The reason if that is not permitted here.
    fn make() -> Result<Self, String> {
        let id = std::process::id();
        let machines = TwoMachines {
            names: [format!("vectored-{id}-a"), format!("vectored-{id}-b")],
        };
        let [a, b] = &machines.names;
        let (one, other) = (format!("va{id}"), format!("vb{id}"));
        ip(&["netns", "add", a])?;
        ip(&["netns", "add", b])?;
        ip(&[
            "link", "add", &one, "netns", a, "type", "veth", "peer", "name", &other, "netns", b,
        ])?;
        for ((name, link), address) in [(a, &one), (b, &other)].into_iter().zip(Self::ADDRESSES) {
            ip(&[
                "-n",
                name,
                "address",
                "add",
                &format!("{address}/24"),
                "dev",
                link,
            ])?;
            ip(&["-n", name, "link", "set", link, "up"])?;
            ip(&["-n", name, "link", "set", "lo", "up"])?;
        }
        Ok(machines)
    }

    /// The command on one of the machines.
    fn on(&self, machine: usize, command: &Command) -> Command {
        let mut here = Command::new("ip");
        here.args(["netns", "exec", &self.names[machine]]);
        here.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => here.env(name, value),
                None => here.env_remove(name),
            };
        }
        here.current_dir(command.get_current_dir().unwrap());
        here
    }
}

impl Drop for TwoMachines {
    fn drop(&mut self) {
        for name in &self.names {
            // One that was not made cannot be removed.
            let _ = ip(&["netns", "delete", name]);
        }
    }
}

fn ip(words: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(words).output();
    let output = output.map_err(|error| format!("cannot run ip: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("ip {}: {}", words.join(" "), said.trim())),
    }
}

#[test]
fn two_machines_measure_the_network_between_them() {
    let test = "two_machines_measure_the_network_between_them";
    let machines = match TwoMachines::make() {
        Ok(machines) => machines,
        Err(reason) => return skip(test, &reason),
    };
    let there = Bench::new();
    fs::write(there.work().join("token"), TOKEN).unwrap();
    let mut command = there.std_vectored();
    let [listen, _] = TwoMachines::ADDRESSES;
    command.args(["receive", "--listen", listen, "--token-file", "token"]);
    let receiver = Receiver::spawn(there, machines.on(0, &command));
    assert_eq!(receiver.address.to_string(), "192.0.2.1:7350");
    let here = Bench::new();
    fs::write(here.work().join("token"), TOKEN).unwrap();
    let mut command = here.std_vectored();
    command.args([
        "measure",
        "--target",
        "tcp://192.0.2.1:7350",
        "--token-file",
        "token",
    ]);
    let techniques = "write-each,writev,send-more,send-zerocopy,uring-send-zerocopy";
    command.args(["--technique", techniques]);
    command.args([
        "--segments",
        "4",
        "--sizes",
        "100,16KiB",
        "--budget",
        "500ms",
    ]);
    let output = machines.on(1, &command).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let results = here.only_result();
    for cell in results["cells"].as_array().unwrap() {
        assert!(cell["proof_calls"].as_u64() > Some(0));
        let techniques = cell["techniques"].as_array().unwrap();
        for name in ZEROCOPY {
            let zerocopy = techniques.iter().find(|one| one["name"] == name);
            let counts = &zerocopy.unwrap()["zerocopy"];
            assert!(counts["sends"].as_u64() > Some(0));
            // A veth pair hands the pages to the other side, for which the kernel copies them.
            assert_eq!(counts["sends"], counts["copied"]);
        }
    }
    assert_eq!(results["cells"].as_array().unwrap().len(), 2);
    // `ip netns exec` has become the receiver, so the signal reaches it.
    let log = receiver.stop();
    assert!(log.contains("can be reached from other machines"), "{log}");
    assert!(log.contains("192.0.2.2:"), "{log}");
    let left: Vec<PathBuf> = entries(&here.work());
    assert_eq!(left, [here.work().join("token")]);
}
