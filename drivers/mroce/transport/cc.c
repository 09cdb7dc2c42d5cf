// SPDX-License-Identifier: GPL-2.0
/*
 * The window of a path. It doubles each round trip at start-up; then a connection grows by a packet
 * a round trip, whatever the number of its paths. Marks take half a packet each while the path has
 * marks; where it has none delay takes an eighth a round trip, and ends growth. Heavy loss and what
 * the last round trip delivered bound both. Loss alone changes nothing: it is resent. Pure; the
 * half's lock is the caller's.
 *
 * A path takes what its plane has room for, up to a train, when it has less in flight than its
 * window: so windows smaller than a train, or than a packet, are used in turns (tx.h,
 * mroce_path_room()). What congests it may then be more than its window, and is answered out of its
 * peers' windows too (cut()). Documentation/protocol.rst, "Congestion", has the reason of each
 * constant.
 */
#include "tx.h"

#define CWND_FIRST		65536U		/* payload of a connection's first flight, bytes */
#define CWND_FIRST_MAX		262144U		/* the same with headers, where packets are tiny */
#define CWND_LAST		(32U << 20)	/* of a path: 10 ms at 25 Gb/s */
#define FLOOR_SHIFT		6		/* marks leave a plane this part of a packet */
#define LOSS_FLOOR_SHIFT	4		/* and losses this, for they may be chance */
#define DELAY_FLOOR		(1 * MROCE_MSEC)	/* queueing delay that is always allowed */
#define DELAY_SHIFT		3		/* an eighth less */
#define HEAVY_LOSS		8		/* more than 1/8 of a round trip's packets */
#define HEAVY_LOSS_PACKETS	16		/* below which a share of them says nothing */
#define HEAVY_LOSS_EVENTS	5		/* chance alone makes fewer than these of 16 */
#define GROWTH_PERIOD		(250 * MROCE_USEC)	/* a packet each, on longer round trips */
#define GROWTH_SHIFT		4		/* and at most this part more a round trip */
#define SMALL_GROWTH		8		/* part of a packet, of windows below one */
#define LONG_RTT		(1 * MROCE_MSEC)
#define MARKS_LIFE		(10000 * MROCE_MSEC)	/* of load without a mark */
#define ALL_MARKED_PACKETS	32		/* every one marked, over so many round trips: */
#define ALL_MARKED_ROUNDS	10		/* the network does not mean congestion */
#define ECT_TIMEOUTS		5	/* a full queue makes as many as three */
#define STEADY_SHIFT		2	/* pace beyond the window after start-up: a quarter */
#define UNKNOWN_RTT		(100 * MROCE_USEC)

static struct mroce_tx_plane *plane_of(struct mroce_tx *tx, const struct mroce_txpath *p)
{
	return &tx->plane[p->plane];
}

/*
 * What the path may send in a second, for pacing: its window in a round trip, and as much more as
 * it may grow in one. What waits in a queue is not where a packet now and then should wait, so a
 * window below a packet counts by the least round trip, and as it is.
 */
static void set_rate(struct mroce_tx *tx, struct mroce_txpath *p)
{
	bool tiny = plane_of(tx, p)->window < mroce_packet_cost(tx);
	u32 trip = tiny ? plane_of(tx, p)->base : p->srtt;
	u64 rate;

	rate = div_u64((u64)p->cwnd * 1000000000ULL, trip ?: UNKNOWN_RTT);
	if (!tiny)
		rate += p->cwnd < p->ssthresh ? rate : rate >> STEADY_SHIFT;
	if (p->state == MROCE_PATH_ACTIVE) {
		plane_of(tx, p)->paced += rate - p->paced;
		mroce_plane_rate(tx, plane_of(tx, p));
	}
	p->paced = rate;
}

void mroce_cc_window(struct mroce_tx *tx, struct mroce_txpath *p, u32 bytes)
{
	if (p->state == MROCE_PATH_ACTIVE)
		plane_of(tx, p)->window += bytes - p->cwnd;
	p->cwnd = bytes;
	set_rate(tx, p);
}

/* The least that the path's window may be so that its plane's is a packet, or part of one. */
static u32 least(const struct mroce_tx *tx, const struct mroce_txpath *p, u32 shift)
{
	return max((mroce_packet_cost(tx) >> shift) / max_t(u8, tx->plane[p->plane].npaths, 1), 1U);
}

