// SPDX-License-Identifier: GPL-2.0
/*
 * The receiving half by itself: several operations at once, each at its own step, in any order that
 * rx.h allows. Packets are those of a fixed list of messages, or have one field changed.
 *
 * Input: HEADER bytes, where numbers begin and how large windows are; then operations of OP bytes.
 *
 * Whatever comes: a stream number is placed once, inside its window; parts that land agree where
 * their message begins; a message is handled in order, once, when each of its bytes has landed;
 * what the half keeps is consistent (sim_audit.c), and nothing is left at the end.
 */
#include "fuzz.h"
#include "../kunit/sim.h"

#define HEADER	 4
#define OP	 8
#define PATHS	 4
#define SLOTS	 8
#define MESSAGES 512		/* of the list */
#define PSIZE	 100
#define STREAM	 0x11
#define PEER	 0x22
#define LINE	 4096		/* numbers that are told apart: more than any window here */

enum what {
	WHAT_ARRIVE,
	WHAT_ARRIVE_TOO,
	WHAT_PLACE,
	WHAT_UNCLAIM,
	WHAT_HOLD,
	WHAT_LAND,
	WHAT_FINISH,
	WHAT_MESSAGES,
	WHAT_ACK,
	WHAT_TIME,
	WHAT_CREDIT,
	WHAT_REFUSE,
	WHAT_STARVE,
	WHAT_END,		/* the stream, and another with the same id */
	WHATS
};

/* what is true of one space */
struct space {
	struct mroce_rxs rxs;
	bool response;
	u32 psn;
	u32 base, next_msn;
	bool landed[LINE];
	struct {
		u32 msn, first, bytes;
		bool used;
	} part[MESSAGES];
	struct {
		u32 first, packets, length, rsn;
		u8 opcode;
	} list[MESSAGES];
};

struct held {
	struct mroce_held held;
	u32 msn, first, bytes;
};

struct slot {
	struct mroce_rxop op;
	struct mroce_small run[MROCE_TRAIN_MAX];
	struct space *space;	/* NULL: it has no stream */
	struct held *landing;
	bool used;
};

struct half {
	struct sim sim;		/* for sim_audit.c, which says there what is wrong */
	struct mroce_rx rx;
	struct space space[2];
	struct slot slot[SLOTS];
	u32 next[PATHS];
	u64 now;
	u8 log_packets, log_messages;
};

static void make_list(struct space *sp)
{
	static const u8 opcodes[] = {
		MROCE_OP_WRITE, MROCE_OP_SEND, MROCE_OP_SEND_INV, MROCE_OP_WRITE_IMM,
		MROCE_OP_READ, MROCE_OP_WRITE, MROCE_OP_SEND, MROCE_OP_FETCH_ADD,
	};
	u32 i, first = sp->psn, rsn = 0;

	for (i = 0; i < MESSAGES; i++) {
		u32 mix = i * 2654435761U >> 16;
		u8 opcode = sp->response ? MROCE_OP_READ_RESP :
					   opcodes[i / 4 % ARRAY_SIZE(opcodes)];
		/* every other four are small, and may be a run */
		u32 most = i / 4 % 2 ? PSIZE : 5 * PSIZE;

		sp->list[i].opcode = opcode;
		sp->list[i].first = first;
		sp->list[i].length = mroce_opinfo[opcode].fixed ?: mix % most;
		sp->list[i].packets = mroce_packets(opcode, sp->list[i].length, PSIZE);
		sp->list[i].rsn = sp->response ? i : rsn;
		rsn += mroce_opinfo[opcode].receive;
		first += sp->list[i].packets;
	}
}

static void begin(struct half *h, struct space *sp, bool response)
{
	memset(sp->landed, 0, sizeof(sp->landed));
	memset(sp->part, 0, sizeof(sp->part));
	sp->response = response;
	sp->base = sp->psn;
	sp->next_msn = 0;
	mroce_rxs_init(&sp->rxs, response, STREAM, sp->psn, h->log_packets, h->log_messages);
	if (!response)
		sp->rxs.credit = 8;
	sp->rxs.reads_max = 4;
	mroce_rxs_attach(&sp->rxs, &h->rx, PEER);
	make_list(sp);
}

static u32 bytes_of(const struct mroce_rxop *op, u32 i)
{
	if (op->run)
		return op->run[i].length;
	if (op->count == 1)
		return op->bytes;
	return min(op->bytes - i * PSIZE, (u32)PSIZE);
}

