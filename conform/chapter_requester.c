// SPDX-License-Identifier: GPL-2.0
/* What the target does when it is refused, and with responses that come in odd ways. Clauses R, M10, N5, S2, S7, T2. */
#include <string.h>

#include "script.h"

static uint8_t payload[8192];

/* ---- we refuse */

/* From now on each request that comes is refused so, as a receiver does */
static void refuse(struct t *t, uint8_t reason, uint8_t timer)
{
	t->refuse = reason;
	t->refuse_timer = timer;
}

/* and from now on taken */
static void take(struct t *t)
{
	t->refuse = 0;
	t->withhold = NULL;
}

static struct stream *refusing(struct t *t, unsigned int rnr_retry, uint8_t reason, uint8_t timer)
{
	struct stream *s =
		connected_with(t, &(struct attributes){DEFAULTS, .rnr_retry = rnr_retry});

	in_of(t, s->peer);
	t->withhold = s;
	refuse(t, reason, timer);
	return s;
}

static void again_after(struct t *t, long arg)
{
	struct stream *s = refusing(t, 7, arg, arg == MROCE_N_RNR ? 8 : 5);
	struct packet *p;
	uint32_t spn, number;
	uint8_t path;

	post(t, s, 1, MROCE_OP_SEND, 0, 64, 0, 0, 0, 0, 0);
	p = response_for(t, s, MROCE_OP_SEND);
	spn = p->data.spn;
	number = be32toh(base_of(p)->number);
	path = base_of(p)->path;
	no_completion(t, s);
	p = data_for(t, s, MROCE_OP_SEND, 3000);
	need(t, p, "what was refused is not sent again");
	need(t, p->data.spn == spn, "it has another stream number");
	need(t, be32toh(base_of(p)->number) != number || base_of(p)->path != path,
	     "it has the number of the first transmission");
	take(t);
	need(t, !completion(t, s).status, "once taken, it fails");
}

/* Not before its time, counted from when the first was refused */
static void not_before(struct t *t, long arg)
{
	/* RNR's code 22 is 20.48 ms */
	struct stream *s = refusing(t, 7, arg, arg == MROCE_N_RNR ? 22 : 20);
	struct packet *p;
	uint64_t at;

	post(t, s, 1, MROCE_OP_SEND, 0, 64, 0, 0, 0, 0, 0);
	p = response_for(t, s, MROCE_OP_SEND);
	at = p->at;
	/* ACKs that say once more that it is not there: it is known, and no loss */
	ack_in(t, in_of(t, s->peer), base_of(p)->path, NULL, 0);
	run(t, 2);
	ack_in(t, in_of(t, s->peer), base_of(p)->path, NULL, 0);
	/* what was on its way when the refusal was is not meant */
	do {
		p = data_for(t, s, MROCE_OP_SEND, 3000);
		need(t, p, "what was refused is not sent again");
	} while (p->at - at < 8000000 && t->refusals < 3);
	need(t, p->at - at >= 19000000, "it is sent again after %u us; it was to wait 20,000",
	     (unsigned int)((p->at - at) / 1000));
	take(t);
	need(t, !completion(t, s).status, "once taken, it fails");
}

static void at_credit(struct t *t, long arg)
{
	struct stream *s = refusing(t, 7, MROCE_N_RNR, 30); /* code 30: 327.68 ms */
	struct in *in = in_of(t, s->peer);
	struct packet *p;
	struct mroce_wire_record r = {.kind = MROCE_R_CREDIT, .stream = htobe32(s->id)};
	uint64_t at;

	post(t, s, 1, MROCE_OP_SEND, 0, 64, 0, 0, 0, 0, 0);
	p = response_for(t, s, MROCE_OP_SEND);
	run(t, 20);
	forget(t);
	at = udp_now();
	r.value = htobe32(0x10000 + 10);
	take(t);
	if (arg)
		control_send(t, s->out, 0, MROCE_C_CREDIT, s->id, 0x10000 + 10);
	else
		ack_in(t, in, 0, &r, 1);
	p = data_for(t, s, MROCE_OP_SEND, 3000);
	need(t, p, "what was refused is not sent again");
	need(t, p->at - at < 250000000,
	     "credit came, and it is sent after %u ms, when the timer was over",
	     (unsigned int)((p->at - at) / 1000000));
	need(t, !completion(t, s).status, "once taken, it fails");
}

