#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
usage: peer.py TEST ATTACK DEVICE GID-INDEX [NET]

A host that speaks MetaRoCE by Documentation/protocol.rst and has no device: to device DEVICE on host a, whose
address is NET.1 (10.9.0.1), it says what no device would say, and looks at the answers. Runs on host b, which has
the addresses NET.2 to NET.6. Queue pairs of host a are mroce-attack's (ATTACK). Each test wants a device that has
spoken to nobody.
"""
import random
import select
import socket
import struct
import subprocess
import sys
import time

PORT = 19791
HELLO, HELLO_ACK, RESET, OPEN, OPEN_REPLY, DATA, ACK, CONTROL, PROBE, UD, VERIFY = range(1, 12)
NUMBERED = (OPEN, DATA, CONTROL, PROBE)
COOKIE, RESTART, REFUSED = 1, 2, 4  # flags of HELLO
LIMIT = 4  # a reason
REPLY, VERIFIED = 1, 2  # flags of VERIFY
ACCEPT, NOT_READY = 0, 1
RNR, HOLD = 1, 2
ACKREQ = 4
NACK = 2
QPN = 2  # ours, whatever it is for
STREAM = 77
NET = sys.argv[5] if len(sys.argv) > 5 else "10.9.0"
DEVICE = f"{NET}.1"


def address(last):
    return f"{NET}.{last}"


def mapped(addr):
    return bytes(10) + b"\xff\xff" + socket.inet_aton(addr)


def draw():
    return random.getrandbits(64) | 1


def base(kind, id=0, path=0, epoch=0, number=0):
    return struct.pack(">BBBBIQ", 1, kind, path, epoch, number, id)


def at(packet, offset, form):
    return struct.unpack_from(">" + form, packet, offset)[0]


def hello(kind, to, planes, instance, own_id=0, half=1, nonce=None, cookie=bytes(16), npaths=4, id=0):
    packet = base(kind, id) + struct.pack(">BBBBBBHQQIIQ", 1, 1, npaths, len(planes), 0, 0, 4096, own_id, instance,
                                          half, 0, nonce or draw()) + cookie + to
    for plane in planes:
        packet += mapped(plane) + struct.pack(">HHI", 9000, 0, 0)
    return packet.ljust(280, b"\0")


def probe(id, number, path=0, kind=PROBE):
    return base(kind, id, path, 0, number) + struct.pack(">BBHIII", 3, ACKREQ, 0, 0, 0, number)


def verify(id, nonce, echo=0, flags=0):
    return base(VERIFY, id) + struct.pack(">QQB7x", nonce, echo, flags)


class Came:
    """A packet of the device, and the address that it came to."""

    def __init__(self, last, packet):
        self.last, self.packet = last, packet
        self.kind, self.path, self.epoch, self.number, self.id = struct.unpack_from(">xBBBIQ", packet)
        if self.kind in (HELLO, HELLO_ACK):
            self.flags, self.reason = packet[20], packet[21]
            self.own_id, self.instance = struct.unpack_from(">QQ", packet, 24)
            self.half, self.nonce = at(packet, 40, "I"), at(packet, 48, "Q")
            self.cookie = packet[56:72]
        elif self.kind == VERIFY:
            self.nonce, self.echo, self.flags = struct.unpack_from(">QQB", packet, 16)
        elif self.kind in (OPEN, OPEN_REPLY):
            self.own_qpn, self.peer_qpn, self.psn, self.stream, self.to = struct.unpack_from(">IIIII", packet, 16)
            self.attempt, self.status = at(packet, 40, "I"), packet[46]

    def acks(self):
        """of one datagram: (path, numbers that are there, NACKs as {spn: reason})"""
        p = self.packet
        while p:
            anchor, bits = at(p, 16, "I"), struct.unpack_from(">4Q", p, 56)
            records = [struct.unpack_from(">BBBBIIII", p, 88 + 20 * i) for i in range(p[53])]
            yield (p[2], {anchor - i for i in range(256) if bits[i // 64] >> i % 64 & 1},
                   {r[5]: r[1] for r in records if r[0] == NACK})
            p = p[88 + 20 * p[53]:]


class Peer:
    """Sockets of some addresses, and what was heard at them."""

    def __init__(self, *lasts):
        self.sockets = {}
        for last in lasts:
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            s.bind((address(last), PORT))
            self.sockets[last] = s
        self.instance = draw()
        self.came = []
        # as a receiver: what HELLO at an address is answered with (instance, planes), and halves by the id they got
        self.answers, self.halves, self.accepts = {}, {}, False

    def send(self, last, packet):
        self.sockets[last].sendto(packet, (DEVICE, PORT))

    def take(self, last, packet):
        c = Came(last, packet)
        self.came.append(c)
        if c.kind == HELLO and last in self.answers:
            instance, planes = self.answers[last]
            half = next((i for i, h in self.halves.items() if h["own_id"] == c.own_id), None)
            if half is None:
                half = draw()
                self.halves[half] = {"own_id": c.own_id, "last": last, "seen": {}}
            self.send(last, hello(HELLO_ACK, packet[72:88], [address(p) for p in planes], instance, half, c.half,
                                  c.nonce, npaths=packet[18], id=c.own_id))
        elif c.kind in NUMBERED and c.id in self.halves:
            self.acknowledge(c)
        return c

    def acknowledge(self, c):
        h = self.halves[c.id]
        seen = h["seen"].setdefault((c.path, c.epoch), set())
        seen.add(c.number)
        top = max(seen)
        bits = [sum(1 << i for i in range(64) if top - 64 * w - i in seen) for w in range(4)]
        stamp = at(c.packet, {OPEN: 52, DATA: 60}.get(c.kind, 28), "I")
        self.send(c.last, base(ACK, h["own_id"], c.path, c.epoch, top) +
                  struct.pack(">IIIIIQIIBBH4Q", top, stamp, 0, len(seen), 0, 0, 0, 0, 0, 0, 0, *bits))
        if c.kind == OPEN and self.accepts:
            self.send(c.last, base(OPEN_REPLY, h["own_id"], c.path, c.epoch) +
                      struct.pack(">IIIIIIIBBBBB3xI", QPN, c.own_qpn, 0, STREAM, c.stream, 4, c.attempt, 12, 10, ACCEPT,
                                  1, 0, 0))

    def listen(self, seconds, until=lambda: False):
        """Takes what comes until the condition is met: whether it is"""
        end = time.monotonic() + seconds
        while not until():
            left = end - time.monotonic()
            if left <= 0:
                return False
            for s in select.select(list(self.sockets.values()), [], [], left)[0]:
                packet, sender = s.recvfrom(9000)
                if sender[0] == DEVICE:
                    self.take(next(k for k, v in self.sockets.items() if v is s), packet)
        return True

    def heard(self, kind, last=None, since=0, **fields):
        return [c for c in self.came[since:] if c.kind == kind and last in (None, c.last) and
                all(getattr(c, k) == v for k, v in fields.items())]

    def ask(self, last, packet, kind, seconds=5, **fields):
        """Sends it, again and again until something of this kind comes: that"""
        since, end = len(self.came), time.monotonic() + seconds
        while time.monotonic() < end:
            self.send(last, packet)
            if self.listen(0.5, lambda: self.heard(kind, last, since, **fields)):
                return self.heard(kind, last, since, **fields)[0]
        raise AssertionError(f"nothing of type {kind} came to {address(last)}")

    def silent(self, last, packet, kind, **fields):
        """Sends it, and nothing of this kind comes, while something else is answered"""
        since = len(self.came)
        for _ in range(3):
            self.send(last, packet)
            self.listen(0.2)
        assert not self.heard(kind, last, since, **fields), "there was an answer"


class Half:
    """A sending half of ours, greeted from one address with one HELLO."""

    def __init__(self, peer, last, half=1, instance=None, planes=None, cookie=bytes(16), npaths=4):
        self.peer, self.last, self.own_id, self.nonce = peer, last, draw(), draw()
        self.said = dict(to=mapped(DEVICE), planes=[address(p) for p in planes or [last]],
                         instance=instance or peer.instance, own_id=self.own_id, half=half, nonce=self.nonce, npaths=npaths)
        self.cookie, self.id, self.number = cookie, 0, 0

    def hello(self, **changed):
        return hello(HELLO, **{**self.said, "cookie": self.cookie, **changed})

    def greet(self):
        c = self.peer.ask(self.last, self.hello(), HELLO_ACK, id=self.own_id)
        if c.flags & COOKIE:
            self.cookie = c.cookie
            c = self.peer.ask(self.last, self.hello(), HELLO_ACK, id=self.own_id)
        assert c.nonce == self.nonce
        self.id = c.own_id
        return c

    def acked(self, number, path=0, last=None):
        return any(a[0] == path and number in a[1] for c in self.peer.heard(ACK, last, id=self.own_id)
                   for a in c.acks())

    def refused(self, spn):
        return {a[2][spn] for c in self.peer.heard(ACK, id=self.own_id) for a in c.acks() if spn in a[2]}

    def probe(self, last=None, seconds=5):
        """Is a probe acknowledged? Each is a new one"""
        last = last or self.last
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.number += 1
            self.peer.send(last, probe(self.id, self.number))
            if self.peer.listen(min(0.5, seconds), lambda: self.acked(self.number, last=last)):
                return True
        return False

    def open(self, qpn, seconds=10, want=ACCEPT):
        """Opens a stream to a queue pair: the device's id of it"""
        replies = []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.number += 1
            since = len(self.peer.came)
            self.peer.send(self.last, base(OPEN, self.id, 0, 0, self.number) +
                           struct.pack(">IIIIIIIBBBBB3xI", QPN, qpn, 0, STREAM, 0, 0, self.number, 12, 10, 0, 0, ACKREQ, 0))
            self.peer.listen(0.3, lambda: self.peer.heard(OPEN_REPLY, since=since, id=self.own_id))
            replies += self.peer.heard(OPEN_REPLY, since=since, id=self.own_id)
            if want == ACCEPT and any(r.status == want for r in replies):
                return next(r.stream for r in replies if r.status == want)
        assert want == NOT_READY, "OPEN was not accepted"
        assert replies and all(r.status == NOT_READY for r in replies), "OPEN was accepted"
        return 0

    def message(self, stream, rsn, path=0, id=0):
        """A SEND of one packet, number @rsn of its stream"""
        self.number += 1
        return (base(DATA, id or self.id, path, 0, self.number) +
                struct.pack(">IIIIIIQIIBBHIIII", stream, rsn, rsn, rsn, 0, 8, 0, 0, 0, 0, 7, 64, 0, 0, 0, 0) + b"8 bytes.")

    def send(self, stream, rsn):
        """(placed, reasons of refusal)"""
        packet = self.message(stream, rsn)
        number = self.number
        self.peer.send(self.last, packet)
        self.peer.listen(5, lambda: self.acked(number) or self.refused(rsn))
        return self.acked(number), self.refused(rsn)

    def together(self, *messages):
        """One datagram: which of its packets were acknowledged"""
        numbers = [at(m, 4, "I") for m in messages]
        self.peer.send(self.last, b"".join(messages))
        self.peer.listen(2, lambda: all(self.acked(n) for n in numbers))
        return [i for i, n in enumerate(numbers) if self.acked(n)]


