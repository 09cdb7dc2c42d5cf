// SPDX-License-Identifier: GPL-2.0
/* What happens at the cursor: in order, once. Clauses M7, M10, M11, M13, S4, S5. */
#include <string.h>

#include "script.h"

static uint8_t payload[8192], zero[4096];

static struct stream *with_hole(struct t *t, struct message *hole, unsigned int receives)
{
	struct stream *s = connected_with(t, &(struct attributes){DEFAULTS, .receives = receives,
								  .mr_access = ACCESS_RELAXED});

	pattern(payload, sizeof(payload), 1);
	*hole = write_at(s, 8192, payload, 64);
	return s;
}

/* A receive completes when the cursor reaches it, not before */
static void receive_waits(struct t *t, long arg)
{
	static const uint8_t ops[] = {MROCE_OP_SEND, MROCE_OP_SEND_IMM, MROCE_OP_WRITE_IMM};
	struct message hole, m;
	struct stream *s = with_hole(t, &hole, 2);

	m = message(s, ops[arg], payload, 64);
	taken(t, s->out, 0, message_send_all(t, &m, 0), "a message behind a hole");
	no_completion(t, s);
	taken(t, s->out, 0, message_send_all(t, &hole, 0), "what was missing");
	need(t, !completion(t, s).status, "it completes");
}

static void answer_waits(struct t *t, long arg)
{
	static const uint8_t ops[] = {MROCE_OP_READ, MROCE_OP_FETCH_ADD, MROCE_OP_CMP_SWAP,
				      MROCE_OP_ATOMIC_WRITE};
	struct message hole, m;
	struct stream *s = with_hole(t, &hole, 0);
	struct mroce_wire_atomic a = {0, htobe64(7)};
	uint8_t answer = arg == 1 || arg == 2 ? MROCE_OP_ATOMIC_RESP : MROCE_OP_READ_RESP;

	if (arg == 1)
		a.compare_add = htobe64(1);
	m = message(s, ops[arg], &a, 8);
	taken(t, s->out, 0, message_send_all(t, &m, 0), "a request behind a hole");
	run(t, 20);
	need(t, !data_for(t, s, answer, 0),
	     "it is answered before what was sent earlier has landed");
	memory_is(t, s, 0, zero, 8, "it acts when the cursor reaches it: the memory");
	message_send_all(t, &hole, 0);
	response_for(t, s, answer);
}

/* A READ sees every Write before it, and none behind it that came earlier */
static void read_sees(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message w1, r, w2;
	uint8_t one[64], two[64];
	struct packet *p;

	(void)arg;
	pattern(one, 64, 1);
	pattern(two, 64, 2);
	w1 = write_at(s, 0, one, 64);
	r = read_at(s, 0, 64);
	w2 = write_at(s, 0, two, 64);
	w2.flags = MROCE_F_ORDERED;
	message_send_all(t, &w2, 0);
	message_send_all(t, &r, 0);
	message_send_all(t, &w1, 0);
	p = response_for(t, s, MROCE_OP_READ_RESP);
	need(t, !memcmp(p->data.payload, one, 64) || !memcmp(p->data.payload, two, 64),
	     "READ brings bytes of neither Write");
	ack_for(t, s->out, 0, probe_send(t, s->out, 0));
	memory_is(t, s, 0, two, 64, "the later Write");
}

/* However often an atomic comes it is carried out once, and answered alike */
static void once(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct mroce_wire_atomic a = {htobe64(1), 0};
	struct message m = atomic_at(s, MROCE_OP_FETCH_ADD, 0, &a);
	uint64_t want = 1;
	long i;

	for (i = 0; i <= arg; i++)
		message_send(t, &m, 0, i % s->out->paths);
	for (i = 0; i < s->out->paths && i <= arg; i++)
		ack_for(t, s->out, i, probe_send(t, s->out, i));
	response_for(t, s, MROCE_OP_ATOMIC_RESP);
	memory_is(t, s, 0, &want, 8, "an atomic is carried out once: the memory");
	for (i = 0; i < 5; i++)
		message_send(t, &m, 0, 0);
	ack_for(t, s->out, 0, probe_send(t, s->out, 0));
	memory_is(t, s, 0, &want, 8, "nor later: the memory");
}

