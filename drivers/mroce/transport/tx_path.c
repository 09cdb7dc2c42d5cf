// SPDX-License-Identifier: GPL-2.0
/*
 * A path of a sending half: what it has in flight, its round-trip time and its probe
 * timeout. What follows from a timeout is in tx_fail.c. Pure; the half's lock is the caller's.
 */
#include "tx.h"

#define RECORDS_MIN	4
#define RECORDS_MAX	2048
#define RECORDS_LIFE	(1000 * MROCE_MSEC)	/* of a ring that is empty */
#define SPARSE_PACKETS	4
#define OVERDUE_TRIPS	4
#define PTO_UNKNOWN	(20 * MROCE_MSEC)	/* before the first sample */

void mroce_path_init(struct mroce_tx *tx, struct mroce_txpath *p, u8 index)
{
	memset(p, 0, sizeof(*p));
	p->index = index;
	p->state = MROCE_PATH_ACTIVE;
	/* an epoch starts at 1, so that a loss of its first packets shows as a gap */
	p->next = 1;
	p->probe_at = MROCE_NEVER;
	p->quiet_since = MROCE_NEVER;
	mroce_plane_join(tx, p);
	mroce_cc_epoch(p);
	mroce_cc_init(tx, p);
}

void mroce_path_free(struct mroce_txpath *p)
{
	kfree(p->sent);
	p->sent = NULL;
	p->head = 0;
	p->tail = 0;
	p->mask = 0;
}

/* Is there room for one more transmission on record? Grows the ring. */
bool mroce_path_reserve(struct mroce_tx *tx, struct mroce_txpath *p)
{
	u32 size = p->sent ? p->mask + 1 : 0;
	u32 i, bigger = size ? size * 2 : RECORDS_MIN;
	struct mroce_sent *sent;

	if (p->tail - p->head < size)
		return true;
	if (bigger > RECORDS_MAX)
		return false;
	sent = kmalloc_array(bigger, sizeof(*sent), GFP_ATOMIC | __GFP_NOWARN);
	if (!sent) {
		tx->starved = true;
		return false;
	}
	for (i = p->head; i != p->tail; i++)
		sent[i & (bigger - 1)] = p->sent[i & p->mask];
	kfree(p->sent);
	tx->grown = true;
	p->sent = sent;
	p->mask = bigger - 1;
	return true;
}

/* A path that has not sent for a while needs no ring. False: it is in use. */
bool mroce_path_shrink(struct mroce_txpath *p, u64 now)
{
	mroce_path_trim(p);
	if (p->head != p->tail || (p->sent && now - p->last_sent < RECORDS_LIFE))
		return false;
	mroce_path_free(p);
	return true;
}

/*
 * A small message behind another of its stream in one datagram: its record is the other's too, as
 * long as all but the last have one size. They leave together, and are answered together.
 */
static struct mroce_sent *extend(struct mroce_txpath *p, const struct mroce_xmit *x)
{
	struct mroce_sent *s = &p->sent[(p->tail - 1) & p->mask];

	if (p->head == p->tail || s->txs != x->txs || s->kind != MROCE_XMIT_DATA ||
	    s->resend || x->resend || s->count == MROCE_TRAIN_MAX ||
	    s->open != GENMASK_ULL(s->count - 1, 0) || s->spn + s->count != x->data.spn)
		return NULL;
	if (s->count > 1 && s->last != s->psize)
		return NULL;
	s->psize = s->last;
	s->last = x->bytes;
	s->open |= BIT_ULL(s->count++);
	return s;
}