def program(peer, *arguments):
    """mroce-attack on host a; returns when its queue pairs are there"""
    attack, device, gid = sys.argv[2:5]
    p = subprocess.Popen(["ip", "netns", "exec", "a", attack, "100", "1", arguments[0], device, gid, *arguments[1:]],
                         stdout=subprocess.PIPE)
    programs.append(p)
    assert b"ready" in p.stdout.readline()


def toward(peer, last):
    """A queue pair of the device toward an address: its number, and the half that its OPEN came by"""
    known = {c.own_qpn for c in peer.heard(OPEN)}
    program(peer, "peers", address(last), "1")

    def fresh():
        return [c for c in peer.heard(OPEN) if c.own_qpn not in known]
    assert peer.listen(20, fresh), "no OPEN came"
    return fresh()[0].own_qpn, fresh()[0].id


# ---- HELLO

def idempotent():
    p = Peer(2)
    h = Half(p, 2)
    first = h.greet()
    assert first.packet[18] <= 4
    assert h.greet().own_id == first.own_id
    other = Half(p, 2, half=2)
    assert other.greet().own_id != first.own_id


def cookie_before_replacing():
    p = Peer(2)
    old = Half(p, 2)
    assert not old.greet().flags & COOKIE and old.probe()
    new = Half(p, 2, instance=draw())
    c = p.ask(2, new.hello(), HELLO_ACK, id=new.own_id)
    assert c.flags & COOKIE and not c.own_id, "another instance was let in without a cookie"
    good = c.cookie
    # of what else it speaks it is not a cookie
    for changed in ({"nonce": draw()}, {"half": 9}, {"instance": draw()},
                    {"cookie": bytes([good[0] ^ 1]) + good[1:]}, {"cookie": good[:15] + bytes([good[15] ^ 1])}):
        c = p.ask(2, new.hello(**{"cookie": good, **changed}), HELLO_ACK, id=new.own_id)
        assert c.flags & COOKIE and not c.own_id, f"let in with a false cookie: {changed}"
    new.cookie = good
    new.id = p.ask(2, new.hello(), HELLO_ACK, id=new.own_id, flags=0).own_id
    assert new.id and new.probe()
    assert old.probe(), "a HELLO has ended a half"