static void fatal(struct t *t, long arg)
{
	static const unsigned int status[] = {
		[MROCE_N_ACCESS] = 10,
		[MROCE_N_LENGTH] = 9,
		[MROCE_N_GONE] = 12,
		[MROCE_N_OPERATION] = 11,
	};
	struct stream *s = refusing(t, 7, arg, 0);
	struct completion c;
	int i;

	/* three: the first is taken after the second was refused */
	t->refuse_msn = 1;
	for (i = 0; i < 3; i++)
		post(t, s, 10 + i, MROCE_OP_WRITE, 0, 64, 0x1000 * (i + 1), 1, 0, 0, 0);
	for (i = 0; i < 1000 && !t->refusals; i++)
		run(t, 1);
	need(t, t->refusals, "the second Write does not come");
	no_completion(t, s);
	t->withhold = NULL;
	c = completion(t, s);
	need(t, c.id == 10 && !c.status, "the message before the refused one: id %u, status %u",
	     (unsigned int)c.id, c.status);
	c = completion(t, s);
	need(t, c.id == 11 && c.status == status[arg], "the refused one: id %u, status %u",
	     (unsigned int)c.id, c.status);
	c = completion(t, s);
	need(t, c.id == 12 && c.status == 5, "the one behind it: id %u, status %u",
	     (unsigned int)c.id, c.status);
	need(t, qp_state(t, s) == 6, "the queue pair is in state %u", qp_state(t, s));
}

static void rnr_retries(struct t *t, long arg)
{
	struct stream *s = refusing(t, arg, MROCE_N_RNR, 14);
	struct completion c;

	post(t, s, 1, MROCE_OP_SEND, 0, 64, 0, 0, 0, 0, 0);
	c = completion(t, s);
	need(t, c.status == 13, "it ends with status %u, not IBV_WC_RNR_RETRY_EXC_ERR", c.status);
	need(t, t->refusals >= arg + 1, "it ends after %u refusals, rnr_retry is %ld", t->refusals,
	     arg);
}

static void rnr_for_ever(struct t *t, long arg)
{
	struct stream *s = refusing(t, 7, MROCE_N_RNR, 14);
	struct completion c;
	int i;

	(void)arg;
	post(t, s, 1, MROCE_OP_SEND, 0, 64, 0, 0, 0, 0, 0);
	for (i = 0; i < 5000 && t->refusals < 20; i++)
		run(t, 1);
	need(t, t->refusals >= 20, "rnr_retry is 7, and after %u refusals it is not sent again",
	     t->refusals);
	need(t, !poll_completion(t, s, &c), "it ends with status %u", c.status);
	take(t);
	need(t, !completion(t, s).status, "it fails");
}

/* What was refused, once taken, restores the count */
static void rnr_restored(struct t *t, long arg)
{
	struct stream *s = refusing(t, 1, MROCE_N_RNR, 20); /* code 20: 10.24 ms */
	struct packet *p;
	int i, k;

	(void)arg;
	for (i = 0; i < 3; i++) {
		t->withhold = s;
		refuse(t, MROCE_N_RNR, 20);
		t->refusals = 0;
		post(t, s, i, MROCE_OP_SEND, 0, 64, 0, 0, 0, 0, 0);
		for (k = 0; k < 2000 && !t->refusals; k++)
			run(t, 1);
		need(t, t->refusals, "no Send");
		take(t);
		p = data_for(t, s, MROCE_OP_SEND, 3000);
		need(t, p, "rnr_retry is 1, and after one refusal it is not sent again");
		need(t, !completion(t, s).status, "Send %d fails", i);
	}
}

/* A NACK of the same transmission, heard again, is no further episode */
static void rnr_twice_told(struct t *t, long arg)
{
	struct stream *s = refusing(t, 1, MROCE_N_RNR, 26); /* code 26: 81.92 ms */
	struct in *in = in_of(t, s->peer);
	struct mroce_wire_record r = {
		.kind = MROCE_R_NACK,
		.reason = MROCE_N_RNR,
		.timer = 26,
		.stream = htobe32(s->id),
		.value = 0,
	};
	struct packet *p;
	int i;

	(void)arg;
	post(t, s, 1, MROCE_OP_SEND, 0, 64, 0, 0, 0, 0, 0);
	p = response_for(t, s, MROCE_OP_SEND);
	take(t);
	r.spn = htobe32(p->data.spn);
	r.number = base_of(p)->number;
	for (i = 0; i < 5; i++) {
		ack_in(t, in, base_of(p)->path, &r, 1);
		run(t, 1);
	}
	need(t, !completion(t, s).status, "a refusal that was told again used up rnr_retry 1");
}

