// SPDX-License-Identifier: GPL-2.0
/* When ACKs come and what they say; the target as a receiver. Clauses A1, A1a, A4 to A7a, D1, D4, D6, D7. */
#include <string.h>

#include "script.h"

static uint8_t payload[8192];

static struct message a_write(struct stream *s, unsigned int n)
{
	return write_at(s, 0, payload, n);
}

/* ---- when */

static struct stream *quiet(struct t *t)
{
	struct stream *s =
		connected_with(t, &(struct attributes){DEFAULTS, .mr_access = ACCESS_RELAXED});

	t->ackreq = 0;
	run(t, 5);
	forget(t);
	return s;
}

static void at_once(struct t *t, long arg)
{
	struct stream *s = quiet(t);
	struct out *o = s->out;
	struct message m;
	uint32_t number;

	switch (arg) {
	case 0: /* asked for */
		t->ackreq = MROCE_F_ACKREQ;
		m = a_write(s, 8);
		number = message_send(t, &m, 0, 0);
		break;
	case 1: /* a hole */
		o->path[0].number++;
		m = a_write(s, 8);
		number = message_send(t, &m, 0, 0);
		break;
	case 2: /* nobody asks, and it comes in the end */
		m = a_write(s, 8);
		number = message_send(t, &m, 0, 0);
		break;
	case 3: /* a mark */
		t->tos = CE;
		m = a_write(s, 8);
		number = message_send(t, &m, 0, 0);
		break;
	default: /* below the highest */
		o->path[0].number += 2;
		m = a_write(s, 8);
		number = message_send(t, &m, 0, 0);
		ack_for(t, o, 0, number);
		o->path[0].number = number - 1;
		m = a_write(s, 8);
		forget(t);
		message_send(t, &m, 0, 0);
		need(t, ack_bit(ack_for(t, o, 0, number), number - 1),
		     "what came late is not acknowledged");
		return;
	}
	taken(t, o, 0, number, "a Write");
}

/* Never more than 128 unreported, nor more than 32 that are no train */
static void often(struct t *t, long arg)
{
	struct stream *s = quiet(t);
	struct message m;
	uint32_t number = 0, last, i;
	struct packet *ack;

	m = a_write(s, 8);
	last = message_send(t, &m, 0, 0);
	ack_for(t, s->out, 0, last);
	for (i = 0; i < arg; i++) {
		m = a_write(s, 8);
		number = message_send(t, &m, 0, 0);
	}
	while (last != number) {
		ack = ack_for(t, s->out, 0, last + 1);
		need(t, be32toh(base_of(ack)->number) - last <= 128,
		     "an ACK reports %u numbers at once", be32toh(base_of(ack)->number) - last);
		last = be32toh(base_of(ack)->number);
		need(t, ack_bit(ack, last), "bit of the highest is clear");
	}
}

/* ---- what */

static void counts(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct out *o = s->out;
	struct packet *ack;
	uint32_t i, number = 0, bytes = 0;
	struct message m;

	for (i = 0; i < arg; i++) {
		m = a_write(s, 8 * i);
		number = message_send(t, &m, 0, 1);
		bytes += 8 * i;
	}
	/* a duplicate and a refused one count as well */
	message_send(t, &m, 0, 1);
	m = message(s, MROCE_OP_SEND, payload, 100);
	number = message_send(t, &m, 0, 1);
	ack = ack_for(t, o, 1, number);
	need(t, be32toh(ack_of(ack)->packets) == arg + 2, "%u packets counted, %ld were sent",
	     be32toh(ack_of(ack)->packets), arg + 2);
	need(t,
	     be64toh(ack_of(ack)->bytes) >= bytes &&
		     be64toh(ack_of(ack)->bytes) <= bytes + 8 * (uint64_t)arg + 100,
	     "%u bytes counted, %u were sent", (unsigned int)be64toh(ack_of(ack)->bytes), bytes);
	need(t, !ack_of(ack)->ce, "%u marks counted, there was none", be32toh(ack_of(ack)->ce));
}

static void bytes_exact(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message m;
	uint32_t number;

	pattern(payload, sizeof(payload), 1);
	m = write_at(s, 0, payload, arg);
	number = message_send_all(t, &m, 2);
	need(t, be64toh(ack_of(ack_for(t, s->out, 2, number))->bytes) == (uint64_t)arg,
	     "%ld bytes of payload were sent", arg);
}