/*
 * What of this round trip the path has had in flight: its window, or a train that was more than
 * its window.
 */
static u32 carried(struct mroce_tx *tx, const struct mroce_txpath *p)
{
	u64 bytes = p->round_bytes + p->inflight;

	return max_t(u64, p->round_cwnd, min_t(u64, bytes, plane_of(tx, p)->window));
}

/*
 * Less by @bytes, and no more than half of what it carried in one round trip (rule 34). What its
 * own window is too small for comes from its peers: they lent it.
 */
static void cut(struct mroce_tx *tx, struct mroce_txpath *p, u32 bytes, u32 floor_shift)
{
	struct mroce_tx_plane *pl = plane_of(tx, p);
	u32 most = carried(tx, p) / 2, own, rest, others, i;

	if (p->round_cut >= most)
		return;
	bytes = min(bytes, most - p->round_cut);
	p->round_cut += bytes;
	own = min(bytes, p->cwnd / 2);
	rest = bytes - own;
	others = pl->window - p->cwnd;
	mroce_cc_window(tx, p, max(p->cwnd - own, least(tx, p, floor_shift)));
	p->ssthresh = p->cwnd;
	if (!rest || !others || p->state != MROCE_PATH_ACTIVE)
		return;
	for (i = 0; i < tx->npaths; i++) {
		struct mroce_txpath *q = &tx->path[i];

		if (q == p || q->plane != p->plane || q->state != MROCE_PATH_ACTIVE)
			continue;
		own = min_t(u64, div_u64((u64)rest * q->cwnd, others), q->cwnd / 2);
		mroce_cc_window(tx, q, max(q->cwnd - own, least(tx, q, floor_shift)));
		q->ssthresh = q->cwnd;
	}
}

void mroce_cc_init(struct mroce_tx *tx, struct mroce_txpath *p)
{
	u32 cost = mroce_packet_cost(tx), first;

	first = tx->max_payload ? DIV_ROUND_UP(CWND_FIRST, tx->max_payload) * cost : CWND_FIRST;
	first = max(min(first, CWND_FIRST_MAX), 10 * cost);
	p->ssthresh = CWND_LAST;
	mroce_cc_window(tx, p, first / max_t(u8, plane_of(tx, p)->npaths, 1));
	p->round_cwnd = p->cwnd;
	p->round_cut = 0;
	p->loss = (struct mroce_txloss){ 0 };
	p->overdue = 0;
	p->burden = 0;
}

/*
 * Another epoch is another route: what was learned of marks was another's. What mroce_cc_init()
 * sets too is its caller's next step.
 */
void mroce_cc_epoch(struct mroce_txpath *p)
{
	p->packets = 0;
	p->ce = 0;
	p->bytes = 0;
	p->ecn = MROCE_ECN_TESTING;
	p->marks_seen = false;
	p->marks_age = 0;
	p->trips = 0;
	p->round_end = p->next;
	p->round_bytes = 0;
	p->round_ce = 0;
	p->round_packets = 0;
	p->rtts = (struct mroce_rtts){ 0 };
	p->nrtts = 0;
}

/* Rule 17: do marks, and not the delay, say how full this path is? */
bool mroce_cc_by_marks(const struct mroce_txpath *p)
{
	return p->ecn == MROCE_ECN_GOOD && p->marks_seen && p->marks_age < MARKS_LIFE;
}

static u32 queueing(const struct mroce_tx *tx, const struct mroce_txpath *p)
{
	u32 base = tx->plane[p->plane].base;

	return base && p->srtt > base ? p->srtt - base : 0;
}

/*
 * Is the queue too long? The least of several round trips says so, for one by itself may be long
 * for reasons that no window helps against: a host that is busy, packets that overtake each other.
 * All paths of the plane have such a number soon, one that is worse than others later.
 */
static bool delayed(const struct mroce_tx *tx, const struct mroce_txpath *p)
{
	const struct mroce_tx_plane *pl = &tx->plane[p->plane];
	u64 most = (u64)pl->base + max_t(u64, pl->base, DELAY_FLOOR);

	if (p->threshold)
		most += 4ULL * p->rttvar;
	return pl->base && !mroce_cc_by_marks(p) && max(pl->rtts.least, p->rtts.least) > most;
}