static void read_once(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message m;
	struct packet *p;
	uint32_t spn;

	(void)arg;
	m = read_at(s, 0, 64);
	message_send_all(t, &m, 0);
	p = response_for(t, s, MROCE_OP_READ_RESP);
	spn = p->data.spn;
	run(t, 20);
	forget(t);
	message_send_all(t, &m, 0);
	taken(t, s->out, 0, s->out->path[0].number - 1, "a READ that comes again");
	run(t, 20);
	p = data_for(t, s, MROCE_OP_READ_RESP, 0);
	need(t, !p || p->data.spn == spn,
	     "a READ that came again is answered by a second response");
}

static void atomics_in_order(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct mroce_wire_atomic a[8];
	struct message m[8];
	uint64_t was;
	struct packet *p;
	int i;

	for (i = 0; i < 8; i++) {
		a[i] = (struct mroce_wire_atomic){
			htobe64(i), htobe64(i + 1)}; /* a chain: each needs the one before */
		m[i] = atomic_at(s, MROCE_OP_CMP_SWAP, 0, &a[i]);
	}
	for (i = 0; i < 8; i++)
		message_send_all(t, &m[(i * 5 + arg) % 8], 0);
	for (i = 0; i < 8; i++) {
		p = response_for(t, s, MROCE_OP_ATOMIC_RESP);
		memcpy(&was, p->data.payload, 8);
		need(t, be64toh(was) == p->data.rsn,
		     "the atomic of message %u found %u: they are out of order", p->data.rsn,
		     (unsigned int)be64toh(was));
	}
}

static void response_numbers(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message m;
	struct packet *p;
	uint32_t i, spn = 0;

	(void)arg;
	for (i = 0; i < 6; i++) {
		m = read_at(s, 0, i * 600);
		message_send_all(t, &m, 0);
		do {
			p = response_for(t, s, MROCE_OP_READ_RESP);
		} while (p->data.rsn != m.msn);
		need(t, p->data.spn - p->data.offset / p->data.psize == spn,
		     "response %u begins at number %u, not %u", i,
		     p->data.spn - p->data.offset / p->data.psize, spn);
		need(t, p->data.msn == i, "response %u has message number %u", i, p->data.msn);
		need(t, p->data.stream == s->own, "it has stream id %x, not the one that OPEN gave",
		     p->data.stream);
		need(t, !p->data.floor, "a response's floor is %u", p->data.floor);
		spn += packets_of(MROCE_OP_READ_RESP, i * 600, p->data.psize);
	}
}

/* A response that is not acknowledged is sent again; floor frees it */
static void response_again(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message m;
	struct packet *p;
	uint32_t number;

	(void)arg;
	run(t, 5);
	t->auto_ack = false;
	m = read_at(s, 0, 64);
	message_send_all(t, &m, 0);
	p = response_for(t, s, MROCE_OP_READ_RESP);
	number = be32toh(base_of(p)->number);
	p = data_for(t, s, MROCE_OP_READ_RESP, 5000);
	need(t, p, "a response that nobody acknowledged is not sent again");
	need(t, be32toh(base_of(p)->number) != number || p->data.spn == 0,
	     "it has the number of the first");
	s->floor = 1; /* it is here */
	m = write_at(s, 0, payload, 8);
	taken(t, s->out, 0, message_send_all(t, &m, 0),
	      "a Write whose floor tells of the response");
	forget(t);
	run(t, 200);
	need(t, !data_for(t, s, MROCE_OP_READ_RESP, 0), "a response below floor is sent again");
}