static void marks(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct packet *ack;
	uint32_t number = 0, n = 0, i;

	/* the arg-th part of forty */
	for (i = 0; i < 40; i++) {
		t->tos = arg && i % arg == 0 ? CE : ECT0;
		n += t->tos == CE;
		number = probe_send(t, s->out, 1);
	}
	ack = ack_for(t, s->out, 1, number);
	need(t, be32toh(ack_of(ack)->ce) == n, "%u marks counted, %u were sent",
	     be32toh(ack_of(ack)->ce), n);
}

static void not_marks(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct packet *ack;
	uint32_t number;
	struct message m = a_write(s, 8);

	t->tos = arg;
	number = message_send(t, &m, 0, 1);
	ack = ack_for(t, s->out, 1, number);
	need(t, ack_bit(ack, number) && !ack_of(ack)->ce,
	     "a packet of ECN bits %ld counts as marked, or is not taken", arg);
}

static void echo(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct mroce_wire_control w = {.op = MROCE_C_PROBE, .flags = MROCE_F_ACKREQ};
	uint32_t newest = 0xffffff00 + (uint32_t)arg * 0x80, number;

	w.base.type = MROCE_T_PROBE;
	w.stamp = htobe32(newest);
	number = send_numbered(t, s->out, 1, &w, sizeof(w));
	need(t, be32toh(ack_of(ack_for(t, s->out, 1, number))->echo) == newest,
	     "echo is not the stamp");
	/* an older stamp changes nothing; a newer one, across the wrap, does */
	w.base.type = MROCE_T_PROBE;
	w.stamp = htobe32(newest - 1000);
	number = send_numbered(t, s->out, 1, &w, sizeof(w));
	need(t, be32toh(ack_of(ack_for(t, s->out, 1, number))->echo) == newest,
	     "echo fell back to an older stamp");
	w.base.type = MROCE_T_PROBE;
	w.stamp = htobe32(newest + 1000);
	number = send_numbered(t, s->out, 1, &w, sizeof(w));
	need(t, be32toh(ack_of(ack_for(t, s->out, 1, number))->echo) == newest + 1000,
	     "echo is not the newest stamp");
}

static void delay(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct mroce_wire_control w = {.op = MROCE_C_PROBE, .flags = MROCE_F_ACKREQ};
	uint32_t number, ticks;
	struct packet *ack;

	w.base.type = MROCE_T_PROBE;
	w.stamp = htobe32(1000000);
	ack_for(t, s->out, 1, send_numbered(t, s->out, 1, &w, sizeof(w)));
	run(t, arg);
	/* an older stamp: the delay counts from the packet before */
	w.base.type = MROCE_T_PROBE;
	w.stamp = htobe32(900000);
	number = send_numbered(t, s->out, 1, &w, sizeof(w));
	ack = ack_for(t, s->out, 1, number);
	ticks = be32toh(ack_of(ack)->delay);
	need(t, (uint64_t)ticks * 16 >= arg * 900000ULL,
	     "delay is %u us, the newest stamp came %ld ms ago", ticks * 16 / 1000, arg);
	need(t, (uint64_t)ticks * 16 < arg * 1000000ULL + 2000000000, "delay is %u us",
	     ticks * 16 / 1000);
}

static void duplicate_flag(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message m = a_write(s, 64);
	struct packet *ack;
	uint32_t number;

	(void)arg;
	taken(t, s->out, 0, message_send(t, &m, 0, 0), "a Write");
	number = message_send(t, &m, 0, 0);
	ack = ack_for(t, s->out, 0, number);
	need(t, ack_of(ack)->flags & MROCE_A_DUPLICATE,
	     "data came again under a fresh number, and DUPLICATE is not set");
	number = probe_send(t, s->out, 0);
	ack = ack_for(t, s->out, 0, number);
	need(t, !(ack_of(ack)->flags & MROCE_A_DUPLICATE),
	     "DUPLICATE is set in the ACK after the next, too");
}

/* The network's own duplicate: the same number again */
static void network_duplicate(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message m = a_write(s, 64);
	struct packet *ack;
	uint32_t number;

	(void)arg;
	number = message_send(t, &m, 0, 1);
	taken(t, s->out, 1, number, "a Write");
	s->out->path[1].number--;
	message_send(t, &m, 0, 1);
	number = probe_send(t, s->out, 1);
	do {
		ack = ack_for(t, s->out, 1, number - 1);
		need(t, !(ack_of(ack)->flags & MROCE_A_DUPLICATE),
		     "DUPLICATE is set though the packet's own number had come before");
		need(t, ack_bit(ack, number - 1), "its bit is clear");
	} while (be32toh(base_of(ack)->number) != number);
	need(t, be32toh(ack_of(ack)->packets) == 3, "%u packets counted, 3 came",
	     be32toh(ack_of(ack)->packets));
}

