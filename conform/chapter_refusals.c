// SPDX-License-Identifier: GPL-2.0
/* What the target refuses, for which reason, and until when. Clauses R, M7, M12, M14, N5, S5. */
#include <string.h>

#include "script.h"

static uint8_t payload[8192], zero[8192];

static const struct mroce_wire_record *refused(struct t *t, struct stream *s,
					       const struct message *m, uint8_t reason)
{
	const struct mroce_wire_record *r = nack_for(t, s->out, 0, message_send_all(t, m, 0));

	need(t, r->reason == reason, "refused for reason %u, not %u", r->reason, reason);
	need(t, be32toh(r->stream) == s->own,
	     "the record names stream %x; the id that its sender chose is %x", be32toh(r->stream),
	     s->own);
	need(t, be32toh(r->spn) == m->first + m->packets - 1, "the record names number %u, not %u",
	     be32toh(r->spn), m->first);
	need(t, be32toh(r->value) == m->msn, "the record names message %u, not %u",
	     be32toh(r->value), m->msn);
	need(t, !(r->flags & MROCE_R_RESPONSE), "the record is about the other space");
	return r;
}

/* ---- fatal ones */

enum range {
	KEY,
	KEY_LOW_BYTE,
	BELOW,
	ABOVE,
	ACROSS,
	HUGE_,
	WRAPS,
	NO_RIGHT,
	NO_QP_RIGHT,
	DEREGISTERED
};

static void access(struct t *t, long arg)
{
	static const uint8_t ops[] = {MROCE_OP_WRITE, MROCE_OP_READ, MROCE_OP_FETCH_ADD,
				      MROCE_OP_CMP_SWAP};
	long how = arg % 100;
	uint8_t op = ops[arg / 100];
	struct attributes a = {
		DEFAULTS,
		.mr_access = how == NO_RIGHT ? 1 : ACCESS_ALL,
		.access = how == NO_QP_RIGHT ? 1 : ACCESS_ALL,
	};
	struct stream *s = connected_with(t, &a);
	struct mroce_wire_atomic atomic = {htobe64(1), 0};
	struct message m;
	uint8_t reason;
	int i;

	pattern(payload, 64, 1);
	m = message(s, op, op == MROCE_OP_WRITE ? payload : (void *)&atomic, 64);
	switch (how) {
	case KEY:
		m.rkey ^= 0x40000000;
		break;
	case KEY_LOW_BYTE:
		m.rkey ^= 1;
		break;
	case BELOW:
		m.addr -= 8;
		break;
	case ABOVE:
		m.addr += MEMORY;
		break;
	case ACROSS:
		m.addr += MEMORY - (op_own_payload(op) ? 0 : 32);
		break;
	case HUGE_:
		m.addr = 0x7fffffff0000;
		break;
	case WRAPS:
		m.addr = ~7ULL;
		break;
	case DEREGISTERED:
		ask(t, "dereg %u", s->mr);
		break;
	}
	reason = how == NO_QP_RIGHT ? MROCE_N_LENGTH : MROCE_N_ACCESS;
	refused(t, s, &m, reason);
	if (how != DEREGISTERED)
		memory_is(t, s, 0, zero, 64, "what was refused touches nothing: the memory");
	/* its turn has come, for nothing is before it */
	for (i = 0; i < 100 && qp_state(t, s) != 6; i++)
		run(t, 10);
	need(t, qp_state(t, s) == 6, "the queue pair is in state %u, not in the error state",
	     qp_state(t, s));
	/* and repeats the refusal */
	refused(t, s, &m, reason);
}

static void misaligned(struct t *t, long arg)
{
	static const uint8_t ops[] = {MROCE_OP_CMP_SWAP, MROCE_OP_FETCH_ADD, MROCE_OP_ATOMIC_WRITE};
	struct stream *s = connected(t);
	uint64_t operands[2] = {~0ULL, ~0ULL};
	struct message m = message(s, ops[arg], operands, 8);
	const struct mroce_wire_record *r;

	m.addr += 4;
	r = nack_for(t, s->out, 0, message_send_all(t, &m, 0));
	need(t, r->reason == MROCE_N_LENGTH,
	     "an address that is not aligned is refused for reason %u", r->reason);
	memory_is(t, s, 0, zero, 16, "the memory");
}