/* One packet's bytes are in memory from now on. */
static void land(struct space *sp, u32 spn, u32 msn, u32 first, u32 bytes, u8 opcode)
{
	s32 ahead = mroce_seq_diff(spn, sp->base);

	FUZZ_CHECK(ahead >= 0 && !sp->landed[spn % LINE], "number %u is placed twice", spn);
	FUZZ_CHECK(ahead < sp->rxs.window, "number %u is placed outside of the window", spn);
	sp->landed[spn % LINE] = true;
	while (sp->landed[sp->base % LINE])
		sp->landed[sp->base++ % LINE] = false;
	if (!mroce_opinfo[opcode].payload)
		return;
	FUZZ_CHECK(msn - sp->next_msn < sp->rxs.window_msgs, "message %u lands, the next is %u",
		   msn, sp->next_msn);
	if (!sp->part[msn % MESSAGES].used || sp->part[msn % MESSAGES].msn != msn) {
		sp->part[msn % MESSAGES].used = true;
		sp->part[msn % MESSAGES].msn = msn;
		sp->part[msn % MESSAGES].first = first;
		sp->part[msn % MESSAGES].bytes = 0;
	}
	FUZZ_CHECK(sp->part[msn % MESSAGES].first == first, "message %u begins twice", msn);
	sp->part[msn % MESSAGES].bytes += bytes;
}

static u32 first_of(const struct mroce_rxop *op, u32 i)
{
	return op->run ? op->data.spn + i : op->data.spn - op->data.offset / op->data.psize;
}

static void place(struct slot *t, u64 mask)
{
	u64 left;

	mask &= t->op.claimed;
	for (left = mask; left; left &= left - 1) {
		u32 i = __ffs64(left);

		land(t->space, t->op.data.spn + i, mroce_rxop_msn(&t->op, i), first_of(&t->op, i),
		     bytes_of(&t->op, i), t->op.data.opcode);
	}
	if (mask)
		mroce_rxs_placed(&t->space->rxs, &t->op, mask);
}

/* ---- steps of an operation ---- */

/* The packets of the list from a number on, @count of them at most; false: there are none. */
static bool genuine(const struct space *sp, u32 spn, u32 count, struct mroce_data *d, u32 *n)
{
	u32 m, index;

	for (m = 0; m < MESSAGES && spn - sp->list[m].first >= sp->list[m].packets; m++)
		;
	if (m == MESSAGES)
		return false;
	index = spn - sp->list[m].first;
	*n = min(count, sp->list[m].packets - index);
	*d = (struct mroce_data){
		.stream = STREAM,
		.spn = spn,
		.msn = m,
		.rsn = sp->list[m].rsn,
		.offset = index * PSIZE,
		.length = sp->list[m].length,
		.addr = 0x1000 * m,
		.psize = PSIZE,
		.opcode = sp->list[m].opcode,
		.flags = sp->response ? MROCE_F_RESPONSE : 0,
	};
	return true;
}

/* One field as a sender with ill will has it; the parser takes it all the same. */
static void spoil(struct mroce_data *d, u8 how)
{
	switch (how % 10) {
	case 0:
		d->msn++;
		break;
	case 1:
		d->msn--;
		break;
	case 2:
		d->rsn += 1 + how / 10;
		break;
	case 3:
		d->length += PSIZE;
		break;
	case 4:
		d->spn += 1 + how / 10;
		break;
	case 5:
		d->stream++;
		break;
	case 6:
		d->offset = 0;
		break;
	case 7:
		d->opcode = d->flags & MROCE_F_RESPONSE ? MROCE_OP_ERROR_RESP : MROCE_OP_WRITE;
		d->offset = d->opcode == MROCE_OP_WRITE ? d->offset : 0;
		break;
	case 8:
		d->addr++;
		break;
	default:
		d->msn += 64U << how / 10;
	}
}

static bool as_run(struct half *h, struct slot *t, u32 count)
{
	struct space *sp = t->space;
	struct mroce_data d;
	u32 i, n;

	if (!mroce_begins_run(&t->op.data, &t->run[0]) || t->op.data.length > PSIZE)
		return false;
	for (i = 1; i < count; i++) {
		if (!genuine(sp, t->op.data.spn + i, 1, &d, &n) || d.offset || d.length > PSIZE ||
		    d.opcode != t->op.data.opcode || d.msn != t->op.data.msn + i)
			return false;
		t->run[i] = (struct mroce_small){
			.addr = d.addr,
			.length = d.length,
			.flags = MROCE_F_FIRST | MROCE_F_LAST,
		};
	}
	t->op.count = count;
	if (mroce_rxs_claim_run(&sp->rxs, &t->op, t->run))
		return true;
	/* each by itself, which is what the first has begun already */
	mroce_rx_withdraw(&t->op);
	t->op.count = 1;
	FUZZ_CHECK(mroce_rx_arrive(&h->rx, &t->op.data, 1, t->op.bytes, false, h->now, &t->op) ==
		   MROCE_REASON_NONE, "what was taken once is not taken again");
	return false;
}