def cookie_under_load():
    p = Peer(2)
    halves = [Half(p, 2, half=i) for i in range(80)]
    for h in halves:
        p.send(2, h.hello())
    p.listen(20, lambda: len(p.heard(HELLO_ACK)) == 80)
    acks = {c.id: c for c in p.heard(HELLO_ACK)}
    assert len(acks) == 80, f"{len(acks)} answers"
    let_in = sum(not c.flags & COOKIE for c in acks.values())
    assert let_in == 64, f"{let_in} were let in"
    # who shows that he is there is let in, and is no load
    last = halves[79]
    assert acks[last.own_id].flags & COOKIE
    last.greet()
    for h in halves[:2]:
        h.id = acks[h.own_id].own_id
        assert h.probe()
    assert not Half(p, 2, half=100).greet().flags & COOKIE


def unheard_is_forgotten():
    p = Peer(2)
    silent, alive = Half(p, 2, half=1), Half(p, 2, half=2)
    first, heard = silent.greet().own_id, alive.greet().own_id
    assert alive.probe()
    for _ in range(120):
        p.listen(0.5)
        if silent.greet().own_id != first:
            break
    else:
        raise AssertionError("a half of which nothing was heard but HELLO stays")
    assert alive.greet().own_id == heard and alive.probe(), "one that was heard went too"