static void too_long(struct t *t, long arg)
{
	struct stream *s = connected_with(t, &(struct attributes){DEFAULTS});
	struct message m;

	post_receive(t, s, 0, 0, 100);
	pattern(payload, 200, 1);
	m = message(s, MROCE_OP_SEND, payload, arg);
	if (arg <= 100) {
		taken(t, s->out, 0, message_send_all(t, &m, 0), "a Send that fits exactly");
		need(t, completion(t, s).length == (unsigned int)arg, "it is received");
		return;
	}
	refused(t, s, &m, MROCE_N_LENGTH);
	memory_is(t, s, 0, zero, 300, "the buffer");
}

/* Messages before the refused one complete, nothing from it on */
static void fatal_order(struct t *t, long arg)
{
	struct stream *s = connected_with(t, &(struct attributes){DEFAULTS, .receives = 4});
	struct message before, bad, after;
	struct completion c;
	int i;

	(void)arg;
	pattern(payload, 64, 1);
	before = message(s, MROCE_OP_SEND, payload, 64);
	bad = write_at(s, 0, payload, 64);
	bad.rkey ^= 0x40000000;
	after = message(s, MROCE_OP_SEND, payload, 64);
	refused(t, s, &bad, MROCE_N_ACCESS);
	need(t, qp_state(t, s) == 3,
	     "the queue pair left RTS though a message before the refused one is not there yet");
	need(t, nack_for(t, s->out, 0, message_send_all(t, &after, 0))->reason == MROCE_N_ACCESS,
	     "what comes behind the refused message is not refused for the same reason");
	taken(t, s->out, 0, message_send_all(t, &before, 0), "the message before it");
	c = completion(t, s);
	need(t, !c.status && c.id == 0, "the message before it ends with status %u", c.status);
	c = completion(t, s);
	need(t, c.status == 5, "the next receive ends with status %u, not flushed", c.status);
	for (i = 0; i < 100 && qp_state(t, s) != 6; i++)
		run(t, 10);
	need(t, qp_state(t, s) == 6, "the queue pair is not in the error state");
}

/* A READ that fails at the cursor, because a Write with invalidate or the application took its key meanwhile */
static void at_cursor(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message hole, m;
	struct packet *p;
	struct mroce_wire_atomic a = {htobe64(1), 0};

	pattern(payload, 64, 1);
	hole = message(s, MROCE_OP_WRITE, payload, 0);
	hole.addr = 0;
	m = arg ? atomic_at(s, MROCE_OP_FETCH_ADD, 0, &a) : read_at(s, 0, 64);
	taken(t, s->out, 0, message_send_all(t, &m, 0), "a request that waits for its turn");
	ask(t, "dereg %u", s->mr);
	message_send_all(t, &hole, 0);
	p = response_for(t, s, MROCE_OP_ERROR_RESP);
	need(t, p->data.rsn == m.msn, "ERROR_RESP names request %u, not %u", p->data.rsn, m.msn);
	need(t, p->data.imm == MROCE_N_ACCESS, "ERROR_RESP has reason %u", p->data.imm);
	need(t,
	     p->data.flags & MROCE_F_FIRST && p->data.flags & MROCE_F_LAST && !p->data.offset &&
		     !p->data.bytes,
	     "its form");
}

/* ---- RNR and credit */

static void rnr(struct t *t, long arg)
{
	static const uint8_t ops[] = {MROCE_OP_SEND, MROCE_OP_SEND_IMM, MROCE_OP_WRITE_IMM};
	struct stream *s = connected(t);
	const struct mroce_wire_record *r;
	struct message m;

	pattern(payload, 64, 1);
	need(t, s->credit == 0, "OPEN_REPLY grants a credit of %u, no buffer is posted", s->credit);
	m = message(s, ops[arg], payload, 64);
	r = refused(t, s, &m, MROCE_N_RNR);
	need(t, r->timer < 32, "timer code %u", r->timer);
	memory_is(t, s, 0, zero, 64, "what was refused touches nothing: the memory");
	need(t, qp_state(t, s) == 3, "the queue pair is not in RTS any more");
	post_receive(t, s, 1, MEMORY / 2, 4096);
	taken(t, s->out, 0, message_send_all(t, &m, 0),
	      "what was refused, now that a buffer is posted");
	need(t, !completion(t, s).status, "it is received");
}

static void rnr_timer(struct t *t, long arg)
{
	struct stream *s = connected_with(t, &(struct attributes){DEFAULTS, .rnr_timer = arg});
	struct message m = message(s, MROCE_OP_SEND, payload, 64);

	need(t, refused(t, s, &m, MROCE_N_RNR)->timer == arg,
	     "the timer is not the code that the application gave, %ld", arg);
}

