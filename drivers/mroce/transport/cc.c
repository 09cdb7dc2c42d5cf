// SPDX-License-Identifier: GPL-2.0
/*
 * The window of a path: doubling at start-up, then one packet a round trip; half a packet
 * less for each marked packet; delay and heavy loss bound the rest (RULES.md 17, 18, 34). Loss
 * alone changes nothing: it is resent. Pure; the half's lock is the caller's.
 */
#include "tx.h"

#define CWND_FIRST	65536U		/* bytes */
#define CWND_FIRST_PKTS	10U
#define CWND_LAST	1048576U
#define CWND_LEAST_PKTS	2U
#define DELAY_FLOOR	(1 * MROCE_MSEC)	/* rule 17: queueing delay that is always allowed */
#define HEAVY_LOSS	8		/* more than 1/8 of a round trip's packets */
#define HEAVY_LOSS_MIN	16		/* packets in a round trip below which it says nothing */

static u32 packet_cost(const struct mroce_tx *tx)
{
	return tx->max_payload + MROCE_OVERHEAD;
}

static u32 cwnd_least(const struct mroce_tx *tx)
{
	return CWND_LEAST_PKTS * packet_cost(tx);
}

void mroce_cc_window(struct mroce_tx *tx, struct mroce_txpath *p, u32 bytes)
{
	if (p->state == MROCE_PATH_ACTIVE)
		tx->plane[p->plane].window += bytes - p->cwnd;
	p->cwnd = bytes;
}

static void cwnd_cut(struct mroce_tx *tx, struct mroce_txpath *p, u32 to)
{
	mroce_cc_window(tx, p, max(to, cwnd_least(tx)));
	p->ssthresh = p->cwnd;
}

void mroce_cc_init(struct mroce_tx *tx, struct mroce_txpath *p)
{
	mroce_cc_window(tx, p, clamp(CWND_FIRST_PKTS * packet_cost(tx),
				     CWND_FIRST + CWND_FIRST_PKTS * MROCE_OVERHEAD, CWND_LAST));
	p->ssthresh = CWND_LAST;
	p->limited = false;
	p->ecn_seen = false;
}

static void end_of_round(struct mroce_tx *tx, struct mroce_txpath *p)
{
	u64 most = 2 * p->round_bytes + 2 * (u64)tx->train;

	if (p->round_packets >= HEAVY_LOSS_MIN && p->round_lost * HEAVY_LOSS > p->round_packets)
		cwnd_cut(tx, p, min_t(u64, p->round_bytes, p->cwnd));
	else if (!p->ecn_seen && p->srtt > p->base &&
		 p->srtt - p->base > max_t(u64, p->base, DELAY_FLOOR))
		cwnd_cut(tx, p, p->cwnd - p->cwnd / 8);
	if (p->cwnd > most)
		mroce_cc_window(tx, p, max_t(u64, most, cwnd_least(tx)));
	p->round_end = p->next;
	p->round_lost = 0;
	p->round_packets = 0;
	p->round_cut = 0;
	p->round_bytes = 0;
}

void mroce_cc_ack(struct mroce_tx *tx, struct mroce_txpath *p, const struct mroce_ack *ack,
		  u32 acked_bytes, u32 lost, u64 now)
{
	u32 marked = ack->ce - p->ce, cut, grown;
	s32 packets = ack->packets - p->packets;

	if (packets > 0) {
		p->round_packets += packets;
		p->round_bytes += ack->bytes - p->bytes;
		p->packets = ack->packets;
		p->ce = ack->ce;
		p->bytes = ack->bytes;
	} else {
		marked = 0;	/* an older ACK: its counts are known */
	}
	p->round_lost += lost;
	p->round_packets += lost;

	if (marked) {
		/* one event an ACK (rule 34), and no more than half a window a round trip */
		cut = min_t(u64, (u64)min_t(u32, marked, MROCE_TRAIN_MAX) * packet_cost(tx) / 2,
			    p->cwnd / 2);
		if (p->round_cut + cut <= p->cwnd / 2) {
			p->round_cut += cut;
			cwnd_cut(tx, p, p->cwnd - cut);
		}
		p->ecn_seen = true;
	} else if (p->limited && acked_bytes) {
		/* only a window that was full grows (rule 18) */
		grown = p->cwnd;
		if (p->cwnd < p->ssthresh)
			grown += acked_bytes;
		else
			grown += max_t(u64, (u64)packet_cost(tx) * acked_bytes / p->cwnd, 1);
		mroce_cc_window(tx, p, min(grown, CWND_LAST));
	}
	p->limited = !mroce_path_room(tx, p);
	if (mroce_seq_after(ack->base.number, p->round_end - 1))
		end_of_round(tx, p);
}

/* The host itself dropped a packet: its queue is full. */
void mroce_cc_local_drop(struct mroce_tx *tx, struct mroce_txpath *p)
{
	cwnd_cut(tx, p, p->cwnd / 2);
}

/* Timeouts in a row: whatever the window was, the path does not carry it now. */
void mroce_cc_timeout(struct mroce_tx *tx, struct mroce_txpath *p)
{
	u32 before = p->cwnd;

	cwnd_cut(tx, p, 0);
	p->ssthresh = max(before / 2, p->cwnd);
}
