#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# usage: terminal.py KEYS|SIGNAL COMMAND...
# Runs a command in a terminal of 24 lines of 80 columns, which becomes 40 of 120 after a while, gives it keys or a signal's
# name (SIGTERM), and prints what it wrote. Fails unless the terminal is afterwards as it was: its settings, the cursor, the
# screen; and unless the command ended as it should: by the signal, or with status 0.

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time


def size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def read_for(fd, seconds):
    """what comes within so long, or until the other end is closed"""
    data, end = b"", time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if not select.select([fd], [], [], left)[0]:
            break
        try:
            part = os.read(fd, 65536)
        except OSError:
            break
        if not part:
            break
        data += part
    return data


def fail(text):
    sys.exit(f"terminal.py: {text}")


def check_frame(data, rows, columns):
    """the last whole frame fits its screen"""
    frame = data.decode(errors="replace").split("\033[H")[-2]
    lines = re.sub(r"\033\[[0-9;?]*[a-zA-Z]", "", frame).split("\r\n")
    if len(lines) > rows:
        fail(f"{len(lines)} lines on {rows}")
    for line in (line.rstrip("\r") for line in lines):
        if len(line) > columns:
            fail(f"{len(line)} of {columns} columns: {line}")


def main(keys, *command):
    master, slave = pty.openpty()
    size(slave, 24, 80)
    before = termios.tcgetattr(slave)
    pid = os.fork()
    if not pid:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for fd in (0, 1, 2):
            os.dup2(slave, fd)
        os.environ["TERM"] = "xterm"
        os.execvp(command[0], command)
    small = read_for(master, 3)
    check_frame(small, 24, 80)
    if termios.tcgetattr(slave) == before:
        fail("it did not take the terminal")
    size(slave, 40, 120)
    large = read_for(master, 3)
    check_frame(large, 40, 120)
    number = getattr(signal, keys, None)
    shown = b""
    if number:
        os.kill(pid, number)
    else:
        for key in keys:
            os.write(master, key.encode())
            shown += read_for(master, 0.5)
    last = read_for(master, 2)
    status = os.waitpid(pid, 0)[1]
    after = termios.tcgetattr(slave)
    everything = small + large + shown + last
    print(re.sub(r"\033\[[0-9;?]*[a-zA-Z]", "", everything.decode(errors="replace")).replace("\r", ""))
    if after != before:
        fail("the terminal's settings are others than before")
    if everything.count(b"\033[?1049h") != everything.count(b"\033[?1049l") or b"\033[?1049h" not in everything:
        fail("it does not leave the screen that it draws upon")
    if everything.rfind(b"\033[?25h") < everything.rfind(b"\033[?25l"):
        fail("the cursor is gone")
    if (number and (not os.WIFSIGNALED(status) or os.WTERMSIG(status) != number)) or (not number and status):
        fail(f"it ended with {status:#x}")


main(*sys.argv[1:])