static bool credits(const struct packet *p, const void *what)
{
	const struct mroce_wire_control *w = (const void *)p->bytes;

	return w->op == MROCE_C_CREDIT && be32toh(w->stream) == ((const struct stream *)what)->own;
}

static void credit_after(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message m = message(s, MROCE_OP_SEND, payload, 64);
	struct packet *p;
	long i;

	refused(t, s, &m, MROCE_N_RNR);
	for (i = 0; i < arg; i++)
		post_receive(t, s, i, MEMORY / 2 + i * 4096, 4096);
	p = wait_for(t, MROCE_T_CONTROL, credits, s, 2000);
	need(t, p, "buffers came after a refusal, and no CONTROL CREDIT tells");
	need(t, ((struct mroce_wire_control *)p->bytes)->flags & MROCE_F_ACKREQ,
	     "CREDIT without ACKREQ");
	need(t,
	     be32toh(((struct mroce_wire_control *)p->bytes)->value) >= 1 &&
		     be32toh(((struct mroce_wire_control *)p->bytes)->value) <= (uint32_t)arg,
	     "credit %u of %ld buffers", be32toh(((struct mroce_wire_control *)p->bytes)->value),
	     arg);
}

static void credit_reliable(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message m = message(s, MROCE_OP_SEND, payload, 64);
	struct packet *first, *again;

	(void)arg;
	refused(t, s, &m, MROCE_N_RNR);
	in_of(t, s->peer);
	t->auto_ack = false;
	post_receive(t, s, 1, MEMORY / 2, 4096);
	first = wait_for(t, MROCE_T_CONTROL, credits, s, 2000);
	need(t, first, "no CONTROL CREDIT");
	again = wait_for(t, MROCE_T_CONTROL, credits, s, 5000);
	need(t, again, "CONTROL CREDIT was not acknowledged, and is not sent again");
	need(t,
	     base_of(first)->number != base_of(again)->number ||
		     base_of(first)->path != base_of(again)->path,
	     "it has the number of the first one");
}

static void credit_open(struct t *t, long arg)
{
	struct stream *s = connected_with(t, &(struct attributes){DEFAULTS, .receives = arg});

	need(t, s->credit == (uint32_t)arg, "OPEN_REPLY grants %u, %ld buffers are posted",
	     s->credit, arg);
}

static void credit_in_ack(struct t *t, long arg)
{
	struct stream *s = connected_with(t, &(struct attributes){DEFAULTS, .receives = 1});
	struct message m;
	const struct mroce_wire_record *r = NULL;
	uint32_t number, i;

	(void)arg;
	pattern(payload, 64, 1);
	for (i = 1; i < 8; i++)
		post_receive(t, s, i, MEMORY / 2 + i * 4096, 4096);
	for (i = 0; i < 8 && (!r || be32toh(r->value) < 8); i++) {
		m = message(s, MROCE_OP_SEND, payload, 64);
		number = message_send_all(t, &m, 0);
		r = ack_record(ack_for(t, s->out, 0, number), MROCE_R_CREDIT);
	}
	need(t, r, "eight buffers, one of which OPEN_REPLY told of, and no CREDIT in an ACK");
	need(t, be32toh(r->value) == 8 && be32toh(r->stream) == s->own,
	     "CREDIT of %u for stream %x", be32toh(r->value), be32toh(r->stream));
}

/* From the refused message on the receiver refuses, until there is credit; not what is before */
static void rnr_behind(struct t *t, long arg)
{
	struct stream *s = connected_with(t, &(struct attributes){DEFAULTS});
	struct message first, second, third;

	(void)arg;
	pattern(payload, 64, 1);
	first = write_at(s, 0, payload, 64);
	second = message(s, MROCE_OP_SEND, payload, 64);
	third = write_at(s, 128, payload, 64);
	refused(t, s, &second, MROCE_N_RNR);
	refused(t, s, &third, MROCE_N_RNR);
	taken(t, s->out, 0, message_send_all(t, &first, 0), "what is before the refused message");
	post_receive(t, s, 1, MEMORY / 2, 4096);
	taken(t, s->out, 0, message_send_all(t, &second, 0), "what was refused");
	taken(t, s->out, 0, message_send_all(t, &third, 0), "what is behind it");
	memory_is(t, s, 128, payload, 64, "what is behind it");
}

static void other_streams(struct t *t, long arg)
{
	struct stream *s = connected(t),
		      *other = stream_new(t, s->out, &(struct attributes){DEFAULTS});
	struct message m = message(s, MROCE_OP_SEND, payload, 64);

	(void)arg;
	refused(t, s, &m, MROCE_N_RNR);
	still_works(t, other);
}

