#!/usr/bin/env python3
"""What do the 8 KiB of tokio-util's Framed cost, and what does write_all_vectored lose? The tables of docs/measured/tokio-util-evidence.md.

    benchmarks/evidence/tokio_framed.py [--rounds N] [--seconds S] [--cases tcp:1:16x4096:ready,…] [--json FILE]
    benchmarks/evidence/tokio_framed.py --lost      what write_all_vectored tells after an error, and after it was dropped

A case is TRANSPORT:CONNECTIONS:FRAMESxBYTES:WAY. A client asks for this many frames of LengthDelimitedCodec, over loopback (tcp) or between
two network namespaces (veth). `ready` feeds all and flushes. `works` computes for 10 µs before each frame. Servers, on one thread:

    old       FramedWrite of tokio-util 0.7.20: it flushes from 8 KiB on
    b64       with set_backpressure_boundary(65536)
    b256      with 262144
    gather    no FramedWrite: lengths and frames as slices, by write_all_vectored

Each round runs these and old again. A ratio compares with the mean of both runs of old; A/A is the second ÷ the first.
It needs root, cargo and iproute2. CARGO_TARGET_DIR is where it builds.
"""

import atexit
import os
import re
import shutil
import signal
import subprocess
import sys

import h2
from common import again, against, in_turns, middles, options, table
from h2 import HERE, TARGET, run, write