/* Puts a transmission on record and takes its numbers; mroce_path_reserve() said yes. */
struct mroce_sent *mroce_path_record(struct mroce_tx *tx, struct mroce_txpath *p,
				     const struct mroce_xmit *x, u64 now)
{
	struct mroce_sent *s;

	if (x->kind == MROCE_XMIT_DATA && x->joined) {
		s = extend(p, x);
		if (s)
			goto fly;
	}
	s = &p->sent[p->tail++ & p->mask];
	*s = (struct mroce_sent){
		.txs = x->txs,
		.open = GENMASK_ULL(x->count - 1, 0),
		.at = now,
		.number = p->next,
		.kind = x->kind,
		.count = x->count,
		.resend = x->resend,
		.joined = x->kind == MROCE_XMIT_DATA && x->joined,
	};
	if (x->kind == MROCE_XMIT_DATA) {
		s->spn = x->data.spn;
		s->psize = x->bytes ? x->data.psize : 0;
		s->last = x->bytes - (x->count - 1) * s->psize;
	} else if (x->kind == MROCE_XMIT_PROBE) {
		s->psize = x->control.length;	/* which no window pays for */
	}
	p->unanswered++;
	if (p->quiet_since == MROCE_NEVER)
		p->quiet_since = now;
fly:
	p->next += x->count;
	mroce_path_fly(tx, p, x->bytes + x->count * MROCE_OVERHEAD);
	p->last_sent = now;
	if (p->probe_at == MROCE_NEVER)
		mroce_path_arm(tx, p);
	return s;
}

/* Packets of @mask are no longer in flight: acknowledged, or taken as lost. */
void mroce_path_close(struct mroce_tx *tx, struct mroce_txpath *p, struct mroce_sent *s, u64 mask,
		      bool acked, u64 now)
{
	u64 left;
	u32 i;

	mask &= s->open;
	s->open &= ~mask;
	/* a whole transmission has arrived, as nearly always */
	if (acked && s->txs && s->kind == MROCE_XMIT_DATA && mask == GENMASK_ULL(s->count - 1, 0)) {
		mroce_path_fly(tx, p, -(s32)(s->count * MROCE_OVERHEAD +
					     (s->count - 1) * s->psize + s->last));
		s->txs->out -= s->count;
		mroce_txs_acked_run(s->txs, s->spn, s->count, now);
		if (!s->txs->out)
			mroce_txs_kick(s->txs);
		return;
	}
	for (left = mask; left; left &= left - 1) {
		i = __ffs64(left);
		mroce_path_fly(tx, p, -(MROCE_OVERHEAD + (i + 1 == s->count ? s->last : s->psize)));
		if (s->kind == MROCE_XMIT_CONTROL) {
			if (acked) {
				tx->ctl[s->control].used = false;
			} else if (tx->ctl[s->control].used && !tx->ctl[s->control].queued) {
				tx->ctl[s->control].queued = true;
				tx->nctl++;
			}
		}
		if (!s->txs)
			continue;
		if (s->kind == MROCE_XMIT_OPEN) {
			if (!acked && s->txs->state == MROCE_TXS_OPENING) {
				s->txs->open_at = now;
				mroce_txs_kick(s->txs);
			}
			continue;
		}
		s->txs->out--;
		if (acked)
			mroce_txs_acked(s->txs, s->spn + i, now);
		else
			mroce_txs_lost(s->txs, s->spn + i);
		/*
		 * without credit a stream may ask once nothing of it
		 * is on its way, not even what was needless
		 */
		if (!s->txs->out)
			mroce_txs_kick(s->txs);
	}
}

/* Have the windows of @p's plane room for a few packets only? */
bool mroce_path_sparse(const struct mroce_tx *tx, const struct mroce_txpath *p)
{
	u32 window = tx->plane[p->plane].window;

	if (p->state != MROCE_PATH_ACTIVE)
		window += p->cwnd;	/* which is not in the sum */
	return window < SPARSE_PACKETS * mroce_packet_cost(tx);
}

/*
 * A first timeout gives up a packet of @s. Windows of a few packets show no gaps, and a network
 * that drops what they send would never be seen to lose anything: so the next ACK is to say whether
 * it is missing (tx_ack.c, overdue()). Larger windows show gaps; a second timeout in a row tells of
 * a path that fails, and first flights of their own size; what the receiver does not want now is
 * not lost.
 */
void mroce_path_overdue(struct mroce_tx *tx, struct mroce_txpath *p, const struct mroce_sent *s)
{
	if (p->trips >= OVERDUE_TRIPS && !s->txs->paused && mroce_path_sparse(tx, p))
		p->overdue = min(p->overdue + 1, 255);
}

/* Forgets the oldest transmissions of which nothing is open. */
void mroce_path_trim(struct mroce_txpath *p)
{
	while (p->head != p->tail && !p->sent[p->head & p->mask].open)
		p->head++;
}

