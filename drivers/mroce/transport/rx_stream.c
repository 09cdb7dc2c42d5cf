// SPDX-License-Identifier: GPL-2.0
/*
 * The receiving side of one space of a stream: which numbers are free, claimed, held or
 * placed (RULES.md 1), messages as their packets describe them, and the cursor that hands them
 * over in order. Pure; the half's lock is the caller's.
 */
#include "rx.h"

#define DESC_FIRST	16	/* ring of messages, to begin with */
#define ANSWER_AGAIN	10	/* ms: MEMORY */

void mroce_rxs_init(struct mroce_rxs *rxs, bool response, u32 own_id, u32 psn, u8 log_packets,
		    u8 log_messages)
{
	memset(rxs, 0, sizeof(*rxs));
	rxs->response = response;
	rxs->own_id = own_id;
	rxs->base = psn;
	rxs->window = 1U << clamp_t(u8, log_packets, 6, 17);
	rxs->window_msgs = 1U << min_t(u8, log_messages, 17);
	rxs->credit = MROCE_CREDIT_NONE;
	rxs->reads_max = U32_MAX;
	INIT_LIST_HEAD(&rxs->held);
	INIT_LIST_HEAD(&rxs->news);
}

void mroce_rxs_attach(struct mroce_rxs *rxs, struct mroce_rx *rx, u32 peer_id)
{
	rxs->rx = rx;
	rxs->peer_id = peer_id;
}

static void drop_nacks(struct mroce_rx *rx, const struct mroce_rxs *rxs)
{
	u32 i;

	for (i = 0; i < MROCE_MAX_NEWS; i++)
		if (rx->nack[i].used && rx->nack[i].r.stream == rxs->peer_id &&
		    !!(rx->nack[i].r.flags & MROCE_R_RESPONSE) == rxs->response &&
		    rx->nack[i].r.reason != MROCE_N_ACCESS &&
		    rx->nack[i].r.reason != MROCE_N_LENGTH) {
			rx->nack[i].used = false;
			rx->nnack--;
		}
}

void mroce_rxs_detach(struct mroce_rxs *rxs, u64 now, struct list_head *held)
{
	struct mroce_rx *rx = rxs->rx;

	WARN_ON_ONCE(rxs->copiers);
	if (rx) {
		mroce_rx_bury(rx, rxs, now);
		drop_nacks(rx, rxs);
	}
	list_del_init(&rxs->news);
	list_splice_init(&rxs->held, held);
	kfree(rxs->claimed);	/* placed and held_bits lie behind it */
	rxs->claimed = NULL;
	rxs->placed = NULL;
	rxs->held_bits = NULL;
	kfree(rxs->desc);
	rxs->desc = NULL;
	rxs->desc_mask = 0;
	rxs->rx = NULL;
	rxs->dead = true;
}

static u32 slot(const struct mroce_rxs *rxs, u32 spn)
{
	return spn & (rxs->window - 1);
}

/* ---- the bits of a transmission at once: up to 64 numbers from @spn on ---- */

static u64 run_get(const struct mroce_rxs *rxs, const unsigned long *bits, u32 spn)
{
	u32 word = slot(rxs, spn) / 64, shift = spn % 64, last = rxs->window / 64 - 1;

	return shift ? bits[word] >> shift | bits[(word + 1) & last] << (64 - shift) : bits[word];
}

static void run_set(const struct mroce_rxs *rxs, unsigned long *bits, u32 spn, u64 mask)
{
	u32 word = slot(rxs, spn) / 64, shift = spn % 64, last = rxs->window / 64 - 1;

	bits[word] |= mask << shift;
	if (shift)
		bits[(word + 1) & last] |= mask >> (64 - shift);
}

static void run_clear(const struct mroce_rxs *rxs, unsigned long *bits, u32 spn, u64 mask)
{
	u32 word = slot(rxs, spn) / 64, shift = spn % 64, last = rxs->window / 64 - 1;

	bits[word] &= ~(mask << shift);
	if (shift)
		bits[(word + 1) & last] &= ~(mask >> (64 - shift));
}

