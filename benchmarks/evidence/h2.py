#!/usr/bin/env python3
"""h2 0.4.20 before and after h2-chained-frames.patch, under h2load. The table of docs/measured/h2-evidence.md.

    benchmarks/evidence/h2.py [--rounds N] [--cases tcp:1x1:16384/1024:ready,…] [--json FILE]      a few cases: minutes
    benchmarks/evidence/h2.py --window 16 [--cases …]                                              h2load has windows of 2^16 − 1 B, not 2^30 − 1
    benchmarks/evidence/h2.py --sample N [--rounds N] [--json FILE]                                N of all cases, by chance
    benchmarks/evidence/h2.py --full [--rounds N] [--json FILE]                                    all cases: hours
    benchmarks/evidence/h2.py --contention [--rounds N]                                            h2's own bench write-contention
    benchmarks/evidence/h2.py --build                                                              only builds

A case is TRANSPORT:CONNECTIONSxSTREAMS:BODY/PART:WAY. The body is sent in parts; each part is a frame. `ready` hands all parts to h2
at once. `inline` does the same in the task of the connection, without a task for the request. `yields` lets other tasks run between
two parts. `owned` allocates each part when h2 has room for it. `trailers` is `ready`, and trailers end the stream. `mixed` is
`ready`, and every second request is for a body of 100 B, whose times are kept separately. Transports over loopback: tcp, tls (rustls),
nagle (tcp without TCP_NODELAY), threads (tcp and a runtime of two threads), plain (tcp whose stream does not gather) and hyper (tcp,
and the HTTP/2 server of hyper above h2). Between network namespaces: veth, shaped (veth at 1 Gbit/s, by tbf) and delay (veth, and
each packet 1 ms later, by delay.py). With `client`, the compared programs are clients of h2 that send the bodies over tcp to a
server of old. --servers new,copy16 chooses what is compared:

    old2       h2 0.4.20, built once more
    new        with the patch; newb: built once more; new4, new8, new32, new64: with so many frames instead of 16
    bytes16, bytes32, bytes128, bytes256: with the patch, and so many KiB instead of 64
    threshold  h2 0.4.20 with CHAIN_THRESHOLD 4096 and a buffer of 64 KiB
    copy16     the same with the buffer of 16 KiB
    both       with the patch and the changes of threshold
    pr903, base903    hyperium/h2#903 and the commit that it changes (0.4.13 and five commits), which git fetches
    merge903, base415    the commit that merges #903 into 0.4.15, and 0.4.15; where both of a pair run, a column compares them

Each round also runs old (h2 0.4.20) and again (a second build of old). Every second round has the reverse order. A ratio compares
with the mean of old and again; A/A is again ÷ old.
It needs root, cargo, h2load (Debian's nghttp2-client), iproute2 and openssl. CARGO_TARGET_DIR is where it builds.
"""

import atexit
import ctypes
import filecmp
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

from common import HERE, PARTS, TARGET, certificate, fetched, in_words, interval, is_built, replace, run, write

