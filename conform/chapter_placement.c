// SPDX-License-Identifier: GPL-2.0
/* Packets land as they come, in any order, once. Clauses M4, M6, M8, M9, N1, N2, N4. */
#include <string.h>

#include "script.h"

enum { PACKETS_ = 5, PIECE = 64, LENGTH = PACKETS_ * PIECE };

static uint8_t payload[65536], other[65536], zero[65536];

static struct message cut(struct stream *s, struct message m, uint32_t psize)
{
	s->spn -= m.packets;
	m.psize = psize;
	m.packets = packets_of(m.op, m.length, psize);
	s->spn += m.packets;
	return m;
}

static void permutation(long n, uint32_t *order)
{
	uint32_t i, j, k, left[PACKETS_];

	for (i = 0; i < PACKETS_; i++)
		left[i] = i;
	for (i = 0; i < PACKETS_; i++) {
		k = n % (PACKETS_ - i);
		n /= PACKETS_ - i;
		order[i] = left[k];
		for (j = k; j + 1 < PACKETS_ - i; j++)
			left[j] = left[j + 1];
	}
}

/* One of the 120 orders of five packets; by one path, so that the order is that of arrival */
static void order(struct t *t, long arg)
{
	struct stream *s =
		connected_with(t, &(struct attributes){DEFAULTS, .mr_access = ACCESS_RELAXED});
	uint32_t sequence[PACKETS_], i, number = 0;
	struct message m;

	permutation(arg, sequence);
	pattern(payload, LENGTH, arg);
	m = cut(s, write_at(s, 0, payload, LENGTH), PIECE);
	for (i = 0; i < PACKETS_; i++) {
		number = message_send(t, &m, sequence[i], 0);
		taken(t, s->out, 0, number, "a packet");
	}
	memory_is(t, s, 0, payload, LENGTH, "all of it");
}

/* Each lands at once, whatever came before it, in memory with relaxed ordering */
static void at_once(struct t *t, long arg)
{
	struct stream *s =
		connected_with(t, &(struct attributes){DEFAULTS, .mr_access = ACCESS_RELAXED});
	struct message m;

	pattern(payload, LENGTH, 1);
	m = cut(s, write_at(s, 0, payload, LENGTH), PIECE);
	taken(t, s->out, 0, message_send(t, &m, arg, 0), "a packet");
	memory_is(t, s, arg * PIECE, payload + arg * PIECE, PIECE, "it has landed");
	memory_is(t, s, 0, zero, arg * PIECE, "what comes before it has not");
	message_send_all(t, &m, 0);
	memory_is(t, s, LENGTH, zero, PIECE, "what lies behind");
}

static void send_order(struct t *t, long arg)
{
	struct stream *s = connected_with(t, &(struct attributes){DEFAULTS, .receives = 3});
	struct message m[3];
	uint32_t sequence[PACKETS_], i, n;
	struct completion c;

	permutation(arg, sequence);
	for (n = 0; n < 3; n++) {
		pattern(payload + n * LENGTH, LENGTH, n + arg);
		m[n] = cut(s, message(s, MROCE_OP_SEND, payload + n * LENGTH, LENGTH), PIECE);
	}
	/* the last message first, its packets out of order: buffers are named by receive numbers */
	for (n = 3; n--;)
		for (i = 0; i < PACKETS_; i++)
			taken(t, s->out, 0, message_send(t, &m[n], sequence[i], 0), "a packet");
	for (n = 0; n < 3; n++) {
		c = completion(t, s);
		need(t, c.id == n && c.length == LENGTH && !c.status, "receive %u: id %u, %u bytes",
		     n, (unsigned int)c.id, c.length);
		memory_is(t, s, MEMORY / 2 + n * 4096, payload + n * LENGTH, LENGTH,
			  "a Send in its buffer");
	}
}

