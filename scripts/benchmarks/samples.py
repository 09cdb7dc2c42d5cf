#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""usage: samples.py FOLDER SAMPLES LINES

Part of scripts/profile: asks the monitor of QEMU at FOLDER/monitor SAMPLES times where the processor is, and prints what
part each function of FOLDER/symbols (as /proc/kallsyms) and each module has.
"""
import bisect
import collections
import re
import socket
import sys

REGISTERS = re.compile(rb'RIP=([0-9a-f]{16}).*? CPL=(\d)', re.S)


def ask(monitor, words):
    """The monitor's answer, up to its next prompt."""
    monitor.sendall(words + b'\n')
    text = b''
    while not text.endswith(b'(qemu) '):
        more = monitor.recv(65536)
        if not more:
            raise EOFError('the guest has ended')
        text += more
    return text


def symbols(path):
    """Addresses in order, and of each the function and its module."""
    found = {}
    with open(path, encoding='ascii') as lines:
        for line in lines:
            words = line.split()
            if words[1] in 'tTwW':
                found.setdefault(int(words[0], 16), (words[2], words[3] if len(words) > 3 else 'kernel'))
    addresses = sorted(found)
    return addresses, [found[a] for a in addresses]


def table(title, counts, total, lines):
    print(f'{title}:')
    for name, n in counts.most_common(lines):
        print(f'  {100 * n / total:6.2f} %  {name}')


def main():
    folder, wanted, lines = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    addresses, names = symbols(folder + '/symbols')
    functions, modules = collections.Counter(), collections.Counter()
    with socket.socket(socket.AF_UNIX) as monitor, open(folder + '/samples', 'w', encoding='ascii') as log:
        monitor.connect(folder + '/monitor')
        ask(monitor, b'')
        for i in range(wanted):
            at = REGISTERS.search(ask(monitor, b'info registers'))
            address = int(at[1], 16)
            if at[2] != b'0':
                name = ('(programs)', 'programs')
            else:
                name = names[max(bisect.bisect_right(addresses, address) - 1, 0)]
            functions[f'{name[0]}  {name[1] if name[1] != "kernel" else ""}'.rstrip()] += 1
            modules[name[1]] += 1
            print(f'{address:016x} {name[0]}', file=log)
            if sys.stderr.isatty() and i % 100 == 0:
                print(f'\r{i} of {wanted}', end='', file=sys.stderr)
    table('modules', modules, wanted, lines)
    table('functions', functions, wanted, lines)


main()