PATCH = os.path.join(HERE, "h2-chained-frames.patch")
VERSION = "0.4.20"
# What each server replaces in h2's framed_write.rs; all but PLAIN have the patch.
PLAIN = {
    "old": {},
    "again": {},
    "old2": {},
    "threshold": {"const CHAIN_THRESHOLD: usize = 256;": "const CHAIN_THRESHOLD: usize = 4096;", "CAPACITY: usize = 16 *": "CAPACITY: usize = 64 *"},
    "copy16": {"const CHAIN_THRESHOLD: usize = 256;": "const CHAIN_THRESHOLD: usize = 4096;"},
}
PATCHED = {"new": {}, "newb": {}, "both": PLAIN["threshold"]} | {f"new{n}": {"MAX_CHAINED_FRAMES: usize = 16": f"MAX_CHAINED_FRAMES: usize = {n}"} for n in (4, 8, 32, 64)}
PATCHED |= {f"bytes{n}": {"MAX_CHAINED_BYTES: usize = 64 *": f"MAX_CHAINED_BYTES: usize = {n} *"} for n in (16, 32, 128, 256)}
FETCHED = {"pr903": "a1f880bc6b11d71c2880240117eb569db7ee3d0e", "base903": "dbc204e57e0f96ea25d023c82d8a16340675b271"}
FETCHED |= {"merge903": "f652c1c714fb74a08106f190cc946631755f2e34", "base415": "21211d065f8acd96827414020b5f53b63653f406"}
PAIRS = [("pr903", "base903"), ("merge903", "base415")]
FIGURES = {"writes": ("calls", 1), "TCP segments": ("segments", 1), "50 %, µs": ("p50_us", 0), "99 %, µs": ("p99_us", 0)}
SMALL = {"100 B: 50 %, µs": ("small50_us", 0), "100 B: 99 %, µs": ("small99_us", 0)}
SHORT = """
tcp:1x1:100/100:ready tcp:10x10:1024/1024:inline tcp:10x10:16384/16384:inline tcp:10x10:1024/1024:ready tcp:1x1:65536/65536:ready tcp:10x10:16384/16384:ready
tcp:1x1:16384/1024:yields tcp:10x10:16384/1024:yields veth:10x10:16384/1024:yields
tcp:1x1:16384/256:ready tcp:1x1:16384/1024:ready tcp:1x1:65536/4096:ready tcp:1x1:65536/16384:ready
tcp:10x10:16384/1024:ready tcp:100x10:4096/1024:ready tcp:1x100:16384/1024:ready
nagle:1x1:16384/1024:ready tls:1x1:16384/1024:ready tls:10x10:65536/4096:ready
veth:1x1:16384/1024:ready veth:10x10:16384/1024:ready shaped:10x10:65536/4096:ready
""".split()
MANIFEST = """
[package]
name = "evidence-SERVER"
edition = "2021"
[workspace]
members = ["h2-SERVER"]
[dependencies]
bytes = "1"
h2 = "0.4"
http = "1"
http-body = "1"
hyper = { version = "1", features = ["http2", "server"] }
hyper-util = { version = "0.1", features = ["tokio"] }
tokio = { version = "1", features = ["macros", "net", "rt-multi-thread"] }
tokio-rustls = { version = "0.26", default-features = false, features = ["ring"] }
[patch.crates-io]
h2 = { path = "h2-SERVER" }
[profile.release]
debug = 0
"""
# The arguments of the server: address, transport, then a certificate and its key for TLS. Its paths: /BODY/PART/WAY.
SERVER = PARTS + r"""
use h2::{server::{Builder, SendResponse}, RecvStream, SendStream};
use std::{cell::RefCell, convert::Infallible, fs, future::poll_fn, io, rc::Rc, sync::Arc};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::rustls::{pki_types::{pem::PemObject, CertificateDer, PrivateKeyDer}, ServerConfig};

#[allow(long_running_const_eval)]
static BYTES: [u8; 1 << 20] = {
    let mut bytes = [0; 1 << 20];
    let mut at = 0;
    while at < bytes.len() {
        bytes[at] = (at % 251) as u8;
        at += 1;
    }
    bytes
};

async fn answer(request: http::Request<RecvStream>, mut respond: SendResponse<Bytes>) -> Option<()> {
    let path = request.uri().path().to_owned();
    let mut words = path.split('/').skip(1);
    let body: usize = words.next()?.parse().ok()?;
    let part: usize = words.next()?.parse().ok()?;
    let way = words.next()?;
    if request.method() == "POST" {
        let (mut received, mut count) = (request.into_body(), 0);
        while let Some(Ok(bytes)) = received.data().await {
            assert!(bytes == BYTES[count..][..bytes.len()]);
            count += bytes.len();
            received.flow_control().release_capacity(bytes.len()).ok()?;
        }
        assert_eq!(count, body);
        respond.send_response(http::Response::new(()), true).ok()?;
        return Some(());
    }
    send(&mut respond.send_response(response(way, ()), false).ok()?, body, part, way).await
}

fn response<T>(way: &str, body: T) -> http::Response<T> {
    let mut response = http::Response::new(body);
    if way == "small" {
        *response.status_mut() = http::StatusCode::CREATED; // the log of h2load tells requests apart by it
    }
    response
}

async fn send(stream: &mut SendStream<Bytes>, body: usize, part: usize, way: &str) -> Option<()> {
    let mut sent = 0;
    while sent < body {
        let end = body.min(sent + part);
        let mut bytes = Bytes::from_static(&BYTES[sent % BYTES.len()..][..end - sent]);
        if way == "owned" {
            bytes = Bytes::copy_from_slice(&bytes);
            stream.reserve_capacity(end - sent);
            while stream.capacity() < end - sent {
                poll_fn(|cx| stream.poll_capacity(cx)).await?.ok()?;
            }
        }
        stream.send_data(bytes, end == body && way != "trailers").ok()?;
        sent = end;
        if way == "yields" && sent < body {
            tokio::task::yield_now().await;
        }
    }
    if way == "trailers" {
        let status = http::HeaderValue::from_static("0");
        stream.send_trailers([(http::HeaderName::from_static("grpc-status"), status)].into_iter().collect()).ok()?;
    }
    Some(())
}

// Nanoseconds of CPU time, and calls of write and writev.
fn used() -> (u64, u64) {
    let number = |word: &str| word.parse().unwrap();
    let time = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let calls = fs::read_to_string("/proc/self/io").unwrap();
    (number(time.split(' ').next().unwrap()), number(calls.split("syscw: ").nth(1).unwrap().lines().next().unwrap()))
}

// Its arguments: address, "client", connections, streams, requests, path. It prints requests a second, µs of CPU time and writes for each, and µs at 50 and 99 %.
async fn send_all(words: &[String]) {
    let number = |at: usize| words[at].parse::<usize>().unwrap();
    let left = Rc::new(RefCell::new((number(5), Vec::new())));
    let (began, before) = (Instant::now(), used());
    let connections = (0..number(3)).map(|_| tokio::task::spawn_local(send_requests(words.to_vec(), left.clone()))).collect::<Vec<_>>();
    for connection in connections {
        connection.await.unwrap();
    }
    let (elapsed, after, requests) = (began.elapsed().as_secs_f64(), used(), number(5) as f64);
    let mut times = left.take().1;
    times.sort_unstable();
    let (cpu, writes) = ((after.0 - before.0) as f64 / 1e3 / requests, (after.1 - before.1) as f64 / requests);
    println!("{} {cpu} {writes} {} {}", requests / elapsed, times[times.len() / 2], times[times.len() * 99 / 100]);
}

async fn send_requests(words: Vec<String>, left: Rc<RefCell<(usize, Vec<u128>)>>) {
    let url = format!("http://{}{}", words[1], words[6]);
    let mut path = words[6].split('/').skip(1);
    let (body, part) = (path.next().unwrap().parse().unwrap(), path.next().unwrap().parse().unwrap());
    let way = path.next().unwrap().to_owned();
    let socket = TcpStream::connect(&words[1]).await.unwrap();
    socket.set_nodelay(true).unwrap();
    let (client, connection) = h2::client::handshake(socket).await.unwrap();
    tokio::task::spawn_local(connection);
    let streams = (0..words[4].parse().unwrap()).map(|_| {
        let (client, url, way, left) = (client.clone(), url.clone(), way.clone(), left.clone());
        tokio::task::spawn_local(async move {
            while left.borrow().0 > 0 {
                left.borrow_mut().0 -= 1;
                let began = Instant::now();
                let request = http::Request::post(&url).body(()).unwrap();
                let (response, mut stream) = client.clone().ready().await.unwrap().send_request(request, false).unwrap();
                send(&mut stream, body, part, &way).await.unwrap();
                assert_eq!(response.await.unwrap().status(), 200);
                left.borrow_mut().1.push(began.elapsed().as_micros());
            }
        })
    }).collect::<Vec<_>>();
    for stream in streams {
        stream.await.unwrap();
    }
}

async fn serve(socket: impl AsyncRead + AsyncWrite + Unpin, buffer: usize, window: u32) {
    let mut builder = Builder::new();
    builder.max_send_buffer_size(buffer).initial_window_size(window).initial_connection_window_size(window);
    let Ok(mut connection) = builder.handshake(socket).await else { return };
    while let Some(Ok((request, respond))) = connection.accept().await {
        if request.uri().path().ends_with("inline") {
            answer(request, respond).await;
        } else {
            tokio::spawn(answer(request, respond));
        }
    }
}

async fn serve_hyper(socket: TcpStream) {
    let service = hyper::service::service_fn(|request: http::Request<hyper::body::Incoming>| {
        let words: Vec<_> = request.uri().path().split('/').skip(1).collect();
        let (bytes, part) = (&BYTES[..words[0].parse().unwrap()], words[1].parse().unwrap());
        let body = Parts { bytes, part, works: false, yields: words[2] == "yields", has_yielded: false };
        let response = response(words[2], body);
        async move { Ok::<_, Infallible>(response) }
    });
    let builder = hyper::server::conn::http2::Builder::new(hyper_util::rt::TokioExecutor::new());
    let _ = builder.serve_connection(hyper_util::rt::TokioIo::new(socket), service).await;
}

/// A stream that does not gather.
struct Plain(TcpStream);

impl AsyncRead for Plain {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Plain {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if words.len() > 6 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, send_all(&words));
        return;
    }
    let threads = words[2] == "threads";
    let mut builder = if threads { tokio::runtime::Builder::new_multi_thread() } else { tokio::runtime::Builder::new_current_thread() };
    let runtime = builder.worker_threads(2).enable_io().build().unwrap();
    runtime.block_on(async { tokio::spawn(run(words)).await.unwrap() });
}

async fn run(words: Vec<String>) {
    let tls = words.get(3).map(|certificate| {
        let chain = CertificateDer::pem_file_iter(certificate).unwrap().map(|one| one.unwrap()).collect();
        let key = PrivateKeyDer::from_pem_file(&words[4]).unwrap();
        let mut config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec()];
        tokio_rustls::TlsAcceptor::from(Arc::new(config))
    });
    let listener = tokio::net::TcpListener::bind(&words[1]).await.unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        socket.set_nodelay(words[2] != "nagle").unwrap();
        let buffer = if words[2] == "small" { 16 << 10 } else { 400 << 10 }; // the second is h2's default
        let window = if words[2] == "client" { 1 << 20 } else { 65535 }; // of hyper's servers and of h2's
        match tls.clone() {
            Some(tls) => drop(tokio::spawn(async move { serve(tls.accept(socket).await.unwrap(), buffer, window).await })),
            None if words[2] == "plain" => drop(tokio::spawn(serve(Plain(socket), buffer, window))),
            None if words[2] == "hyper" => drop(tokio::spawn(serve_hyper(socket))),
            None => drop(tokio::spawn(serve(socket, buffer, window))),
        }
    }
}
"""