static void release(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message first = a_write(s, 64), m;
	const struct mroce_wire_record *r;
	long i;

	message_send(t, &first, 0, 0);
	for (i = 0; i < arg; i++) {
		m = a_write(s, 64);
		message_send(t, &m, 0, 0);
	}
	ack_for(t, s->out, 0, s->out->path[0].number - 1);
	r = ack_record(ack_for(t, s->out, 0, message_send(t, &first, 0, 0)), MROCE_R_RELEASE);
	need(t, r, "a duplicate is reported without RELEASE");
	need(t, be32toh(r->spn) == s->spn && be32toh(r->stream) == s->own,
	     "RELEASE below %u of stream %x; the lowest hole is %u", be32toh(r->spn),
	     be32toh(r->stream), s->spn);
}

static void travels(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct out *o = s->out;
	struct packet *ack;

	o->path[arg].port = 0xc000 + 100 * arg + 1;
	ack = ack_for(t, o, arg, probe_send(t, o, arg));
	need(t, ack->d.port == o->path[arg].port, "the ACK comes from port %u, the path's is %u",
	     ack->d.port, o->path[arg].port);
	need(t, (ack->d.tos & 3) == NOT_ECT, "the ACK is not Not-ECT: TOS %02x", ack->d.tos);
	need(t, base_of(ack)->path == arg, "it is of path %u", base_of(ack)->path);
}

static void tos_copied(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct packet *ack;

	t->tos = arg << 2 | ECT0;
	ack = ack_for(t, s->out, 1, probe_send(t, s->out, 1));
	need(t, ack->d.tos >> 2 == arg,
	     "the ACK has class %02x, the newest packet of its path had %02lx", ack->d.tos >> 2,
	     arg);
}

/* ACKs of paths that wait go along with one that cannot; each is whole */
static void together(struct t *t, long arg)
{
	struct stream *s = quiet(t);
	struct out *o = s->out;
	uint32_t number[PATHS], i;
	struct message m;

	(void)arg;
	for (i = 0; i < o->paths && i < PATHS; i++) {
		m = a_write(s, 8);
		number[i] = message_send(t, &m, 0, i);
	}
	for (i = 0; i < o->paths && i < PATHS; i++)
		taken(t, o, i, number[i], "a Write");
}

/* ---- D7: several messages in a datagram */

static size_t shared(struct t *t, struct stream *s, uint8_t *bytes, unsigned int n,
		     struct message *m, uint32_t first)
{
	size_t at = 0;
	unsigned int i;

	for (i = 0; i < n; i++) {
		uint8_t one[512];
		size_t size;

		m[i] = write_at(s, 64 * i, payload + 64 * i, 16);
		size = message_packet(t, &m[i], 0, one);
		header((void *)one, MROCE_T_DATA, 0, s->out->path[0].epoch, first + i, s->out->id);
		memcpy(bytes + at, one, size);
		at += size;
	}
	s->out->path[0].number = first + n;
	return at;
}

static void datagram_shared(struct t *t, long arg)
{
	struct stream *s =
		connected_with(t, &(struct attributes){DEFAULTS, .mr_access = ACCESS_RELAXED});
	uint8_t bytes[9000];
	struct message m[40];
	uint32_t first = s->out->path[0].number, i;
	struct packet *ack;
	size_t n;

	pattern(payload, sizeof(payload), 1);
	n = shared(t, s, bytes, arg, m, first);
	send_raw(t, &s->peer->own, s->out->path[0].port, ECT0, bytes, n);
	ack = ack_for(t, s->out, 0, first + arg - 1);
	for (i = 0; i < arg; i++) {
		need(t, ack_bit(ack, first + i), "message %u of %ld in one datagram was not taken",
		     i, arg);
		memory_is(t, s, 64 * i, payload + 64 * i, 16, "a message that shares a datagram");
	}
}

static void datagram_mark(struct t *t, long arg)
{
	struct stream *s =
		connected_with(t, &(struct attributes){DEFAULTS, .mr_access = ACCESS_RELAXED});
	uint8_t bytes[9000];
	struct message m[40];
	uint32_t first = s->out->path[0].number;
	size_t n = shared(t, s, bytes, arg, m, first);
	struct packet *ack;

	send_raw(t, &s->peer->own, s->out->path[0].port, CE, bytes, n);
	ack = ack_for(t, s->out, 0, first + arg - 1);
	need(t, be32toh(ack_of(ack)->ce) == 1,
	     "a marked datagram of %ld messages counts as %u marks", arg, be32toh(ack_of(ack)->ce));
}