/* ---- windows, reads */

static void window_packets(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message m;
	uint32_t number;

	/* what it granted in OPEN_REPLY is not kept by the harness: 4,096 unless it says otherwise, so far is beyond any */
	pattern(payload, 64, 1);
	s->spn += (1 << 17) + arg;
	m = write_at(s, 0, payload, 64);
	number = message_send_all(t, &m, 0);
	need(t, nack_for(t, s->out, 0, number)->reason == MROCE_N_WINDOW,
	     "it is not refused with WINDOW");
	memory_is(t, s, 0, zero, 64, "what was refused touches nothing: the memory");
	need(t, qp_state(t, s) == 3, "the queue pair is not in RTS any more");
}

static void window_messages(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message m;

	pattern(payload, 64, 1);
	s->spn++;
	s->msn += arg;
	m = write_at(s, 0, payload, 64);
	need(t, nack_for(t, s->out, 0, message_send_all(t, &m, 0))->reason == MROCE_N_WINDOW,
	     "it is not refused with WINDOW");
	need(t, qp_state(t, s) == 3, "the queue pair is not in RTS any more");
}

static void window_edge(struct t *t, long arg)
{
	struct stream *s =
		connected_with(t, &(struct attributes){DEFAULTS, .mr_access = ACCESS_RELAXED});
	struct message m;
	uint32_t first = s->spn;

	(void)arg;
	/* the first packet of a large message is missing, its 64th lies within any window */
	pattern(payload, 6400, 1);
	m = write_at(s, 0, payload, 6400);
	s->spn = first;
	m.psize = 100;
	m.packets = 64;
	taken(t, s->out, 0, message_send(t, &m, 63, 0), "a packet 63 beyond the lowest hole");
}

static void reads(struct t *t, long arg)
{
	struct stream *s = connected_with(t, &(struct attributes){DEFAULTS, .reads = arg});
	struct message hole, m;
	const struct mroce_wire_record *r = NULL;
	long i;

	hole = message(s, MROCE_OP_WRITE, payload, 0);
	/* none of them can be answered as long as the hole is there */
	for (i = 0; i < 300; i++) {
		uint32_t number;
		struct packet *ack;

		m = read_at(s, 0, 8);
		number = message_send_all(t, &m, 0);
		ack = ack_for(t, s->out, 0, number);
		r = ack_record(ack, MROCE_R_NACK);
		if (r)
			break;
		need(t, ack_bit(ack, number), "READ %ld has neither a set bit nor a NACK", i);
	}
	need(t, r && r->reason == MROCE_N_READS,
	     "300 READs outstanding, the application allowed %ld, and none is refused", arg);
	need(t, i >= arg, "READ %ld is refused, %ld are allowed", i + 1, arg);
	message_send_all(t, &hole, 0);
	taken_at_last(t, &m, "the READ that was refused, once the others are answered");
}

/* ---- GONE */

static void gone(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message old, m;
	const struct mroce_wire_record *r;

	pattern(payload, 64, 1);
	old = write_at(s, 0, payload, 64);
	taken(t, s->out, 0, message_send_all(t, &old, 0), "a Write");
	m = write_at(s, 0, payload, 64);
	if (arg)
		ask(t, "modify %u 0", s->qp); /* RESET */
	else
		ask(t, "drop %u", s->qp);
	r = nack_for(t, s->out, 0, message_send_all(t, &m, 0));
	need(t, r->reason == MROCE_N_GONE, "a stream that has ended refuses for reason %u",
	     r->reason);
	taken(t, s->out, 0, message_send_all(t, &old, 0),
	      "what had landed before the stream ended, a duplicate by now,");
}

static bool closes(const struct packet *p, const void *what)
{
	const struct mroce_wire_control *w = (const void *)p->bytes;

	return w->op == MROCE_C_CLOSE && be32toh(w->stream) == ((const struct stream *)what)->own;
}

static void close_said(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct message m, far;
	struct packet *p;

	pattern(payload, 64, 1);
	m = write_at(s, 0, payload, 64);
	taken(t, s->out, 0, message_send_all(t, &m, 0), "a Write");
	message(s, MROCE_OP_WRITE, payload, 64); /* never sent: a hole */
	far = write_at(s, 0, payload, 64);
	message_send_all(t, &far, 0);
	if (arg == 1)
		ask(t, "modify %u 6", s->qp); /* ERR */
	else
		ask(t, "drop %u", s->qp);
	p = wait_for(t, MROCE_T_CONTROL, closes, s, 2000);
	need(t, p, "the stream ended, and no CLOSE is sent");
	need(t, be32toh(((struct mroce_wire_control *)p->bytes)->value) == m.first + 1,
	     "CLOSE has value %u; the lowest number that has not landed is %u",
	     be32toh(((struct mroce_wire_control *)p->bytes)->value), m.first + 1);
}

