// SPDX-License-Identifier: GPL-2.0
/* What holds the target back: windows, marks, a share that it is told; what it tells of others. Clauses G, A6, H. */
#include <string.h>

#include "script.h"

enum { LENGTH = 1 << 17, HEADERS = 28 };

static struct {
	uint64_t first, last, bytes;
	uint64_t fresh;	/* bytes, each number of the stream once */
	uint32_t packets, spn;
	bool number[4096];
	uint64_t unanswered;
} seen;

static bool measure(struct t *t, struct packet *p)
{
	const struct mroce_wire_data *d = (const void *)p->bytes;
	uint32_t at;

	(void)t;
	if (base_of(p)->type != MROCE_T_DATA)
		return false;
	if (!seen.first)
		seen.first = udp_now();
	seen.last = udp_now();
	if (!seen.packets)
		seen.spn = be32toh(d->spn);
	at = be32toh(d->spn) - seen.spn;
	if (at < sizeof(seen.number) && !seen.number[at]) {
		seen.number[at] = true;
		seen.fresh += p->length + HEADERS;
	}
	seen.bytes += p->length + HEADERS;
	seen.packets++;
	return false;
}

static void begin(struct t *t)
{
	memset(&seen, 0, sizeof(seen));
	t->filter = measure;
}

static void all_posted(struct t *t, struct stream *s, unsigned int n, unsigned int length)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		post(t, s, i, MROCE_OP_WRITE, 0, length, 0x1000 + 0x100000ULL * i, 1, 0, 0, 0);
}

/* Nothing is answered: what goes is bounded, by the first window or the allowance of 64 KiB, and not by much */
static void first_flight(struct t *t, long arg)
{
	struct peer *p = peer_fresh(t);
	struct stream *s = stream_new(t, out_new(t, p), &(struct attributes){DEFAULTS});
	uint64_t end;

	(void)arg;
	in_of(t, p);
	t->withhold = s;
	begin(t);
	all_posted(t, s, 16, LENGTH);
	end = now_ms() + 15;
	while (now_ms() < end && seen.bytes < 1000000)
		run(t, 1);
	need(t, seen.bytes, "nothing is sent");
	/* a first window of payload, and headers; what goes again after probe timeouts is no more */
	need(t, seen.fresh < 2 * 65536, "%u KiB are sent, and nothing was acknowledged",
	     (unsigned int)(seen.fresh / 1024));
}

/* A share is a rate: over its time no more than that, and the allowance */
static void share(struct t *t, long arg)
{
	struct peer *p = peer_fresh(t);
	struct stream *s;
	uint64_t took, most;

	t->share = arg;
	t->allowance = 3000;
	s = stream_new(t, out_new(t, p), &(struct attributes){DEFAULTS});
	in_of(t, p);
	begin(t);
	all_posted(t, s, arg >= 1000 ? 4 : 1, LENGTH);
	need(t, !completion(t, s).status, "a Write under a share of %ld KiB/s fails", arg);
	took = seen.last - seen.first;
	/* windows' start, allowances and timers: a quarter more, and 64 KiB */
	most = arg * 1280 * took / 1000000000 + 65536;
	need(t, seen.bytes <= most,
	     "%u KiB in %u ms: more than the share of %ld KiB/s and what is idle's",
	     (unsigned int)(seen.bytes / 1024), (unsigned int)(took / 1000000), arg);
}

/* Marks on all: it sends on, and slower than without */
static void marked(struct t *t, long arg)
{
	struct peer *p = peer_fresh(t);
	struct completion c = {0};
	struct stream *s;
	int i;

	(void)arg;
	t->mark = true;
	s = stream_new(t, out_new(t, p), &(struct attributes){DEFAULTS});
	/* down to the least rate, of one packet a second, it may go */
	all_posted(t, s, 1, 12000);
	for (i = 0; i < 20 && !poll_completion(t, s, &c); i++)
		run(t, 1000);
	need(t, i < 20, "nine packets have not come within 20 s");
	need(t, !c.status && qp_state(t, s) == 3, "the Write ends with status %u", c.status);
}

static void ect(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct packet *p;
	int i;

	(void)arg;
	all_posted(t, s, 1, 40000);
	for (i = 0; i < 20; i++) {
		p = data_for(t, s, MROCE_OP_WRITE, 2000);
		need(t, p, "%d packets of a large Write come", i);
		need(t, (p->d.tos & 3) == ECT0, "DATA has TOS %02x", p->d.tos);
	}
}

/* backlog falls to nothing with the last packet, and covers what is still to come before it */
static void backlog(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct packet *p;
	bool last = false;
	int n = 0;

	(void)arg;
	all_posted(t, s, 1, LENGTH);
	while (!last) {
		uint32_t left;

		p = data_for(t, s, MROCE_OP_WRITE, 3000);
		need(t, p, "%d packets come, none with LAST", n);
		last = p->data.flags & MROCE_F_LAST;
		left = LENGTH - p->data.offset - p->data.bytes;
		n++;
		/* by several paths they may overtake each other; beyond all that is left it cannot be */
		need(t, p->data.backlog <= LENGTH / 1024, "backlog of %u KiB, the message has %u",
		     p->data.backlog, LENGTH / 1024);
		if (last)
			need(t, p->data.backlog == 0,
			     "the last packet tells of a backlog of %u KiB", p->data.backlog);
		else if (left > 65536)
			need(t, p->data.backlog, "%u bytes are still to come, and backlog is 0",
			     left);
	}
}

/* ---- as a receiver */

static void share_told(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct packet *ack;
	uint32_t shares[2], number;
	uint8_t bytes[2000];
	struct message m;
	int i;

	(void)arg;
	for (i = 0; i < 2; i++) {
		m = write_at(s, 0, bytes, 1000);
		message_packet(t, &m, 0, bytes);
		((struct mroce_wire_data *)bytes)->backlog = htobe32(i ? 10000 : 0);
		number = send_numbered(t, s->out, 0, bytes, sizeof(struct mroce_wire_data) + 1000);
		ack = ack_for(t, s->out, 0, number);
		shares[i] = be32toh(ack_of(ack)->share);
		need(t, be16toh(ack_of(ack)->active) <= 1000, "%u senders are active",
		     be16toh(ack_of(ack)->active));
	}
	/* 0 where it does not know what its link carries; then always */
	need(t, !shares[0] == !shares[1], "of two ACKs one tells a share (%u and %u KiB/s)",
	     shares[0], shares[1]);
}

static const struct test_case cases[] = {
	{"first-flight", "G1 G8",
	 "before anything is acknowledged no more is sent than a first window", first_flight},
	{"share", "G8 A6", "a share, in KiB/s, is the rate of all data of the half", share, 500},
	{"share", "G8 A6", "a share, in KiB/s, is the rate of all data of the half", share, 2000},
	{"share", "G8 A6", "a share, in KiB/s, is the rate of all data of the half", share, 8000},
	{"marked", "G2 G6", "marks on every packet slow it down, and stop nothing", marked},
	{"ect", "D4", "DATA are ECT(0)", ect},
	{"backlog", "G9", "backlog is what is still to be sent, in KiB", backlog},
	{"share-told", "H1 A6", "a share is told in every ACK, or in none", share_told},
};
CHAPTER(congestion, "Congestion: windows, marks, shares");