/* placed, and held too: the network owes us nothing */
static bool arrived(const struct mroce_rxs *rxs, u32 spn)
{
	return test_bit(slot(rxs, spn), rxs->placed) || test_bit(slot(rxs, spn), rxs->held_bits);
}

static bool have_bitmaps(struct mroce_rxs *rxs)
{
	u32 longs = BITS_TO_LONGS(rxs->window);

	if (rxs->claimed)
		return true;
	rxs->claimed = kcalloc(3 * longs, sizeof(long), GFP_ATOMIC | __GFP_NOWARN);
	if (!rxs->claimed)
		return false;
	rxs->placed = rxs->claimed + longs;
	rxs->held_bits = rxs->placed + longs;
	return true;
}

static struct mroce_desc *desc_at(const struct mroce_rxs *rxs, u32 msn)
{
	return &rxs->desc[msn & rxs->desc_mask];
}

/* The ring covers messages [rxs->msn, msn]; it doubles up to the window. */
static struct mroce_desc *desc_for(struct mroce_rxs *rxs, u32 msn)
{
	u32 size = rxs->desc ? rxs->desc_mask + 1 : 0, bigger = max_t(u32, size, DESC_FIRST), i;
	struct mroce_desc *desc;

	if (msn - rxs->msn < size)
		return desc_at(rxs, msn);
	while (bigger <= msn - rxs->msn)
		bigger *= 2;
	desc = kcalloc(bigger, sizeof(*desc), GFP_ATOMIC | __GFP_NOWARN);
	if (!desc)
		return NULL;
	for (i = 0; i < size; i++)
		desc[(rxs->msn + i) & (bigger - 1)] = *desc_at(rxs, rxs->msn + i);
	kfree(rxs->desc);
	rxs->desc = desc;
	rxs->desc_mask = bigger - 1;
	return desc_at(rxs, msn);
}

static void describe(struct mroce_desc *d, const struct mroce_data *h)
{
	u32 index = h->psize ? h->offset / h->psize : 0;

	*d = (struct mroce_desc){
		.addr = h->addr - (mroce_opinfo[h->opcode].payload &&
				   mroce_opinfo[h->opcode].rdma ? h->offset : 0),
		.msn = h->msn,
		.first = h->spn - index,
		.packets = mroce_packets(h->opcode, h->length, h->psize),
		.length = h->length,
		.rsn = h->rsn,
		.rkey = h->rkey,
		.imm = h->imm,
		.psize = h->psize,
		.opcode = h->opcode,
		.flags = h->flags & MROCE_F_SOLICITED,
		.valid = true,
	};
}

/*
 * Does a packet belong to the message as its first packet described it? ERROR_RESP takes the place
 * of any packet of a READ_RESP whose source has gone; whatever of that comes later is not taken,
 * so that its sender finds the source gone too.
 */
static bool same_message(struct mroce_desc *d, const struct mroce_desc *e)
{
	if (e->opcode == MROCE_OP_ERROR_RESP) {
		d->opcode = MROCE_OP_ERROR_RESP;
		d->imm = e->imm;
		return true;
	}
	return d->first == e->first && d->packets == e->packets && d->length == e->length &&
	       d->opcode == e->opcode && d->rsn == e->rsn && d->rkey == e->rkey &&
	       d->addr == e->addr && d->psize == e->psize;
}

static void refuse(struct mroce_rxs *rxs, struct mroce_rxop *op, u32 i, u8 nack, u8 timer)
{
	op->refused = nack;
	mroce_rx_nack(op->rx, rxs, op, op->data.spn + i, mroce_rxop_msn(op, i), nack, timer);
}

static bool fatal(u8 nack)
{
	return nack >= MROCE_N_ACCESS;
}