#define ACCESS(name, op, how, text)                                                             \
	{                                                                                       \
		"access-" name, "R2 R6 M12 M6",                                                 \
			text " is refused (the right of the queue pair: LENGTH; else ACCESS), " \
			     "and the queue pair ends",                                         \
			access, (op)*100 + (how)                                                \
	}
#define ACCESS_OP(name, op)                                                                  \
	ACCESS(name "-key", op, KEY, "a key that is none"),                                  \
		ACCESS(name "-key-low", op, KEY_LOW_BYTE, "a key of another generation"),    \
		ACCESS(name "-below", op, BELOW, "an address below the region"),             \
		ACCESS(name "-above", op, ABOVE, "one above it"),                            \
		ACCESS(name "-across", op, ACROSS, "a range across its end"),                \
		ACCESS(name "-huge", op, HUGE_, "an address far off"),                       \
		ACCESS(name "-wraps", op, WRAPS, "a range that wraps"),                      \
		ACCESS(name "-right", op, NO_RIGHT, "memory without the right"),             \
		ACCESS(name "-qp-right", op, NO_QP_RIGHT, "a queue pair without the right"), \
		ACCESS(name "-deregistered", op, DEREGISTERED, "memory that was deregistered")

static const struct test_case cases[] = {
	ACCESS_OP("write", 0),
	ACCESS_OP("read", 1),
	ACCESS_OP("fetch-add", 2),
	ACCESS_OP("cmp-swap", 3),
	{"misaligned", "M1 R2 R6", "an atomic at an address that is no multiple of 8 is refused",
	 misaligned, 0, 3},
	{"buffer", "R2 R6 M12",
	 "a Send longer than its buffer is refused with LENGTH, one that fits is not", too_long, 99,
	 4},
	{"fatal-order", "R2 R5", "before a fatal refusal all completes, from it on nothing",
	 fatal_order},
	{"at-cursor-read", "M12", "a READ that fails at the cursor is answered by ERROR_RESP",
	 at_cursor, 0},
	{"at-cursor-atomic", "M12", "so is an atomic", at_cursor, 1},
	{"rnr", "R3 M12",
	 "without a buffer: RNR; with one it is taken (Send, Send with immediate, Write with "
	 "immediate)",
	 rnr, 0, 3},
	{"rnr-timer", "R3", "RNR has the timer code that the application gave", rnr_timer, 1, 4},
	{"rnr-timer", "R3", "RNR has the timer code that the application gave", rnr_timer, 31},
	{"credit-after", "R3", "buffers after a refusal are told of by CONTROL CREDIT",
	 credit_after, 1, 3},
	{"credit-reliable", "R3 N1",
	 "CONTROL CREDIT is sent again, with a fresh number, until it is acknowledged",
	 credit_reliable},
	{"credit-open", "S3", "OPEN_REPLY tells of the buffers that are posted", credit_open, 0, 3},
	{"credit-ack", "R3", "ACKs tell of buffers that were posted later", credit_in_ack},
	{"rnr-behind", "R1 R5", "from the refused message on all is refused, nothing before it",
	 rnr_behind},
	{"other-streams", "R1", "other streams do not wait", other_streams},
	{"window-packets", "N5", "a number beyond the window is refused with WINDOW",
	 window_packets, 0, 2},
	{"window-messages", "N5", "a message beyond the window is refused with WINDOW",
	 window_messages, 0x20000},
	{"window-least", "N5", "a window is never less than 64 packets", window_edge},
	{"reads", "M14 R3", "READs beyond the responder's limit are refused with READS", reads, 1,
	 2},
	{"reads", "M14 R3", "READs beyond the responder's limit are refused with READS", reads, 16},
	{"gone-dropped", "S5",
	 "a stream that was destroyed: old numbers are duplicates, others GONE", gone, 0},
	{"gone-reset", "S5", "a stream that was reset, likewise", gone, 1, 0, "verbs"},
	{"close-dropped", "S5 S7",
	 "a stream that is destroyed says CLOSE, with the lowest number that has not landed",
	 close_said, 0},
	{"close-error", "S5 S7", "so does one that goes to the error state", close_said, 1},
};
CHAPTER(refusals, "NACKs, RNR and credits, fatal refusals");
