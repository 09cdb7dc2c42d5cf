// SPDX-License-Identifier: GPL-2.0
/*
 * The planes of a sending half: which path belongs to which, what the paths of one plane share,
 * the receiver's share as the cap of its rate, and pacing. Pure; the half's lock is the caller's.
 *
 * Pacing keeps the time at which all that was sent has left at the plane's rate. What is sent may
 * be ahead of that by min(1 ms, two trains), by a round trip where the share is the rate: this is
 * what may wait below us (rule 19). A timer is needed only when it is farther ahead.
 */
#include "tx.h"

#define AHEAD		(1 * MROCE_MSEC)
#define AHEAD_TRAINS	2
#define SHARE_AHEAD	(5 * MROCE_USEC)
#define NPB_SHIFT	20	/* of ns per byte */
#define NSEC		1000000000ULL
#define IDLE_MAX	65536U	/* bytes from idle, where the receiver has not said it */
#define SLOWEST		1	/* packet a second, whatever the windows say */
#define BASE_PERIOD	(10000 * MROCE_MSEC)	/* rule 17: minimum of 10 s */
#define RTTS_LEAST	8	/* round trips of which the least says something of a queue */
#define DRAIN_SAMPLES	3
#define DRAIN_TIMEOUTS	4	/* probe timeouts that a drain may take */
#define SHARE_LEAST	(250 * MROCE_USEC)
#define SHARE_PACKETS	3

/* An ACTIVE path, and only such a one, counts in its plane. */
void mroce_plane_join(struct mroce_tx *tx, struct mroce_txpath *p)
{
	struct mroce_tx_plane *pl = &tx->plane[p->plane];

	pl->npaths++;
	pl->window += p->cwnd;
	pl->inflight += p->inflight;
	pl->paced += p->paced;
	mroce_plane_rate(tx, pl);
}

void mroce_plane_leave(struct mroce_tx *tx, struct mroce_txpath *p)
{
	struct mroce_tx_plane *pl = &tx->plane[p->plane];

	/* where it will lead is not known, and what is sent there then finds no queue of ours */
	if (!--pl->npaths) {
		pl->base = 0;
		pl->drain_until = 0;
		pl->srtt = (struct mroce_srtt){ 0 };
		pl->rtts = (struct mroce_rtts){ 0 };
		pl->nrtts = 0;
	}
	pl->window -= p->cwnd;
	pl->inflight -= p->inflight;
	pl->paced -= p->paced;
	mroce_plane_rate(tx, pl);
}

void mroce_tx_planes(struct mroce_tx *tx, u8 nplanes)
{
	u32 i;

	nplanes = clamp_t(u8, nplanes, 1, MROCE_MAX_PLANES);
	for (i = 0; i < tx->npaths; i++) {
		struct mroce_txpath *p = &tx->path[i];

		if (p->state == MROCE_PATH_ACTIVE)
			mroce_plane_leave(tx, p);
		p->plane = i % nplanes;
		if (p->state == MROCE_PATH_ACTIVE)
			mroce_plane_join(tx, p);
	}
	tx->nplanes = nplanes;
}

/*
 * Sets the plane's rate anew: the share, or what its windows give, whichever is lower.
 */
void mroce_plane_rate(struct mroce_tx *tx, struct mroce_tx_plane *pl)
{
	u32 cost = mroce_packet_cost(tx), train = tx->train + MROCE_TRAIN_MAX * MROCE_OVERHEAD;
	u64 rate = pl->paced, quantum, ahead = AHEAD;

	pl->by_share = pl->share && (u64)pl->share << 10 < rate;
	if (pl->by_share) {
		rate = (u64)pl->share << 10;
		/* what all senders send early meets in one queue; 0: any of them may begin */
		if (pl->active != 1)
			ahead = clamp_t(u64, pl->base / 4, SHARE_AHEAD, AHEAD);
	}
	rate = max_t(u64, rate, (u64)cost * SLOWEST);
	pl->npb = pl->npaths ? div64_u64(NSEC << NPB_SHIFT, rate) : 0;
	pl->quantum = clamp_t(u64, div_u64(rate * (u32)ahead, NSEC), cost, max(train, cost));
	pl->ahead = min_t(u64, ((u64)AHEAD_TRAINS * train * pl->npb) >> NPB_SHIFT, ahead);
	quantum = (pl->quantum * pl->npb) >> NPB_SHIFT;
	pl->ahead = max(pl->ahead, quantum);
	pl->slack = pl->ahead - quantum;
}

/*
 * The least round trip of the plane is what delay is judged by. Each path by itself would take for
 * the least what it saw first, and for most that is after others have made a queue. For the same
 * reason the queue has to go before a round trip counts in place of one that is old: nothing is
 * sent until all has been answered, then a packet at a time. All halves of a host do so when its
 * clock has come to the next period, for each sees the queues of all.
 */
static void set_base(struct mroce_tx_plane *pl, u32 base, u64 now)
{
	pl->base = base;
	pl->base_until = (div64_u64(now, BASE_PERIOD) + 1) * BASE_PERIOD;
}

static void drain(struct mroce_tx *tx, struct mroce_txpath *p, u64 now)
{
	struct mroce_tx_plane *pl = &tx->plane[p->plane];

	pl->drain_until = now + DRAIN_TIMEOUTS * mroce_path_pto(tx, p);
	pl->drained_at = MROCE_NEVER;
	pl->samples = 0;
	pl->sampled = U32_MAX;
}

