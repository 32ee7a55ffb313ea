#!/usr/bin/env python3
"""After how many small DATA frames does a server of h2 close the connection? The table of docs/measured/h2-small-frames.md.

    benchmarks/evidence/h2_small_frames.py [--target FOLDER] [--sizes 170,171,…] [VERSION]...
    benchmarks/evidence/h2_small_frames.py [--target FOLDER] --window BYTES [VERSION]...
    benchmarks/evidence/h2_small_frames.py [--target FOLDER] --client [VERSION]...
    benchmarks/evidence/h2_small_frames.py [--target FOLDER] --down [VERSION]...

Builds one server with its default settings for each version of h2, and sends it frames without END_STREAM over a socket of its own.
With --window, stream and connection have windows of BYTES, and 12000 frames are enough; two ways are counted. With --client, a client
of h2 sends 50 bodies, each over a connection of its own; the connections that end are counted. With --down, the client receives the
bodies. Nothing is timed: each answer is a count. A second run prints the same, except with --client and --down. It needs cargo, which
fetches h2.
"""

import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
VERSIONS = ["0.4.15", "0.4.16", "0.4.17", "0.4.18", "0.4.19", "0.4.20"]
SIZES = [0, 1, 50, 100, 200, 255, 256]
WINDOW = 65_535  # of a stream and of a connection, by default
ENOUGH = 500  # frames
DATA, HEADERS, SETTINGS, PING, GOAWAY = 0, 1, 4, 6, 7
END_STREAM, ACK, END_HEADERS = 1, 1, 4
MORE = [
    ("A request for each frame, which ends it; a task reads each body", True, "requests"),
    ("A task reads the body; each frame is sent when the one before was received", True, "one_by_one"),
    ("A request for each frame, which ends it; nobody reads the bodies", False, "requests"),
    ("A request for each frame, and trailers that end it; a task reads each body", True, "trailers"),
    ("A request for each frame, and trailers that end it; nobody reads the bodies", False, "trailers"),
    ("A request for an empty frame, one of this length, and END_STREAM; a task reads each body", True, "empties"),
]
MANIFEST = """
[package]
name = "small-frames"
edition = "2021"
[workspace]
[dependencies]
bytes = "1"
h2 = "=VERSION"
http = "1"
tokio = { version = "1", features = ["macros", "net", "rt"] }
"""
SERVER = """
#[tokio::main(flavor = "current_thread")]
async fn main() {
    if let Some(port) = std::env::args().nth(3) {
        let answer = if std::env::args().nth(2).unwrap() == "down" { receive(port).await } else { send(port).await };
        return println!("{}", answer.map_or_else(|error| error.to_string(), |status| status.to_string()));
    }
    let reads = std::env::args().nth(1).unwrap() == "reads";
    let window: u32 = std::env::args().nth(2).unwrap().parse().unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        tokio::spawn(async move {
            socket.set_nodelay(true).unwrap();
            let mut builder = h2::server::Builder::new();
            if window != 65_535 {
                builder.initial_window_size(window).initial_connection_window_size(window);
            }
            let mut connection = builder.handshake::<_, &[u8]>(socket).await.unwrap();
            let mut held = Vec::new();
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                if let Ok(size) = request.uri().path()[1..].parse::<usize>() {
                    let mut body = respond.send_response(http::Response::new(()), false).unwrap();
                    for left in (0..300).rev() {
                        body.send_data(&[b'x'; 256][..size], left == 0).unwrap();
                    }
                    continue;
                }
                if !reads {
                    held.push((request, respond));
                    continue;
                }
                tokio::spawn(async move {
                    let mut body = request.into_body();
                    while let Some(Ok(part)) = body.data().await {
                        let _ = body.flow_control().release_capacity(part.len());
                    }
                    let _ = respond.send_response(http::Response::new(()), true);
                });
            }
        });
    }
}

async fn connected(port: String) -> Result<h2::client::SendRequest<bytes::Bytes>, h2::Error> {
    let socket = tokio::net::TcpStream::connect(format!("127.0.0.1:{port}")).await.unwrap();
    socket.set_nodelay(true).unwrap();
    let (client, connection) = h2::client::handshake(socket).await?;
    tokio::spawn(connection);
    client.ready().await
}

fn number(at: usize) -> usize {
    std::env::args().nth(at).unwrap().parse().unwrap()
}

/// Receives a body of 300 parts of SIZE bytes: the arguments are SIZE, "down" and the server's port.
async fn receive(port: String) -> Result<http::StatusCode, h2::Error> {
    let request = http::Request::get(format!("http://a/{}", number(1))).body(()).unwrap();
    let answer = connected(port).await?.send_request(request, true)?.0.await?;
    let (status, mut body, mut received) = (answer.status(), answer.into_body(), 0);
    while let Some(part) = body.data().await {
        let count = part?.len();
        received += count;
        body.flow_control().release_capacity(count)?;
    }
    assert_eq!(received, 300 * number(1));
    Ok(status)
}

/// Sends a body of COUNT parts of SIZE bytes: the arguments are SIZE, COUNT and the server's port.
async fn send(port: String) -> Result<http::StatusCode, h2::Error> {
    let request = http::Request::post("http://a/").body(()).unwrap();
    let (answer, mut body) = connected(port).await?.send_request(request, false)?;
    for left in (0..number(2)).rev() {
        body.send_data(bytes::Bytes::from(vec![b'x'; number(1)]), left == 0)?;
    }
    Ok(answer.await?.status())
}
"""


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream) + payload