/* A late original, with other bytes: what is there stays */
static void late(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message m, again;
	struct packet *ack;
	uint32_t number;

	pattern(payload, LENGTH, 1);
	pattern(other, LENGTH, 2);
	m = cut(s, write_at(s, 0, payload, LENGTH), PIECE);
	taken(t, s->out, 0, message_send_all(t, &m, 0), "a Write");
	memory_is(t, s, 0, payload, LENGTH, "a Write");
	again = m;
	again.data = other;
	number = message_send(t, &again, arg, 0);
	ack = ack_for(t, s->out, 0, number);
	need(t, ack_bit(ack, number), "a duplicate is not acknowledged");
	memory_is(t, s, 0, payload, LENGTH, "a late original must change nothing: the memory");
}

static void late_send(struct t *t, long arg)
{
	struct stream *s = connected_with(t, &(struct attributes){DEFAULTS, .receives = 2});
	struct message m, again;

	pattern(payload, LENGTH, 1);
	pattern(other, LENGTH, 2);
	m = cut(s, message(s, MROCE_OP_SEND, payload, LENGTH), PIECE);
	message_send_all(t, &m, 0);
	need(t, !completion(t, s).status, "a Send");
	again = m;
	again.data = other;
	taken(t, s->out, 0, message_send(t, &again, arg, 1), "a duplicate");
	no_completion(t, s);
	memory_is(t, s, MEMORY / 2, payload, LENGTH,
		  "the buffer, which is the application's by now");
	memory_is(t, s, MEMORY / 2 + 4096, zero, LENGTH, "the next buffer");
}

/* Of a key that is gone meanwhile: a duplicate touches no memory and harms nobody */
static void late_key(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message m;

	(void)arg;
	pattern(payload, LENGTH, 1);
	m = cut(s, write_at(s, 0, payload, LENGTH), PIECE);
	taken(t, s->out, 0, message_send_all(t, &m, 0), "a Write");
	ask(t, "dereg %u", s->mr);
	taken(t, s->out, 0, message_send(t, &m, 0, 1), "a duplicate whose key is gone");
	need(t, qp_state(t, s) == 3, "a duplicate whose key is gone ended the queue pair");
}

/* Filled once by the first, however often and by whatever path it comes */
static void every_path(struct t *t, long arg)
{
	struct stream *s = connected_with(t, &(struct attributes){DEFAULTS, .receives = 2});
	struct message m;
	uint32_t i;

	(void)arg;
	pattern(payload, LENGTH, 1);
	m = cut(s, message(s, MROCE_OP_SEND, payload, LENGTH), PIECE);
	for (i = 0; i < m.packets; i++)
		message_send(t, &m, i, i % s->out->paths);
	for (i = 0; i < s->out->paths; i++)
		taken(t, s->out, i, message_send(t, &m, m.packets - 1, i),
		      "a packet by a further path");
	need(t, completion(t, s).length == LENGTH, "what was sent by several paths");
	no_completion(t, s);
	memory_is(t, s, MEMORY / 2, payload, LENGTH, "what was sent by several paths");
}

static void shuffled(struct t *t, long arg)
{
	struct stream *s = connected_with(
		t,
		&(struct attributes){DEFAULTS, .mr_access = arg & 1 ? ACCESS_RELAXED : ACCESS_ALL});
	uint32_t n = 40, i, j, sequence[40];
	struct message m;

	pattern(payload, 40 * 100, arg);
	m = cut(s, write_at(s, 0, payload, 40 * 100), 100);
	for (i = 0; i < n; i++)
		sequence[i] = i;
	for (i = n - 1; i; i--) {
		uint32_t k;

		j = random_of(t) % (i + 1);
		k = sequence[i];
		sequence[i] = sequence[j];
		sequence[j] = k;
	}
	for (i = 0; i < n; i++) {
		message_send(t, &m, sequence[i], random_of(t) % s->out->paths);
		if (random_of(t) % 4 == 0)
			message_send(t, &m, sequence[random_of(t) % (i + 1)],
				     random_of(t) % s->out->paths);
	}
	for (i = 0; i < s->out->paths; i++)
		ack_for(t, s->out, i, probe_send(t, s->out, i));
	memory_is(t, s, 0, payload, m.length, "forty packets shuffled over all paths, some twice");
	memory_is(t, s, m.length, zero, 64, "what lies behind");
}

/* ---- numbers that wrap */