/* A number of one message placed by another: nothing from it on is taken */
static void foreign_number(struct t *t, long arg)
{
	struct stream *s = connected_with(t, &(struct attributes){DEFAULTS, .receives = 2});
	struct message m, thief, later;

	(void)arg;
	pattern(payload, 2048, 1);
	m = message(s, MROCE_OP_SEND, payload, 2048); /* two numbers */
	thief = m;
	thief.op = MROCE_OP_WRITE;
	thief.length = 64;
	thief.packets = 1;
	thief.first = m.first + 1;
	thief.msn = m.msn + 1;
	thief.addr = s->addr;
	thief.rkey = s->rkey;
	message_send(t, &thief, 0, 0);
	message_send(t, &m, 0, 0);
	s->spn = m.first + 2;
	s->msn = m.msn + 2;
	later = write_at(s, 0, payload, 8);
	need(t, nack_for(t, s->out, 0, message_send(t, &later, 0, 0))->reason == MROCE_N_LENGTH,
	     "what comes behind is not refused with LENGTH");
}

/* Many messages of all kinds in an odd order, over all paths: everything in order in the end */
static void mixture(struct t *t, long arg)
{
	enum { N = 24 };
	struct stream *s = connected_with(t, &(struct attributes){DEFAULTS, .receives = 12});
	struct message m[N];
	struct mroce_wire_atomic a = {htobe64(1), 0};
	struct completion c;
	uint64_t want = 0;
	uint32_t i, sends = 0, order[N];

	for (i = 0; i < N; i++) {
		order[i] = i;
		switch ((i + arg) % 4) {
		case 0:
			m[i] = message(s, MROCE_OP_SEND_IMM, payload, 100 + i);
			m[i].imm = i;
			break;
		case 1:
			m[i] = write_at(s, 4096 + 64 * i, payload + i, 64);
			break;
		case 2:
			m[i] = atomic_at(s, MROCE_OP_FETCH_ADD, 0, &a);
			want++;
			break;
		case 3:
			m[i] = message(s, MROCE_OP_WRITE_IMM, payload, 0);
			m[i].imm = i;
			break;
		}
	}
	for (i = N - 1; i; i--) {
		uint32_t j = random_of(t) % (i + 1), k = order[i];

		order[i] = order[j];
		order[j] = k;
	}
	for (i = 0; i < N; i++)
		message_send_all(t, &m[order[i]], random_of(t) % s->out->paths);
	for (i = 0; i < N; i++) {
		if (!op_receives(m[i].op))
			continue;
		c = completion(t, s);
		need(t, !c.status && c.id == sends++ && c.imm == i,
		     "receive %u: id %u, immediate %u, status %u", sends - 1, (unsigned int)c.id,
		     c.imm, c.status);
	}
	for (i = 0; i < s->out->paths; i++)
		ack_for(t, s->out, i, probe_send(t, s->out, i));
	run(t, 10);
	memory_is(t, s, 0, &want, 8, "atomics, once each: the memory");
}

static const struct test_case cases[] = {
	{"receive-waits", "M7", "a receive completes when all before it has landed", receive_waits,
	 0, 3},
	{"answer-waits", "M7", "READ and atomics take place when all before them has landed",
	 answer_waits, 0, 4},
	{"read-sees", "M7 M8", "a READ sees the Writes before it", read_sees},
	{"once", "M6 M7", "an atomic that comes several times is carried out once", once, 1, 4},
	{"once-paths", "M6 M7", "so over all paths", once, 15},
	{"read-once", "M6", "a READ that comes again is not carried out again", read_once},
	{"atomics-order", "M7", "atomics take place in the order of their numbers",
	 atomics_in_order, 0, 8},
	{"response-numbers", "N2 N3 S4",
	 "responses count from 0, and name the message that they answer", response_numbers},
	{"response-again", "M11 A7",
	 "a response is sent again until it is acknowledged or floor passes it", response_again},
	{"foreign-number", "M13",
	 "a message one of whose numbers was placed by another: nothing from it on is taken "
	 "(LENGTH)",
	 foreign_number},
	{"mixture", "M4 M6 M7", "24 messages of all kinds, shuffled over all paths", mixture, 0, 4},
};
CHAPTER(order, "Completion order, once only");