def request(stream):
    """POST / of the authority "a", in HPACK"""
    return frame(HEADERS, END_HEADERS, stream, b"\x83\x86\x84\x41\x01a")


HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0)


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.unread = b""
        for words in (HELLO, frame(SETTINGS, ACK, 0)):  # the server's window holds once its SETTINGS are acknowledged
            self.socket.sendall(words + frame(PING, 0, 0, b"received"))
            if not self.answered():
                raise SystemExit("GOAWAY before the first frame")

    def take(self, count):
        while len(self.unread) < count:
            more = self.socket.recv(65536)
            if not more:
                raise EOFError("closed without GOAWAY")
            self.unread += more
        taken, self.unread = self.unread[:count], self.unread[count:]
        return taken

    def answered(self):
        """Whether the server answers a PING that was sent. An error of the connection other than ENHANCE_YOUR_CALM is an error here."""
        while True:
            head = self.take(9)
            payload = self.take(int.from_bytes(head[:3], "big"))
            if head[3] == GOAWAY:
                code = struct.unpack(">I", payload[4:8])[0]
                if code != 0xB:
                    raise SystemExit(f"GOAWAY with code {code}")
                return False
            if head[3] == PING and head[4] & ACK:
                return True


class Server:
    def __init__(self, program, way, window):
        self.process = subprocess.Popen([program, way, str(window)], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def one_by_one(self, size, most):
        """The frame at which the connection ends, if each frame is sent when the frame before it was received."""
        client = Client(self.port)
        client.socket.sendall(request(1))
        for number in range(1, most + 1):
            client.socket.sendall(frame(DATA, 0, 1, b"x" * size) + frame(PING, 0, 0, b"received"))
            if not client.answered():
                return number
        return None

    def requests(self, size, most, trailers=False):
        """The same, with a request for each frame. The frame ends the request, or trailers do."""
        client = Client(self.port)
        for number in range(1, most + 1):
            stream = 2 * number - 1
            words = request(stream) + frame(DATA, 0 if trailers else END_STREAM, stream, b"x" * size)
            words += frame(HEADERS, END_HEADERS | END_STREAM, stream, b"\0\1a\1b") if trailers else b""
            client.socket.sendall(words + frame(PING, 0, 0, b"received"))
            if not client.answered():
                return number
        return None

    def trailers(self, size, most):
        return self.requests(size, most, True)

    def empties(self, size, most):
        """The same, with three frames in each request: an empty frame, a frame of `size` bytes, and an empty frame that ends the request."""
        client = Client(self.port)
        for number in range(1, most + 1):
            stream = 2 * number - 1
            words = frame(DATA, 0, stream) + frame(DATA, 0, stream, b"x" * size) + frame(DATA, END_STREAM, stream)
            client.socket.sendall(request(stream) + words + frame(PING, 0, 0, b"received"))
            if not client.answered():
                return number
        return None

    def ends_a_burst(self, size, count):
        """Whether the connection ends if this many frames wait in the socket when the server gets to run."""
        client = Client(self.port)
        os.kill(self.process.pid, signal.SIGSTOP)
        client.socket.sendall(request(1) + frame(DATA, 0, 1, b"x" * size) * count + frame(PING, 0, 0, b"received"))
        os.kill(self.process.pid, signal.SIGCONT)
        return not client.answered()

    def burst(self, size, most):
        """The fewest frames in a burst that end the connection."""
        if not self.ends_a_burst(size, most):
            return None
        low, high = 0, most
        while high - low > 1:
            middle = (low + high) // 2
            if self.ends_a_burst(size, middle):
                high = middle
            else:
                low = middle
        return high

    def end(self):
        self.process.kill()
        self.process.wait()


def build(version, target):
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "src"))
        for name, text in [("Cargo.toml", MANIFEST.replace("VERSION", version)), ("src/main.rs", SERVER)]:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        shutil.copy(os.path.join(HERE, "..", "Cargo.lock"), folder)  # the versions of all but h2
        subprocess.run(["cargo", "build", "--quiet", "--target-dir", target], cwd=folder, check=True)
    kept = os.path.join(target, f"small-frames-{version}")
    shutil.copy(os.path.join(target, "debug", "small-frames"), kept)
    return kept