/* What may be copied is not done with yet, and not behind what was refused for good. */
static void check_claim(const struct slot *t)
{
	const struct mroce_rxs *rxs = &t->space->rxs;

	FUZZ_CHECK(!(t->op.claimed & t->op.bits), "packets are claimed and done with");
	FUZZ_CHECK(!t->op.claimed || !rxs->refusing || rxs->refuse_reason < MROCE_N_ACCESS ||
		   mroce_seq_before(t->op.data.msn + (t->op.run ? t->op.count - 1 : 0),
				    rxs->refuse_msn),
		   "message %u is taken, which is refused from %u on", t->op.data.msn,
		   rxs->refuse_msn);
}

/* mostly the next number of a path */
static s32 leap(u8 how)
{
	if (how & 0x80)
		return (s8)how / 2;
	return how & 7 ? 0 : how >> 4;
}

static void arrive(struct half *h, struct slot *t, const u8 *op)
{
	struct space *sp = &h->space[op[1] >> 7];
	u8 path = op[1] % PATHS, hdr[MROCE_HEADER_MAX];
	struct mroce_data d;
	u32 count, end;

	if (!genuine(sp, sp->rxs.base - 8 + op[2] % 160, 1 + op[3] % 8, &d, &count))
		return;
	if (op[4] & 1)
		spoil(&d, op[5]);
	d.base = (struct mroce_base){
		.version = MROCE_WIRE_VERSION,
		.type = MROCE_T_DATA,
		.path = path,
		.number = h->next[path] + leap(op[6]),
	};
	end = mroce_opinfo[d.opcode].payload ? min(d.offset + count * PSIZE, d.length) :
					       mroce_opinfo[d.opcode].fixed;
	if (mroce_opinfo[d.opcode].payload && d.offset > d.length)
		return;
	if (!d.offset)
		d.flags |= MROCE_F_FIRST;
	if (!mroce_opinfo[d.opcode].payload || end == d.length)
		d.flags |= MROCE_F_LAST;
	d.flags |= op[4] & (MROCE_F_ACKREQ | MROCE_F_ORDERED);
	d.stamp = h->now >> MROCE_STAMP_SHIFT;
	mroce_build_data(hdr, &d);
	end -= mroce_opinfo[d.opcode].payload ? d.offset : 0;
	if (mroce_parse_data(hdr, sizeof(struct mroce_wire_data), end, &d, &count))
		return;
	if (mroce_rx_arrive(&h->rx, &d, count, end, op[4] & 2, h->now, &t->op) !=
	    MROCE_REASON_NONE)
		return;
	if (!mroce_seq_before(d.base.number + count, h->next[path]))
		h->next[path] = d.base.number + count;
	t->used = true;
	t->landing = NULL;
	t->space = d.stream == STREAM && sp->rxs.rx ? sp : NULL;
	if (!t->space) {
		mroce_rx_unknown(&h->rx, &t->op);
		return;
	}
	if (op[4] & 8 && count == 1 && as_run(h, t, 2 + op[3] % 8)) {
		check_claim(t);
		return;
	}
	mroce_rxs_claim(&sp->rxs, &t->op);
	check_claim(t);
}

static void hold(struct slot *t)
{
	u32 i = t->op.claimed ? __ffs64(t->op.claimed) : 0;
	struct held *held;

	/* only Writes are held, and of a run, which lands in order, nothing */
	if (!t->op.claimed || t->op.run ||
	    (t->op.data.opcode != MROCE_OP_WRITE && t->op.data.opcode != MROCE_OP_WRITE_IMM))
		return;
	held = calloc(1, sizeof(*held));
	FUZZ_CHECK(held, "no memory");
	held->msn = mroce_rxop_msn(&t->op, i);
	held->first = first_of(&t->op, i);
	held->bytes = bytes_of(&t->op, i);
	if (mroce_rxs_hold(&t->space->rxs, &t->op, i, &held->held))
		return;
	free(held);
	place(t, BIT_ULL(i));
}