def halves_are_limited():
    p = Peer(2, 3)
    for i in range(0, 1024, 32):
        some = [Half(p, 2, half=i + k) for k in range(32)]
        for h in some:
            h.greet()
        # with what was heard of them they stay
        for h in some:
            assert h.probe()
        p.came.clear()
    one_more = Half(p, 2, half=5000)
    c = p.ask(2, one_more.hello(), HELLO_ACK, id=one_more.own_id)
    assert c.flags & REFUSED and c.reason == LIMIT, "1,025 halves of one address"
    assert not Half(p, 3, half=6000).greet().flags & REFUSED, "another address is refused too"


def all_halves_are_limited():
    """Five addresses may have 5,120 halves: with the most paths, the memory for all of them is less"""
    p = Peer(2, 3, 4, 5, 6)
    first = Half(p, 2, npaths=64)
    first.greet()
    assert first.probe()
    for i in range(1, 5 * 1024):
        h = Half(p, 2 + i % 5, half=i, npaths=64)
        if h.greet().flags & REFUSED:
            break
        assert h.probe()
        p.came.clear()
    else:
        raise AssertionError("as many halves as all addresses may have together")
    assert p.came[-1].reason == LIMIT and i > 64, f"refused after {i}, reason {p.came[-1].reason}"
    assert first.probe(), "one that was there is not heard any more"


