// SPDX-License-Identifier: GPL-2.0
/* The target as a sender: what it sends again, when, by which path. Clauses A7 to A9, N1, T1 to T6, S2. */
#include <string.h>

#include "script.h"

enum { SPNS = 4096 };

static uint8_t expected[1 << 17];

/* A large Write of the target's, of which a filter loses some packets; in the end all have come */
static struct {
	bool have[SPNS];
	unsigned int transmissions[SPNS];
	uint8_t path[SPNS], epoch[SPNS];
	uint32_t number[SPNS], psize;
	unsigned int lost;
} seen;

static void fill(struct t *t, struct stream *s, unsigned int n)
{
	unsigned int at;

	pattern(expected, n, 77);
	for (at = 0; at < n; at += 32768) {
		static char hex[65537];
		unsigned int i;

		for (i = 0; i < 32768 && at + i < n; i++) {
			hex[2 * i] = "0123456789abcdef"[expected[at + i] >> 4];
			hex[2 * i + 1] = "0123456789abcdef"[expected[at + i] & 15];
		}
		hex[2 * i] = 0;
		ask(t, "poke %u %u %s", s->mr, at, hex);
	}
}

static bool note(const struct stream *s, struct packet *p)
{
	uint32_t i = p->data.spn - s->target_psn;

	if (base_of(p)->type != MROCE_T_DATA || p->data.stream != s->own || i >= SPNS ||
	    p->data.flags & MROCE_F_RESPONSE)
		return false;
	seen.transmissions[i]++;
	return true;
}

static struct stream *watched;

static bool lose_some(struct t *t, struct packet *p)
{
	uint32_t i = p->data.spn - watched->target_psn;

	if (!note(watched, p))
		return false;
	/* the first transmission of every so manieth */
	if (seen.transmissions[i] == 1 && i % t->data == t->data - 1) {
		seen.path[i] = base_of(p)->path;
		seen.epoch[i] = base_of(p)->epoch;
		seen.number[i] = be32toh(base_of(p)->number);
		seen.lost++;
		return true;
	}
	return false;
}

static void all_comes(struct t *t, struct stream *s, unsigned int length)
{
	static uint8_t got[1 << 17];
	uint32_t have = 0;
	struct packet *p;

	memset(got, 0, sizeof(got));
	while (have < length) {
		uint32_t i;

		p = data_for(t, s, MROCE_OP_WRITE, 10000);
		need(t, p, "%u of %u bytes have come, and nothing more does", have, length);
		i = p->data.spn - s->target_psn;
		need(t, i < SPNS && p->data.offset + p->data.bytes <= length,
		     "number %u, offset %u", i, p->data.offset);
		memcpy(got + p->data.offset, p->data.payload, p->data.bytes);
		if (!seen.have[i])
			have += p->data.bytes;
		seen.have[i] = true;
	}
	need(t, !memcmp(got, expected, length), "other bytes than are in its buffer");
	need(t, !completion(t, s).status, "it fails");
}

static struct stream *loses(struct t *t, unsigned int length, long every)
{
	struct stream *s = connected(t);

	memset(&seen, 0, sizeof(seen));
	fill(t, s, length);
	watched = s;
	t->data = every;
	t->filter = lose_some;
	post(t, s, 1, MROCE_OP_WRITE, 0, length, 0x1000, 1, 0, 0, 0);
	return s;
}

static void gaps(struct t *t, long arg)
{
	struct stream *s = loses(t, 100000, arg);

	all_comes(t, s, 100000);
	need(t, seen.lost, "nothing was lost");
}

static bool keep_first_two(struct t *t, struct packet *p)
{
	uint32_t i = p->data.spn - watched->target_psn;

	if (!note(watched, p))
		return false;
	if (!i && seen.transmissions[0] == 1) {
		seen.path[0] = base_of(p)->path;
		seen.number[0] = be32toh(base_of(p)->number);
		return true;
	}
	(void)t;
	if (!i && seen.transmissions[0] == 2) {
		seen.path[1] = base_of(p)->path;
		seen.number[1] = be32toh(base_of(p)->number);
	}
	return false;
}

