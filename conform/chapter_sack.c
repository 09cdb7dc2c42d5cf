// SPDX-License-Identifier: GPL-2.0
/* The bitmap of an ACK at every position, path numbers that jump and wrap, epochs. Clauses A1 to A3, N1, N4, N6. */
#include <string.h>

#include "script.h"

static uint8_t payload[64];

static uint32_t write_one(struct t *t, struct stream *s, unsigned int path)
{
	struct message m = write_at(s, 0, payload, sizeof(payload));

	return message_send(t, &m, 0, path);
}

/* Number 300 is the highest, one is missing, so far behind: its bit is clear and no other */
static void position(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct out *o = s->out;
	struct packet *ack;
	uint32_t number = 0, missing, n;

	t->ackreq = 0;
	while (o->path[1].number <= 300 - (uint32_t)arg - 1)
		number = probe_send(t, o, 1);
	missing = o->path[1].number++;
	while (o->path[1].number <= 300)
		number = probe_send(t, o, 1);
	ack = ack_for(t, o, 1, number);
	need(t, be32toh(base_of(ack)->number) == number, "the highest number is %u, not %u",
	     be32toh(base_of(ack)->number), number);
	need(t, ack_of(ack)->anchor == base_of(ack)->number,
	     "anchor is not number, and the ACK is not PARTIAL");
	for (n = number - 255; n != number + 1; n++)
		need(t, ack_bit(ack, n) == (n != missing), "bit of number %u is %s; %u is missing",
		     n, ack_bit(ack, n) ? "set" : "clear", missing);
}

/* What was missing comes: its bit is set then */
static void filled(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct out *o = s->out;
	uint32_t missing, number;
	struct packet *ack;

	number = o->path[0].number + arg;
	missing = o->path[0].number;
	o->path[0].number = number;
	number = probe_send(t, o, 0);
	need(t, !ack_bit(ack_for(t, o, 0, number), missing),
	     "a number that was not sent has its bit set");
	o->path[0].number = missing;
	forget(t);
	need(t, probe_send(t, o, 0) == missing, "-");
	ack = ack_for(t, o, 0, number);
	need(t, ack_bit(ack, missing), "the number came, its bit is clear");
	need(t, be32toh(base_of(ack)->number) == number, "the highest number fell");
	need(t, ack_bit(ack, number), "the highest lost its bit");
	o->path[0].number = number + 1;
}

static bool partial(const struct packet *p, const void *what)
{
	return ack_of(p)->flags & MROCE_A_PARTIAL &&
	       base_of(p)->id == htobe64(((const struct out *)what)->own_id);
}

/* More than 255 behind: reported by a PARTIAL ACK */
static void partial_ack(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct out *o = s->out;
	uint32_t high, low = o->path[0].number;
	struct packet *ack;

	write_one(t, s, 1);
	o->path[0].number = low + arg;
	high = probe_send(t, o, 0);
	ack_for(t, o, 0, high);
	forget(t);
	o->path[0].number = low;
	need(t, write_one(t, s, 0) == low, "-");
	ack = wait_for(t, MROCE_T_ACK, partial, o, 2000);
	need(t, ack, "a packet that is %ld behind the highest raises no PARTIAL ACK", arg);
	need(t, base_of(ack)->number == htobe32(high), "its number is %u, the highest is %u",
	     be32toh(base_of(ack)->number), high);
	need(t, ack_bit(ack, low),
	     "the packet that it is about has a clear bit: anchor %u, number %u",
	     be32toh(ack_of(ack)->anchor), low);
	need(t,
	     !before(be32toh(ack_of(ack)->anchor), low) &&
		     before(be32toh(ack_of(ack)->anchor), high),
	     "anchor %u", be32toh(ack_of(ack)->anchor));
	o->path[0].number = high + 1;
	still_works(t, s);
}

static void not_partial(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct out *o = s->out;
	uint32_t low = o->path[0].number, high;

	o->path[0].number = low + arg;
	high = probe_send(t, o, 0);
	ack_for(t, o, 0, high);
	forget(t);
	o->path[0].number = low;
	write_one(t, s, 0);
	need(t, ack_bit(ack_for(t, o, 0, high), low),
	     "a packet that is %ld behind the highest is not in the bitmap", arg);
	need(t, !wait_for(t, MROCE_T_ACK, partial, o, 0),
	     "a PARTIAL ACK, though the packet is in the bitmap");
	o->path[0].number = high + 1;
}