/* From message @msn on nothing is taken, until the reason is gone (rule 8: refused, not held). */
static void refuse_from(struct mroce_rxs *rxs, struct mroce_rxop *op, u32 i, u8 nack, u8 timer)
{
	u32 msn = mroce_rxop_msn(op, i);

	if (!rxs->refusing || mroce_seq_before(msn, rxs->refuse_msn)) {
		rxs->refusing = true;
		rxs->refuse_msn = msn;
		rxs->refuse_spn = op->data.spn + i;
		rxs->refuse_rsn = mroce_rxop_rsn(op, i);
		rxs->refuse_reason = nack;
		rxs->refuse_timer = timer;
		rxs->refuse_until = op->now + (u64)timer * MROCE_MSEC;
	}
	refuse(rxs, op, i, nack, timer);
}

/* Is the standing refusal over, now that this packet has come? */
static bool refusal_over(struct mroce_rxs *rxs, const struct mroce_rxop *op)
{
	switch (rxs->refuse_reason) {
	case MROCE_N_RNR:
		/* SRQ: the packet itself tries again */
		if (rxs->credit == MROCE_CREDIT_NONE)
			return op->data.msn == rxs->refuse_msn;
		return mroce_seq_diff(rxs->refuse_rsn, rxs->credit) < 0;
	case MROCE_N_MEMORY:
	case MROCE_N_FAULT:
	case MROCE_N_NOT_READY:
		return op->now >= rxs->refuse_until;
	case MROCE_N_HOLD:
		/* the packet at the lowest hole is always taken; others when it has moved */
		return !mroce_seq_before(rxs->base, op->data.spn) ||
		       op->data.msn == rxs->refuse_msn;
	default:
		return !fatal(rxs->refuse_reason);
	}
}

static bool without_credit(const struct mroce_rxs *rxs, const struct mroce_rxop *op, u32 rsn)
{
	return mroce_opinfo[op->data.opcode].receive && rxs->credit != MROCE_CREDIT_NONE &&
	       mroce_seq_diff(rsn, rxs->credit) >= 0;
}

static u32 reads_ahead(const struct mroce_rxs *rxs)
{
	u32 msn, n = 0;

	for (msn = rxs->msn; msn - rxs->msn <= rxs->desc_mask; msn++)
		if (desc_at(rxs, msn)->valid && mroce_opinfo[desc_at(rxs, msn)->opcode].answered)
			n++;
	return n;
}

static void tell(struct mroce_rxs *rxs)
{
	if (rxs->rx && list_empty(&rxs->news))
		list_add_tail(&rxs->news, &rxs->rx->news);
}

static void duplicate(struct mroce_rxs *rxs, struct mroce_rxop *op, u32 i)
{
	op->bits |= BIT_ULL(i);
	op->duplicate = true;
	op->rx->stats.duplicates++;
	rxs->tell_release = true;
	tell(rxs);
}

/*
 * Held packets are being landed, or may be. Their own bits have been reported; the number that
 * closed the hole before them is not reported before they have landed, and nothing else may tell of
 * it meanwhile: no duplicate, RELEASE or response.
 */
bool mroce_rxs_landing(struct mroce_rxs *rxs)
{
	const struct mroce_held *h = list_first_entry_or_null(&rxs->held, struct mroce_held, node);

	return rxs->landing || (h && h->spn == rxs->base);
}

enum mroce_reason mroce_rxs_claim(struct mroce_rxs *rxs, struct mroce_rxop *op)
{
	const struct mroce_data *h = &op->data;
	enum mroce_reason reason = MROCE_REASON_NONE;
	u64 all = GENMASK_ULL(op->count - 1, 0), fresh = 0;
	struct mroce_desc *d, e;
	u32 i, ahead;