enum ends { BAD, OTHER_ID_, OTHER_PATH, OTHER_EPOCH, OTHER_TYPE };

static void datagram_ends(struct t *t, long arg)
{
	struct stream *s =
		connected_with(t, &(struct attributes){DEFAULTS, .mr_access = ACCESS_RELAXED});
	uint8_t bytes[9000];
	struct message m[40];
	uint32_t first = s->out->path[0].number;
	size_t n = shared(t, s, bytes, 3, m, first), one = n / 3;
	struct mroce_wire_data *second = (void *)(bytes + one);

	switch (arg) {
	case BAD:
		second->psize = 0;
		break;
	case OTHER_ID_:
		second->base.id ^= 1;
		break;
	case OTHER_PATH:
		second->base.path = 1;
		break;
	case OTHER_EPOCH:
		second->base.epoch++;
		break;
	case OTHER_TYPE:
		second->base.type = MROCE_T_PROBE;
		break;
	}
	send_raw(t, &s->peer->own, s->out->path[0].port, ECT0, bytes, n);
	not_taken(t, s->out, 0, first + 2, "what lies behind a packet that does not belong");
	not_taken(t, s->out, 0, first + 1, "a packet that does not belong");
}

static const struct test_case cases[] = {
	{"asked", "A4", "a packet with ACKREQ is acknowledged", at_once, 0},
	{"hole", "A4 A7", "a hole is reported", at_once, 1},
	{"unasked", "A4", "what asks for nothing is acknowledged in the end", at_once, 2},
	{"mark", "A4", "a change of the CE mark is reported", at_once, 3},
	{"below", "A4", "an arrival below the highest number is reported", at_once, 4},
	{"often", "A4", "never are more than 128 numbers unreported", often, 40},
	{"often", "A4", "never are more than 128 numbers unreported", often, 300},
	{"counts", "A5", "packets count duplicates and refused ones, too", counts, 1, 3},
	{"counts", "A5", "packets count duplicates and refused ones, too", counts, 30},
	{"bytes", "A5", "bytes are those of payload", bytes_exact, 1},
	{"bytes", "A5", "bytes are those of payload", bytes_exact, 5000},
	{"marks", "A5 D4", "CE-marked packets are counted", marks, 0, 4},
	{"not-marks", "A5", "Not-ECT and ECT are no marks", not_marks, 0, 3},
	{"echo", "A5 N4", "echo is the newest stamp, across its wrap, too", echo, 0, 3},
	{"delay", "A5", "delay counts from the arrival of the newest stamp", delay, 20},
	{"duplicate", "A7a A4",
	 "data that come again under a fresh number set DUPLICATE in the next ACK", duplicate_flag},
	{"network-duplicate", "A7a A5", "a number that comes again does not, but it is counted",
	 network_duplicate},
	{"release", "A2 A7", "with a duplicate goes RELEASE of all that is placed", release, 0, 3},
	{"travels", "A1 D1 D4", "an ACK comes from the path's port, Not-ECT, to the service port",
	 travels, 0, 4},
	{"class", "D6", "an ACK has the class of the newest packet of its path (SHOULD)",
	 tos_copied, 0, 2},
	{"class", "D6", "an ACK has the class of the newest packet of its path (SHOULD)",
	 tos_copied, 46},
	{"together", "A1a A4", "the paths' ACKs may share a datagram, and each is whole", together},
	{"shared", "D7 M3", "messages that share a datagram are taken as if each had come alone",
	 datagram_shared, 2, 3},
	{"shared", "D7 M3", "messages that share a datagram are taken as if each had come alone",
	 datagram_shared, 14},
	{"shared-mark", "D7 A5", "a marked datagram counts once", datagram_mark, 2, 3},
	{"shared-bad", "D7", "a malformed packet ends the datagram", datagram_ends, BAD},
	{"shared-id", "D7", "a packet of another half ends the datagram", datagram_ends, OTHER_ID_},
	{"shared-path", "D7", "a packet of another path ends the datagram", datagram_ends,
	 OTHER_PATH},
	{"shared-epoch", "D7", "a packet of another epoch ends the datagram", datagram_ends,
	 OTHER_EPOCH},
	{"shared-type", "D7", "a packet of another type ends the datagram", datagram_ends,
	 OTHER_TYPE},
};
CHAPTER(acks, "ACK timing and contents, ECN echo, shared datagrams");