/* Without credit, one packet when nothing else is in flight */
static void one_without_credit(struct t *t, long arg)
{
	struct stream *s;
	struct packet *p;
	int i, n = 0;

	/* the harness grants what it says in OPEN_REPLY */
	t->auto_open = false;
	s = connected(t);
	s->grant = arg;
	t->auto_open = true;
	t->withhold = s;
	for (i = 0; i < 6; i++)
		post(t, s, i, MROCE_OP_SEND, 0, 64, 0, 0, 0, 0, 0);
	need(t, data_for(t, s, MROCE_OP_SEND, 2000), "nothing comes");
	run(t, 1);
	do {
		n++;
		p = data_for(t, s, MROCE_OP_SEND, 0);
	} while (p && p->data.rsn > (uint32_t)n - 1);
	need(t, n <= (arg ? arg : 1), "%d Sends come, the credit is %ld", n, arg);
}

static void windows(struct t *t, long arg)
{
	struct stream *s;
	struct packet *p;
	uint32_t most = 0;
	int i;

	t->auto_open = false;
	s = connected_with(t, &(struct attributes){DEFAULTS, .depth = 256});
	s->log_packets = 6;
	s->log_messages = arg;
	t->auto_open = true;
	in_of(t, s->peer);
	t->withhold = s;
	for (i = 0; i < 200; i++)
		post(t, s, i, MROCE_OP_WRITE, 0, 64, 0x10000, 1, 0, 0, 0);
	need(t, data_for(t, s, MROCE_OP_WRITE, 2000), "nothing comes");
	run(t, 50);
	while ((p = data_for(t, s, MROCE_OP_WRITE, 0))) {
		if (p->data.spn - s->target_psn > most)
			most = p->data.spn - s->target_psn;
		need(t, p->data.msn < 1U << arg, "message %u is sent, the window is of %u",
		     p->data.msn, 1U << arg);
	}
	need(t, most < 64, "number %u beyond the lowest is sent, the window is of 64", most);
}

/* Of a Send of several packets, too, one and no more */
static void one_of_a_large(struct t *t, long arg)
{
	struct stream *s;
	struct packet *p;

	(void)arg;
	t->auto_open = false;
	s = connected(t);
	s->grant = 0;
	t->auto_open = true;
	in_of(t, s->peer);
	t->withhold = s;
	post(t, s, 1, MROCE_OP_SEND, 0, 4000, 0, 0, 0, 0, 0);
	need(t, data_for(t, s, MROCE_OP_SEND, 2000), "nothing comes");
	run(t, 5);
	while ((p = data_for(t, s, MROCE_OP_SEND, 0)))
		need(t, !p->data.offset,
		     "without credit a second packet of a Send comes, of offset %u",
		     p->data.offset);
}

/* ---- responses of ours */

static void read_shuffled(struct t *t, long arg)
{
	struct stream *s = connected(t);
	uint32_t i, n, sequence[4] = {0, 1, 2, 3};
	struct packet *p;
	struct message m;

	pattern(payload, sizeof(payload), arg);
	post(t, s, 5, MROCE_OP_READ, 0, 4000, 0x5000, 1, 0, 0, 0);
	p = response_for(t, s, MROCE_OP_READ);
	m = (struct message){.s = s,
			     .op = MROCE_OP_READ_RESP,
			     .data = payload,
			     .length = 4000,
			     .psize = 1024,
			     .packets = 4,
			     .rsn = p->data.msn};
	for (i = 0; i < 4; i++) {
		n = sequence[(i * 3 + arg) % 4];
		no_completion(t, s);
		taken(t, s->out, 0, message_send(t, &m, n, 0), "a packet of READ_RESP");
		message_send(t, &m, n, 1);
	}
	need(t, !completion(t, s).status, "the Read fails");
	memory_is(t, s, 0, payload, 4000, "what was read");
	no_completion(t, s);
}