static void psn_wraps(struct t *t, long arg)
{
	struct stream *s = connected_with(
		t, &(struct attributes){DEFAULTS, .psn_given = true, .psn = 0xffffff - arg});
	struct message m;

	pattern(payload, LENGTH, 1);
	m = cut(s, write_at(s, 0, payload, LENGTH), PIECE);
	taken(t, s->out, 0, message_send_all(t, &m, 0), "a packet whose number is above 24 bits");
	memory_is(t, s, 0, payload, LENGTH, "numbers are of 32 bits, though the PSN was of 24");
	still_works(t, s);
}

static void its_psn_wraps(struct t *t, long arg)
{
	struct stream *s =
		connected_with(t, &(struct attributes){DEFAULTS, .psn_given = true, .psn = 1,
						       .target_psn = 0xffffff});
	struct packet *p;
	int i;

	(void)arg;
	for (i = 0; i < 3; i++) {
		post(t, s, i, MROCE_OP_WRITE, 0, 8, 0, 0, 0, 0, 0);
		do {
			p = response_for(t, s, MROCE_OP_WRITE);
		} while (before(p->data.msn, i));
		need(t, p->data.spn == 0xffffffu + i, "number %x, not %x", p->data.spn,
		     0xffffff + i);
	}
}

/* ---- visibility */

static bool is_there(struct t *t, struct stream *s, unsigned int offset, const uint8_t *want,
		     unsigned int n)
{
	uint8_t got[LENGTH];

	peek(t, s->mr, offset, got, n);
	return !memcmp(got, want, n);
}

/* The last packet waits for each that is missing */
static void last_waits(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message m;
	uint32_t i, number = 0;

	pattern(payload, LENGTH, 1);
	m = cut(s, write_at(s, 0, payload, LENGTH), PIECE);
	for (i = 0; i < PACKETS_; i++)
		if (i != (uint32_t)arg)
			number = message_send(t, &m, i, 0);
	need(t, ack_bit(ack_for(t, s->out, 0, number), number),
	     "the last packet, which is held, is not acknowledged");
	need(t, is_there(t, s, (PACKETS_ - 1) * PIECE, zero, PIECE),
	     "the last packet of a Write landed before packet %ld", arg);
	taken(t, s->out, 0, message_send(t, &m, arg, 0), "the packet that was missing");
	memory_is(t, s, 0, payload, LENGTH,
		  "what it released has landed before it was acknowledged: the memory");
}

/* A Write of one packet waits for what is missing of messages before it */
static void single_waits(struct t *t, long arg)
{
	struct stream *s = connected_with(t, &(struct attributes){DEFAULTS, .receives = 1});
	struct message first, second;
	uint8_t flag[8];

	memset(flag, 0xf1, 8);
	pattern(payload, LENGTH, 1);
	first = arg ? message(s, MROCE_OP_SEND, payload, PIECE) : write_at(s, 0, payload, LENGTH);
	second = write_at(s, 4096, flag, 8);
	taken(t, s->out, 0, message_send_all(t, &second, 0), "a Write that is held");
	need(t, is_there(t, s, 4096, zero, 8),
	     "a Write of one packet landed before what was sent before it");
	taken(t, s->out, 0, message_send_all(t, &first, 0), "what was missing");
	memory_is(t, s, 4096, flag, 8, "the Write behind it");
}

static void relaxed_does_not_wait(struct t *t, long arg)
{
	struct stream *s =
		connected_with(t, &(struct attributes){DEFAULTS, .mr_access = ACCESS_RELAXED});
	struct message first, second;

	(void)arg;
	pattern(payload, LENGTH, 1);
	first = write_at(s, 0, payload, PIECE);
	second = write_at(s, 4096, payload, PIECE);
	taken(t, s->out, 0, message_send_all(t, &second, 0), "a Write");
	memory_is(t, s, 4096, payload, PIECE, "memory with relaxed ordering");
	taken(t, s->out, 0, message_send_all(t, &first, 0), "a Write");
}

