//! Tests of `vectored advise` that watch running programs by BPF programs.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::advise::{costs, until};
use crate::support::{Bench, json, needs_strace, one_line, said_by, skip};

/// Returns a bench with costs. Skips the test if the kernel attaches no BPF program. In CI, the test
/// fails, because CI can attach BPF programs.
macro_rules! bench_of_live {
    () => {{
        if !rustix::process::geteuid().is_root() || !fs::exists("/sys/kernel/btf/vmlinux").unwrap()
        {
            assert!(
                std::env::var_os("CI").is_none(),
                "CI runs this as root on a kernel with BTF"
            );
            return skip("needs root and a kernel with BTF");
        }
        bench()
    }};
}

fn bench() -> Bench {
    let bench = Bench::new();
    fs::write(bench.work().join("costs.json"), costs()).unwrap();
    bench
}

/// The result goes to standard output as JSON.
fn advise(bench: &Bench, words: &[&str]) -> Command {
    let mut command = bench.std_vectored();
    let own = "advise --costs costs.json --no-save --output - --format json";
    command
        .args(own.split(' '))
        .args(words)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

fn result_of(mut command: Command) -> Value {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    json(&String::from_utf8(output.stdout).unwrap())
}

fn live(bench: &Bench, script: &str) -> Value {
    result_of(advise(bench, &["--live", "--", "sh", "-c", script]))
}

/// A program that prints a line when it is ready. Dropping the value kills the program.
struct Service(Child);

impl Service {
    fn start(bench: &Bench, program: &str, script: &str) -> Service {
        let mut command = bench.program(program);
        command
            .args(["-c", script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "ready\n");
        Service(child)
    }

    /// Returns after the watch has attached all BPF programs.
    fn watched(&self, bench: &Bench) -> Child {
        let watcher = advise(bench, &["-p", &self.0.id().to_string()])
            .spawn()
            .unwrap();
        attached(&watcher);
        watcher
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until the watcher has attached all BPF programs, and returns their IDs. The watcher reads the open files of
/// the service afterwards.
fn attached(watcher: &Child) -> Vec<u32> {
    until(|| {
        let files = fs::read_dir(format!("/proc/{}/fdinfo", watcher.id())).unwrap();
        let texts = files.flatten().map(|file| fs::read_to_string(file.path()));
        let number = |text: String| {
            text.lines()
                .find_map(|line| line.strip_prefix("prog_id:")?.trim().parse().ok())
        };
        let programs: Vec<u32> = texts.flatten().filter_map(number).collect();
        // The watcher holds six BPF programs and six links.
        (programs.len() >= 12).then_some(programs)
    })
}

fn result_at_end(watcher: Child) -> Value {
    let output = watcher.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    json(&String::from_utf8(output.stdout).unwrap_or(said))
}

const WRITER: &str = "import os, time\nlog = os.open('log', os.O_WRONLY | os.O_CREAT)\nos.write(1, b'ready\\n')\n\
    while True:\n for _ in range(20): os.write(log, b'a record')\n time.sleep(0.005)";

/// Returns the subjects of findings. Numbers and the directory are removed, because they differ between runs.
fn kinds_of(result: &Value) -> Vec<String> {
    const FIELDS: &str =
        "program kind target descriptor pattern grade reason merged_calls runs calls";
    let mut all = Vec::new();
    for list in ["findings", "uncounted"] {
        for one in result[list].as_array().unwrap() {
            let path = one["path"].as_str().filter(|path| path.starts_with('/'));
            let file = path.and_then(|path| path.rsplit('/').next());
            let fields: Vec<&Value> = FIELDS.split(' ').map(|field| &one[field]).collect();
            all.push(format!("{list} {file:?} {fields:?}"));
        }
    }
    all.sort();
    all
}

/// The calls of these commands do not depend on timing. In other commands, the order of threads and the bytes in a
/// pipe differ between runs.
const CORPUS: [&str; 14] = [
    "dd if=/dev/zero of=out bs=100 count=500 status=none",
    "i=0; while [ $i -lt 50 ]; do echo line $i; i=$((i + 1)); done > out",
    "seq 100 > in; while read x; do :; done < in",
    "tar cf out costs.json -C /usr/share common-licenses 2>/dev/null",
    "mkdir sub; cd sub; for i in 1 2 3 4 5 6; do echo $i; done > a; cat a a > b; mv b c; ln c d; ln -s d e; rm a c d e; cd ..; rmdir sub",
    "for i in 1 2 3 4 5 6 7 8 9; do echo a >> out; done; rm out",
    "n=\"a'\\\"\\\\ü$(printf %080d 1)\"; for i in 1 2 3 4 5 6; do echo $i; done >$n; cat $n $n >out; mv $n 2$n; cat 2$n >>out",
    "sort -S 1M /etc/services -o out; sort out > last",
    "/usr/bin/python3 -c \"f = open('out', 'w')\nfor i in range(300): f.write('line'); f.flush()\"",
    "/usr/bin/python3 -c \"import os\nf = os.open('out', os.O_RDWR | os.O_CREAT)\nfor i in range(100): os.writev(f, [b'a' * 10] * 20)\n\
     for i in range(100): os.pwrite(f, b'b' * 50, i * 50)\nfor i in range(50): os.write(f, b'c' * 20); os.fsync(f)\n\
     for i in range(100): os.lseek(f, i * 40, 0); os.read(f, 20)\"",
    "/usr/bin/python3 -c \"import os\nf = os.open('out', os.O_WRONLY | os.O_CREAT)\nfor i in range(30): os.writev(f, [b'a' * 10] * (i * 30 + 1))\"",
    "/usr/bin/python3 -c \"import socket\na, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\nfor i in range(50): a.sendmsg([b'x', b'yy']); b.recv(9)\"",
    "/usr/bin/python3 -c \"import os\ne = os.eventfd(0)\nfor i in range(50): os.eventfd_write(e, 1); os.eventfd_read(e)\"",
    "/usr/bin/python3 -c \"import subprocess\nfor i in range(3): subprocess.run(['echo', str(i)], stdout=open('out', 'a'))\"",
];

#[test]
fn both_sources_find_the_same() {
    drop(bench_of_live!());
    needs_strace!();
    for script in CORPUS {
        let [strace, live] = ["strace", "live"].map(|source| {
            let delay = ["--max-delay", "1h", "--source", source];
            let words = [&delay[..], &["--", "sh", "-c", script]].concat();
            result_of(advise(&bench(), &words))
        });
        for count in ["calls", "transfers", "bytes", "processes"] {
            assert_eq!(strace[count], live[count], "{count}: {script}");
        }
        let [strace, live] = [strace, live].map(|result| kinds_of(&result));
        assert_eq!(strace, live, "{script}");
    }
}

#[test]
fn a_running_process_is_watched_for_a_time_and_goes_on() {
    let bench = bench_of_live!();
    let mut service = Service::start(&bench, "/usr/bin/python3", WRITER);
    let number = service.0.id().to_string();
    let found = result_of(advise(&bench, &["-p", &number, "--for", "300ms"]));
    let finding = &found["findings"][0];
    let text = finding.to_string();
    assert!(
        text.contains("/log\"") && text.contains("write 8 B"),
        "{text}"
    );
    // The program was started through a symbolic link of this name.
    assert_eq!(finding["program"], "python3");
    assert_eq!(found["watch"]["lost"], 0);
    let wall = found["watch"]["wall_s"].as_f64().unwrap();
    assert!((0.3..30.0).contains(&wall), "{found}");
    assert_eq!(service.0.try_wait().unwrap(), None);
    let mut watcher = service.watched(&bench);
    kill_process(Pid::from_child(&watcher), Signal::INT).unwrap();
    assert!(watcher.wait().unwrap().success());
}

#[test]
fn two_watch_one_process_until_it_ends() {
    let bench = bench_of_live!();
    let script = "import os, sys\nlog = os.open('log', os.O_WRONLY | os.O_CREAT)\nos.write(1, b'ready\\n')\n\
        import time\n\
        while not os.path.exists('go'): time.sleep(0.01)\ntime.sleep(2)\nfor _ in range(1000): os.write(log, b'a record')\n";
    let service = Service::start(&bench, "/usr/bin/python3", script);
    let watchers = [service.watched(&bench), service.watched(&bench)];
    fs::write(bench.work().join("go"), "").unwrap();
    for watcher in watchers {
        let found = result_at_end(watcher);
        assert_eq!(found["findings"][0]["calls"], 1000, "{found}");
    }
}

#[test]
fn nothing_is_attached_after_a_kill() {
    let bench = bench_of_live!();
    let service = Service::start(&bench, "/usr/bin/python3", WRITER);
    let mut watcher = service.watched(&bench);
    let programs = attached(&watcher);
    let loaded = || -> Vec<u32> {
        let all = aya::programs::loaded_programs();
        all.filter_map(Result::ok)
            .map(|program| program.id())
            .collect()
    };
    assert!(programs.iter().all(|program| loaded().contains(program)));
    watcher.kill().unwrap();
    watcher.wait().unwrap();
    until(|| (!programs.iter().any(|program| loaded().contains(program))).then_some(()));
}

fn found_names(found: &Value) -> String {
    format!("{}{}", found["findings"], found["uncounted"])
}

#[test]
fn what_is_lost_is_said_exactly() {
    let bench = bench_of_live!();
    // Alternating calls are not merged into one event. Each event takes 128 B.
    let script = "import os, sys\nsink = os.open('sink', os.O_WRONLY | os.O_CREAT)\n\
        for _ in range(1500000): os.write(sink, b'x'); os.lseek(sink, 0, 0)\nopen('done', 'w').write('x' * 3)\n";
    fs::write(bench.work().join("fast.py"), script).unwrap();
    let watcher = advise(&bench, &["--live", "--", "/usr/bin/python3", "fast.py"])
        .spawn()
        .unwrap();
    let children = || -> String {
        let threads = fs::read_dir(format!("/proc/{}/task", watcher.id())).unwrap();
        let lists = threads.map(|thread| thread.unwrap().path().join("children"));
        lists
            .map(|list| fs::read_to_string(list).unwrap_or_default())
            .collect()
    };
    until(|| {
        let child = children().trim().to_owned();
        let line = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line)
            .contains("fast.py")
            .then_some(())
    });
    kill_process(Pid::from_child(&watcher), Signal::STOP).unwrap();
    until(|| fs::exists(bench.work().join("done")).unwrap().then_some(()));
    kill_process(Pid::from_child(&watcher), Signal::CONT).unwrap();
    let found = result_at_end(watcher);
    let lost = found["watch"]["lost"].as_u64().unwrap();
    assert!(lost > 0, "{found}");
    // A run without the loop makes all other calls of the program.
    fs::write(bench.work().join("fast.py"), script.replace("1500000", "0")).unwrap();
    let rest = live(&bench, "exec /usr/bin/python3 fast.py")["calls"]
        .as_u64()
        .unwrap();
    let seen = found["calls"].as_u64().unwrap();
    assert!(
        (seen + lost).abs_diff(3_000_000 + rest) <= 2000,
        "{seen} + {lost}, {rest}: {found}"
    );
    assert!(found_names(&found).contains("/sink"), "{found}");
}

#[test]
fn threads_forks_and_an_execve_of_a_thread_are_followed() {
    let bench = bench_of_live!();
    let found = live(
        &bench,
        "i=0; while [ $i -lt 300 ]; do (:); i=$((i + 1)); done",
    );
    assert_eq!(found["processes"], 301);
    let threads = "import threading, os\nf = os.open('out', os.O_WRONLY | os.O_CREAT)\n\
        def write():\n for _ in range(10): os.write(f, b'x')\n\
        all = [threading.Thread(target=write) for _ in range(200)]\n[one.start() for one in all]\n[one.join() for one in all]\n\
        def become(): os.execv('/bin/sh', ['sh', '-c', 'echo a >out2; echo b >>out2'])\nthreading.Thread(target=become).start()\n\
        import time\ntime.sleep(60)";
    let transfers = |writes: &str| {
        let threads = threads.replace("range(10)", writes);
        fs::write(bench.work().join("threads.py"), threads).unwrap();
        let found = live(&bench, "exec /usr/bin/python3 threads.py");
        assert_eq!(found["processes"], 1, "{found}");
        found["transfers"].as_u64().unwrap()
    };
    assert_eq!(transfers("range(10)"), 2000 + transfers("range(0)"));
}

#[test]
fn a_process_that_ended_before_the_watch_ends_it() {
    let bench = bench_of_live!();
    // The process is a zombie, so its PID is still valid.
    let mut ended = bench.program("true").spawn().unwrap();
    until(|| {
        let stat = fs::read_to_string(format!("/proc/{}/stat", ended.id())).unwrap();
        stat.contains(") Z ").then_some(())
    });
    let found = result_of(advise(
        &bench,
        &["-p", &ended.id().to_string(), "--for", "20s"],
    ));
    assert!(found["watch"]["wall_s"].as_f64().unwrap() < 15.0, "{found}");
    ended.wait().unwrap();
}

#[test]
fn a_refusal_names_the_remedy() {
    let bench = bench_of_live!();
    let told = |script: &str, code: i32| one_line(&said_by(&mut bench.script(script), code).1);
    let text = told("exec \"$0\" advise -p 4194303", 2);
    assert!(text.contains("there is no process 4194303"), "{text}");
    const NOBODY: &str =
        "setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all";
    // The directories of the test and of the program belong to another user.
    let as_nobody = |words: &str| {
        format!(
            "f=$(mktemp -d /tmp/vectored-XXXXXX); chmod 777 $f; cp \"$0\" $f/vectored; cp costs.json $f; cd $f; \
             {NOBODY} ./vectored advise --costs costs.json --no-save {words} -- true; s=$?; rm -r $f; exit $s"
        )
    };
    let text = told(&as_nobody("--live"), 1);
    assert!(
        text.contains("sudo setcap cap_bpf,cap_perfmon") && text.contains("strace -f"),
        "{text}"
    );
    needs_strace!();
    let text = told(&as_nobody(""), 0);
    assert!(
        text.contains("runs under strace") && text.contains("CAP_BPF"),
        "{text}"
    );
    let apart = "unshare --pid --fork --mount-proc \"$0\" advise --no-save --live -- true";
    assert!(told(apart, 1).contains("--pid=host"));
    let hidden = "unshare -m sh -c 'mkdir empty; mount --bind empty /sys/kernel/btf; exec \"$0\" advise --costs costs.json --live -- true' \"$0\"";
    let text = told(hidden, 1);
    assert!(text.contains("/sys/kernel/btf/vmlinux"), "{text}");
}

#[test]
fn both_sources_find_the_same_stalls() {
    drop(bench_of_live!());
    needs_strace!();
    let script = "import socket, threading, time\nserver = socket.create_server(('127.0.0.1', 0))\n\
        def serve():\n peer = server.accept()[0]\n while True:\n  bytes = 0\n  while bytes < 200:\n   got = peer.recv(200)\n   \
        if not got: return\n   bytes += len(got)\n  peer.sendall(b'answer')\n\
        thread = threading.Thread(target=serve)\nthread.start()\nclient = socket.create_connection(server.getsockname())\n\
        for _ in range(30): client.send(b'x' * 100); client.send(b'y' * 100); client.recv(100)\n\
        time.sleep(5)\nclient.close()\nthread.join()";
    for source in ["strace", "live"] {
        let bench = bench();
        fs::write(bench.work().join("stall.py"), script).unwrap();
        let words = ["--source", source, "--", "/usr/bin/python3", "stall.py"];
        let found = result_of(advise(&bench, &words));
        // The first exchanges of a connection do not wait. On a busy machine, some later exchanges do not wait.
        assert!(found["stalls"].as_u64().unwrap() > 0, "{source}: {found}");
        let all = ["findings", "uncounted"].map(|name| found[name].as_array().unwrap());
        let is_stall = |one: &&Value| one["kind"] == "stall";
        assert!(
            all.into_iter().flatten().any(|one| is_stall(&one)),
            "{source}: {found}"
        );
    }
}

#[test]
fn a_program_that_is_preempted_has_no_pauses() {
    let bench = bench_of_live!();
    // Six busy processes share the CPU of the program. The program then waits for the CPU for 18 ms or longer, many
    // times.
    let script = "for i in 1 2 3 4 5 6; do (while :; do :; done) & pids=\"$pids $!\"; done\n\
        /usr/bin/python3 -c 'import os\nf = os.open(\"out\", os.O_WRONLY | os.O_CREAT)\n\
        for i in range(100000): os.write(f, b\"x\" * 100)'\nkill $pids";
    fs::write(bench.work().join("busy.sh"), script).unwrap();
    let words = ["--live", "--", "taskset", "-c", "0", "sh", "busy.sh"];
    let found = result_of(advise(&bench, &words));
    let findings = found["findings"].as_array().unwrap();
    let calls = |one: &Value| one["calls"].as_u64().unwrap();
    let mut merged = findings
        .iter()
        .filter(|one| calls(one) == 100_000)
        .map(|one| one["merged_calls"].as_u64().unwrap());
    // 10 MB in calls of 64 KiB are 153 calls. Each pause adds a call, and the disk may cause a pause.
    assert!(merged.next().is_some_and(|calls| calls < 170), "{found}");
}

#[test]
fn a_cgroup_is_watched_with_what_comes_into_it_until_it_is_empty() {
    let bench = bench_of_live!();
    let mounts = fs::read_to_string("/proc/mounts").unwrap();
    let root = mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let place = words.next()?;
        (words.next()? == "cgroup2").then(|| place.to_owned())
    });
    let folder = format!(
        "{}/vectored-{}",
        root.unwrap_or_default(),
        std::process::id()
    );
    if let Err(error) = fs::create_dir_all(format!("{folder}/inner")) {
        return skip(&format!("cannot make a cgroup: {error}"));
    }
    let script = format!(
        "echo $$ >{folder}/inner/cgroup.procs; echo ready; until [ -e go ]; do sleep 0.01; done; sleep 2; \
         for i in 1 2 3 4 5; do echo $i; done >one; sh -c 'for i in 1 2 3; do echo $i; done >two'"
    );
    let inside = Service::start(&bench, "sh", &script);
    let watcher = advise(&bench, &["--cgroup", &folder]).spawn().unwrap();
    attached(&watcher);
    fs::write(bench.work().join("go"), "").unwrap();
    let found = result_at_end(watcher);
    drop(inside);
    fs::remove_dir(format!("{folder}/inner")).unwrap();
    fs::remove_dir(&folder).unwrap();
    let names = found_names(&found);
    assert!(names.contains("/one") && names.contains("/two"), "{found}");
}