def build(server, source):
    folder = os.path.join(TARGET, f"evidence-{server}")
    changes = (PLAIN | PATCHED | FETCHED)[server]
    copy = os.path.join(folder, f"h2-{server}")  # cargo tells packages of one target folder apart by this name
    with open(PATCH, encoding="utf-8") as file:
        stamp = "".join([file.read(), MANIFEST, SERVER, repr(changes)])
    if is_built(folder, stamp):
        return
    os.makedirs(os.path.join(folder, "src"))
    if server in FETCHED:
        fetch(changes, copy)
    else:
        shutil.copytree(source, copy)
        if server in PATCHED:
            run("patch", "-p1", "-i", PATCH, cwd=copy)
        for old, new in changes.items():
            replace(os.path.join(copy, "src", "codec", "framed_write.rs"), old, new)
    write(os.path.join(folder, "Cargo.toml"), MANIFEST.replace("SERVER", server))
    write(os.path.join(folder, "src", "main.rs"), SERVER)
    shutil.copy(os.path.join(HERE, "..", "Cargo.lock"), folder)  # the versions of all but h2
    run("cargo", "build", "--release", "--quiet", "--target-dir", TARGET, cwd=folder)
    shutil.copy(os.path.join(TARGET, "release", f"evidence-{server}"), os.path.join(folder, "server"))
    write(os.path.join(folder, "stamp"), stamp)