/* The first of many is lost: it comes again under a fresh number, by the path that lost it */
static void by_the_path(struct t *t, long arg)
{
	struct stream *s = connected(t);

	(void)arg;
	memset(&seen, 0, sizeof(seen));
	fill(t, s, 100000);
	watched = s;
	t->filter = keep_first_two;
	post(t, s, 1, MROCE_OP_WRITE, 0, 100000, 0x1000, 1, 0, 0, 0);
	all_comes(t, s, 100000);
	need(t, seen.transmissions[0] >= 2, "what was lost was not sent again");
	need(t, seen.number[1] != seen.number[0] || seen.path[0] != seen.path[1],
	     "it has the number of the first transmission");
}

/* No number is used twice in an epoch of a path */
static bool fresh(struct t *t, struct packet *p)
{
	static struct {
		uint32_t highest;
		uint8_t epoch;
		bool any;
		uint64_t bits[64];
	} path[64];
	const struct mroce_wire_base *b = base_of(p);
	uint32_t n = be32toh(b->number);

	if (t->data == 0) {
		memset(path, 0, sizeof(path));
		t->data = 1;
	}
	if (!type_numbered(b->type) || b->path >= 64)
		return false;
	if (!path[b->path].any || path[b->path].epoch != b->epoch) {
		memset(&path[b->path], 0, sizeof(path[0]));
		path[b->path].any = true;
		path[b->path].epoch = b->epoch;
		path[b->path].highest = n - 1;
	}
	while (before(path[b->path].highest, n)) {
		path[b->path].highest++;
		path[b->path].bits[path[b->path].highest / 64 % 64] &=
			~(1ULL << path[b->path].highest % 64);
	}
	if (path[b->path].bits[n / 64 % 64] >> n % 64 & 1)
		t->data = 2;
	path[b->path].bits[n / 64 % 64] |= 1ULL << n % 64;
	return random_of(t) % 10 == 0;
}

static void fresh_numbers(struct t *t, long arg)
{
	struct stream *s = connected(t);
	long i;

	t->data = 0;
	t->filter = fresh;
	for (i = 0; i < arg; i++) {
		post(t, s, i, MROCE_OP_WRITE, 0, 20000, 0x1000, 1, 0, 0, 0);
		need(t, !completion(t, s).status, "a Write fails over loss of 1 in 10");
		need(t, t->data == 1, "a number was used twice");
	}
}

/* ---- the tail: nothing follows that would show the gap */

static bool lose_first(struct t *t, struct packet *p)
{
	if (base_of(p)->type == MROCE_T_DATA && p->data.stream == watched->own && t->data > 0) {
		t->data--;
		return true;
	}
	return false;
}

static void tail(struct t *t, long arg)
{
	static const uint8_t ops[] = {MROCE_OP_WRITE, MROCE_OP_SEND, MROCE_OP_READ,
				      MROCE_OP_FETCH_ADD};
	struct stream *s = connected(t);
	struct packet *p;
	uint64_t was = 0;

	watched = s;
	t->data = arg / 10 + 1;
	t->filter = lose_first;
	post(t, s, 1, ops[arg % 10], 0, 8, 0x1000, 1, 0, 0, 0);
	p = data_for(t, s, ops[arg % 10], 10000);
	need(t, p, "a packet behind which nothing follows was lost, and is not sent again");
	if (ops[arg % 10] == MROCE_OP_READ)
		respond(t, s, p, MROCE_OP_READ_RESP, &was, 8, 0, 0, 0);
	if (ops[arg % 10] == MROCE_OP_FETCH_ADD)
		respond(t, s, p, MROCE_OP_ATOMIC_RESP, &was, 8, 0, 0, 0);
	need(t, !completion(t, s).status, "it fails");
}