/* RFC 9000, 13.4.2: a network that marks everything, queue or not, says nothing by it. */
static void validate_ecn(struct mroce_tx *tx, struct mroce_txpath *p)
{
	if (p->ecn != MROCE_ECN_TESTING || !p->packets)
		return;
	if (p->ce != p->packets) {
		p->ecn = MROCE_ECN_GOOD;
	} else if (p->packets >= ALL_MARKED_PACKETS && p->trips >= ALL_MARKED_ROUNDS &&
		   queueing(tx, p) < plane_of(tx, p)->base / 2 + DELAY_FLOOR / 8) {
		p->ecn = MROCE_ECN_IGNORED;
		p->ssthresh = CWND_LAST;	/* its start-up was cut short for nothing */
	}
}

/*
 * More than 1/8 of a round trip's packets lost, by enough events to be no chance: of small windows
 * several round trips are taken together.
 */
static bool heavy_loss(struct mroce_tx *tx, struct mroce_txpath *p)
{
	struct mroce_txloss *l = &p->loss;
	bool heavy = false;

	if (l->packets < HEAVY_LOSS_PACKETS)
		return false;
	if (l->lost * HEAVY_LOSS > l->packets) {
		if (l->events < HEAVY_LOSS_EVENTS)
			return false;
		heavy = true;
		/* the window becomes what was delivered: it loses what was lost */
		cut(tx, p, min_t(u64, div_u64((u64)carried(tx, p) * l->lost, l->packets),
				 p->cwnd), LOSS_FLOOR_SHIFT);
	}
	*l = (struct mroce_txloss){ .heavy = heavy };
	return heavy;
}

/* How unwelcome more data are on this path: queueing, and its share of marked packets, in ns. */
static void weigh(struct mroce_tx *tx, struct mroce_txpath *p)
{
	u64 marks = p->round_packets ? div_u64((u64)p->round_ce * p->srtt, p->round_packets) : 0;

	p->burden = p->burden / 2 + (queueing(tx, p) + (u32)min_t(u64, marks, p->srtt)) / 2;
}

static void end_of_round(struct mroce_tx *tx, struct mroce_txpath *p, u64 now)
{
	u32 train = tx->train + MROCE_TRAIN_MAX * MROCE_OVERHEAD;
	u64 most = 2 * p->round_bytes + train;

	p->trips = min(p->trips + 1, 1000);
	p->marks_age += min_t(u64, now - p->round_at, 2ULL * p->srtt + MROCE_ACK_DELAY);
	validate_ecn(tx, p);
	if (!heavy_loss(tx, p) && delayed(tx, p))
		cut(tx, p, carried(tx, p) >> DELAY_SHIFT, 0);
	weigh(tx, p);
	/* no sign of congestion, so start-up may go on from there */
	if (p->cwnd > most && !plane_of(tx, p)->drain_until)
		mroce_cc_window(tx, p, most);
	else
		set_rate(tx, p);
	p->round_end = p->next;
	p->round_at = now;
	p->round_cut = 0;
	p->round_cwnd = p->cwnd;
	p->round_bytes = 0;
	p->round_ce = 0;
	p->round_packets = 0;
}

/*
 * A packet a connection and round trip, or each 250 µs of longer ones, in proportion to what was
 * acknowledged. Where that many are no small part of the window, on a slow link, it is less, or no
 * sign of congestion could keep up with it. A window below a packet grows by 1/8 packet for each
 * round trip that passed, to four times itself at most: a whole packet would be many times too
 * much, and a part of itself would keep those with little where they are.
 */
static u32 growth(struct mroce_tx *tx, struct mroce_txpath *p, u32 acked, u64 now)
{
	struct mroce_tx_plane *pl = plane_of(tx, p);
	u32 window = max(pl->window, 1U), cost = mroce_packet_cost(tx);
	u64 step, trips;

	if (p->cwnd < p->ssthresh)
		return acked;
	if (window < cost) {
		trips = div_u64(now - pl->grown_at, pl->base ?: UNKNOWN_RTT);
		pl->grown_at = now;
		step = min_t(u64, trips, SMALL_GROWTH) * cost / SMALL_GROWTH;
		/* all of it is this path's: the packet was all that was in flight */
		return clamp_t(u64, step, 1, 3 * window);
	}
	step = div_u64((u64)cost * acked, window);
	if (p->srtt > GROWTH_PERIOD)
		step = min(div_u64(step * (p->srtt >> 10), GROWTH_PERIOD >> 10),
			   step + (acked >> GROWTH_SHIFT));
	return clamp_t(u64, step, 1, acked);
}

