#!/usr/bin/env python3
"""Passes each packet of one interface to the other MILLISECONDS later: the delay of netem, for kernels without it.

    delay.py MILLISECONDS INTERFACE INTERFACE

It needs root. Packets keep their order, and those of up to 64 KiB are not cut.
"""

import collections
import select
import socket
import struct
import sys
import time

PACKET, IGNORE_OUTGOING, VNET_HDR, RCVBUFFORCE, ALL = 263, 23, 15, 33, 3


def attached(interface):
    one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    one.setsockopt(PACKET, VNET_HDR, 1)  # lengths and checksums that an interface would fill in
    one.setsockopt(PACKET, IGNORE_OUTGOING, 1)
    one.setsockopt(socket.SOL_SOCKET, RCVBUFFORCE, 64 << 20)
    one.bind((interface, ALL))
    return one


def main():
    delay = float(sys.argv[1]) / 1000
    ends = [attached(name) for name in sys.argv[2:]]
    waiting = collections.deque()
    print("ready", flush=True)
    while True:
        left = max(0, waiting[0][0] - time.perf_counter()) if waiting else None
        for one in select.select(ends, [], [], left)[0]:
            try:
                while True:
                    waiting.append((time.perf_counter() + delay, ends[one is ends[0]], one.recv(1 << 17, socket.MSG_DONTWAIT)))
            except BlockingIOError:
                pass
        while waiting and waiting[0][0] <= time.perf_counter():
            _, other, packet = waiting.popleft()
            other.send(packet)
        for one in ends:
            lost = struct.unpack("II", one.getsockopt(PACKET, 6, 8))[1]
            if lost:
                raise SystemExit(f"{lost} packets were lost")


if __name__ == "__main__":
    main()
