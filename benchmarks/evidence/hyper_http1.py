#!/usr/bin/env python3
"""From which size should hyper's HTTP/1 queue a body instead of copying it? The tables of docs/measured/hyper-evidence.md.

    benchmarks/evidence/hyper_http1.py [--rounds N] [--seconds S] [--cases tcp:1x1:4096/4096:ready,…] [--servers auto4,cap16] [--json FILE]
    benchmarks/evidence/hyper_http1.py --first [--cases …]      when the first byte of a body arrives
    benchmarks/evidence/hyper_http1.py --slow [--cases …]       the cost of clients that read 16 KiB every 10 ms; a socket takes 64 KiB to send
    benchmarks/evidence/hyper_http1.py --idle                                                       the memory of a connection that waits after an answer
    benchmarks/evidence/hyper_http1.py --build                                                      only builds

A case is TRANSPORT:CONNECTIONSxPIPELINED:BODY/PART:WAY. A body of one part has a content-length; other bodies are chunked. `ready` has
each part at once. `yields` lets other tasks run before each part. `works` computes for 10 µs before each part. `cold` is `ready` with
bytes that no cache has: in 128 MiB, each body follows the body before it. tcp, tls (rustls) and threads (a runtime of two threads) run
over loopback, veth between two network namespaces. delay is veth with each packet 1 ms later (delay.py). Servers:

    old       hyper 1.12.0: a queue of up to 16 bodies, where the stream gathers
    auto4     with hyper-auto.patch: bodies below FLATTEN_BELOW, 4 KiB, are copied if the queue is empty (#2910 asks for a strategy that switches)
    auto16    with the patch and 16 KiB
    queue64   hyper 1.12.0 with MAX_BUF_LIST_BUFFERS 64 instead of 16, and MAX_WRITEV_BUFS 256 instead of 64
    flatten   hyper 1.12.0 with its public setting `writev(false)`: all is copied
    auto4v    auto4 that sends all by writev, as 1.12.0 does
    cap16, cap64    auto4 that flushes when 16 or 64 KiB are copied

Each round runs these and old again. A ratio compares with the mean of both runs of old; A/A is the second run of old ÷ the first.
It needs root, cargo, curl, h2load (Debian's nghttp2-client), iproute2, strace and openssl. CARGO_TARGET_DIR is where it builds.
"""

import inspect
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import h2
from common import HERE, PARTS, TARGET, again, against, certificate, fetched, in_turns, is_built, middles, options, replace, run, table, write

