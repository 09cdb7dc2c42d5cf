#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
usage: nfqueue.py

A program of netfilter's queue 0, on the host that it runs on: every packet is accepted. It asks for trains as they
are (F_GSO), as such programs do; those of MetaRoCE have a mark by which the kernel cuts them all the same. Says
"ready" when it is; on SIGTERM, how many packets came and the length of the longest. Numbers:
linux/netfilter/nfnetlink_queue.h.
"""
import errno
import signal
import socket
import struct
import sys

NETLINK_NETFILTER = 12
QUEUE = 3 << 8  # the subsystem
PACKET, VERDICT, CONFIG = QUEUE | 0, QUEUE | 1, QUEUE | 2
REQUEST, ACKNOWLEDGE = 1, 4
CFG_CMD, CFG_PARAMS, CFG_MAXLEN, CFG_MASK, CFG_FLAGS = range(1, 6)
BIND, COPY_PACKET, F_GSO = 1, 2, 4
PACKET_HDR, VERDICT_HDR, PAYLOAD, CAP_LEN = 1, 2, 10, 13
ACCEPT = 1
HEADERS = 64  # bytes of each packet that are copied here


def attribute(kind, value):
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def attributes(data):
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        yield kind & 0x3fff, data[4:length]
        data = data[(length + 3) & ~3:]


def message(kind, flags, *parts):
    body = struct.pack(">BBH", socket.AF_UNSPEC, 0, 0) + b"".join(parts)
    return struct.pack("=IHHII", 16 + len(body), kind, flags, 0, 0) + body


def configure(s, *parts):
    s.send(message(CONFIG, REQUEST | ACKNOWLEDGE, *parts))
    error, = struct.unpack_from("=i", s.recv(4096), 16)
    if error:
        sys.exit(f"nfqueue: {errno.errorcode[-error]}")


def finish(*_):
    print(f"{packets} packets, longest {longest}", flush=True)
    sys.exit(0)


packets = longest = 0
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
s.bind((0, 0))
configure(s, attribute(CFG_CMD, struct.pack(">BxH", BIND, 0)))
configure(s, attribute(CFG_PARAMS, struct.pack(">IB", HEADERS, COPY_PACKET)))
configure(s, attribute(CFG_MAXLEN, struct.pack(">I", 8192)))
configure(s, attribute(CFG_FLAGS, struct.pack(">I", F_GSO)), attribute(CFG_MASK, struct.pack(">I", F_GSO)))
signal.signal(signal.SIGTERM, finish)
print("ready", flush=True)
while True:
    try:
        data = s.recv(1 << 16)
    except OSError as e:
        if e.errno == errno.ENOBUFS:  # what did not fit is lost
            continue
        raise
    while len(data) >= 20:
        size, kind = struct.unpack_from("=IH", data)
        found = dict(attributes(data[20:size])) if kind == PACKET else {}
        if PACKET_HDR in found:
            packets += 1
            length = struct.unpack(">I", found[CAP_LEN])[0] if CAP_LEN in found else len(found.get(PAYLOAD, b""))
            longest = max(longest, length)
            s.send(message(VERDICT, REQUEST, attribute(VERDICT_HDR, struct.pack(">I", ACCEPT) + found[PACKET_HDR][:4])))
        data = data[(size + 3) & ~3:]