/* Numbers may jump: what lies between is lost. So they wrap within a test */
static void wrap(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct out *o = s->out;
	uint32_t number = 0, missing = -100, n;
	struct packet *ack;

	o->path[0].number = 0x7ffffff0;
	ack_for(t, o, 0, probe_send(t, o, 0));
	forget(t);
	o->path[0].number = 0xffffff00 + arg;
	while (o->path[0].number != (uint32_t)arg) {
		if (o->path[0].number == missing)
			o->path[0].number++;
		if (o->path[0].number == (uint32_t)arg)
			break;
		number = probe_send(t, o, 0);
	}
	ack = ack_for(t, o, 0, number);
	need(t, be32toh(base_of(ack)->number) == number,
	     "beyond the wrap the highest is %u, not %u", be32toh(base_of(ack)->number), number);
	for (n = number - 200; n != number + 1; n++)
		need(t, ack_bit(ack, n) == (n != missing), "bit of number %u is %s", n,
		     ack_bit(ack, n) ? "set" : "clear");
	still_works(t, s);
}

static void jump(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct out *o = s->out;
	uint32_t number, n;
	struct packet *ack;

	ack_for(t, o, 0, number = probe_send(t, o, 0));
	o->path[0].number += arg;
	n = probe_send(t, o, 0);
	ack = ack_for(t, o, 0, n);
	need(t, ack_bit(ack, n), "the packet behind a jump has a clear bit");
	for (n--; n != number; n--) {
		if (be32toh(base_of(ack)->number) - n > 255)
			break;
		need(t, !ack_bit(ack, n), "number %u was never sent, and has its bit set", n);
	}
}

/* The bitmap moves by exactly what the numbers do */
static void moves(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct out *o = s->out;
	uint32_t first, n;
	struct packet *ack;

	first = write_one(t, s, 0);
	o->path[0].number = first + arg;
	n = write_one(t, s, 0);
	ack = ack_for(t, o, 0, n);
	need(t, ack_bit(ack, n), "bit 0 is clear");
	if (arg < 256)
		need(t, ack_bit(ack, first), "the bit %ld places on is clear", arg);
	else
		need(t, !ack_bit(ack, n - 255), "a number that was never sent has its bit set");
}

/* ---- epochs */

static void new_epoch(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct out *o = s->out;
	struct packet *ack;
	uint32_t number;

	while (o->path[0].number < 50)
		number = probe_send(t, o, 0);
	o->path[0].epoch += arg;
	o->path[0].number = 1;
	forget(t);
	number = write_one(t, s, 0);
	ack = ack_for(t, o, 0, number);
	need(t, be32toh(base_of(ack)->number) == 1, "a new epoch goes on at number %u",
	     be32toh(base_of(ack)->number));
	need(t, be32toh(ack_of(ack)->packets) == 1, "it counts %u packets, not 1",
	     be32toh(ack_of(ack)->packets));
	need(t, ack_bit(ack, number), "the first packet of the epoch is not taken");
	need(t, !ack_bit(ack, number - 1) && !ack_bit(ack, number - 40),
	     "bits of the epoch before are still there");
}

static void old_epoch(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct out *o = s->out;
	struct packet *ack;
	uint8_t zero[64] = {0};
	struct message m;
	uint8_t epoch = o->path[0].epoch + 20;

	o->path[0].epoch = epoch;
	o->path[0].number = 1;
	ack_for(t, o, 0, probe_send(t, o, 0));
	o->path[0].epoch = epoch - arg;
	o->path[0].number = 2;
	pattern(payload, sizeof(payload), 1);
	m = write_at(s, 0, payload, sizeof(payload));
	message_send(t, &m, 0, 0);
	o->path[0].epoch = epoch;
	o->path[0].number = 3;
	ack = ack_for(t, o, 0, probe_send(t, o, 0));
	need(t, !ack_bit(ack, 2), "a packet of an older epoch is counted with the newer one");
	memory_is(t, s, 0, zero, sizeof(zero), "a packet of an older epoch is dropped: the memory");
}