SERVERS = ["old", "b64", "b256", "gather"]
SHORT = """
tcp:1:1x100:ready tcp:1:64x100:ready tcp:1:1x16384:ready tcp:1:1x262144:ready tcp:1:64x1000:works tcp:10:64x1000:works
tcp:1:10000x20:ready tcp:10:10000x20:ready tcp:1:1000x100:ready tcp:1:4x4096:ready tcp:1:16x1000:ready tcp:1:64x1000:ready
tcp:10:64x1000:ready tcp:1:256x1000:ready tcp:1:16x4096:ready tcp:10:64x4096:ready tcp:1:16x16384:ready tcp:1:4x65536:ready
veth:1:16x1000:ready veth:10:64x1000:ready veth:1:1000x100:ready veth:10:64x4096:ready veth:1:4x65536:ready
"""
MANIFEST = """
[package]
name = "evidence-framed"
edition = "2021"
[workspace]
[dependencies]
bytes = "1"
futures-util = { version = "0.3", features = ["sink"] }
tokio = { version = "1", features = ["io-util", "macros", "net", "rt", "time"] }
tokio-util = { version = "=0.7.20", features = ["codec", "io-util"] }
[profile.release]
debug = 1
"""
# `serve HOST WAY` prints its port. `load HOST PORT REQUESTS CONNECTIONS FRAMES BYTES WORKS` prints the time of all in ns, and for each request its
# time and that of its first frame. A request has the number of frames, their length and whether to compute, 4 bytes each.
PROGRAM = r"""
use bytes::Bytes;
use futures_util::SinkExt;
use std::io::{self, IoSlice, Read, Write};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio_util::codec::{FramedWrite, LengthDelimitedCodec};
use tokio_util::io::write_all_vectored;

static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| (0..1 << 20).map(|at| (at % 251) as u8).collect());

fn work(works: u32) {
    let began = Instant::now();
    while works != 0 && began.elapsed() < Duration::from_micros(10) {}
}

async fn serve(mut socket: TcpStream, way: String) -> io::Result<()> {
    let (mut read, write) = socket.split();
    let mut framed = FramedWrite::new(write, LengthDelimitedCodec::new());
    match way.as_str() {
        "b64" => framed.set_backpressure_boundary(64 << 10),
        "b256" => framed.set_backpressure_boundary(256 << 10),
        _ => {}
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

fn load(host: std::net::IpAddr, words: &[u32]) -> io::Result<()> {
    let &[port, requests, connections, frames, bytes, works] = words else { panic!() };
    let began = Instant::now();
    let threads: Vec<_> = (0..connections).map(|_| std::thread::spawn(move || -> io::Result<Vec<(u128, u128)>> {
        let mut socket = std::net::TcpStream::connect((host, port as u16))?;
        socket.set_nodelay(true)?;
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

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words[0].as_str() {
        "serve" => {
            let listener = TcpListener::bind((words[1].as_str(), 0)).await?;
            println!("{}", listener.local_addr()?.port());
            loop {
                let (socket, _) = listener.accept().await?;
                socket.set_nodelay(true)?;
                tokio::spawn(serve(socket, words[2].clone()));
            }
        }
        "load" => load(words[1].parse().unwrap(), &words[2..].iter().map(|word| word.parse().unwrap()).collect::<Vec<_>>()),
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
    def __init__(self, program, server, transport, network):
        self.program, self.network, self.over_veth = program, network, transport == "veth"
        self.host = "10.77.0.1" if self.over_veth else "127.0.0.1"
        words = ["ip", "netns", "exec", network.server, program, "serve", self.host, server]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        atexit.register(self.process.kill)

    def load(self, case, requests):
        before = self.used()
        words = ["load", self.host, self.port, requests, *(case[name] for name in ("connections", "frames", "bytes", "works"))]
        whole, *lines = run(*self.namespace(), self.program, *map(str, words)).splitlines()
        count = len(lines)
        cpu, calls, segments = ((after - start) / count for after, start in zip(self.used(), before))
        times, firsts = (sorted(int(line.split()[column]) / 1000 for line in lines) for column in (0, 1))
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            memory = int(re.search(r"RssAnon:\s+(\d+)", file.read())[1])
        return {
            "rate": count * 1e9 / int(whole),
            "cpu_us": cpu / 1000,
            "calls": calls,
            "segments": segments,
            "first_us": firsts[count // 2],
            "p50_us": times[count // 2],
            "p99_us": times[count * 99 // 100],
            "memory_kib": memory,
        }


def parsed(name):
    match = re.fullmatch(r"(tcp|veth):(\d+):(\d+)x(\d+):(ready|works)", name)
    if not match or int(match[4]) > 1 << 20:
        raise SystemExit(f"no case: {name}")
    numbers = dict(zip(["connections", "frames", "bytes"], map(int, match.groups()[1:4])))
    return {"name": name, "transport": match[1], "works": int(match[5] == "works"), **numbers}


def measured(program, case, rounds, seconds, network):
    running = {server: Running(program, server, case["transport"], network) for server in SERVERS}
    least = 20 * case["connections"]
    requests = max(least, round(running["old"].load(case, least)["rate"] * seconds))
    for one in running.values():  # a warm-up that is not counted
        one.load(case, requests)
    found = [in_turns(SERVERS, number, lambda which: running[which].load(case, requests)) for number in range(rounds)]
    for one in running.values():
        one.process.kill()
        one.process.wait()
    return {"case": case["name"], "requests": requests, "rounds": found}


def cells(result):
    rounds = result["rounds"]
    yield middles(rounds, "cpu_us", 1, ["old"])
    yield from (against(rounds, which) for which in SERVERS[1:])
    yield again(rounds)
    yield against(rounds, "b64", "rate")
    shown = [("calls", 1), ("segments", 1), ("first_us", 0), ("p50_us", 0), ("p99_us", 0), ("memory_kib", 0)]
    yield from (middles(rounds, figure, digits, ["old", "b64", "gather"]) for figure, digits in shown)


COLUMNS = "CPU, µs: old | b64 | b256 | gather | A/A | requests/s: b64 | writes | TCP segments | first frame, µs | 50 %, µs | 99 %, µs | memory, KiB"
LOST = """| way | the write is | error | bytes sent | bytes sent, by the slices | sent again from there |
|---|---|---|---:|---:|---|"""


def main():
    args = options(__doc__, SHORT, 8, "--lost")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the namespaces are deleted
    cases = [parsed(name) for name in args.cases]
    program = build()
    if args.lost:
        print(LOST, run(program, "lost"), sep="\n", end="")
        return
    network = h2.Network(False)
    table(COLUMNS, (measured(program, case, args.rounds, args.seconds, network) for case in cases), cells, args.json)


if __name__ == "__main__":
    main()