SERVERS = ["auto4", "auto16", "queue64", "flatten"]
PATCH = os.path.join(HERE, "hyper-auto.patch")
EMPTY = "if !self.write_buf.queue.has_remaining() {"
FULL = "self.queue.bufs_cnt() < MAX_BUF_LIST_BUFFERS && self.remaining() < self.max_buf_size"
SHORT = """
tcp:1x1:65536/4096:yields tcp:1x1:128/128:ready tcp:10x1:1024/1024:ready tcp:10x1:4096/4096:ready tcp:10x1:8192/8192:ready
tcp:10x1:16384/16384:ready tcp:10x1:32768/32768:ready tcp:10x1:65536/65536:ready tcp:1x1:65536/65536:ready tcp:10x1:1048576/1048576:ready
tcp:10x1:4096/4096:cold tcp:10x1:16384/16384:cold tcp:10x1:65536/65536:cold
tcp:10x1:4096/64:ready tcp:10x1:16384/256:ready tcp:10x1:65536/1024:ready tcp:10x1:65536/4096:ready tcp:10x1:262144/16384:ready
tcp:1x16:4096/4096:ready tls:10x1:4096/4096:ready tls:10x1:65536/65536:ready tls:10x1:65536/1024:ready
veth:10x1:4096/4096:ready veth:10x1:65536/65536:ready veth:10x1:65536/1024:ready
tcp:1x1:1600/100:yields tcp:10x1:1600/100:yields tcp:1x1:16384/1024:yields tcp:10x1:16384/1024:yields
tcp:10x1:200/100:ready tcp:10x1:1600/100:ready tcp:10x1:2048/1024:ready tcp:10x1:4096/1024:ready tcp:10x1:8192/1024:ready tcp:10x1:16384/1024:ready
threads:10x1:4096/64:ready threads:10x1:65536/1024:ready threads:10x1:65536/65536:ready tcp:10x1:65536/1024:works
"""
MANIFEST = """
[package]
name = "evidence-hyper-SERVER"
edition = "2021"
[workspace]
[dependencies]
bytes = "1"
http-body = "1"
hyper = { version = "1", features = ["http1", "server"] }
hyper-util = { version = "0.1", features = ["tokio"] }
tokio = { version = "1", features = ["macros", "net", "rt-multi-thread"] }
tokio-rustls = { version = "0.26", default-features = false, features = ["ring"] }
[patch.crates-io]
hyper = { path = "hyper-SERVER" }
[profile.release]
debug = 1
"""
# The arguments of the server: address, transport, then a certificate and its key for TLS. Its paths: /BODY/PART/WAY.
SERVER = PARTS + r"""
use std::{cell::Cell, convert::Infallible, sync::Arc};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::rustls::{pki_types::{pem::PemObject, CertificateDer, PrivateKeyDer}, ServerConfig};

const PERIOD: usize = 251;
const LEN: usize = 128 << 20;

thread_local!(static SENT: Cell<usize> = const { Cell::new(0) });

fn answer(bytes: &'static [u8], path: &str) -> Parts {
    let mut words = path.split('/').skip(1);
    let mut number = || words.next().unwrap().parse().unwrap();
    let (body, part): (usize, usize) = (number(), number());
    let way = words.next().unwrap();
    let first = if way == "cold" { SENT.replace(SENT.get() + body) % (LEN - body) / PERIOD * PERIOD } else { 0 };
    Parts { bytes: &bytes[first..][..body], part, works: way == "works", yields: way == "yields", has_yielded: false }
}

async fn serve(socket: impl AsyncRead + AsyncWrite + Unpin, bytes: &'static [u8]) {
    let service = hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let body = answer(bytes, request.uri().path());
        async move { Ok::<_, Infallible>(hyper::Response::new(body)) }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    SETTING
    let _ = builder.serve_connection(hyper_util::rt::TokioIo::new(socket), service).await;
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let threads = words[2] == "threads";
    let mut builder = if threads { tokio::runtime::Builder::new_multi_thread() } else { tokio::runtime::Builder::new_current_thread() };
    let runtime = builder.worker_threads(2).enable_io().build().unwrap();
    runtime.block_on(async { tokio::spawn(run(words)).await.unwrap() });
}

async fn run(words: Vec<String>) {
    let bytes: &'static [u8] = Vec::leak((0..LEN).map(|at| (at % PERIOD) as u8).collect());
    let tls = words.get(3).map(|certificate| {
        let chain = CertificateDer::pem_file_iter(certificate).unwrap().map(|one| one.unwrap()).collect();
        let key = PrivateKeyDer::from_pem_file(&words[4]).unwrap();
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
        tokio_rustls::TlsAcceptor::from(Arc::new(config))
    });
    let listener = tokio::net::TcpListener::bind(&words[1]).await.unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        socket.set_nodelay(true).unwrap();
        match tls.clone() {
            Some(tls) => drop(tokio::spawn(async move { serve(tls.accept(socket).await.unwrap(), bytes).await })),
            None => drop(tokio::spawn(serve(socket, bytes))),
        }
    }
}
"""