static void late_response(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct packet *p;
	static uint8_t other[1000];

	(void)arg;
	pattern(payload, 1000, 1);
	pattern(other, 1000, 2);
	post(t, s, 5, MROCE_OP_READ, 0, 1000, 0x5000, 1, 0, 0, 0);
	p = response_for(t, s, MROCE_OP_READ);
	respond(t, s, p, MROCE_OP_READ_RESP, payload, 1000, 0, 0, 0);
	need(t, !completion(t, s).status, "the Read fails");
	respond(t, s, p, MROCE_OP_READ_RESP, other, 1000, 0, 0, 0);
	taken(t, s->out, 0, s->out->path[0].number - 1, "a duplicate of a response");
	memory_is(t, s, 0, payload, 1000, "a late response must change nothing: the buffer");
	no_completion(t, s);
}

static void error_response(struct t *t, long arg)
{
	static const unsigned int status[] = {
		[MROCE_N_ACCESS] = 10,
		[MROCE_N_LENGTH] = 9,
		[MROCE_N_OPERATION] = 11,
	};
	struct stream *s = connected(t);
	struct completion c;
	struct packet *p;

	post(t, s, 5, MROCE_OP_READ, 0, 1000, 0x5000, 1, 0, 0, 0);
	post(t, s, 6, MROCE_OP_WRITE, 0, 8, 0x5000, 1, 0, 0, 0);
	p = response_for(t, s, MROCE_OP_READ);
	respond(t, s, p, MROCE_OP_ERROR_RESP, NULL, 0, arg, 0, 0);
	c = completion(t, s);
	need(t, c.id == 5 && c.status == status[arg], "id %u, status %u", (unsigned int)c.id,
	     c.status);
	c = completion(t, s);
	need(t, c.id == 6 && c.status == 5, "the request behind it: id %u, status %u",
	     (unsigned int)c.id, c.status);
}

/* In the place of a packet of a READ_RESP whose source has gone */
static void error_instead(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message m, e;
	struct completion c;
	struct packet *p;
	int i;

	pattern(payload, 4000, 1);
	post(t, s, 5, MROCE_OP_READ, 0, 4000, 0x5000, 1, 0, 0, 0);
	p = response_for(t, s, MROCE_OP_READ);
	m = (struct message){.s = s,
			     .op = MROCE_OP_READ_RESP,
			     .data = payload,
			     .length = 4000,
			     .psize = 1024,
			     .packets = 4,
			     .rsn = p->data.msn};
	for (i = 0; i < 4; i++)
		if (i != arg)
			message_send(t, &m, i, 0);
	no_completion(t, s);
	e = (struct message){.s = s,
			     .op = MROCE_OP_ERROR_RESP,
			     .psize = 1024,
			     .packets = 1,
			     .first = arg,
			     .rsn = p->data.msn,
			     .imm = MROCE_N_ACCESS};
	message_send(t, &e, 0, 0);
	c = completion(t, s);
	need(t, c.id == 5 && c.status == 10, "id %u, status %u", (unsigned int)c.id, c.status);
}

/* A READ and what comes after it complete in order, though the latter was placed long ago */
static void read_first(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct completion c;
	struct packet *p;

	(void)arg;
	pattern(payload, 64, 1);
	post(t, s, 5, MROCE_OP_READ, 0, 64, 0x5000, 1, 0, 0, 0);
	post(t, s, 6, MROCE_OP_WRITE, 64, 64, 0x6000, 1, 0, 0, 0);
	p = response_for(t, s, MROCE_OP_READ);
	no_completion(t, s);
	respond(t, s, p, MROCE_OP_READ_RESP, payload, 64, 0, 0, 0);
	c = completion(t, s);
	need(t, c.id == 5 && !c.status, "first comes id %u, status %u", (unsigned int)c.id,
	     c.status);
	c = completion(t, s);
	need(t, c.id == 6 && !c.status, "then id %u, status %u", (unsigned int)c.id, c.status);
}