def fetch(commit, folder):
    run("git", "init", "--quiet", folder)
    run("git", "fetch", "--quiet", "--depth", "1", "https://github.com/hyperium/h2", commit, cwd=folder)
    run("git", "checkout", "--quiet", "FETCH_HEAD", cwd=folder)
    path = os.path.join(folder, "Cargo.toml")
    with open(path, encoding="utf-8") as file:
        version = re.search(r'version = "0.4.\d+"', file.read())[0]
    replace(path, version, f'version = "{VERSION}"')  # which hyper accepts
    replace(path, "[workspace]\n", "[package.metadata.workspace]\n")  # a workspace has no other in it


class Network:
    """Two namespaces that hold nothing but a veth pair, so that packets of other programs are not counted. `delay` has a third between them."""

    def __init__(self, kind="veth"):
        self.names = [f"evidence-{name}-{os.getpid()}-{kind}" for name in ("server", "client", "between")]
        self.server, self.client, between = self.names
        atexit.register(self.end)
        for name in self.names:
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        ends = [(self.server, "near", between), (self.client, "far", between)] if kind == "delay" else [(self.server, "pair", self.client)]
        for name, other, where in ends:
            run("ip", "-n", name, "link", "add", "pair", "type", "veth", "peer", "name", other, "netns", where)
            run("ip", "-n", where, "link", "set", other, "up")
        for name, address in [(self.server, "10.77.0.1/24"), (self.client, "10.77.0.2/24")]:
            run("ip", "-n", name, "address", "add", address, "dev", "pair")
            run("ip", "-n", name, "link", "set", "pair", "up")
            if kind == "shaped":
                run("tc", "-n", name, "qdisc", "add", "dev", "pair", "root", "tbf", "rate", "1gbit", "burst", "128kb", "latency", "50ms")
        if kind == "delay":
            words = ["ip", "netns", "exec", between, sys.executable, os.path.join(HERE, "delay.py"), "1", "near", "far"]
            relay = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
            atexit.register(relay.kill)
            if relay.stdout.readline() != "ready\n":
                raise SystemExit("delay.py has not started")

    def end(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], check=False)