	if (rxs->dead)
		return MROCE_REASON_RX_STATE;
	if (!rxs->response && rxs->credit != MROCE_CREDIT_NONE)
		tell(rxs);
	/* all of them new, as nearly always */
	ahead = h->spn - rxs->base;
	if (ahead < rxs->window && op->count <= rxs->window - ahead &&
	    (!rxs->claimed || !(run_get(rxs, rxs->claimed, h->spn) & all)))
		fresh = all;
	for (i = fresh ? op->count : 0; i < op->count; i++) {
		u32 spn = h->spn + i;

		if (mroce_seq_before(spn, rxs->base) && !mroce_rxs_landing(rxs)) {
			duplicate(rxs, op, i);
			continue;
		}
		if (mroce_seq_before(spn, rxs->base)) {
			op->rx->stats.claimed++;
			reason = MROCE_REASON_RX_CLAIMED;
			continue;
		}
		if (spn - rxs->base >= rxs->window) {
			refuse(rxs, op, i, MROCE_N_WINDOW, 0);
			break;
		}
		if (!rxs->claimed || !test_bit(slot(rxs, spn), rxs->claimed)) {
			fresh |= BIT_ULL(i);
		} else if (arrived(rxs, spn)) {
			duplicate(rxs, op, i);
		} else {
			op->rx->stats.claimed++;
			reason = MROCE_REASON_RX_CLAIMED;
		}
	}
	if (!fresh)
		return op->bits ? MROCE_REASON_NONE : reason;
	i = __ffs64(fresh);

	if (rxs->refusing && mroce_seq_diff(h->msn, rxs->refuse_msn) >= 0) {
		if (!refusal_over(rxs, op)) {
			refuse(rxs, op, i, rxs->refuse_reason, rxs->refuse_timer);
			return MROCE_REASON_NONE;
		}
		rxs->refusing = false;
	}
	if (mroce_seq_before(h->msn, rxs->msn))
		return MROCE_REASON_RX_MALFORMED;
	if (h->msn - rxs->msn >= rxs->window_msgs) {
		refuse(rxs, op, i, MROCE_N_WINDOW, 0);
		return MROCE_REASON_NONE;
	}
	if (without_credit(rxs, op, h->rsn)) {
		rxs->credit_stalled = true;
		refuse_from(rxs, op, i, MROCE_N_RNR, rxs->rnr_timer);
		return MROCE_REASON_NONE;
	}
	d = have_bitmaps(rxs) ? desc_for(rxs, h->msn) : NULL;
	if (!d) {
		refuse_from(rxs, op, i, MROCE_N_MEMORY, ANSWER_AGAIN);
		return MROCE_REASON_NONE;
	}
	if (!d->valid) {
		/* the one that the others wait for is always taken, or they would wait for ever */
		if (mroce_opinfo[h->opcode].answered && h->msn != rxs->msn &&
		    reads_ahead(rxs) >= rxs->reads_max) {
			refuse(rxs, op, i, MROCE_N_READS, 0);
			return MROCE_REASON_NONE;
		}
		describe(d, h);
	} else {
		describe(&e, h);
		if (!same_message(d, &e))
			return MROCE_REASON_RX_MALFORMED;
		d->flags |= e.flags;
	}
	op->inorder = fresh == all && h->spn == rxs->base;
	op->claimed = fresh;
	run_set(rxs, rxs->claimed, h->spn, fresh);
	op->copier = true;
	rxs->copiers++;
	return MROCE_REASON_NONE;
}

bool mroce_rxs_claim_run(struct mroce_rxs *rxs, struct mroce_rxop *op,
			 const struct mroce_small *run)
{
	const struct mroce_data *h = &op->data;
	u64 all = GENMASK_ULL(op->count - 1, 0);
	u32 n = op->count, receives, i;

	/* all before it has landed, so it lands in order, message by message */
	if (rxs->dead || rxs->refusing || h->spn != rxs->base ||
	    (rxs->claimed && run_get(rxs, rxs->claimed, h->spn) & all))
		return false;
	if (h->msn - rxs->msn >= rxs->window_msgs || n > rxs->window_msgs - (h->msn - rxs->msn) ||
	    without_credit(rxs, op, h->rsn + n - 1))
		return false;
	if (!have_bitmaps(rxs) || !desc_for(rxs, h->msn + n - 1))
		return false;
	for (i = 0; i < n; i++)
		if (desc_at(rxs, h->msn + i)->valid)
			return false;
	receives = mroce_opinfo[h->opcode].receive ? 1 : 0;
	for (i = 0; i < n; i++)
		*desc_at(rxs, h->msn + i) = (struct mroce_desc){
			.addr = run[i].addr,
			.msn = h->msn + i,
			.first = h->spn + i,
			.packets = 1,
			.length = run[i].length,
			.rsn = h->rsn + i * receives,
			.rkey = run[i].rkey,
			.imm = run[i].imm,
			.psize = h->psize,
			.opcode = h->opcode,
			.flags = run[i].flags & MROCE_F_SOLICITED,
			.valid = true,
		};
	if (rxs->credit != MROCE_CREDIT_NONE)
		tell(rxs);
	op->run = run;
	op->inorder = true;
	op->claimed = all;
	run_set(rxs, rxs->claimed, h->spn, all);
	op->copier = true;
	rxs->copiers++;
	return true;
}

