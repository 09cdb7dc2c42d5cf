// SPDX-License-Identifier: GPL-2.0
/*
 * The receiving half: the numbers of each path, its bitmap and counts, and the
 * acknowledgements made of them. Pure; the half's lock is the caller's.
 *
 * An ACK is due at once for a new hole, a change of the CE mark, a request, a duplicate, a refusal,
 * and after MROCE_ACK_PACKETS packets or one train, whichever is more; else after MROCE_ACK_DELAY.
 */
#include "rx.h"

#define NEVER_UNREPORTED	128	/* numbers of a path that may go unreported (rule 12) */

int mroce_rx_init(struct mroce_rx *rx, u64 own_id, const struct mroce_hello *hello, u8 npaths)
{
	u32 i;

	memset(rx, 0, sizeof(*rx));
	rx->own_id = own_id;
	rx->peer_id = hello->own_id;
	rx->instance = hello->instance;
	rx->half = hello->half;
	rx->npaths = clamp_t(u8, npaths, 1, MROCE_MAX_PATHS);
	rx->timer = MROCE_NEVER;
	INIT_LIST_HEAD(&rx->due);
	INIT_LIST_HEAD(&rx->waiting);
	INIT_LIST_HEAD(&rx->news);
	rx->path = kcalloc(rx->npaths, sizeof(*rx->path), GFP_ATOMIC | __GFP_NOWARN);
	if (!rx->path)
		return -ENOMEM;
	for (i = 0; i < rx->npaths; i++) {
		rx->path[i].plane = i % clamp_t(u8, hello->nplanes, 1, MROCE_MAX_PLANES);
		INIT_LIST_HEAD(&rx->path[i].due);
		INIT_LIST_HEAD(&rx->path[i].pending);
		rx->path[i].ack_at = MROCE_NEVER;
	}
	return 0;
}

void mroce_rx_free(struct mroce_rx *rx)
{
	kfree(rx->path);
	rx->path = NULL;
	kfree(rx->tomb);
	rx->tomb = NULL;
}

/* bit i stands for the anchor - i: moving the anchor up shifts towards the high bits */
static void bits_advance(u64 *bits, u32 by)
{
	u32 words = by / 64, shift = by % 64;
	int w;

	/* a packet or train further, as nearly always */
	if (likely(!words && shift)) {
		static_assert(MROCE_BITMAP_WORDS == 4);
		bits[3] = bits[3] << shift | bits[2] >> (64 - shift);
		bits[2] = bits[2] << shift | bits[1] >> (64 - shift);
		bits[1] = bits[1] << shift | bits[0] >> (64 - shift);
		bits[0] <<= shift;
		return;
	}
	for (w = MROCE_BITMAP_WORDS - 1; w >= 0; w--) {
		u64 v = 0;

		if (w >= (int)words) {
			v = bits[w - words] << shift;
			if (shift && w > (int)words)
				v |= bits[w - words - 1] >> (64 - shift);
		}
		bits[w] = v;
	}
}

/* the same, downwards: for an ACK anchored below the highest */
static void bits_retreat(u64 *bits, u32 by)
{
	u32 words = by / 64, shift = by % 64, w;

	for (w = 0; w < MROCE_BITMAP_WORDS; w++) {
		u64 v = 0;

		if (w + words < MROCE_BITMAP_WORDS) {
			v = bits[w + words] >> shift;
			if (shift && w + words + 1 < MROCE_BITMAP_WORDS)
				v |= bits[w + words + 1] << (64 - shift);
		}
		bits[w] = v;
	}
}

static bool bit_of(const struct mroce_rxpath *p, u32 number)
{
	u32 below = p->high - number;

	return below < MROCE_BITMAP_BITS && p->bits[below / 64] & BIT_ULL(below % 64);
}