/* A held packet begins to land, or has; false: there is none. */
static bool land_step(struct slot *t, u8 nack)
{
	struct mroce_held *held;
	struct held *l = t->landing;

	if (!l) {
		held = mroce_rxs_land(&t->space->rxs, &t->op);
		if (!held)
			return false;
		t->landing = container_of(held, struct held, held);
		return true;
	}
	if (nack == MROCE_N_NONE)
		land(t->space, l->held.spn, l->msn, l->first, l->bytes, MROCE_OP_WRITE);
	t->landing = NULL;
	mroce_rxs_landed(&t->space->rxs, &t->op, l->held.spn, nack);
	free(l);
	return true;
}

static void messages(struct space *sp)
{
	const struct mroce_desc *d;
	u32 bytes;

	if (!mroce_rxs_begin(&sp->rxs))
		return;
	while ((d = mroce_rxs_message(&sp->rxs))) {
		FUZZ_CHECK(d->msn == sp->next_msn, "message %u, expected %u", d->msn,
			   sp->next_msn);
		FUZZ_CHECK(!mroce_seq_after(d->first + d->packets, sp->base),
			   "message %u has not landed", d->msn);
		bytes = sp->part[d->msn % MESSAGES].used &&
			sp->part[d->msn % MESSAGES].msn == d->msn ?
				sp->part[d->msn % MESSAGES].bytes : 0;
		FUZZ_CHECK(!mroce_opinfo[d->opcode].payload || bytes == d->length,
			   "of message %u, %u bytes long, %u have landed", d->msn, d->length,
			   bytes);
		sp->next_msn++;
	}
}

/* What is held and may land does, as long as anybody is at it; else nobody would. */
static void check_held(struct half *h, struct space *sp)
{
	const struct mroce_held *held =
		list_first_entry_or_null(&sp->rxs.held, struct mroce_held, node);
	u32 i;

	for (i = 0; i < SLOTS; i++)
		if (h->slot[i].used && h->slot[i].space == sp)
			return;
	FUZZ_CHECK(!held || held->spn != sp->rxs.base, "number %u is held for ever", held->spn);
}

static void finish(struct half *h, struct slot *t)
{
	struct space *sp = t->space;

	if (sp) {
		place(t, t->op.claimed);
		while (land_step(t, MROCE_N_NONE))
			;
	}
	mroce_rx_finish(&h->rx, sp ? &sp->rxs : NULL, &t->op);
	t->used = false;
	if (!sp)
		return;
	check_held(h, sp);
	messages(sp);
}

static void end(struct half *h, struct space *sp)
{
	struct mroce_held *held, *next;
	LIST_HEAD(list);
	u32 i;

	sp->rxs.dead = true;
	for (i = 0; i < SLOTS; i++)
		if (h->slot[i].used && h->slot[i].space == sp)
			finish(h, &h->slot[i]);
	mroce_rxs_detach(&sp->rxs, h->now, &list);
	list_for_each_entry_safe(held, next, &list, node)
		free(container_of(held, struct held, held));
}

static void acks(struct half *h, u32 n)
{
	u8 hdr[MROCE_HEADER_MAX];
	struct mroce_ack ack;

	while (n-- && mroce_rx_ack(&h->rx, h->now, &ack)) {
		FUZZ_CHECK(ack.nrecords <= MROCE_MAX_RECORDS, "%u records", ack.nrecords);
		FUZZ_CHECK(!mroce_parse_ack(hdr, mroce_build_ack(hdr, &ack), &ack),
			   "an ACK is malformed");
	}
}

