// SPDX-License-Identifier: GPL-2.0
/* Limits: how much of anything a host takes, and that beyond it nothing breaks. Clauses C9, R4, N5, D7. */
#include <string.h>

#include "script.h"

static uint8_t payload[8192];

/* Many halves of one host: all are known, or the next is refused or asked for a cookie */
static void halves(struct t *t, long arg)
{
	struct peer *p = peer_fresh(t);
	long i;

	for (i = 0; i < arg; i++) {
		struct out *o = out_new(t, p);

		taken(t, o, 0, probe_send(t, o, 0), "a PROBE of a further half");
	}
}

/* A shared receive queue: no credit, and a buffer for a message means buffers for all earlier ones */
static void srq_no_credit(struct t *t, long arg)
{
	struct stream *s =
		connected_with(t, &(struct attributes){DEFAULTS, .srq = true, .receives = arg});

	need(t, s->credit == 0xffffffff, "credit of a stream on a shared receive queue: %u",
	     s->credit);
}

static void srq_order(struct t *t, long arg)
{
	struct stream *s =
		connected_with(t, &(struct attributes){DEFAULTS, .srq = true, .receives = 32});
	struct message m[4];
	struct completion c;
	int i;

	(void)arg;
	for (i = 0; i < 4; i++) {
		pattern(payload + 100 * i, 100, i);
		m[i] = message(s, MROCE_OP_SEND, payload + 100 * i, 100);
	}
	for (i = 3; i >= 0; i--)
		message_send_all(t, &m[i], 0);
	for (i = 0; i < 4; i++) {
		c = completion(t, s);
		need(t, c.id == (unsigned int)i && !c.status, "receive %d is in buffer %u", i,
		     (unsigned int)c.id);
		memory_is(t, s, MEMORY / 2 + i * 4096, payload + 100 * i, 100, "a Send");
	}
}

static bool credits(const struct packet *p, const void *what)
{
	const struct mroce_wire_control *w = (const void *)p->bytes;

	return w->op == MROCE_C_CREDIT && be32toh(w->stream) == ((const struct stream *)what)->own;
}

static void srq_rnr(struct t *t, long arg)
{
	struct stream *s =
		connected_with(t, &(struct attributes){DEFAULTS, .srq = true, .receives = 0});
	struct message m = message(s, MROCE_OP_SEND, payload, 64);

	(void)arg;
	need(t, nack_for(t, s->out, 0, message_send_all(t, &m, 0))->reason == MROCE_N_RNR,
	     "no buffer, and it is not refused with RNR");
	ask(t, "receive -1 0 5 %u 0 4096", s->mr);
	need(t, wait_for(t, MROCE_T_CONTROL, credits, s, 2000),
	     "a buffer was posted, and no CREDIT tells");
	taken_at_last(t, &m, "what was refused, and comes again");
	need(t, !completion(t, s).status, "it is received");
}

/* So many bytes of held Writes: beyond its bound it refuses with HOLD, and always takes the lowest hole */
static void held(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message first = write_at(s, 0, payload, 64), m;
	uint32_t number = 0;
	long i;

	pattern(payload, sizeof(payload), 1);
	for (i = 0; i < arg; i++) {
		m = write_at(s, 1024 + i * 64, payload, 64);
		number = message_send_all(t, &m, 0);
	}
	ack_for(t, s->out, 0, number);
	taken(t, s->out, 0, message_send_all(t, &first, 0), "the packet at the lowest hole");
	memory_is(t, s, 0, payload, 64, "it");
	taken_at_last(t, &m, "the last of those behind it");
	memory_is(t, s, 1024 + (arg - 1) * 64, payload, 64, "the last of those behind it");
}

static void garbage(struct t *t, long arg)
{
	struct stream *s = stream_new(t, out_new(t, peer_main(t)), &(struct attributes){DEFAULTS});
	uint8_t bytes[1500];
	size_t n, k;
	long i;

	/* by the ids that are right, which is the worst that can come */
	for (i = 0; i < arg; i++) {
		n = random_of(t) % sizeof(bytes);
		for (k = 0; k < n; k++)
			bytes[k] = random_of(t);
		if (n > 16) {
			header((void *)bytes, random_of(t) % 14, random_of(t) % 4, 0,
			       100 + random_of(t) % 1000, s->out->id);
			if (random_of(t) % 2)
				((struct mroce_wire_data *)bytes)->stream = htobe32(s->id ^ 0x10);
		}
		send_raw(t, &s->peer->own, 0xc0de, ECT0, bytes, n);
		if (i % 50 == 0)
			run(t, 1);
	}
	run(t, 20);
	s->out->path[0].number = 5000;
	s->out->path[0].epoch = 1;
	still_works(t, s);
	need(t, qp_state(t, s) == 3, "the queue pair is in state %u", qp_state(t, s));
}

static const struct test_case cases[] = {
	{"halves", "C9 C2", "many halves of one host, each heard", halves, 100},
	{"srq-credit", "R4 S3", "a stream on a shared receive queue advertises no credit",
	 srq_no_credit, 0, 2, "srq"},
	{"srq-order", "R4 N3",
	 "buffers of a shared receive queue are bound in the order of messages", srq_order, 0, 0,
	 "srq"},
	{"srq-rnr", "R4 R5 R3",
	 "no buffer in it: RNR; one is posted: CREDIT, and the stream resumes", srq_rnr, 0, 0,
	 "srq"},
	{"held", "M8", "many held Writes: the lowest hole is always taken", held, 900},
	{"garbage", "D3", "two thousand packets of random bytes and right ids end nothing", garbage,
	 2000},
};
CHAPTER(limits, "Limits");
