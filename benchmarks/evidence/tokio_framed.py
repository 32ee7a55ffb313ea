#!/usr/bin/env python3
"""What do the 8 KiB of tokio-util's Framed cost, and what does write_all_vectored lose? The tables of docs/measured/tokio-util-evidence.md.

    benchmarks/evidence/tokio_framed.py [--rounds N] [--seconds S] [--cases tcp:1:16x4096:ready,…] [--json FILE]
    benchmarks/evidence/tokio_framed.py --apart     one connection, the server on CPU 1 and the client on CPU 0
    benchmarks/evidence/tokio_framed.py --late      times instead of CPU time, with intervals
    benchmarks/evidence/tokio_framed.py --idle      the memory of a connection that waits after an answer
    benchmarks/evidence/tokio_framed.py --slow      the cost of clients that read 16 KiB every 10 ms
    benchmarks/evidence/tokio_framed.py --lost      what write_all_vectored tells after an error, and after it was dropped

A case is TRANSPORT:CONNECTIONS:FRAMESxBYTES:WAY. A client asks for this many frames of LengthDelimitedCodec, over loopback (tcp, tls by rustls,
threads: tcp and a runtime of two threads) or between two network namespaces (veth, and delay: each packet 1 ms later, by delay.py). `ready` feeds all and flushes. `works` computes for
10 µs before each frame. Servers, on one thread:

    old       FramedWrite of tokio-util 0.7.20: it flushes from 8 KiB on
    b16, b32, b64, b256    with set_backpressure_boundary, in KiB
    gather    no FramedWrite: lengths and frames as slices, by write_all_vectored

Each round runs these and old again. A ratio compares with the mean of both runs of old; A/A is the second run of old ÷ the first.
It needs root, cargo, iproute2 and openssl. CARGO_TARGET_DIR is where it builds.
"""

import atexit
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import h2
from common import HERE, TARGET, again, against, certificate, in_turns, middles, options, run, table, write