/* The second READ is answered first: it completes when the first has */
static void response_order(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct packet one = {0}, *p;
	struct completion c;

	(void)arg;
	pattern(payload, 128, 1);
	post(t, s, 5, MROCE_OP_READ, 0, 64, 0x5000, 1, 0, 0, 0);
	post(t, s, 6, MROCE_OP_READ, 64, 64, 0x6000, 1, 0, 0, 0);
	p = response_for(t, s, MROCE_OP_READ);
	one.data = p->data;
	p = response_for(t, s, MROCE_OP_READ);
	respond(t, s, p, MROCE_OP_READ_RESP, payload + 64, 64, 0, 1, 1);
	no_completion(t, s);
	respond(t, s, &one, MROCE_OP_READ_RESP, payload, 64, 0, 0, 0);
	c = completion(t, s);
	need(t, c.id == 5 && !c.status, "first comes id %u, status %u", (unsigned int)c.id,
	     c.status);
	c = completion(t, s);
	need(t, c.id == 6 && !c.status, "then id %u, status %u", (unsigned int)c.id, c.status);
	memory_is(t, s, 0, payload, 128, "both");
}

static void floor_moves(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct packet *p;
	uint32_t i;

	(void)arg;
	pattern(payload, 64, 1);
	for (i = 0; i < 5; i++) {
		post(t, s, i, MROCE_OP_READ, 0, 64, 0x5000, 1, 0, 0, 0);
		do {
			p = response_for(t, s, MROCE_OP_READ);
		} while (before(p->data.msn, i));
		need(t, p->data.floor == i, "floor is %u, %u responses have landed", p->data.floor,
		     i);
		respond(t, s, p, MROCE_OP_READ_RESP, payload, 64, 0, i, i);
		need(t, !completion(t, s).status, "Read %u fails", i);
	}
}

/* Not more READs at once than the peer said */
static void reads_limited(struct t *t, long arg)
{
	struct stream *s;
	struct packet *p;
	int i, n = 0;

	t->auto_open = false;
	s = connected(t);
	s->reads = arg;
	t->auto_open = true;
	for (i = 0; i < 8; i++)
		post(t, s, i, MROCE_OP_READ, 0, 64, 0x5000, 1, 0, 0, 0);
	need(t, data_for(t, s, MROCE_OP_READ, 2000), "no READ");
	n = 1;
	run(t, 30);
	while ((p = data_for(t, s, MROCE_OP_READ, 0)))
		if (p->data.msn >= (uint32_t)n)
			n = p->data.msn + 1;
	need(t, n <= arg, "%d READs are outstanding, OPEN_REPLY allowed %ld", n, arg);
}

/* ---- CLOSE */

static void peer_closes(struct t *t, long arg)
{
	struct stream *s = refusing(t, 7, 0, 0);
	struct completion c;
	struct packet *p;
	int i;

	/* of three Writes the first arg have landed, but their ACK was lost */
	for (i = 0; i < 3; i++)
		post(t, s, i, MROCE_OP_WRITE, 0, 8, 0x1000 * (i + 1), 1, 0, 0, 0);
	p = response_for(t, s, MROCE_OP_WRITE);
	control_send(t, s->out, 0, MROCE_C_CLOSE, s->id, s->target_psn + arg);
	(void)p;
	for (i = 0; i < 3; i++) {
		c = completion(t, s);
		if (i < arg)
			need(t, c.id == (unsigned int)i && !c.status,
			     "request %d, below CLOSE's value: id %u, status %u", i,
			     (unsigned int)c.id, c.status);
		else
			need(t, c.id == (unsigned int)i && c.status == (i == arg ? 12 : 5),
			     "request %d: id %u, status %u", i, (unsigned int)c.id, c.status);
	}
}

static void deadline(struct t *t, long arg)
{
	struct stream *s =
		connected_with(t, &(struct attributes){DEFAULTS, .timeout = 10, .retry = arg});
	struct completion c = {0};
	uint64_t at, end;

	run(t, 5);
	t->auto_ack = t->auto_hello = false;
	at = now_ms();
	post(t, s, 1, MROCE_OP_WRITE, 0, 8, 0x1000, 1, 0, 0, 0);
	end = now_ms() + 20000;
	while (!poll_completion(t, s, &c) && now_ms() < end)
		run(t, 20);
	need(t, c.status == 12, "nobody answers, and 20 s later the request has status %u",
	     c.status);
	need(t, now_ms() - at >= 450, "it fails after %u ms; the least is 500",
	     (unsigned int)(now_ms() - at));
}