def silence_is_forgotten():
    """Each half is asked for once: one that is asked for is heard"""
    p = Peer(2)
    halves, ids, since = [Half(p, 2, half=i) for i in range(30)], [], []
    for h in halves:
        ids.append(h.greet().own_id)
        since.append(time.monotonic())
        assert h.probe()
    p.listen(40)
    for i, h in enumerate(halves):
        if h.greet().own_id != ids[i]:
            assert time.monotonic() - since[i] > 60, "a half went before a minute was over"
            return
        p.listen(5)
    raise AssertionError("a half of which nothing is heard stays")


# ---- RESET

def resets_are_limited():
    p = Peer(2)
    began = time.monotonic()
    for n in range(1, 3001):
        p.send(2, probe(n + 10**12, n, path=n % 4))
        if n % 100 == 0:
            p.listen(0.001)
    p.listen(0.5)
    took = time.monotonic() - began
    resets = p.heard(RESET)
    print(f"{len(resets)} in {took:.2f} s")
    assert 50 <= len(resets) <= 50 + 200 * took + 1
    for c in resets:
        assert c.id - 10**12 == c.number and c.path == c.number % 4 and c.packet[16] == PROBE
    p.listen(0.5)  # there is room again
    for kind in (ACK, OPEN_REPLY, VERIFY, RESET, HELLO_ACK):
        packet = {VERIFY: verify(5, 7), HELLO_ACK: hello(HELLO_ACK, mapped(DEVICE), [address(2)], 9, 9, id=5),
                  RESET: base(RESET, 5) + bytes([PROBE]) + bytes(15),
                  ACK: base(ACK, 5, number=1) + struct.pack(">I", 1) + bytes(68),
                  OPEN_REPLY: base(OPEN_REPLY, 5) + bytes(40)}[kind]
        p.silent(2, packet, RESET)
    assert p.ask(2, probe(10**13, 1), RESET).id == 10**13


# ---- planes: the device receives

def receiver_verifies():
    p = Peer(2, 3, 4, 5)
    h = Half(p, 2, planes=[2, 3, 5])
    h.greet()
    assert h.probe()
    nonce = draw()
    assert not h.probe(3, 1), "packets of a plane that was not verified count"
    p.silent(3, verify(h.id ^ 1, nonce), VERIFY)
    p.silent(4, verify(h.id, nonce), VERIFY)  # was not named
    c = p.ask(3, verify(h.id, nonce), VERIFY)
    assert c.id == h.own_id and c.flags == REPLY and c.echo == nonce and c.nonce
    theirs = c.nonce
    assert p.ask(3, verify(h.id, nonce, theirs ^ 2), VERIFY).flags == REPLY, "a wrong nonce is good"
    assert not h.probe(3, 1)
    # what was heard at one address proves nothing of another
    c = p.ask(5, verify(h.id, nonce, theirs), VERIFY)
    assert c.flags == REPLY and c.nonce != theirs
    assert not h.probe(5, 1)
    assert p.ask(3, verify(h.id, nonce, theirs), VERIFY).flags == REPLY | VERIFIED
    assert h.probe(3), "packets of a verified plane are not taken"
    assert not h.probe(5, 1)


# ---- planes: the device sends

def only(peer, last, *kinds):
    others = {c.kind for c in peer.came if c.last == last} - set(kinds)
    assert not others, f"to {address(last)} went types {others}"


def sender_verifies():
    p = Peer(2, 3, 4, 5)
    p.answers[2] = p.instance, [2, 3, 4]
    p.accepts = True
    toward(p, 2)
    assert p.listen(10, lambda: p.heard(VERIFY, 3) and p.heard(VERIFY, 4))
    c = p.heard(VERIFY, 3)[-1]
    own_id = p.halves[c.id]["own_id"]
    assert c.nonce != p.heard(VERIFY, 4)[-1].nonce and not c.flags
    for echo in (c.nonce ^ 2, p.heard(VERIFY, 4)[-1].nonce):
        p.send(3, verify(own_id, draw(), echo, REPLY | VERIFIED))
    # right, from where nobody was asked
    for last in (2, 4, 5):
        p.send(last, verify(own_id, draw(), c.nonce, REPLY | VERIFIED))
    p.listen(1.5)
    only(p, 3, VERIFY)
    only(p, 4, VERIFY)
    # an address that was not proven is not taken for the peer's: it gets a HELLO of its own
    p.answers[3] = draw(), [3]
    toward(p, 3)
    assert p.heard(HELLO, 3)
    # one that was is used
    c = p.heard(VERIFY, 4)[-1]
    p.send(4, verify(own_id, draw(), c.nonce, REPLY | VERIFIED))
    assert p.listen(10, lambda: p.heard(PROBE, 4)), "a verified plane is not used"
    assert p.halves[toward(p, 4)[1]]["last"] == 2
    assert not p.heard(HELLO, 4), "a verified address is asked who it is"


