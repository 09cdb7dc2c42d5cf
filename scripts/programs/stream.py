#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# usage: stream.py serve|send ADDRESS [tcp|rds [FROM]]
# Sends MEGABYTES (8) of noise in pieces of odd sizes, gets it back, and compares, over ordinary sockets (which a
# preloaded library may replace) or over RDS, whose messages come whole and in order, from the address FROM.

import os
import random
import socket
import sys

AF_RDS, PORT = 21, 18515
MEGABYTES = int(os.environ.get("MEGABYTES", 8))


def pieces(total, largest):
    """Sizes that add up to total, the same at both ends."""
    draw = random.Random(total)
    while total:
        size = min(total, draw.choice((1, draw.randint(2, 4096), draw.randint(4097, largest))))
        yield size
        total -= size


def exactly(connection, size):
    parts = []
    while size:
        part = connection.recv(min(size, 1 << 16))
        if not part:
            sys.exit(f"the stream ended, {size} bytes are missing")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def serve_tcp(address):
    with socket.create_server((address, PORT)) as listener:
        connection, _ = listener.accept()
        with connection:
            for size in pieces(MEGABYTES << 20, 1 << 18):
                connection.sendall(exactly(connection, size))
            connection.recv(1)


def send_tcp(address, _):
    with socket.create_connection((address, PORT)) as connection:
        for size in pieces(MEGABYTES << 20, 1 << 18):
            noise = os.urandom(size)
            connection.sendall(noise)
            if exactly(connection, size) != noise:
                sys.exit("what came back is something else")
    print("the same came back")


def rds(address, port):
    s = socket.socket(AF_RDS, socket.SOCK_SEQPACKET)
    s.bind((address, port))
    s.settimeout(60)
    return s


def serve_rds(address):
    with rds(address, PORT) as s:
        for _ in pieces(MEGABYTES << 20, 1 << 16):
            data, sender = s.recvfrom(1 << 16)
            s.sendto(data, sender)


def send_rds(address, own):
    with rds(own, PORT + 1) as s:
        for size in pieces(MEGABYTES << 20, 1 << 16):
            noise = os.urandom(size)
            s.sendto(noise, (address, PORT))
            if s.recv(1 << 16) != noise:
                sys.exit("what came back is something else")
    print("the same came back")


role, where, family, *rest = *sys.argv[1:3], *(sys.argv[3:] or ["tcp"])
if role == "serve":
    {"tcp": serve_tcp, "rds": serve_rds}[family](where)
else:
    {"tcp": send_tcp, "rds": send_rds}[family](where, *(rest or [None]))