static void probes(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct packet *p;
	const struct mroce_wire_control *w;

	(void)arg;
	run(t, 5);
	t->auto_ack = false;
	forget(t);
	post(t, s, 1, MROCE_OP_WRITE, 0, 8, 0x1000, 1, 0, 0, 0);
	p = wait_for(t, MROCE_T_PROBE, NULL, NULL, 5000);
	need(t, p, "nothing is acknowledged, and no PROBE comes");
	w = (const void *)p->bytes;
	need(t, w->op == MROCE_C_PROBE && w->flags & MROCE_F_ACKREQ && !w->stream,
	     "op %u, flags %02x, stream %x", w->op, w->flags, be32toh(w->stream));
	need(t, p->length >= sizeof(*w) + be16toh(w->length), "its padding is cut off");
	need(t, (p->d.tos & 3) == ECT0 || (p->d.tos & 3) == NOT_ECT, "TOS %02x", p->d.tos);
	t->auto_ack = true;
	need(t, !completion(t, s).status, "the request fails");
}

/* ---- ACKs that are lost */

static void ack_lost(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct in *in = in_of(t, s->peer);
	struct mroce_wire_record r = {.kind = MROCE_R_RELEASE, .stream = htobe32(s->id)};
	struct packet *p;

	(void)arg;
	t->withhold = s;
	post(t, s, 1, MROCE_OP_WRITE, 0, 8, 0x1000, 1, 0, 0, 0);
	p = response_for(t, s, MROCE_OP_WRITE);
	/* all below is placed, says a RELEASE, though the bit of the packet is clear */
	r.spn = htobe32(p->data.spn + 1);
	in_note(in, p, udp_now(), false);
	ack_in(t, in, base_of(p)->path, &r, 1);
	need(t, !completion(t, s).status,
	     "RELEASE says that all is placed, and the request does not complete");
}

static void release_other(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct in *in = in_of(t, s->peer);
	struct mroce_wire_record r = {.kind = MROCE_R_RELEASE};
	struct packet *p;

	t->withhold = s;
	post(t, s, 1, MROCE_OP_WRITE, 0, 8, 0x1000, 1, 0, 0, 0);
	p = response_for(t, s, MROCE_OP_WRITE);
	r.stream = htobe32(arg == 1 ? s->id ^ 1 : s->id);
	r.flags = arg == 2 ? MROCE_R_RESPONSE : 0;
	r.spn = htobe32(p->data.spn + (arg == 0 ? 0 : 1));
	ack_in(t, in, base_of(p)->path, &r, 1);
	no_completion(t, s);
}

/* ---- OPEN */

static bool opens(const struct packet *p, const void *what)
{
	return be32toh(((const struct mroce_wire_open *)p->bytes)->peer_qpn) ==
	       ((const struct stream *)what)->qpn;
}

static void open_again(struct t *t, long arg)
{
	struct stream *s;
	struct packet *p;
	const struct mroce_wire_open *w;
	uint32_t attempt = 0, id = 0, i;

	(void)arg;
	t->auto_open = false;
	s = connected(t);
	for (i = 0; i < 5; i++) {
		p = wait_for(t, MROCE_T_OPEN, opens, s, 2000);
		need(t, p, "OPEN is not answered, and after %u it is not sent again", i);
		w = (const void *)p->bytes;
		need(t, be32toh(w->attempt) > attempt, "attempt is %u, after %u",
		     be32toh(w->attempt), attempt);
		need(t, i || be32toh(w->attempt) == 1, "the first attempt is %u",
		     be32toh(w->attempt));
		attempt = be32toh(w->attempt);
		need(t, !i || w->stream == htobe32(id), "the stream id is another one");
		id = be32toh(w->stream);
		need(t,
		     w->stream && be32toh(w->psn) == s->target_psn &&
			     be32toh(w->own_qpn) == s->target_qpn,
		     "psn %u, queue pair %u", be32toh(w->psn), be32toh(w->own_qpn));
		need(t, w->log_packets >= 6 && w->log_packets <= 17, "window 2^%u", w->log_packets);
		need(t, !w->to, "to is %u", be32toh(w->to));
		need(t, (p->d.tos & 3) == ECT0, "OPEN is not ECT(0): TOS %02x", p->d.tos);
	}
}