static void make_due(struct mroce_rx *rx, struct mroce_rxpath *p)
{
	if (list_empty(&p->due)) {
		list_add_tail(&p->due, &rx->due);
	} else if (p->ack_at != MROCE_NEVER) {
		p->ack_at = MROCE_NEVER;
		list_move_tail(&p->due, &rx->due);
	}
}

/*
 * One datagram carries the ACKs of several paths: what waits for its timer goes along with what
 * cannot wait, and before it, so that the sender hears of a stream's packets in their order.
 */
static void all_due(struct mroce_rx *rx, struct mroce_rxpath *last)
{
	struct mroce_rxpath *p;

	if (last && last->ack_at != MROCE_NEVER) {
		last->ack_at = MROCE_NEVER;
		list_del_init(&last->due);
	}
	while ((p = list_first_entry_or_null(&rx->waiting, struct mroce_rxpath, due)))
		make_due(rx, p);
	if (last)
		make_due(rx, last);
}

/* In the order of @ack_at: what arrived first may have been copied longer than what came later. */
static void wait(struct mroce_rx *rx, struct mroce_rxpath *p)
{
	struct list_head *at;

	list_for_each_prev(at, &rx->waiting)
		if (list_entry(at, struct mroce_rxpath, due)->ack_at <= p->ack_at)
			break;
	list_add(&p->due, at);
}

static void restart(struct mroce_rxpath *p, u8 epoch)
{
	p->epoch = epoch;
	p->any = false;
	p->high = 0;
	p->reported = 0;
	memset(p->bits, 0, sizeof(p->bits));
	p->packets = 0;
	p->ce = 0;
	p->bytes = 0;
	p->unacked = 0;
	p->was_ce = false;
	p->is_late = false;
	p->duplicate = false;
}

enum mroce_reason mroce_rx_arrive(struct mroce_rx *rx, const struct mroce_data *data, u32 count,
				  u32 bytes, bool ce, u64 now, struct mroce_rxop *op)
{
	struct mroce_rxpath *p;

	if (data->base.path >= rx->npaths)
		return MROCE_REASON_RX_PATH;
	p = &rx->path[data->base.path];
	if (data->base.epoch != p->epoch) {
		/*
		 * an older epoch is late; a newer one starts the path
		 * again, but not under a copy's feet
		 */
		if ((s8)(data->base.epoch - p->epoch) < 0 || !list_empty(&p->pending))
			return MROCE_REASON_RX_PATH;
		restart(p, data->base.epoch);
	}
	op->rx = rx;
	op->data = *data;
	op->run = NULL;
	op->count = count;
	op->bytes = bytes;
	op->claimed = 0;
	op->bits = 0;
	op->now = now;
	op->ce = ce;
	op->whole = false;
	op->joined = false;
	op->inorder = false;
	op->duplicate = false;
	op->copier = false;
	op->refused = MROCE_N_NONE;
	list_add_tail(&op->pending, &p->pending);
	return MROCE_REASON_NONE;
}

/* payload of its largest packet */
static u32 largest(const struct mroce_rxop *op)
{
	u32 bytes = 0, i;

	if (!op->run)
		return min_t(u32, op->bytes, op->data.psize);
	for (i = 0; i < op->count; i++)
		bytes = max(bytes, op->run[i].length);
	return bytes;
}

static void count_arrival(struct mroce_rx *rx, struct mroce_rxpath *p, const struct mroce_rxop *op)
{
	struct mroce_share_member *m = &rx->member[p->plane];

	mroce_share_count(m, op->bytes + op->count * MROCE_OVERHEAD, op->now);
	if (op->data.psize) {
		mroce_share_says(m, op->data.backlog, op->data.flags & MROCE_F_HELD_BACK);
		rx->packet = max_t(u32, rx->packet, largest(op) + MROCE_OVERHEAD);
	}
	rx->latest[p->plane] = p - rx->path;
	if (!rx->first_at)
		rx->first_at = op->now;
	p->packets += op->count;
	p->bytes += op->bytes;
	rx->stats.packets += op->count;
	rx->stats.bytes += op->bytes;
	if (op->ce && !op->joined) {
		p->ce += op->whole || op->run ? 1 : op->count;
		rx->stats.ce += op->run ? 1 : op->count;
	}
	/* the newest stamp: what is echoed must not go back when packets overtake */
	if (!p->any || mroce_seq_diff(op->data.stamp, p->stamp) >= 0) {
		p->stamp = op->data.stamp;
		p->stamp_at = op->now;
	}
}