#define AGAIN(name, reason)                                                                  \
	{                                                                                    \
		"again-" name, "R1 N1 N2",                                                   \
			"what was refused with " name " is sent again, with a fresh number", \
			again_after, reason                                                  \
	}
#define FATAL(name, reason)                                                                      \
	{                                                                                        \
		"fatal-" name, "R2",                                                             \
			name " lets messages before it complete, and ends it and all behind it", \
			fatal, reason                                                            \
	}

static const struct test_case cases[] = {
	AGAIN("rnr", MROCE_N_RNR),
	AGAIN("hold", MROCE_N_HOLD),
	AGAIN("window", MROCE_N_WINDOW),
	AGAIN("reads", MROCE_N_READS),
	AGAIN("not-ready", MROCE_N_NOT_READY),
	AGAIN("memory", MROCE_N_MEMORY),
	AGAIN("fault", MROCE_N_FAULT),
	{"not-before-rnr", "R1 R3 A9", "not before the RNR timer is over", not_before, MROCE_N_RNR},
	{"not-before-not-ready", "R1", "not before the wait of NOT_READY is over", not_before,
	 MROCE_N_NOT_READY},
	{"not-before-memory", "R1 A9", "not before the wait of MEMORY is over", not_before,
	 MROCE_N_MEMORY},
	{"not-before-fault", "R1", "not before the wait of FAULT is over", not_before,
	 MROCE_N_FAULT},
	{"credit-ack", "R3", "CREDIT in an ACK ends a wait for buffers", at_credit, 0},
	{"credit-control", "R3", "so does CONTROL CREDIT", at_credit, 1},
	FATAL("access", MROCE_N_ACCESS),
	FATAL("length", MROCE_N_LENGTH),
	FATAL("gone", MROCE_N_GONE),
	FATAL("operation", MROCE_N_OPERATION),
	{"rnr-retry", "R3", "after so many episodes of RNR the request fails", rnr_retries, 0, 4},
	{"rnr-for-ever", "R3", "rnr_retry 7 is for ever", rnr_for_ever},
	{"rnr-restored", "R3", "what was refused, once taken, restores the count", rnr_restored},
	{"rnr-told-twice", "R3 A8", "a refusal that is told again is no further episode",
	 rnr_twice_told},
	{"no-credit", "R3", "without credit one packet is sent when nothing else is in flight",
	 one_without_credit, 0},
	{"few-credits", "R3", "no more is sent than there is credit for", one_without_credit, 3},
	{"no-credit-large", "R3",
	 "of a Send of several packets the first goes without credit and no other", one_of_a_large},
	{"windows", "N5", "the sender exceeds neither window", windows, 2, 3},
	{"windows", "N5", "the sender exceeds neither window", windows, 10},
	{"response-order", "M4 M10", "READ_RESP in any order, twice each", read_shuffled, 0, 4},
	{"late-response", "M6", "a response that comes again changes nothing", late_response},
	{"error-access", "M10 M12", "ERROR_RESP completes the request with its error",
	 error_response, MROCE_N_ACCESS},
	{"error-length", "M10 M12", "ERROR_RESP completes the request with its error",
	 error_response, MROCE_N_LENGTH},
	{"error-operation", "M10 M12", "ERROR_RESP completes the request with its error",
	 error_response, MROCE_N_OPERATION},
	{"error-instead", "M10 M13", "ERROR_RESP in the place of any packet of a READ_RESP",
	 error_instead, 0, 4},
	{"read-first", "M10", "what follows a READ completes after it", read_first},
	{"reads-order", "M10 M7", "of two READs the first completes first", response_order},
	{"floor", "M11", "floor is the lowest response number that has not landed", floor_moves},
	{"reads-limit", "S3 M14", "no more READs are outstanding than OPEN_REPLY allowed",
	 reads_limited, 1, 2},
	{"peer-closes", "S7", "CLOSE: requests below its value are complete, the others fail",
	 peer_closes, 0, 3},
	{"deadline", "T2", "nothing is answered: IBV_WC_RETRY_EXC_ERR, after 500 ms at least",
	 deadline, 0, 2},
};
CHAPTER(requester, "The requester: refusals, responses, credits, deadlines");