# ---- who is where

def addresses_join():
    p = Peer(2, 3)
    p.accepts = True
    for last in (2, 3):
        p.answers[last] = p.instance, [last]
    # the second can only be found out to be the same node
    assert p.halves[toward(p, 2)[1]]["last"] == 2
    assert p.halves[toward(p, 3)[1]]["last"] == 3
    qpn, half = toward(p, 3)
    assert p.halves[half]["last"] == 2, "a queue pair to another address of the node did not join"
    ours = Half(p, 2)
    ours.greet()
    ours.open(qpn)


def an_instance_proves_nothing():
    p = Peer(2, 5, 6)
    p.accepts = True
    p.answers[2] = p.instance, [2]
    p.answers[5] = draw(), [5]
    qpn, _ = toward(p, 2)
    liar = Half(p, 5)
    liar.greet()
    liar.open(qpn, seconds=4, want=NOT_READY)
    assert p.heard(HELLO, 5), "nobody asked who it is"
    p.answers[6] = p.instance, [6]
    ours = Half(p, 6)
    ours.greet()
    ours.open(qpn)


def the_silent_are_asked():
    p = Peer(2)
    p.accepts = True
    p.answers[2] = p.instance, [2]
    qpn, _ = toward(p, 2)
    ours = Half(p, 2)
    ours.greet()
    ours.open(qpn)
    p.listen(3)
    since = len(p.came)
    assert p.listen(60, lambda: p.heard(PROBE, since=since)), "nobody asked whether we live"


# ---- shared receive queues

def shared(size, buffers):
    p = Peer(2)
    p.accepts = True
    p.answers[2] = p.instance, [2]
    program(p, "shared", address(2), str(size), str(buffers))
    assert p.listen(20, lambda: p.heard(OPEN))
    h = Half(p, 2)
    h.greet()
    return h, h.open(p.heard(OPEN)[0].own_qpn)


def earlier_messages_first():
    h, stream = shared(64, 1)
    placed, why = h.send(stream, 1)
    assert not placed and why == {RNR}, "the only buffer went to a later message"
    placed, why = h.send(stream, 0)
    assert placed and not why, "the first message has no buffer"


def so_many_ahead():
    h, stream = shared(32, 32)
    placed, why = h.send(stream, 4)
    assert not placed and why == {HOLD}, "more than an eighth of the queue is bound"
    for rsn in (3, 0, 1, 2):
        placed, _ = h.send(stream, rsn)
        assert placed, f"message {rsn} has no buffer"


# ---- several messages in a datagram

def messages_share():
    h, stream = shared(512, 512)
    assert h.together(*(h.message(stream, i) for i in range(3))) == [0, 1, 2]
    # what belongs elsewhere, or is cut off, ends the datagram; what is before it counts
    assert h.together(h.message(stream, 3), h.message(stream, 4, id=h.id ^ 1), h.message(stream, 5)) == [0]
    assert h.together(h.message(stream, 4), h.message(stream, 5, path=1), h.message(stream, 6)) == [0]
    assert h.together(h.message(stream, 5), h.message(stream, 6)[:-1]) == [0]
    assert h.together(h.message(stream, 6), h.message(stream, 7)[:40]) == [0]
    assert h.together(*(h.message(stream, i) for i in range(7, 47))) == list(range(32)), "more than 32"
    placed, why = h.send(stream, 39)
    assert placed and not why


programs = []
test = globals()[sys.argv[1]]
try:
    test()
finally:
    for one in programs:
        one.kill()