# The arguments: address, port, path of a body in chunks.
FIRST = r"""
import socket, statistics, sys, time
one = socket.create_connection((sys.argv[1], int(sys.argv[2])))
found = []
for _ in range(50):
    began, got = time.perf_counter(), b""
    one.sendall(f"GET {sys.argv[3]} HTTP/1.1\r\nhost: a\r\n\r\n".encode())
    while not got.partition(b"\r\n\r\n")[2]:
        got += one.recv(1 << 20)
    first = time.perf_counter() - began
    while not got.endswith(b"\r\n0\r\n\r\n"):
        got = got[-6:] + one.recv(1 << 20)
    found.append((first * 1e6, (time.perf_counter() - began) * 1e6))
print(*map(statistics.median, zip(*found)))
"""
# The arguments: address, port, path of a body in chunks, length of the body, connections.
SLOW = r"""
import socket, sys, time
ones = {}
for _ in range(int(sys.argv[5])):
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
    one.connect((sys.argv[1], int(sys.argv[2])))
    one.sendall(f"GET {sys.argv[3]} HTTP/1.1\r\nhost: a\r\n\r\n".encode())
    one.setblocking(False)
    ones[one] = (0, b"")
while ones:
    began = time.perf_counter()
    for one, (count, end) in list(ones.items()):
        try:
            got = one.recv(16384)
        except BlockingIOError:
            continue
        assert got
        ones[one] = count, end = count + len(got), (end + got)[-7:]
        if end == b"\r\n0\r\n\r\n":
            assert count > int(sys.argv[4])
            del ones[one]
    time.sleep(max(0, began + 0.01 - time.perf_counter()))
"""


def build(server, source):
    folder = os.path.join(TARGET, f"evidence-hyper-{server}")
    with open(PATCH, encoding="utf-8") as file:
        stamp = file.read() + inspect.getsource(build) + MANIFEST + SERVER
    if is_built(folder, stamp):
        return
    os.makedirs(os.path.join(folder, "src"))
    copy = os.path.join(folder, f"hyper-{server}")  # cargo tells packages of one target folder apart by this name
    shutil.copytree(source, copy)
    path = os.path.join(copy, "src", "proto", "h1", "io.rs")
    if server.startswith(("auto", "cap")):
        run("patch", "-p1", "-i", PATCH, cwd=copy)
        if server == "auto16":
            replace(path, "const FLATTEN_BELOW: usize = 4096;", "const FLATTEN_BELOW: usize = 16384;")
        if server == "auto4v":
            replace(path, EMPTY, "if let WriteStrategy::Flatten = self.write_buf.strategy {")
        if server.startswith("cap"):
            replace(path, FULL, f"self.headers.remaining() < {server[3:]} * 1024 && {FULL}")
    elif server == "queue64":
        replace(path, "const MAX_BUF_LIST_BUFFERS: usize = 16;", "const MAX_BUF_LIST_BUFFERS: usize = 64;")
        replace(path, "const MAX_WRITEV_BUFS: usize = 64;", "const MAX_WRITEV_BUFS: usize = 256;")
    write(os.path.join(folder, "Cargo.toml"), MANIFEST.replace("SERVER", server))
    setting = "builder.writev(false);" if server == "flatten" else "let _ = &mut builder;"
    write(os.path.join(folder, "src", "main.rs"), SERVER.replace("SETTING", setting))
    shutil.copy(os.path.join(HERE, "..", "Cargo.lock"), folder)  # the versions of all but hyper
    run("cargo", "build", "--release", "--quiet", "--target-dir", TARGET, cwd=folder)
    shutil.copy(os.path.join(TARGET, "release", f"evidence-hyper-{server}"), os.path.join(folder, "server"))
    write(os.path.join(folder, "stamp"), stamp)