void mroce_rxs_unclaim(struct mroce_rxs *rxs, struct mroce_rxop *op, u64 mask, u8 nack, u8 timer)
{
	mask &= op->claimed;
	if (!mask)
		return;
	op->claimed &= ~mask;
	run_clear(rxs, rxs->claimed, op->data.spn, mask);
	if (nack == MROCE_N_RNR)
		rxs->credit_stalled = true;
	if (nack != MROCE_N_NONE)
		refuse_from(rxs, op, __ffs64(mask), nack, timer);
}

/*
 * Moves the base over what has landed; frees the numbers for the next time around. Who moves it
 * lands the held packets that this releases, for its own number is not reported before.
 */
static void advance(struct mroce_rxs *rxs, const struct mroce_rxop *op)
{
	u32 base = rxs->base, n;
	u64 run;

	if (test_bit(slot(rxs, base), rxs->placed))
		rxs->lander = op;

	do {
		run = run_get(rxs, rxs->placed, base);
		n = ~run ? __ffs64(~run) : 64;
		if (!n)
			break;
		run = GENMASK_ULL(n - 1, 0);
		run_clear(rxs, rxs->placed, base, run);
		run_clear(rxs, rxs->claimed, base, run);
		base += n;
	} while (n == 64);
	/* pairs with READ_ONCE() of the requests' floor: an older value is only less news */
	WRITE_ONCE(rxs->base, base);
}

/* The message keeps its place in the ring until all of its packets are counted. */
static void count_packets(struct mroce_rxs *rxs, u32 msn, u32 count)
{
	struct mroce_desc *d = desc_at(rxs, msn);

	/* an ERROR_RESP's may be gone: it does not wait for the others */
	if (d->valid && d->msn == msn)
		d->got += count;
}

void mroce_rxs_placed(struct mroce_rxs *rxs, struct mroce_rxop *op, u64 mask)
{
	u64 left;

	mask &= op->claimed;
	for (left = op->run ? mask : 0; left; left &= left - 1)
		count_packets(rxs, op->data.msn + __ffs64(left), 1);
	if (mask && !op->run)
		count_packets(rxs, op->data.msn, hweight64(mask));
	op->claimed &= ~mask;
	op->bits |= mask;
	run_set(rxs, rxs->placed, op->data.spn, mask);
	advance(rxs, op);
}

bool mroce_rxs_hold(struct mroce_rxs *rxs, struct mroce_rxop *op, u32 i, struct mroce_held *held)
{
	u32 spn = op->data.spn + i;
	struct list_head *at;

	/*
	 * re-checked under the lock that drains the list: all before it may have landed meanwhile
	 */
	if (spn == rxs->base)
		return false;
	held->spn = spn;
	list_for_each_prev(at, &rxs->held)
		if (mroce_seq_before(list_entry(at, struct mroce_held, node)->spn, spn))
			break;
	list_add(&held->node, at);
	__set_bit(slot(rxs, spn), rxs->held_bits);
	/* the base does not pass it before it has landed */
	count_packets(rxs, op->data.msn, 1);
	op->claimed &= ~BIT_ULL(i);
	op->bits |= BIT_ULL(i);
	op->rx->stats.held++;
	return true;
}