/* Is what is lost more than chance explains, by this path or, where each has little, by all? */
static bool losing(const struct mroce_tx *tx, const struct mroce_txpath *p)
{
	return p->loss.heavy || tx->recent_lost * HEAVY_LOSS > tx->recent ||
	       (p->loss.events > 1 && p->loss.lost * HEAVY_LOSS > p->loss.packets);
}

void mroce_cc_ack(struct mroce_tx *tx, struct mroce_txpath *p, const struct mroce_ack *ack,
		  u32 acked_bytes, const struct mroce_txloss *lost, u64 now)
{
	struct mroce_tx_plane *pl = plane_of(tx, p);
	u32 marked = ack->ce - p->ce;
	s32 packets = ack->packets - p->packets;
	u32 grown, most;

	if (packets > 0) {
		p->round_packets += packets;
		p->round_bytes += ack->bytes - p->bytes + (u64)packets * MROCE_OVERHEAD;
		p->loss.packets += packets;
		p->packets = ack->packets;
		p->ce = ack->ce;
		p->bytes = ack->bytes;
	} else {
		marked = 0;	/* an older ACK: its counts are known */
	}
	p->loss.lost += lost->lost;
	p->loss.events += lost->events;
	p->loss.packets += lost->lost;

	if (marked && p->ecn != MROCE_ECN_IGNORED) {
		p->round_ce += marked;
		p->marks_seen = true;
		p->marks_age = 0;
		/*
		 * on a long way everything that was sent before the first answer is marked at
		 * once: less a round trip, or the link runs dry
		 */
		most = p->srtt > LONG_RTT ? carried(tx, p) >> DELAY_SHIFT : U32_MAX;
		most -= min(most, p->round_cut);
		cut(tx, p, min_t(u64, (u64)marked * mroce_packet_cost(tx) / 2, most), FLOOR_SHIFT);
	} else if (acked_bytes && p->newest <= pl->full_at && p->cwnd < CWND_LAST &&
		   !losing(tx, p) && !delayed(tx, p)) {
		/* only a window that was full since then grows (rule 18) */
		grown = p->cwnd + growth(tx, p, acked_bytes, now);
		if (p->cwnd >= p->ssthresh)
			p->ssthresh = grown;	/* start-up does not come back before this */
		if (p->state == MROCE_PATH_ACTIVE)
			pl->window += min(grown, CWND_LAST) - p->cwnd;
		p->cwnd = min(grown, CWND_LAST);
	}
	if (mroce_seq_after(ack->base.number, p->round_end - 1))
		end_of_round(tx, p, now);
}

/* The host itself dropped a packet: its queue is full. */
void mroce_cc_local_drop(struct mroce_tx *tx, struct mroce_txpath *p)
{
	cut(tx, p, carried(tx, p) / 2, 0);
}

/*
 * Timeouts in a row: whatever the window was, the path does not carry it now. If nothing ever came
 * of what was sent as ECT, the network may drop just that (RFC 9000, 13.4.2).
 */
void mroce_cc_timeout(struct mroce_tx *tx, struct mroce_txpath *p)
{
	u32 before = p->cwnd;

	mroce_cc_window(tx, p, min(p->cwnd, least(tx, p, 0)));
	p->ssthresh = max(before / 2, p->cwnd);
	if (p->ecn == MROCE_ECN_TESTING && !p->packets && p->timeouts >= ECT_TIMEOUTS)
		p->ecn = MROCE_ECN_OFF;
}

/* The receiver grants so much: start-up may begin there (rule 18); pacing spreads it. */
void mroce_cc_granted(struct mroce_tx *tx, struct mroce_txpath *p, u64 rate)
{
	u64 window;

	if (p->cwnd >= p->ssthresh || !p->srtt)
		return;
	/* what is on its way in a round trip, what is being sent, and what is being acknowledged */
	window = div_u64(rate * (p->srtt >> 10), 1000000000U >> 10) + 2 * plane_of(tx, p)->quantum;
	window = div_u64(window, max_t(u8, plane_of(tx, p)->npaths, 1));
	if (window <= p->cwnd)
		return;
	mroce_cc_window(tx, p, min_t(u64, window, CWND_LAST));
	p->round_bytes = p->cwnd;	/* of this round trip it is not to be taken back */
}