static void one(struct half *h, const u8 *op)
{
	struct slot *t = &h->slot[(op[0] >> 4) % SLOTS];
	struct space *sp = &h->space[op[1] >> 7];
	bool busy = t->used && t->space;
	u64 mask = (u64)op[2] << 8 | op[3];

	switch ((op[0] & 15) % WHATS) {
	case WHAT_ARRIVE:
	case WHAT_ARRIVE_TOO:
		if (!t->used)
			arrive(h, t, op);
		break;
	case WHAT_PLACE:
		if (busy)
			place(t, mask);
		break;
	case WHAT_UNCLAIM:
		/* of a packet that is refused those behind it in a train are too */
		if (busy)
			mroce_rxs_unclaim(&t->space->rxs, &t->op, ~0ULL << op[2] % 8,
					  op[3] % MROCE_N_MAX, op[4]);
		break;
	case WHAT_HOLD:
		if (busy)
			hold(t);
		break;
	case WHAT_LAND:
		if (busy)
			land_step(t, op[2] & 15 ? MROCE_N_NONE : MROCE_N_ACCESS);
		break;
	case WHAT_FINISH:
		if (t->used)
			finish(h, t);
		break;
	case WHAT_MESSAGES:
		messages(sp);
		break;
	case WHAT_ACK:
		acks(h, 1 + op[2] % 8);
		break;
	case WHAT_TIME:
		h->now += 1ULL << op[2] % 32;
		if (h->rx.timer <= h->now)
			mroce_rx_timer(&h->rx, h->now);
		mroce_rx_shrink(&h->rx, h->now);
		break;
	case WHAT_CREDIT:
		if (!sp->response && sp->rxs.rx)
			mroce_rxs_credit(&sp->rxs, sp->rxs.credit + op[2] % 16);
		break;
	case WHAT_REFUSE:
		/* what the cursor found: of the message before it */
		if (sp->rxs.rx && op[2] % 8 == 0)
			mroce_rxs_refuse(&sp->rxs, sp->rxs.msn, MROCE_N_OPERATION);
		break;
	case WHAT_STARVE:
		sim_alloc_fail_after(op[2] & 1 ? op[3] % 4 : -1);
		break;
	case WHAT_END:
		if (op[2] % 4)
			break;
		end(h, sp);
		if (op[2] & 4)
			sp->psn += op[3];
		begin(h, sp, sp->response);
	}
	sim_audit_rx(&h->sim, &h->rx);
	sim_audit_rxs(&h->sim, &h->space[0].rxs);
	sim_audit_rxs(&h->sim, &h->space[1].rxs);
	FUZZ_CHECK(!h->sim.failed, "%s", h->sim.why);
}

void fuzz_one(const u8 *in, size_t size)
{
	const struct mroce_hello hello = { .own_id = 1, .instance = 2, .nplanes = 1 };
	struct half *h;
	u32 i;

	if (size < HEADER)
		return;
	h = calloc(1, sizeof(*h));
	FUZZ_CHECK(h && !mroce_rx_init(&h->rx, 3, &hello, PATHS), "no memory");
	h->now = 1000000;
	h->log_packets = in[0] % 8;
	h->log_messages = in[0] >> 4 & 7;
	h->space[0].psn = in[1] & 1 ? -(u32)in[2] : in[2] << 20;
	begin(h, &h->space[0], false);
	begin(h, &h->space[1], true);
	for (i = 0; i < PATHS; i++)
		h->next[i] = in[3] & 1 ? 1 : -(u32)(in[3] >> 1);
	for (i = HEADER; i + OP <= size; i += OP)
		one(h, in + i);
	sim_alloc_fail_after(-1);
	for (i = 0; i < SLOTS; i++)
		if (h->slot[i].used)
			finish(h, &h->slot[i]);
	end(h, &h->space[0]);
	end(h, &h->space[1]);
	acks(h, 1000);
	mroce_rx_free(&h->rx);
	FUZZ_CHECK(!sim_allocated(), "%ld allocations are left", sim_allocated());
	free(h);
}

/* ---- inputs ---- */

static void random_op(u8 *op, struct fuzz_random *r)
{
	u32 i;

	for (i = 0; i < OP; i++)
		op[i] = fuzz_next(r);
	/* mostly what is next, and not spoiled */
	if (fuzz_below(r, 2))
		op[0] = (op[0] & 0xf0) | (fuzz_below(r, 3) ? WHAT_ARRIVE : WHAT_FINISH);
	if (fuzz_below(r, 8))
		op[2] = 8 + fuzz_below(r, 8);
	if (fuzz_below(r, 8))
		op[4] &= ~1;
	if (fuzz_below(r, 4))
		op[6] = 1;
}

size_t fuzz_mutate(u8 *in, size_t size, size_t most, struct fuzz_random *r)
{
	return fuzz_mutate_ops(in, size, most, r, HEADER, OP, random_op);
}

size_t fuzz_seed(u8 *in, size_t most, u32 n)
{
	struct fuzz_random r = { .state = n };
	u32 i, ops = 8 << n % 5;

	if (n >= 40 || most < HEADER + 128 * OP)
		return 0;
	for (i = 0; i < HEADER; i++)
		in[i] = fuzz_next(&r);
	for (i = 0; i < ops; i++)
		random_op(in + HEADER + i * OP, &r);
	return HEADER + ops * OP;
}