static void epochs_around(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct out *o = s->out;
	int i;

	(void)arg;
	for (i = 0; i < 300; i++) {
		struct packet *ack;

		o->path[0].epoch++;
		o->path[0].number = 1;
		ack = ack_for(t, o, 0, probe_send(t, o, 0));
		need(t, be32toh(ack_of(ack)->packets) == 1, "epoch %d counts %u packets", i,
		     be32toh(ack_of(ack)->packets));
	}
}

static void paths_apart(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct out *o = s->out;
	unsigned int i, k;

	(void)arg;
	for (i = 0; i < o->paths && i < PATHS; i++)
		for (k = 0; k <= i; k++)
			probe_send(t, o, i);
	for (i = 0; i < o->paths && i < PATHS; i++) {
		struct packet *ack = ack_for(t, o, i, o->path[i].number - 1);

		/* the OPEN went by path 0 */
		need(t,
		     be32toh(ack_of(ack)->packets) >= i + 1 &&
			     be32toh(base_of(ack)->number) == o->path[i].number - 1,
		     "path %u: %u packets, highest %u", i, be32toh(ack_of(ack)->packets),
		     be32toh(base_of(ack)->number));
	}
}

static const struct test_case cases[] = {
	{"position", "A1 A2 A7", "of 256 numbers one is missing: its bit is clear and no other",
	 position, 1, 255},
	{"filled", "A1 A2 N1", "what was missing comes: its bit is set", filled, 1, 3},
	{"filled", "A1 A2 N1", "what was missing comes: its bit is set", filled, 63, 3},
	{"filled", "A1 A2 N1", "what was missing comes: its bit is set", filled, 127, 3},
	{"filled", "A1 A2 N1", "what was missing comes: its bit is set", filled, 191, 3},
	{"filled", "A1 A2 N1", "what was missing comes: its bit is set", filled, 253, 3},
	{"moves", "A1 A3", "the bitmap moves with the highest number, by any distance", moves, 1,
	 4},
	{"moves", "A1 A3", "the bitmap moves with the highest number, by any distance", moves, 62,
	 5},
	{"moves", "A1 A3", "the bitmap moves with the highest number, by any distance", moves, 126,
	 5},
	{"moves", "A1 A3", "the bitmap moves with the highest number, by any distance", moves, 190,
	 5},
	{"moves", "A1 A3", "the bitmap moves with the highest number, by any distance", moves, 253,
	 6},
	{"partial", "A3", "what comes 256 and more behind the highest is reported by a PARTIAL ACK",
	 partial_ack, 256, 3},
	{"partial", "A3", "what comes 256 and more behind the highest is reported by a PARTIAL ACK",
	 partial_ack, 1000},
	{"partial", "A3", "what comes 256 and more behind the highest is reported by a PARTIAL ACK",
	 partial_ack, 100000},
	{"not-partial", "A3", "what comes less behind is reported in the bitmap", not_partial, 253,
	 3},
	{"jump", "A1 A7", "numbers that were left out have clear bits", jump, 1, 4},
	{"jump", "A1 A7", "numbers that were left out have clear bits", jump, 255, 4},
	{"jump", "A1 A7", "numbers that were left out have clear bits", jump, 0x7ffffff0},
	{"wrap", "N4 A1", "path numbers wrap at 2^32", wrap, 1, 3},
	{"wrap", "N4 A1", "path numbers wrap at 2^32", wrap, 64},
	{"wrap", "N4 A1", "path numbers wrap at 2^32", wrap, 200},
	{"epoch", "N1 N6", "a newer epoch starts numbers, bits and counts anew", new_epoch, 1, 2},
	{"epoch", "N1 N6", "a newer epoch starts numbers, bits and counts anew", new_epoch, 127},
	{"old-epoch", "N6", "packets of an older epoch are dropped", old_epoch, 1, 2},
	{"old-epoch", "N6", "packets of an older epoch are dropped", old_epoch, 10},
	{"epochs-around", "N6", "epochs are compared modulo 256", epochs_around},
	{"paths", "A1 N1", "each path has numbers and counts of its own", paths_apart},
};
CHAPTER(sack, "Selective acknowledgement: bitmaps, wraps, epochs");