SERVERS = ["old", "b16", "b32", "b64", "b256", "gather"]
APART = """
tcp:1:1x100:ready tcp:1:64x100:ready tcp:1:1x16384:ready tcp:1:1x262144:ready tcp:1:4x65536:ready veth:1:4x65536:ready tcp:1:64x1000:works
tcp:1:10000x20:ready tcp:1:1000x100:ready tcp:1:4x4096:ready tcp:1:16x1000:ready tcp:1:64x1000:ready tcp:1:256x1000:ready tcp:1:16x4096:ready
tcp:1:16x16384:ready veth:1:16x1000:ready veth:1:1000x100:ready tls:1:64x1000:ready
"""
SHORT = """
tcp:10:64x1000:works tcp:10:10000x20:ready tcp:10:64x1000:ready tcp:10:64x4096:ready veth:10:64x1000:ready veth:10:64x4096:ready
tcp:100:64x1000:ready threads:10:64x100:ready threads:10:64x1000:ready threads:10:64x4096:ready tls:10:64x1000:ready tls:10:64x4096:ready
"""
MANIFEST = """
[package]
name = "evidence-framed"
edition = "2021"
[workspace]
[dependencies]
bytes = "1"
futures-util = { version = "0.3", features = ["sink"] }
tokio = { version = "1", features = ["io-util", "macros", "net", "rt-multi-thread", "time"] }
tokio-rustls = { version = "0.26", default-features = false, features = ["ring"] }
tokio-util = { version = "=0.7.20", features = ["codec", "io-util"] }
[profile.release]
debug = 1
"""
# `serve HOST WAY TRANSPORT [CERTIFICATE KEY]` prints its port. `load HOST CERTIFICATE PORT REQUESTS CONNECTIONS FRAMES BYTES
# WORKS` prints the time of all requests in ns; then for each request its time, and the time to its first frame. A request has
# the number of frames, their length and whether to compute, 4 bytes each.
PROGRAM = r"""
use bytes::Bytes;
use futures_util::SinkExt;
use std::io::{self, IoSlice, Read, Write};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixStream};
use tokio_rustls::rustls::{self, pki_types::{pem::PemObject, CertificateDer, PrivateKeyDer}};
use tokio_util::codec::{FramedWrite, LengthDelimitedCodec};
use tokio_util::io::write_all_vectored;

static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| (0..1 << 20).map(|at| (at % 251) as u8).collect());

fn work(works: u32) {
    let began = Instant::now();
    while works != 0 && began.elapsed() < Duration::from_micros(10) {}
}

async fn serve(mut read: impl AsyncRead + Unpin, write: impl AsyncWrite + Unpin, way: String) -> io::Result<()> {
    let mut framed = FramedWrite::new(write, LengthDelimitedCodec::new());
    if let Some(kib) = way.strip_prefix('b') {
        framed.set_backpressure_boundary(kib.parse::<usize>().unwrap() << 10);
    }
    loop {
        let (frames, bytes, works) = (read.read_u32().await?, read.read_u32().await?, read.read_u32().await?);
        let frame = Bytes::from_static(&BYTES[..bytes as usize]);
        if way != "gather" {
            for _ in 0..frames {
                work(works);
                framed.feed(frame.clone()).await?;
            }
            SinkExt::<Bytes>::flush(&mut framed).await?;
            continue;
        }
        let (length, mut kept) = (bytes.to_be_bytes(), Vec::new());
        for _ in 0..frames {
            work(works);
            kept.push(frame.clone());
        }
        let mut slices: Vec<_> = kept.iter().flat_map(|one| [IoSlice::new(&length), IoSlice::new(one)]).collect();
        write_all_vectored(framed.get_mut(), &mut slices).await?;
    }
}

trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

fn load(host: std::net::IpAddr, file: &str, words: &[u32]) -> io::Result<()> {
    let tls = (file != "none").then(|| {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(file).unwrap()).unwrap();
        Arc::new(rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())
    });
    let &[port, requests, connections, frames, bytes, works] = words else { panic!() };
    let began = Instant::now();
    let threads: Vec<_> = (0..connections).map(|_| tls.clone()).map(|tls| std::thread::spawn(move || -> io::Result<Vec<(u128, u128)>> {
        let socket = std::net::TcpStream::connect((host, port as u16))?;
        socket.set_nodelay(true)?;
        let mut socket: Box<dyn Stream> = match tls {
            Some(tls) => Box::new(rustls::StreamOwned::new(rustls::ClientConnection::new(tls, "localhost".try_into().unwrap()).unwrap(), socket)),
            None => Box::new(socket),
        };
        let request: Vec<u8> = [frames, bytes, works].iter().flat_map(|word| word.to_be_bytes()).collect();
        let (mut frame, mut answer) = (vec![0; bytes as usize + 4], vec![0; 256 << 10]);
        (0..requests / connections).map(|number| {
            let began = Instant::now();
            socket.write_all(&request)?;
            socket.read_exact(&mut frame)?;
            let first = began.elapsed().as_nanos();
            let mut left = (frames as usize - 1) * frame.len();
            while number == 0 {
                assert!(frame[..4] == bytes.to_be_bytes() && frame[4..] == BYTES[..bytes as usize], "another frame arrived");
                if left == 0 {
                    break;
                }
                socket.read_exact(&mut frame)?;
                left -= frame.len();
            }
            while left > 0 {
                let most = left.min(answer.len());
                left -= match socket.read(&mut answer[..most])? { 0 => return Err(io::ErrorKind::UnexpectedEof.into()), read => read };
            }
            Ok((began.elapsed().as_nanos(), first))
        }).collect()
    })).collect();
    let times: Vec<_> = threads.into_iter().map(|one| one.join().unwrap()).collect::<io::Result<Vec<_>>>()?.concat();
    println!("{}", began.elapsed().as_nanos());
    times.iter().for_each(|(all, first)| println!("{all} {first}"));
    Ok(())
}

const COUNT: usize = 64;
const LENGTH: usize = 16 << 10;

/// What write_all_vectored could be: the caller's list advances, so it says after an error or a drop what is left.
async fn write_slices(writer: &mut (impl AsyncWrite + Unpin), list: &mut &mut [IoSlice<'_>]) -> io::Result<()> {
    IoSlice::advance_slices(list, 0);
    while !list.is_empty() {
        match writer.write_vectored(list).await {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(list, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Drops or fails a write of 1 MiB, sends again what the caller's slices say is left, and compares what arrived.
async fn lost(ends: &str, way: &str) {
    let (mut ours, mut theirs) = UnixStream::pair().unwrap();
    let mut slices: Vec<_> = (0..COUNT).map(|at| IoSlice::new(&BYTES[at * LENGTH..][..LENGTH])).collect();
    let (mut list, mut bytes) = (&mut slices[..], Bytes::from_static(&BYTES));
    let mut arrived = vec![0; 50_000];
    let peer = async {
        theirs.read_exact(&mut arrived).await.unwrap();
        if ends == "closed" {
            theirs = UnixStream::pair().unwrap().0;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let error = tokio::select!(
        biased;
        Err(error) = write(way, &mut ours, &mut list, &mut bytes) => format!("`{:?}`", error.kind()),
        () = peer => "none".into(),
    );
    let left = if way == "write_all_buf" { bytes.len() } else { list.iter().map(|one| one.len()).sum() };
    let (mut sent, mut outcome) = ("unknown".to_string(), "the peer is gone".to_string());
    if ends == "dropped" {
        let rest = async move { write(way, &mut ours, &mut list, &mut bytes).await.unwrap() };
        tokio::join!(rest, theirs.read_to_end(&mut arrived)).1.unwrap();
        sent = (arrived.len() - left).to_string();
        outcome = match arrived.iter().zip(BYTES.iter()).position(|(one, other)| one != other) {
            None if arrived.len() == BYTES.len() => "all bytes arrive, once".into(),
            at => format!("{} bytes arrive, wrong from byte {} on", arrived.len(), at.unwrap_or(BYTES.len())),
        };
    }
    println!("| `{way}` | {ends} | {error} | {sent} | {} | {outcome} |", BYTES.len() - left);
}

async fn write(way: &str, writer: &mut UnixStream, list: &mut &mut [IoSlice<'_>], bytes: &mut Bytes) -> io::Result<()> {
    match way {
        "write_all_vectored" => write_all_vectored(writer, list).await,
        "write_all_buf" => writer.write_all_buf(bytes).await,
        _ => write_slices(writer, list).await,
    }
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let threads = words.get(3).is_some_and(|one| one == "threads");
    let mut builder = if threads { tokio::runtime::Builder::new_multi_thread() } else { tokio::runtime::Builder::new_current_thread() };
    let runtime = builder.worker_threads(2).enable_all().build()?;
    runtime.block_on(async { tokio::spawn(run(words)).await.unwrap() })
}

async fn run(words: Vec<String>) -> io::Result<()> {
    match words[0].as_str() {
        "serve" => {
            let tls = words.get(4).map(|certificate| {
                let chain = vec![CertificateDer::from_pem_file(certificate).unwrap()];
                let key = PrivateKeyDer::from_pem_file(&words[5]).unwrap();
                let config = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
                tokio_rustls::TlsAcceptor::from(Arc::new(config))
            });
            let listener = TcpListener::bind((words[1].as_str(), 0)).await?;
            println!("{}", listener.local_addr()?.port());
            loop {
                let (socket, _) = listener.accept().await?;
                socket.set_nodelay(true)?;
                let (tls, way) = (tls.clone(), words[2].clone());
                tokio::spawn(async move {
                    if let Some(tls) = tls {
                        let (read, write) = tokio::io::split(tls.accept(socket).await?);
                        return serve(read, write, way).await;
                    }
                    let (read, write) = socket.into_split();
                    serve(read, write, way).await
                });
            }
        }
        "load" => load(words[1].parse().unwrap(), &words[2], &words[3..].iter().map(|word| word.parse().unwrap()).collect::<Vec<_>>()),
        _ => {
            for ends in ["dropped", "closed"] {
                for way in ["write_all_vectored", "write_all_buf", "write_slices"] {
                    lost(ends, way).await;
                }
            }
            Ok(())
        }
    }
}
"""