/* RFC 6298 with the gains of RFC 9002. */
static void smooth(struct mroce_srtt *s, u64 rtt)
{
	u32 r = min_t(u64, rtt, U32_MAX / 2);
	u32 diff;

	if (!s->mean) {
		s->mean = max(r, 1U);
		s->var = r / 2;
	} else {
		diff = r > s->mean ? r - s->mean : s->mean - r;
		s->var = s->var - s->var / 4 + diff / 4;
		s->mean = max(s->mean - s->mean / 8 + r / 8, 1U);
	}
}

void mroce_path_rtt(struct mroce_tx *tx, struct mroce_txpath *p, u64 rtt)
{
	struct mroce_srtt s = { p->srtt, p->rttvar };

	smooth(&s, rtt);
	p->srtt = s.mean;
	p->rttvar = s.var;
	smooth(&tx->plane[p->plane].srtt, rtt);
}

/* When the answer should be there that takes as long as @s says. */
static u64 within(const struct mroce_txpath *p, const struct mroce_srtt *s)
{
	u64 spread = 4 * (u64)s->var;

	/* where it is not kept back that time is room for a host that is busy */
	if (p->asked)
		return s->mean + max_t(u64, spread, MROCE_ACK_DELAY);
	return s->mean + spread + MROCE_ACK_DELAY;
}

/*
 * How long an answer may take, as far as round trips say. A path that has a packet now and then
 * hears of a queue that grows long after its peers have: so as long as theirs take, at least.
 */
u64 mroce_path_patience(const struct mroce_tx *tx, const struct mroce_txpath *p)
{
	const struct mroce_srtt own = { p->srtt, p->rttvar };

	if (!p->srtt)
		return PTO_UNKNOWN;
	return max3(within(p, &own), within(p, &tx->plane[p->plane].srtt), (u64)MROCE_PTO_FLOOR);
}

/*
 * With each timeout in a row it doubles up to the cap, which is of the doubling: a path whose round
 * trips are longer than that is not to be asked again before it can have answered.
 */
u64 mroce_path_pto(const struct mroce_tx *tx, const struct mroce_txpath *p)
{
	u64 pto = mroce_path_patience(tx, p);

	return min(pto << min_t(u8, p->timeouts, 10), max(pto, MROCE_PROBE_CAP));
}

/* The probe timeout counts from the oldest open packet or the last answer, whichever is later. */
void mroce_path_arm(struct mroce_tx *tx, struct mroce_txpath *p)
{
	mroce_path_trim(p);
	if (p->state == MROCE_PATH_FAILED || p->state == MROCE_PATH_PROBING)
		return;		/* probe_at is the next round of probes */
	if (p->head == p->tail) {
		p->probe_at = MROCE_NEVER;
		return;
	}
	p->probe_at = mroce_path_owes(p) + mroce_path_pto(tx, p);
	mroce_tx_want(tx, p->probe_at);
}

/* Everything that the path has in flight is to be sent elsewhere. */
void mroce_path_evacuate(struct mroce_tx *tx, struct mroce_txpath *p, u64 now)
{
	u32 i;

	for (i = p->head; i != p->tail; i++)
		mroce_path_close(tx, p, &p->sent[i & p->mask], ~0ULL, false, now);
	mroce_path_trim(p);
}

/*
 * Numbers, samples and marks start again: after a new source port, which the network may send by
 * another way, or when the peer has forgotten the old numbers.
 */
void mroce_path_epoch(struct mroce_tx *tx, struct mroce_txpath *p, u64 now)
{
	mroce_path_evacuate(tx, p, now);
	p->epoch++;
	p->next = 1;
	p->high = 0;
	mroce_cc_epoch(p);
	p->timeouts = 0;
	p->unanswered = 0;
	p->quiet_since = MROCE_NEVER;
	p->probe_at = MROCE_NEVER;
	p->probes = 0;
	p->srtt = 0;
	p->rttvar = 0;
	p->threshold = 0;
	p->gaps = 0;
	p->big_lost = 0;
	p->strikes = 0;
	p->sizing = false;
	p->size = tx->agreed;
	mroce_cc_init(tx, p);
}