/*
 * Numbers [first, first + count) with op's bits enter the path's
 * bitmap. True: a hole opened, or something came late.
 */
static bool enter_numbers(struct mroce_rxpath *p, const struct mroce_rxop *op)
{
	u32 first = op->data.base.number, last = first + op->count - 1, i;
	bool hole = mroce_seq_diff(first, p->high) > 1;

	if (mroce_seq_after(last, p->high)) {
		bits_advance(p->bits, min_t(u32, last - p->high, MROCE_BITMAP_BITS));
		p->high = last;
	}
	p->any = true;
	/* the whole of what is newest, as nearly always */
	if (last == p->high && op->bits == GENMASK_ULL(op->count - 1, 0)) {
		p->bits[0] |= op->bits;
		return hole;
	}
	for (i = 0; i < op->count; i++) {
		u32 below = p->high - (first + i);

		if (!(op->bits & BIT_ULL(i)))
			continue;
		if (below < MROCE_BITMAP_BITS) {
			p->bits[below / 64] |= BIT_ULL(below % 64);
		} else {
			p->is_late = true;
			p->late = first + i;
		}
	}
	return hole;
}

void mroce_rx_finish(struct mroce_rx *rx, struct mroce_rxs *rxs, struct mroce_rxop *op)
{
	struct mroce_rxpath *p = &rx->path[op->data.base.path];
	bool now, repeated, below;

	list_del_init(&op->pending);
	if (rxs && op->copier) {
		op->copier = false;
		rxs->copiers--;
		if (rxs->lander == op)
			rxs->lander = NULL;
	}
	count_arrival(rx, p, op);
	below = p->any && !mroce_seq_after(op->data.base.number, p->high);
	/* the network itself repeated it if its own number had arrived: the sender did not */
	repeated = below && bit_of(p, op->data.base.number);
	now = enter_numbers(p, op) || below;
	if (op->duplicate && !repeated)
		p->duplicate = true;
	if (op->ce != p->was_ce) {
		p->was_ce = op->ce;
		now = true;
	}
	p->unacked += op->count;
	p->train = max(op->count, p->train - p->train / 8);
	if (now || op->duplicate || op->refused || p->is_late || op->data.flags & MROCE_F_ACKREQ ||
	    p->unacked >= max_t(u32, MROCE_ACK_PACKETS,
				min_t(u32, p->train, NEVER_UNREPORTED / 2))) {
		all_due(rx, p);
	} else if (list_empty(&p->due)) {
		p->ack_at = op->now + MROCE_ACK_DELAY;
		wait(rx, p);
		rx->timer = min(rx->timer, p->ack_at);
	}
}

/*
 * Highest number below which nothing is being copied; what an earlier
 * ACK already reported stays reported.
 */
static u32 settled(const struct mroce_rxpath *p)
{
	const struct mroce_rxop *op;
	u32 high = p->high;

	list_for_each_entry(op, &p->pending, pending) {
		u32 number = op->data.base.number;

		if (mroce_seq_after(number, p->reported) && !mroce_seq_after(number, high))
			high = number - 1;
	}
	return high;
}

static void add_record(struct mroce_ack *ack, const struct mroce_record_news *r)
{
	ack->record[ack->nrecords++] = *r;
}

/*
 * NACKs of this path first: the sender must not take refused packets
 * for lost ones. Then what streams have to tell.
 */