static void nothing_before_accept(struct t *t, long arg)
{
	struct stream *s;

	(void)arg;
	t->auto_open = false;
	s = connected(t);
	post(t, s, 1, MROCE_OP_WRITE, 0, 8, 0x1000, 1, 0, 0, 0);
	need(t, !data_for(t, s, MROCE_OP_WRITE, 100), "a request is sent before ACCEPT");
	t->auto_open = true;
	need(t, data_for(t, s, MROCE_OP_WRITE, 2000), "ACCEPT, and no request is sent");
}

static bool answer_so(struct t *t, struct packet *p)
{
	const struct mroce_wire_open *o = (const void *)p->bytes;
	struct mroce_wire_open w = {
		.own_qpn = o->peer_qpn,
		.peer_qpn = o->own_qpn,
		.to = o->stream,
		.attempt = o->attempt,
		.log_packets = 12,
		.log_messages = 10,
		.status = t->data,
	};

	if (base_of(p)->type != MROCE_T_OPEN || t->data < 0)
		return false;
	header(&w.base, MROCE_T_OPEN_REPLY, o->base.path, o->base.epoch, 0,
	       in_of(t, watched->peer)->ack_id);
	send_raw(t, &p->d.to, p->d.port, NOT_ECT, &w, sizeof(w));
	t->dropped++;
	if (t->dropped == 5)
		t->data = -1;
	return false;
}

static void open_refused(struct t *t, long arg)
{
	struct stream *s;
	struct completion c;

	t->auto_open = false;
	s = connected(t);
	watched = s;
	in_of(t, s->peer);
	post(t, s, 1, MROCE_OP_WRITE, 0, 8, 0x1000, 1, 0, 0, 0);
	t->data = arg;
	t->auto_open = arg == MROCE_OPEN_NOT_READY;
	t->filter = answer_so;
	if (arg == MROCE_OPEN_NOT_READY)
		s->qpn ^= 1; /* not answered with ACCEPT by the harness */
	if (arg == MROCE_OPEN_NOT_READY) {
		uint64_t end = now_ms() + 3000;

		while (t->dropped < 5 && now_ms() < end)
			run(t, 1);
		need(t, t->dropped >= 5, "NOT_READY, and OPEN is not sent again");
		s->qpn ^= 1;
		need(t, !completion(t, s).status, "accepted at last, the request fails");
		return;
	}
	c = completion(t, s);
	need(t, c.status, "OPEN was refused, and the request succeeds");
}

static const struct test_case cases[] = {
	{"gaps", "A7 N1 N2",
	 "of a large Write each so manieth packet is lost: all comes in the end", gaps, 2, 4},
	{"gaps", "A7 N1 N2",
	 "of a large Write each so manieth packet is lost: all comes in the end", gaps, 30},
	{"fresh-number", "A7 N1", "what is lost is sent again under a fresh number", by_the_path},
	{"numbers-once", "N1", "no number is used twice in an epoch", fresh_numbers, 10},
	{"tail-write", "T1", "a Write is lost, and nothing follows it: it is sent again", tail, 0},
	{"tail-send", "T1", "so is a Send", tail, 1},
	{"tail-read", "T1", "so is a READ", tail, 2},
	{"tail-atomic", "T1", "so is an atomic", tail, 3},
	{"tail-twice", "T1 T6", "a Write is lost twice", tail, 10},
	{"tail-thrice", "T1 T6", "a Write is lost three times", tail, 20},
	{"probes", "T1 A4", "a path that is silent is asked by PROBE", probes},
	{"release", "A2 A7", "RELEASE says that all below is placed", ack_lost},
	{"release-below", "A2", "RELEASE says nothing of what is above", release_other, 0},
	{"release-stream", "A2", "nor of another stream", release_other, 1},
	{"release-space", "A2", "nor of the other space", release_other, 2},
	{"open-again", "S2 D4", "OPEN is repeated, each a further attempt, all else the same",
	 open_again},
	{"open-first", "S2", "no request before ACCEPT", nothing_before_accept},
	{"open-not-ready", "S2 S3", "NOT_READY: OPEN is sent again", open_refused,
	 MROCE_OPEN_NOT_READY},
	{"open-refused", "S2", "REFUSED ends the stream", open_refused, MROCE_OPEN_REFUSED},
};
CHAPTER(loss, "Loss, time-outs, OPEN again");