class Running(h2.Running):
    """A server of hyper, and what it has used so far."""

    FETCHES = ["curl", "-sk"]

    def client(self, case, requests):
        return ["h2load", "--h1", "-n", requests, "-c", case["connections"], "-m", case["pipelined"]]

    def watched(self, case, log):
        """Calls that write, for each request, and the most memory. Nothing is timed: strace is slow, and /proc counts writev, but not send."""
        words = "strace -f -c -e trace=write,writev,sendto,sendmsg -o".split() + [log, "-p", str(self.process.pid)]
        requests, memory = (50 if case["body"] < 1 << 20 else 5) * case["connections"] * case["pipelined"], 0
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as tracer:
            tracer.stderr.readline()  # it is attached
            load = map(str, [*self.namespace(), *self.client(case, requests), self.url(case)])
            with subprocess.Popen(list(load), stdout=subprocess.DEVNULL) as client:
                while client.poll() is None:
                    with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
                        memory = max(memory, int(re.search(r"RssAnon:\s+(\d+)", file.read())[1]))
                    time.sleep(0.002)
            tracer.send_signal(signal.SIGINT)
        with open(log, encoding="utf-8") as file:
            return int(file.read().splitlines()[-1].split()[3]) / requests, memory - (128 << 10)


def parsed(name):
    match = re.fullmatch(r"(tcp|tls|threads|veth|delay):(\d+)x(\d+):(\d+)/(\d+):(ready|yields|works|cold)", name)
    if not match or int(match[4]) > 1 << 21:
        raise SystemExit(f"no case: {name}")
    numbers = dict(zip(["connections", "pipelined", "body", "part"], map(int, match.groups()[1:5])))
    return {"name": name, "transport": match[1], "way": match[6], **numbers}


def measured(case, servers, rounds, seconds, network, files, log):
    running = {server: Running(f"hyper-{server}", case["transport"], network, files) for server in servers}
    least = case["connections"] * case["pipelined"]
    rate = running["old"].load(case, max(200, 2 * least), log)["rate"]
    requests = max(2 * least, round(rate * seconds))
    for one in running.values():  # a warm-up that is not counted
        one.check(case)
        one.load(case, requests, log)
    calls, memory = zip(*(running[server].watched(case, log) for server in shown(servers)))
    found = [in_turns(servers, number, lambda which: running[which].load(case, requests, log)) for number in range(rounds)]
    for one in running.values():
        one.process.kill()
        one.process.wait()
    return {"case": case["name"], "servers": servers, "requests": requests, "calls": calls, "memory_kib": memory, "rounds": found}


def shown(servers):
    """The servers in the columns with slashes."""
    return [server for server in servers if server != "auto16"]


def measured_first(case, servers, rounds, network, files):
    """Medians of 50 requests, one after the other: µs to the first byte of a body, and to its end."""
    running = {server: Running(f"hyper-{server}", case["transport"], network, files) for server in servers}
    words = ["python3", "-c", FIRST, running["old"].host]
    path = f"/{case['body']}/{case['part']}/{case['way']}"
    load = lambda which: dict(zip(("first", "whole"), map(float, run(*running[which].namespace(), *words, str(running[which].port), path).split())))
    found = [in_turns(servers, number, load) for number in range(rounds + 1)]
    for one in running.values():
        one.process.kill()
        one.process.wait()
    return {"case": case["name"], "servers": servers, "rounds": found[1:]}  # the first warms up


def measured_slow(case, servers, rounds, network, files):
    """The CPU time of a request, and the most memory for each connection, in KiB."""
    running = {server: Running(f"hyper-{server}", case["transport"], network, files) for server in servers}
    connections, path = case["connections"], f"/{case['body']}/{case['part']}/{case['way']}"
    run(*running["old"].namespace(), "sysctl", "-qw", "net.ipv4.tcp_wmem=4096 65536 65536")

    def load(which):
        one, memory = running[which], 0
        before = one.used()[0]
        words = [*one.namespace(), "python3", "-c", SLOW, one.host, one.port, path, case["body"], connections]
        with subprocess.Popen(list(map(str, words))) as client:
            while client.poll() is None:
                memory = max(memory, one.read("status", r"RssAnon:\s+(\d+)"))
                time.sleep(0.005)
        if client.returncode:
            raise SystemExit(f"{case['name']}: not all bodies arrived")
        return {"cpu_us": (one.used()[0] - before) / 1000 / connections, "memory": (memory - (128 << 10)) / connections}

    found = [in_turns(servers, number, load) for number in range(rounds)]
    for one in running.values():
        one.process.kill()
        one.process.wait()
    return {"case": case["name"], "servers": servers, "rounds": found}