def cell(count, most):
    return str(count) if count else f"none of {most}"


def row(version, program, reads, how, sizes, window, enough):
    server = Server(program, "reads" if reads else "holds", window)
    cells = []
    for size in sizes:
        # A body that nobody reads is limited by the window.
        most = enough if reads and how != "burst" else min(enough, window // max(size, 1))
        cells.append(cell(getattr(server, how)(size, most), most))
    server.end()
    return f"| {version} | {' | '.join(cells)} |"


def by_client(programs, down=False):
    """How many of 50 bodies of 300 parts that a client of h2 sends, or receives, end their connection."""
    sizes = [1, 50, 100, 200, 256]
    print(f"| h2 | {' | '.join(f'{size} B' for size in sizes)} |\n|---|{'---:|' * len(sizes)}")
    for version, program in programs.items():
        server, cells = Server(program, "reads", WINDOW), []
        for size in sizes:
            words = [program, str(size), "down" if down else "300", str(server.port)]
            answers = [subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True).stdout.strip() for _ in range(50)]
            cells.append(f"{50 - answers.count('200 OK')} of 50")
        server.end()
        print(f"| {version} | {' | '.join(cells)} |", flush=True)


def main():
    words = sys.argv[1:]
    target, sizes, window, enough, more = os.path.join(HERE, "..", "target", "evidence"), SIZES, WINDOW, ENOUGH, MORE
    client = None
    while words and words[0].startswith("-"):
        if words[0] == "--target":
            target = words[1]
        elif words[0] == "--window":
            sizes, window, enough, more = [1, 100, 200], int(words[1]), 12_000, []
        elif words[0] == "--sizes":
            sizes = [int(word) for word in words[1].split(",")]
        elif words[0] in ("--client", "--down"):
            client, words = words[0], ["", *words]
        else:
            raise SystemExit(__doc__)
        words = words[2:]
    programs = {version: build(version, os.path.abspath(target)) for version in words or VERSIONS}
    if client:
        return by_client(programs, client == "--down")
    for title, reads, how in [
        *more,
        ("Nobody reads the body; each frame is sent when the one before was received", False, "one_by_one"),
        ("A task reads the body; the frames wait in the socket when the server gets to run", True, "burst"),
    ]:
        print(f"\n{title}:\n\n| h2 | {' | '.join(f'{size} B' for size in sizes)} |\n|---|{'---:|' * len(sizes)}")
        for version, program in programs.items():
            print(row(version, program, reads, how, sizes, window, enough), flush=True)


if __name__ == "__main__":
    main()