def networks(cases):
    """One of each kind that the cases need."""
    return {kind: Network(kind) for kind in ("veth", "shaped", "delay") if kind == "veth" or kind in {case["transport"] for case in cases}}


def network(found, case):
    return found.get(case["transport"], found["veth"])


def enter(namespace):
    """Brings this process and its children into the namespace."""
    with open(f"/run/netns/{namespace}", encoding="utf-8") as file:
        if ctypes.CDLL(None).setns(file.fileno(), 0x40000000):  # CLONE_NEWNET
            raise SystemExit("setns failed")


class Running:
    """A server and what it has used so far."""

    FETCHES = ["nghttp"]
    WINDOWS = []  # options of h2load

    def __init__(self, server, transport, network, files):
        self.over_veth = transport in ("veth", "shaped", "delay", "small")
        self.network, self.tls = network, transport == "tls"
        self.host = "10.77.0.1" if self.over_veth else "127.0.0.1"
        words = ["ip", "netns", "exec", network.server, os.path.join(TARGET, f"evidence-{server}", "server"), f"{self.host}:0"]
        words += [transport, *(files if self.tls else [])]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        atexit.register(self.process.kill)

    def used(self):
        """Nanoseconds of CPU time of all threads, calls of write and writev, TCP segments that left the namespace."""
        tasks = [f"task/{thread}/schedstat" for thread in os.listdir(f"/proc/{self.process.pid}/task")]
        found = [self.read(name, r"^(\d+)") for name in tasks]
        return [sum(found), self.read("io", r"syscw: (\d+)"), self.read("net/snmp", r"Tcp: (?:-?\d+ ){10}(\d+)")]

    def read(self, name, pattern):
        with open(f"/proc/{self.process.pid}/{name}", encoding="utf-8") as file:
            return int(re.search(pattern, file.read())[1])

    def url(self, case):
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}/{case['body']}/{case['part']}/{case['way']}"

    def namespace(self):
        return ["ip", "netns", "exec", self.network.client if self.over_veth else self.network.server]

    def check(self, case):
        """Compares one body, byte for byte."""
        command = [*self.namespace(), *self.FETCHES, self.url(case)]
        body = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        if body != bytes(at % 251 for at in range(case["body"])):
            raise SystemExit(f"{case['name']}: another body arrived")

    def client(self, case, requests):
        return ["h2load", "-n", requests, "-c", case["connections"], "-m", case["streams"], *self.WINDOWS]

    def load(self, case, requests, log):
        if os.path.exists(log):
            os.remove(log)
        before = self.used()
        urls = [self.url(case)]
        if case["way"] == "mixed":
            urls = [self.url(case | {"way": "ready"}), self.url(case | {"body": 100, "part": 100, "way": "small"})]
        text = run(*map(str, [*self.namespace(), *self.client(case, requests), f"--log-file={log}", *urls]))
        cpu, calls, segments = (after - start for after, start in zip(self.used(), before))
        if f"{requests} succeeded" not in text or f"({requests * (case['body'] + (len(urls) - 1) * 100) // len(urls)}) data" not in text:
            raise SystemExit(f"{case['name']}: not all bodies arrived:\n{text}")
        with open(log, encoding="utf-8") as file:
            lines = [line.split("\t") for line in file]
        times, small = (sorted(int(line[2]) for line in lines if (line[1] == "201") == is_small) for is_small in (False, True))
        found = {
            "rate": float(re.search(r", ([\d.]+) req/s", text)[1]),
            "cpu_us": cpu / requests / 1000,
            "calls": calls / requests,
            "segments": segments / requests,
            "p50_us": times[len(times) // 2],
            "p99_us": times[len(times) * 99 // 100],
        }
        if small:
            found |= {"small50_us": small[len(small) // 2], "small99_us": small[len(small) * 99 // 100]}
        return found


class Sending(Running):
    """A client of h2 that sends bodies to a server of old, which compares them byte for byte."""

    def __init__(self, program, transport, *others):
        super().__init__("old", "tcp" if self.WINDOWS else transport, *others)
        self.program = os.path.join(TARGET, f"evidence-{program}", "server")

    def check(self, case):
        self.load(case, case["connections"], None)

    def load(self, case, requests, log):
        before = self.used()[2]
        words = [self.program, f"{self.host}:{self.port}", "client", case["connections"], case["streams"], requests, f"/{case['body']}/{case['part']}/{case['way']}"]
        found = map(float, run(*map(str, [*self.namespace(), *words])).split())
        return dict(zip(["rate", "cpu_us", "calls", "p50_us", "p99_us"], found)) | {"segments": (self.used()[2] - before) / requests}


def parsed(name):
    match = re.fullmatch(r"(tcp|tls|nagle|veth|shaped|delay|threads|plain|hyper|client):(\d+)x(\d+):(\d+)/(\d+):(ready|inline|yields|owned|trailers|mixed)", name)
    if not match or int(match[4]) > 1 << 20:
        raise SystemExit(f"no case: {name}")
    numbers = dict(zip(["connections", "streams", "body", "part"], map(int, match.groups()[1:5])))
    return {"name": name, "transport": match[1], "way": match[6], **numbers}


def all_cases():
    for transport in ["tcp", "tls", "nagle", "veth", "shaped"]:
        for connections in [1, 10, 100]:
            for streams in [1, 10, 100]:
                for body in [100, 1024, 4096, 16384, 65536]:
                    for part in sorted({part for part in [256, 1024, 4096, 16384] if part < body} | {body}):
                        for way in ["ready", "inline", "yields"] if part < body else ["ready", "inline"]:
                            yield f"{transport}:{connections}x{streams}:{body}/{part}:{way}"


def against(result, which, figure):
    """A figure of a server against the mean of both runs of old."""
    return interval([math.log(one[which][figure] / math.sqrt(one["old"][figure] * one["again"][figure])) for one in result["rounds"]])


def measured(case, servers, rounds, seconds, network, files, log):
    kind = Sending if case["transport"] == "client" else Running
    running = {server: kind(server, case["transport"], network, files) for server in servers}
    least = case["connections"] * case["streams"]
    rate = running["old"].load(case, max(200, 2 * least), log)["rate"]
    requests = max(2 * least, round(rate * seconds))
    requests += -requests % (2 * case["connections"])  # `mixed` needs an even number for each connection
    found = []
    for server in servers:  # a warm-up that is not counted
        running[server].check(case)
        running[server].load(case, requests, log)
    for number in range(rounds):
        loads = {which: running[which].load(case, requests, log) for which in (servers if number % 2 else servers[::-1])}
        found.append({which: loads[which] for which in servers})
    for one in running.values():
        one.process.kill()
        one.process.wait()
    return {"case": case["name"], "requests": requests, "rounds": found}


def contention(servers, rounds):
    """h2's own bench of client and server in one process: the throughput and the CPU time ÷ the mean of both runs of old."""
    programs = {}
    for server in servers:
        words = ["cargo", "bench", "--quiet", "--no-run", "--bench", "main", "--message-format", "json", "--target-dir", TARGET]
        folder = os.path.join(TARGET, f"evidence-{server}", f"h2-{server}")
        bench, own = (os.path.join(where, "benches", "main.rs") for where in (os.path.join(TARGET, "evidence-old", "h2-old"), folder))
        if server in FETCHED and not filecmp.cmp(bench, own):  # its own is older
            shutil.copy(bench, own)
        lines = run(*words, cwd=folder).splitlines()
        programs[server] = next(one["executable"] for one in map(json.loads, lines) if one.get("executable"))

    def load(which):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        text = run(programs[which], env=os.environ | {"H2_BENCH": "write-contention"})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {"rate": float(re.search(r"Throughput: ([\d.]+)", text)[1]), "cpu_us": cpu * 1e6}

    found = [{which: load(which) for which in (servers if number % 2 else servers[::-1])} for number in range(rounds + 1)][1:]
    for which in servers:
        ratios = [in_words(against({"rounds": found}, which, figure)) for figure in ("rate", "cpu_us")]
        print(f"{which}: {statistics.median(one[which]['rate'] for one in found):.0f} MiB/s; throughput {ratios[0]}, CPU time {ratios[1]}")


def compared_in(servers):
    return [which for which in servers if which not in ("old", "again")], [pair for pair in PAIRS if set(pair) <= set(servers)]


def row(result, figures):
    rounds = result["rounds"]
    compared, pairs = compared_in(rounds[0])

    def middles(figure, digits):
        return " / ".join(f"{statistics.median(one[which][figure] for one in rounds):.{digits}f}" for which in ["old", *compared] if figure in rounds[0][which])

    pair = lambda one, base: in_words(interval([math.log(loads[one]["cpu_us"] / loads[base]["cpu_us"]) for loads in rounds]))
    ratios = lambda figure: [in_words(against(result, which, figure)) for which in compared]
    cells = [*ratios("cpu_us"), pair("again", "old"), *(pair(*one) for one in pairs), *ratios("rate"), *(middles(*figure) for figure in figures.values())]
    return f"| `{result['case']}` | {' | '.join(cells)} |"


def head(servers, figures):
    compared, pairs = compared_in(servers)
    words = [*(f"CPU: {which}" for which in compared), "CPU: A/A", *(f"CPU: {one} ÷ {base}" for one, base in pairs), *(f"requests/s: {which}" for which in compared), *figures]
    return f"| case | {' | '.join(words)} |\n|---|{'---:|' * len(words)}"


def summary(results):
    """How many cases gain and lose CPU time, and which lose."""
    compared = [which for which in results[0]["rounds"][0] if which != "old"]
    ratios = {which: [(against(result, which, "cpu_us"), result["case"]) for result in results] for which in compared if which != "again"}
    ratios["again"] = [(interval([math.log(one["again"]["cpu_us"] / one["old"]["cpu_us"]) for one in result["rounds"]]), result["case"]) for result in results]
    lines = ["", f"| CPU time a request ÷ old | {' | '.join(ratios)} |", f"|---|{'---:|' * len(ratios)}"]
    for low, high in [(0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 0.97), (0.97, 1.03), (1.03, 9)]:
        counts = [sum(low <= ratio < high for (ratio, _, _), _ in ratios[which]) for which in ratios]
        lines.append(f"| {low} to {high} | {' | '.join(map(str, counts))} |")
    for which in ratios:
        lose = sorted(((ratio, low, high), case) for (ratio, low, high), case in ratios[which] if low > 1)
        lines.append(f"\n{which}: {len(lose)} of {len(results)} take more, with a 95 % interval above 1:")
        lines += [f"{case} {in_words(one)}" for one, case in reversed(lose)]
    return "\n".join(lines)


def main():
    words = iter(sys.argv[1:])
    names, rounds, seconds, saved, only_build, servers = SHORT, 8, 0.1, None, False, ["old", "new", "threshold", "again"]
    contended = False
    for word in words:
        if word == "--full":
            names, rounds = list(all_cases()), 12
        elif word == "--sample":
            names, rounds = random.Random(1).sample(list(all_cases()), int(next(words))), 4
        elif word == "--cases":
            names = next(words).split(",")
        elif word == "--rounds":
            rounds = int(next(words))
        elif word == "--seconds":
            seconds = float(next(words))
        elif word == "--json":
            saved = next(words)
        elif word == "--window":
            bits = next(words)
            Running.WINDOWS = ["-w", bits, "-W", bits]
        elif word == "--servers":
            servers = ["old", *next(words).split(","), "again"]
        elif word == "--build":
            only_build = True
        elif word == "--contention":
            contended = True
        else:
            raise SystemExit(__doc__)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the namespaces are deleted
    cases = [parsed(name) for name in names]
    source = fetched("h2", VERSION)
    for server in servers:
        build(server, source)
    if contended:
        contention(servers, rounds)
    if only_build or contended:
        return
    with tempfile.TemporaryDirectory() as folder:
        files = certificate(folder)
        found = networks(cases)
        figures = FIGURES | (SMALL if any(case["way"] == "mixed" for case in cases) else {})
        print(head(servers, figures))
        results = []
        for case in cases:
            results.append(measured(case, servers, rounds, seconds, network(found, case), files, os.path.join(folder, "log")))
            print(row(results[-1], figures), flush=True)
            if saved:
                write(saved, json.dumps(results))
        print(summary(results))


if __name__ == "__main__":
    main()