static void add_news(struct mroce_rx *rx, u8 path, struct mroce_ack *ack)
{
	struct mroce_rxs *rxs, *next;
	u32 i;

	for (i = 0; i < MROCE_MAX_NEWS && rx->nnack && ack->nrecords < MROCE_MAX_RECORDS; i++) {
		struct mroce_news *n = &rx->nack[i];

		if (!n->used || n->path != path || mroce_seq_after(n->r.number, ack->base.number))
			continue;
		add_record(ack, &n->r);
		n->used = false;
		rx->nnack--;
	}
	list_for_each_entry_safe(rxs, next, &rx->news, news) {
		struct mroce_record_news r = {
			.stream = rxs->peer_id,
			.flags = rxs->response ? MROCE_R_RESPONSE : 0,
		};

		if (ack->nrecords + 2 > MROCE_MAX_RECORDS)
			break;
		/* not yet: the lander's ACK tells it */
		if (rxs->tell_release && mroce_rxs_landing(rxs))
			continue;
		if (rxs->tell_release) {
			r.kind = MROCE_R_RELEASE;
			r.spn = rxs->base;
			add_record(ack, &r);
			rxs->tell_release = false;
		}
		if (!rxs->response && rxs->credit != MROCE_CREDIT_NONE) {
			r.kind = MROCE_R_CREDIT;
			r.value = rxs->credit;
			rxs->credit_told = rxs->credit;
			add_record(ack, &r);
		}
		list_del_init(&rxs->news);
	}
}

int mroce_rx_ack(struct mroce_rx *rx, u64 now, struct mroce_ack *ack)
{
	struct mroce_rxpath *p = list_first_entry_or_null(&rx->due, struct mroce_rxpath, due);
	u32 high, below;

	if (!p)
		return 0;
	list_del_init(&p->due);
	memset(ack, 0, offsetof(struct mroce_ack, record));
	high = settled(p);
	below = p->high - high;
	ack->base = (struct mroce_base){
		.version = MROCE_WIRE_VERSION,
		.type = MROCE_T_ACK,
		.path = p - rx->path,
		.epoch = p->epoch,
		.number = high,
		.id = rx->peer_id,
	};
	ack->anchor = high;
	memcpy(ack->bitmap, p->bits, sizeof(ack->bitmap));
	if (p->is_late) {
		/* one number that no bitmap anchored at the highest reaches any more */
		p->is_late = false;
		if (!mroce_seq_after(p->late, high)) {
			ack->anchor = p->late;
			ack->flags |= MROCE_A_PARTIAL;
			memset(ack->bitmap, 0, sizeof(ack->bitmap));
			ack->bitmap[0] = 1;
			make_due(rx, p);
		}
	} else if (below) {
		bits_retreat(ack->bitmap, min_t(u32, below, MROCE_BITMAP_BITS));
	}
	ack->echo = p->stamp;
	ack->delay = (now - p->stamp_at) >> MROCE_STAMP_SHIFT;
	ack->packets = p->packets;
	ack->ce = p->ce;
	ack->bytes = p->bytes;
	if (rx->grant)
		rx->grant(rx, p->plane, now);
	ack->share = rx->share;
	ack->allowance = rx->allowance;
	ack->active = rx->active;
	if (p->duplicate) {
		ack->flags |= MROCE_A_DUPLICATE;
		p->duplicate = false;
	}
	add_news(rx, ack->base.path, ack);
	if (mroce_seq_after(high, p->reported))
		p->reported = high;
	p->unacked = 0;
	/* what is still being copied is reported when its copier is done */
	rx->stats.acks++;
	return 1;
}

void mroce_rx_tell(struct mroce_rx *rx, u8 plane)
{
	struct mroce_rxpath *p = &rx->path[rx->latest[plane]];

	if (p->any && p->plane == plane)
		make_due(rx, p);
}