struct mroce_held *mroce_rxs_land(struct mroce_rxs *rxs, struct mroce_rxop *op)
{
	struct mroce_held *h = list_first_entry_or_null(&rxs->held, struct mroce_held, node);

	if (rxs->lander != op || !h || h->spn != rxs->base)
		return NULL;
	rxs->landing = true;
	list_del_init(&h->node);
	return h;
}

void mroce_rxs_landed(struct mroce_rxs *rxs, struct mroce_rxop *op, u32 spn, u8 nack)
{
	u32 msn;

	rxs->landing = false;
	__clear_bit(slot(rxs, spn), rxs->held_bits);
	if (nack == MROCE_N_NONE) {
		__set_bit(slot(rxs, spn), rxs->placed);
		advance(rxs, op);
		return;
	}
	/*
	 * its bit was reported, but no later message completes: the
	 * sender has not been told of the hole before it
	 */
	__clear_bit(slot(rxs, spn), rxs->claimed);
	for (msn = rxs->msn; msn - rxs->msn < rxs->desc_mask; msn++) {
		const struct mroce_desc *d = desc_at(rxs, msn);

		if (d->valid && spn - d->first < d->packets)
			break;
	}
	rxs->refusing = true;
	rxs->refuse_msn = msn;
	rxs->refuse_spn = spn;
	rxs->refuse_reason = nack;
	op->refused = nack;
	mroce_rx_nack(op->rx, rxs, op, spn, msn, nack, 0);
}

/*
 * Is the message at the cursor whole? Its numbers have all landed, and every one of them by a
 * packet of its own: a peer that gives one number to two messages has left bytes unwritten, and
 * nothing from there on is taken.
 */
static bool whole(struct mroce_rxs *rxs, const struct mroce_desc *d)
{
	if (!d->valid || d->msn != rxs->msn || mroce_seq_diff(rxs->base, d->first + d->packets) < 0)
		return false;
	if (d->got == d->packets || d->opcode == MROCE_OP_ERROR_RESP)
		return true;
	mroce_rxs_refuse(rxs, d->msn, MROCE_N_LENGTH);
	return false;
}

bool mroce_rxs_begin(struct mroce_rxs *rxs)
{
	/*
	 * a response tells the requester of what was placed before
	 * it: it waits like an ACK. Who lands calls again.
	 */
	if (rxs->running || !rxs->desc || mroce_rxs_landing(rxs) ||
	    !whole(rxs, desc_at(rxs, rxs->msn)))
		return false;
	rxs->running = true;
	return true;
}

const struct mroce_desc *mroce_rxs_message(struct mroce_rxs *rxs)
{
	struct mroce_desc *d = rxs->desc ? desc_at(rxs, rxs->msn) : NULL;

	if (!d || rxs->dead || mroce_rxs_landing(rxs) || !whole(rxs, d) ||
	    (rxs->refusing && fatal(rxs->refuse_reason) &&
	     !mroce_seq_before(rxs->msn, rxs->refuse_msn))) {
		rxs->running = false;
		return NULL;
	}
	d->valid = false;
	rxs->msn++;
	return d;
}

void mroce_rxs_refuse(struct mroce_rxs *rxs, u32 msn, u8 nack)
{
	if (rxs->refusing && fatal(rxs->refuse_reason) && !mroce_seq_before(msn, rxs->refuse_msn))
		return;
	rxs->refusing = true;
	rxs->refuse_msn = msn;
	rxs->refuse_reason = nack;
	rxs->refuse_timer = 0;
}

bool mroce_rxs_credit(struct mroce_rxs *rxs, u32 credit)
{
	bool stalled;

	if (rxs->credit != MROCE_CREDIT_NONE && mroce_seq_diff(credit, rxs->credit) <= 0)
		return false;
	rxs->credit = credit;
	tell(rxs);
	stalled = rxs->credit_stalled;
	if (rxs->refusing && rxs->refuse_reason == MROCE_N_RNR &&
	    mroce_seq_diff(rxs->refuse_rsn, credit) < 0)
		rxs->refusing = false;
	rxs->credit_stalled = false;
	return stalled;
}