static void drained(struct mroce_tx *tx, struct mroce_tx_plane *pl, u64 now)
{
	u32 i;

	pl->drain_until = 0;
	set_base(pl, pl->samples ? pl->sampled : pl->base, now);
	/* what was not sent meanwhile says nothing of what can be delivered */
	for (i = 0; i < tx->npaths; i++) {
		struct mroce_txpath *p = &tx->path[i];

		if (&tx->plane[p->plane] == pl)
			p->round_bytes = max_t(u64, p->round_bytes, p->cwnd);
	}
}

static void note_rtt(struct mroce_rtts *r, u8 *n, u32 rtt)
{
	r->so_far = *n ? min(r->so_far, rtt) : rtt;
	if (++*n < RTTS_LEAST)
		return;
	r->least = r->so_far;
	*n = 0;
}

void mroce_plane_rtt(struct mroce_tx *tx, struct mroce_txpath *p, u64 rtt, u64 now)
{
	struct mroce_tx_plane *pl = &tx->plane[p->plane];

	rtt = clamp_t(u64, rtt, 1, U32_MAX / 2);
	note_rtt(&p->rtts, &p->nrtts, rtt);
	note_rtt(&pl->rtts, &pl->nrtts, rtt);
	if (!pl->base || rtt <= pl->base)
		set_base(pl, rtt, now);
	if (!pl->drain_until) {
		if (now < pl->base_until)
			return;
		if (mroce_cc_by_marks(p))
			set_base(pl, rtt, now);
		else
			drain(tx, p, now);
	} else if (pl->drained_at != MROCE_NEVER && rtt <= now - pl->drained_at) {
		pl->sampled = min_t(u64, pl->sampled, rtt);
		if (++pl->samples == DRAIN_SAMPLES)
			drained(tx, pl, now);
	}
}

/* Bytes that may leave while the plane's queue is drained: one packet at a time, at its end. */
static u32 drain_ready(struct mroce_tx *tx, struct mroce_tx_plane *pl, u64 now)
{
	mroce_tx_want(tx, pl->drain_until);
	if (pl->inflight)
		return 0;
	if (pl->drained_at == MROCE_NEVER)
		pl->drained_at = now;
	return mroce_packet_cost(tx);
}

/*
 * The share has expired, or nothing was heard yet: only the idle allowance may go before the next
 * ACK (rule 21).
 */
static bool is_idle(struct mroce_tx_plane *pl, u64 now)
{
	if (pl->heard && (!pl->share || now < pl->share_until))
		return false;
	if (!pl->idle) {
		pl->idle = true;
		pl->left = pl->allowance ?: IDLE_MAX;
	}
	return true;
}

/* How many bytes may leave by the plane now, its windows aside; 0: none, the timer is set. */
u32 mroce_plane_ready(struct mroce_tx *tx, struct mroce_tx_plane *pl, u64 now)
{
	if (pl->drain_until && now >= pl->drain_until)
		drained(tx, pl, now);
	if (pl->drain_until)
		return drain_ready(tx, pl, now);
	if (is_idle(pl, now)) {
		/* with nothing in flight no ACK would come */
		if (pl->left || !pl->inflight)
			return max(pl->left, mroce_packet_cost(tx));
		return 0;
	}
	/* what was sent at another rate counts no more than at this one it could */
	pl->leaves_at = min(pl->leaves_at, now + pl->ahead);
	if (pl->leaves_at > now + pl->slack) {
		mroce_tx_want(tx, pl->leaves_at - pl->slack);
		if (!pl->by_share)
			pl->full_at = now;
		pl->held_back = !pl->by_share;
		return 0;
	}
	return pl->quantum;
}

void mroce_plane_spend(struct mroce_tx_plane *pl, u32 bytes, u64 now)
{
	pl->leaves_at = max(pl->leaves_at, now) + ((bytes * pl->npb) >> NPB_SHIFT);
	pl->left -= min(pl->left, bytes);
}

/* An ACK brings the share of its plane; any answer makes it good again. */
void mroce_plane_ack(struct mroce_tx *tx, struct mroce_txpath *p, const struct mroce_ack *ack,
		     u64 now)
{
	struct mroce_tx_plane *pl = &tx->plane[p->plane];
	u64 life;
	u32 i;

	pl->heard = true;
	pl->heard_at = now;
	pl->idle = false;
	pl->allowance = ack->allowance;
	pl->active = ack->active;
	if (pl->share != ack->share) {
		pl->share = ack->share;
		mroce_plane_rate(tx, pl);
		if (pl->share) {
			life = (u64)mroce_packet_cost(tx) * (NSEC >> 10);
			pl->life = SHARE_PACKETS * div_u64(life, pl->share);
		}
	}
	if (!pl->share)
		return;
	life = max3(2ULL * p->srtt, (u64)SHARE_LEAST, pl->life);
	pl->share_until = now + life;
	/* start-up may begin at what is granted, as often as that is much more */
	if (pl->share - pl->share / 8 <= pl->granted)
		return;
	pl->granted = pl->share;
	for (i = 0; i < tx->npaths; i++)
		if (tx->path[i].plane == p->plane)
			mroce_cc_granted(tx, &tx->path[i], (u64)pl->share << 10);
}

/*
 * A probe timeout of a packet sent at @since, and no ACK on the plane meanwhile: half the share,
 * once in @pto for all paths (rule 53).
 */
void mroce_plane_timeout(struct mroce_tx *tx, struct mroce_txpath *p, u64 since, u64 pto, u64 now)
{
	struct mroce_tx_plane *pl = &tx->plane[p->plane];

	if (pl->share < 2 || pl->heard_at > since || pl->halved_at + pto > now)
		return;
	pl->share /= 2;
	pl->halved_at = now;
	mroce_plane_rate(tx, pl);
}