/* What is held and comes again is a duplicate; the bytes of the first count */
static void held_twice(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message first, second, again;

	(void)arg;
	pattern(payload, LENGTH, 1);
	pattern(other, LENGTH, 2);
	first = write_at(s, 0, payload, PIECE);
	second = write_at(s, 4096, payload, PIECE);
	again = second;
	again.data = other;
	message_send_all(t, &second, 0);
	taken(t, s->out, 0, message_send_all(t, &again, 0), "a duplicate of what is held");
	message_send_all(t, &first, 0);
	ack_for(t, s->out, 0, probe_send(t, s->out, 0));
	memory_is(t, s, 4096, payload, PIECE, "what came first");
}

/* ORDERED: every packet of it waits */
static void ordered(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message first, second;

	pattern(payload, LENGTH, 1);
	pattern(other, LENGTH, 2);
	first = cut(s, write_at(s, 0, payload, LENGTH), PIECE);
	second = cut(s, write_at(s, 0, other, LENGTH), PIECE);
	second.flags = MROCE_F_ORDERED;
	taken(t, s->out, 0, message_send(t, &second, arg, 0), "an ORDERED packet, which is held");
	need(t, is_there(t, s, arg * PIECE, zero, PIECE),
	     "an ORDERED packet landed before those that came before it");
	message_send_all(t, &first, 0);
	message_send_all(t, &second, 0);
	ack_for(t, s->out, 0, probe_send(t, s->out, 0));
	memory_is(t, s, 0, other, LENGTH, "of two Writes that overlap the last wins: the memory");
}

static void released_in_order(struct t *t, long arg)
{
	struct stream *s = connected(t);
	uint8_t bytes[20][PIECE];
	struct message m[20];
	int i;

	(void)arg;
	/* each over the one before, all held, and the first of them last */
	for (i = 0; i < 20; i++) {
		pattern(bytes[i], PIECE, i);
		m[i] = write_at(s, i, bytes[i], PIECE);
		m[i].flags = MROCE_F_ORDERED;
	}
	for (i = 19; i >= 0; i--)
		message_send_all(t, &m[i], 0);
	ack_for(t, s->out, 0, probe_send(t, s->out, 0));
	for (i = 0; i < 19; i++)
		memory_is(t, s, i, bytes[i], 1,
			  "what was held landed in the order of its numbers: a byte");
	memory_is(t, s, 19, bytes[19], PIECE, "the last");
}

static const struct test_case cases[] = {
	{"order", "M4 N1", "five packets in each of their 120 orders", order, 0, 120},
	{"at-once", "M4", "a packet lands at once, whatever came before it", at_once, 0, 5},
	{"sends", "M4 N3",
	 "the packets of three Sends in odd orders: each in the buffer of its receive number",
	 send_order, 1, 7},
	{"late", "M6 N2",
	 "a packet that comes again, with other bytes, is acknowledged and changes nothing", late,
	 0, 5},
	{"late-send", "M6", "so of a Send, whose buffer is the application's by then", late_send, 0,
	 5},
	{"late-key", "M6", "a duplicate touches no memory: that its key is gone harms nobody",
	 late_key},
	{"paths", "M6 N1 N2",
	 "one message by all paths, some of it several times, is received once", every_path},
	{"shuffled", "M4 M6 M8", "forty packets shuffled over all paths", shuffled, 0, 8},
	{"psn-wraps", "N2 N4", "numbers go on above the 24 bits of a PSN", psn_wraps, 0, 4},
	{"its-psn-wraps", "N2 N4", "so do the target's", its_psn_wraps},
	{"last-waits", "M8 A2",
	 "the last packet of a Write is held as long as one before it is missing", last_waits, 0,
	 4},
	{"single-waits-write", "M8",
	 "a Write of one packet is held until an earlier Write has landed", single_waits, 0},
	{"single-waits-send", "M8",
	 "a Write of one packet is held until an earlier Send has landed", single_waits, 1},
	{"relaxed", "M8", "in memory with relaxed ordering nothing waits", relaxed_does_not_wait},
	{"held-twice", "M6 M8", "what is held counts as placed for duplicates", held_twice},
	{"ordered", "M9", "an ORDERED packet lands after all earlier ones", ordered, 0, 5},
	{"released", "M8 M9", "twenty held packets land in the order of their numbers",
	 released_in_order},
};
CHAPTER(placement, "Placement in any order, duplicates, visibility");