void mroce_rx_timer(struct mroce_rx *rx, u64 now)
{
	const struct mroce_rxpath *p =
		list_first_entry_or_null(&rx->waiting, struct mroce_rxpath, due);

	rx->timer = p ? p->ack_at : MROCE_NEVER;
	if (rx->timer > now)
		return;
	rx->timer = MROCE_NEVER;
	all_due(rx, NULL);
}

void mroce_rx_nack(struct mroce_rx *rx, struct mroce_rxs *rxs, const struct mroce_rxop *op, u32 spn,
		   u32 msn, u8 reason, u8 timer)
{
	struct mroce_news *n, *free = NULL;
	u32 i, stream = rxs->peer_id, index = spn - op->data.spn;

	rx->stats.nacks++;
	rx->stats.refused[reason]++;
	for (i = 0; i < MROCE_MAX_NEWS; i++) {
		n = &rx->nack[i];
		/* one a stream and ACK, the lowest number, says it all */
		if (n->used && n->path == op->data.base.path && n->r.stream == stream &&
		    !!(n->r.flags & MROCE_R_RESPONSE) == rxs->response) {
			if (mroce_seq_before(n->r.spn, spn))
				return;
			free = n;
			break;
		}
		if (!n->used && !free)
			free = n;
	}
	if (!free)
		return;		/* a lost NACK costs a retransmission and comes again */
	if (!free->used)
		rx->nnack++;
	free->used = true;
	free->path = op->data.base.path;
	free->r = (struct mroce_record_news){
		.kind = MROCE_R_NACK,
		.reason = reason,
		.flags = rxs->response ? MROCE_R_RESPONSE : 0,
		.timer = timer,
		.stream = stream,
		.spn = spn,
		/* a held packet's number is history: the one that made it land speaks for it */
		.number = op->data.base.number + (index < op->count ? index : 0),
		.value = msn,
	};
}

/* ---- tombstones (rule 4) ---- */

/* Without memory there is none: what still comes for the stream is not known, and dropped. */
void mroce_rx_bury(struct mroce_rx *rx, const struct mroce_rxs *rxs, u64 now)
{
	if (!rx->tomb)
		rx->tomb = kcalloc(MROCE_MAX_TOMBS, sizeof(*rx->tomb), GFP_ATOMIC | __GFP_NOWARN);
	if (!rx->tomb)
		return;
	rx->tomb[rx->tomb_next++ % MROCE_MAX_TOMBS] = (struct mroce_tomb){
		.until = now + MROCE_TOMB_LIFE,
		.own_id = rxs->own_id,
		.peer_id = rxs->peer_id,
		.next = rxs->base,
		.response = rxs->response,
	};
}

void mroce_rx_shrink(struct mroce_rx *rx, u64 now)
{
	/* the newest outlives the others */
	if (!rx->tomb || rx->tomb[(rx->tomb_next - 1) % MROCE_MAX_TOMBS].until > now)
		return;
	kfree(rx->tomb);
	rx->tomb = NULL;
}

bool mroce_rx_unknown(struct mroce_rx *rx, struct mroce_rxop *op)
{
	bool response = op->data.flags & MROCE_F_RESPONSE;
	struct mroce_rxs ghost = { .response = response };
	u32 i, j;

	for (i = 0; rx->tomb && i < MROCE_MAX_TOMBS; i++) {
		struct mroce_tomb *t = &rx->tomb[i];

		if (!t->until || t->until <= op->now || t->own_id != op->data.stream ||
		    t->response != response)
			continue;
		ghost.peer_id = t->peer_id;
		for (j = 0; j < op->count; j++) {
			if (mroce_seq_before(op->data.spn + j, t->next)) {
				op->bits |= BIT_ULL(j);
				op->duplicate = true;
			} else {
				op->refused = MROCE_N_GONE;
				mroce_rx_nack(rx, &ghost, op, op->data.spn + j, op->data.msn,
					      MROCE_N_GONE, 0);
				break;
			}
		}
		return true;
	}
	return false;
}