def build():
    folder = os.path.join(TARGET, "evidence-framed")
    os.makedirs(os.path.join(folder, "src"), exist_ok=True)
    write(os.path.join(folder, "Cargo.toml"), MANIFEST)
    write(os.path.join(folder, "src", "main.rs"), PROGRAM)
    shutil.copy(os.path.join(HERE, "..", "Cargo.lock"), folder)
    run("cargo", "build", "--release", "--quiet", "--target-dir", TARGET, cwd=folder)
    return os.path.join(TARGET, "release", "evidence-framed")


class Running(h2.Running):
    def __init__(self, program, server, transport, network, files, apart):
        self.program, self.network, self.over_veth = program, network, transport in ("veth", "delay")
        self.certificate = files[0] if transport == "tls" else "none"
        self.client_cpu = ["taskset", "-c", "0"] if apart else []
        self.host = "10.77.0.1" if self.over_veth else "127.0.0.1"
        words = ["ip", "netns", "exec", network.server, program, "serve", self.host, server, transport, *(files if transport == "tls" else [])]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        atexit.register(self.process.kill)
        if apart:
            run("taskset", "-a", "-p", "-c", "1", str(self.process.pid))

    def client(self, case, requests):
        words = ["load", self.host, self.certificate, self.port, requests, *(case[name] for name in ("connections", "frames", "bytes", "works"))]
        return [*self.namespace(), *self.client_cpu, self.program, *map(str, words)]

    def watched(self, case, requests):
        """The most memory while it sends. Nothing is timed."""
        memory = 0
        with subprocess.Popen(self.client(case, requests), stdout=subprocess.DEVNULL) as client:
            while client.poll() is None:
                memory = max(memory, self.read("status", r"RssAnon:\s+(\d+)"))
                time.sleep(0.002)
        return memory

    def load(self, case, requests):
        before = self.used()
        whole, *lines = run(*self.client(case, requests)).splitlines()
        count = len(lines)
        cpu, calls, segments = ((after - start) / count for after, start in zip(self.used(), before))
        times, firsts = (sorted(int(line.split()[column]) / 1000 for line in lines) for column in (0, 1))
        return {
            "rate": count * 1e9 / int(whole),
            "cpu_us": cpu / 1000,
            "calls": calls,
            "segments": segments,
            "first_us": firsts[count // 2],
            "p50_us": times[count // 2],
            "p99_us": times[count * 99 // 100],
        }


def parsed(name):
    match = re.fullmatch(r"(tcp|tls|threads|veth|delay):(\d+):(\d+)x(\d+):(ready|works)", name)
    if not match or int(match[4]) > 1 << 20:
        raise SystemExit(f"no case: {name}")
    numbers = dict(zip(["connections", "frames", "bytes"], map(int, match.groups()[1:4])))
    return {"name": name, "transport": match[1], "works": int(match[5] == "works"), **numbers}


def measured(program, case, rounds, seconds, network, files, apart):
    running = {server: Running(program, server, case["transport"], network, files, apart) for server in SERVERS}
    least = 20 * case["connections"]
    requests = max(least, round(running["old"].load(case, least)["rate"] * seconds))
    memory = [one.watched(case, requests) for one in running.values()]  # it also warms up
    found = [in_turns(SERVERS, number, lambda which: running[which].load(case, requests)) for number in range(rounds)]
    for one in running.values():
        one.process.kill()
        one.process.wait()
    return {"case": case["name"], "requests": requests, "memory_kib": memory, "rounds": found}


def idle(program, network):
    """KiB by which a server grows for each of 500 connections that got 64 frames and wait, or asked for 1000 and read nothing."""
    print("| | " + " | ".join(SERVERS) + " |\n|---|" + "---:|" * len(SERVERS))
    for frames, bytes_of in ((64, 0), (64, 100), (64, 1000), (64, 4096), (1000, 1000)):
        grown = []
        if frames == 1000:
            run("sysctl", "-qw", "net.ipv4.tcp_wmem=4096 65536 65536")  # the kernel takes no whole answer
        for server in SERVERS:
            one = Running(program, server, "idle", network, [], False)
            before = one.read("status", r"RssAnon:\s+(\d+)")
            sockets = [socket.create_connection((one.host, one.port)) for _ in range(500)]
            for client in sockets:
                client.sendall(struct.pack(">III", frames, bytes_of, 0))
                answer = client.makefile("rb", 0)
                left = frames * (bytes_of + 4) if frames == 64 else 0
                while left:
                    left -= len(answer.read(left))
            time.sleep(0 if frames == 64 else 1)
            grown.append((one.read("status", r"RssAnon:\s+(\d+)") - before) / 500)
            one.process.kill()
            one.process.wait()
            for client in sockets:
                client.close()
        print(f"| {'after 64' if frames == 64 else 'unread, 1000'} frames of {bytes_of} B | {' | '.join(f'{kib:.1f}' for kib in grown)} |", flush=True)


def slow(program, network, rounds):
    """CPU time for each of 100 clients that ask for 2000 frames of 1000 B and read 16 KiB every 10 ms; a socket takes 64 KiB to send."""
    run("sysctl", "-qw", "net.ipv4.tcp_wmem=4096 65536 65536")
    running = {server: Running(program, server, "slow", network, [], False) for server in SERVERS}

    def load(which):
        one, left = running[which], {}
        before = one.used()
        for _ in range(100):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
            client.connect((one.host, one.port))
            client.sendall(struct.pack(">III", 2000, 1000, 0))
            client.setblocking(False)
            left[client] = 2000 * 1004
        while left:
            began = time.perf_counter()
            for client in list(left):
                try:
                    got = client.recv(16384)
                except BlockingIOError:
                    continue
                assert got
                left[client] -= len(got)
                if not left[client]:
                    del left[client]
            time.sleep(max(0, began + 0.01 - time.perf_counter()))
        cpu, calls, _ = ((after - start) / 100 for after, start in zip(one.used(), before))
        return {"cpu_us": cpu / 1000, "calls": calls}

    found = [in_turns(SERVERS, number, load) for number in range(rounds)]
    ratios = " | ".join([*(against(found, which) for which in SERVERS[1:]), again(found)])
    print(f"| CPU, µs: {' | '.join(SERVERS)} | A/A | writes |\n|{'---:|' * (len(SERVERS) + 2)}")
    print(f"| {middles(found, 'cpu_us', 0, ['old'])} | {ratios} | {middles(found, 'calls', 1, SERVERS)} |")


def cells(result):
    rounds = result["rounds"]
    yield middles(rounds, "cpu_us", 1, ["old"])
    yield from (against(rounds, which) for which in SERVERS[1:])
    yield again(rounds)
    yield against(rounds, "b64", "rate")
    yield from (middles(rounds, figure, digits, ["old", "b64", "gather"]) for figure, digits in [("calls", 1), ("segments", 1)])
    yield middles(rounds, "first_us", 0, SERVERS)
    yield from (middles(rounds, figure, 0, ["old", "b64", "gather"]) for figure in ("p50_us", "p99_us"))
    yield " / ".join(map(str, result["memory_kib"]))


def cells_late(result):
    for figure in ("first_us", "p50_us", "p99_us"):
        yield middles(result["rounds"], figure, 0, SERVERS)
        yield from (against(result["rounds"], which, figure) for which in ("b16", "b32", "b64"))


LATE = " | ".join(f"{figure}: {' / '.join(SERVERS)} | b16 ÷ old | b32 | b64" for figure in ("first frame, µs", "50 %, µs", "99 %, µs"))
COLUMNS = f"CPU, µs: {' | '.join(SERVERS)} | A/A | requests/s: b64 | writes | TCP segments | first frame, µs | 50 %, µs | 99 %, µs | memory, KiB"
LOST = """| way | the write is | error | bytes sent | bytes sent, by the slices | sent again from there |
|---|---|---|---:|---:|---|"""


def main():
    args = options(__doc__, APART if "--apart" in sys.argv else SHORT, 8, "--lost", "--apart", "--idle", "--slow", "--late")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the namespaces are deleted
    cases = [parsed(name) for name in args.cases]
    program = build()
    if args.lost:
        print(LOST, run(program, "lost"), sep="\n", end="")
        return
    networks = h2.networks(cases)
    if args.idle:
        h2.enter(networks["veth"].server)
        idle(program, networks["veth"])
        return
    if args.slow:
        h2.enter(networks["veth"].server)
        slow(program, networks["veth"], args.rounds)
        return
    with tempfile.TemporaryDirectory() as folder:
        files = certificate(folder)
        results = (measured(program, case, args.rounds, args.seconds, h2.network(networks, case), files, args.apart) for case in cases)
        table(LATE if args.late else COLUMNS, results, cells_late if args.late else cells, args.json)


if __name__ == "__main__":
    main()
