#!/usr/bin/env python3
"""What a client that does not read at once sees of h2.py's servers: medians of rounds in turns.

    benchmarks/evidence/h2_slow_reader.py [ROUNDS] [SERVER…] [MEASURE…]

first   µs from a request for 64 KiB in frames of 4 KiB to its first DATA frame
ping    KiB in front of the answer to a PING, when 100 bodies of 64 KiB wait for a client that has read nothing for 50 ms
reset   KiB of DATA that arrive for these 100 streams when the client resets them in place of the PING
memory  KiB a connection by which the server grows, for 1,000 connections that read nothing and ask for 64 KiB ten times
chain   the same for 200 connections between two network namespaces that ask for 8 MiB in parts of 16 KiB, which the kernel cannot
        hold; max_send_buffer_size is 16 KiB
idle    the same for 1,000 connections that got a body of 100 B and wait
idle16  the same after ten bodies of 16 KiB in frames of 1 KiB at once
"""

import os
import resource
import socket
import statistics
import struct
import sys
import time

from common import fetched
from h2 import VERSION, Network, Running, build, enter

DATA, HEADERS, RESET, SETTINGS, PING, WINDOW = 0, 1, 3, 4, 6, 8


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


class Client:
    def __init__(self, server, window=1 << 24):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect((server.host, server.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb", 1 << 16)
        words = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, window))
        self.socket.sendall(words + frame(WINDOW, 0, 0, struct.pack(">I", window)))

    def ask(self, streams, path):
        # HPACK: GET, http, then :path and :authority as literals
        block = b"\x82\x86\x04" + bytes([len(path)]) + path.encode() + b"\x01\x01a"
        self.socket.sendall(b"".join(frame(HEADERS, 5, stream, block) for stream in streams))

    def next(self):
        head = self.file.read(9)
        size = int.from_bytes(head[:3], "big")
        self.file.read(size)
        return head[3], head[4], int.from_bytes(head[5:], "big"), size


def first(server):
    client, found = Client(server), []
    for stream in range(1, 101, 2):
        start = time.perf_counter()
        client.ask([stream], "/65536/4096/ready")
        left = 65536
        while left:
            kind, _, _, size = client.next()
            if kind == DATA:
                if left == 65536:
                    found.append((time.perf_counter() - start) * 1e6)
                left -= size
    return statistics.median(found)


def waiting(server):
    client = Client(server)
    client.ask(range(1, 201, 2), "/65536/4096/ready")
    time.sleep(0.05)
    return client


def ping(server, after=b""):
    client, sent = waiting(server), 0
    client.socket.sendall(after + frame(PING, 0, 0, bytes(8)))
    time.sleep(0.02)
    while True:
        kind, flags, _, size = client.next()
        if kind == PING and flags:
            return sent / 1024
        sent += size if kind == DATA else 0


def reset(server):
    return ping(server, b"".join(frame(RESET, 0, stream, bytes([0, 0, 0, 8])) for stream in range(1, 201, 2)))


def memory(server):
    before = server.read("status", r"VmRSS:\s+(\d+)")
    clients = [Client(server) for _ in range(1000)]
    for client in clients:
        client.ask(range(1, 21, 2), "/65536/4096/owned")
    time.sleep(1)
    return (server.read("status", r"VmRSS:\s+(\d+)") - before) / 1000


def chain(server):
    before = server.read("status", r"VmRSS:\s+(\d+)")
    clients = [Client(server) for _ in range(200)]
    for client in clients:
        client.ask([1], f"/{8 << 20}/16384/owned")
    time.sleep(2)
    return (server.read("status", r"VmRSS:\s+(\d+)") - before) / 200


def idle(server, streams=1, path="/100/100/ready"):
    before = server.read("status", r"VmRSS:\s+(\d+)")
    clients = [Client(server) for _ in range(1000)]
    for client in clients:
        client.ask(range(1, 2 * streams, 2), path)
        ended = 0
        while ended < streams:
            kind, flags, _, _ = client.next()
            ended += kind == DATA and flags  # END_STREAM
    return (server.read("status", r"VmRSS:\s+(\d+)") - before) / 1000


def idle16(server):
    return idle(server, 10, "/16384/1024/ready")


def main():
    rounds, words = int(sys.argv[1]) if sys.argv[1:] else 10, sys.argv[2:]
    all_measures = {one.__name__: one for one in (first, ping, reset, memory, chain, idle, idle16)}
    measures = [all_measures[word] for word in words if word in all_measures] or all_measures.values()
    names = [word for word in words if word not in all_measures] or ["old", "new", "threshold", "again"]
    source = fetched("h2", VERSION)
    for name in names:
        build(name, source)
    network = Network()
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))  # the server inherits it
    print(f"| | {' | '.join(names)} |\n|---|{'---:|' * len(names)}")
    for measure in measures:
        found = {name: [] for name in names}
        enter(network.client if measure is chain else network.server)
        for _ in range(3 if measure in (memory, chain, idle, idle16) else rounds):
            for name in names:
                server = Running(name, "small" if measure is chain else "tcp", network, [])
                found[name].append(measure(server))
                server.process.kill()
                server.process.wait()
        cells = [f"{statistics.median(one):.0f} ({min(one):.0f} to {max(one):.0f})" for one in found.values()]
        print(f"| {measure.__name__} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