def idle(servers, network):
    """KiB by which a server grows for each of 500 connections that got 512 chunks of 1 KiB and wait."""
    print(f"| {' | '.join(servers)} |\n|{'---:|' * len(servers)}")
    grown = []
    for server in servers:
        one = Running(f"hyper-{server}", "tcp", network, [])
        before = one.read("status", r"RssAnon:\s+(\d+)")
        sockets = [socket.create_connection((one.host, one.port)) for _ in range(500)]
        for client in sockets:
            client.sendall(b"GET /524288/1024/ready HTTP/1.1\r\nhost: a\r\n\r\n")
            got = b""
            while not got.endswith(b"\r\n0\r\n\r\n"):
                got = got[-6:] + client.recv(1 << 20)
        grown.append((one.read("status", r"RssAnon:\s+(\d+)") - before) / 500)
        one.process.kill()
        one.process.wait()
    print(f"| {' | '.join(f'{kib:.1f}' for kib in grown)} |")


def cells_slow(result):
    rounds, servers = result["rounds"], result["servers"]
    yield middles(rounds, "cpu_us", 0, ["old"])
    yield from (against(rounds, which) for which in servers[1:])
    yield again(rounds)
    yield middles(rounds, "memory", 0, [*servers, "again"])


def cells_first(result):
    for figure in ("first", "whole"):
        found = {which: [one[which][figure] for one in result["rounds"]] for which in [*result["servers"], "again"]}
        yield from (f"{statistics.median(one):.0f} ({min(one):.0f} to {max(one):.0f})" for one in found.values())


def cells(result):
    rounds = result["rounds"]
    servers = result["servers"]
    yield middles(rounds, "cpu_us", 1, ["old"])
    yield from (against(rounds, which) for which in servers[1:])
    yield again(rounds)
    yield from (against(rounds, which, "rate") for which in servers[1:])
    yield " / ".join(f"{calls:.1f}" for calls in result["calls"])
    yield from (middles(rounds, figure, digits, shown(servers)) for figure, digits in [("segments", 1), ("p50_us", 0), ("p99_us", 0)])
    yield " / ".join(map(str, result["memory_kib"]))


def main():
    args = options(__doc__, SHORT, 8, "--build", "--first", "--slow", "--idle", servers=SERVERS)
    servers = ["old", *args.servers]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the namespaces are deleted
    cases = [parsed(name) for name in args.cases]
    source = fetched("hyper", "1.12.0")
    for server in servers:
        build(server, source)
    if args.build:
        return
    with tempfile.TemporaryDirectory() as folder:
        files, log = certificate(folder), os.path.join(folder, "log")
        networks = h2.networks(cases)
        if args.idle:
            h2.enter(networks["veth"].server)
            idle(servers, networks["veth"])
            return
        if args.first:
            columns = " | ".join(f"{which}{end}" for end in ("", ", end") for which in [*servers, "again"])
            table(columns, (measured_first(case, servers, args.rounds, h2.network(networks, case), files) for case in cases), cells_first, args.json)
            return
        if args.slow:
            columns = f"CPU, µs: {' | '.join(servers)} | A/A | memory of a connection, KiB"
            table(columns, (measured_slow(case, servers, args.rounds, h2.network(networks, case), files) for case in cases), cells_slow, args.json)
            return
        columns = f"CPU, µs: {' | '.join(servers)} | A/A | {' | '.join(f'requests/s: {which}' for which in servers[1:])} | writes | TCP segments | 50 %, µs | 99 %, µs | memory, KiB"
        table(columns, (measured(case, servers, args.rounds, args.seconds, h2.network(networks, case), files, log) for case in cases), cells, args.json)


if __name__ == "__main__":
    main()
