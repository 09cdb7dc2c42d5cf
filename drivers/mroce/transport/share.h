/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a receiver divides the bandwidth of one of its planes among those who send to it (RULES.md
 * 20, 21, 53). A receiving half has a member in the share of each plane; it counts there what
 * arrives, under its own lock. Everything else is called under the share's lock, which is inside
 * the half's, and looks at members of other halves: what those count is read as it is.
 *
 * An ACK asks mroce_share_stale() without the lock, and mroce_share_update() if that says so:
 * constant time, but for one pass over the active members in an epoch.
 */
#ifndef MROCE_TRANSPORT_SHARE_H
#define MROCE_TRANSPORT_SHARE_H

#include "shim.h"
#include "packet.h"

struct mroce_rx;

#define MROCE_SHARE_PENDING	4

/**
 * struct mroce_share_member - a sender, as a receiver's plane knows it; 64 bytes
 * @node: in the share's list while it is heard
 * @rx: its half
 * @heard: time of its last packet, 1,024 ns; @bytes that came, with headers; @backlog: KiB that it
 *	has still to send; @held_back: as it says. Of the half
 * @seen: @bytes at the last pass; @used, @used_before: KiB/s in the last two epochs
 * @told: its share, KiB/s; @told_at: when that was raised unasked, 1,024 ns
 * @demand: KiB/s; MROCE_HUNGRY: all it can get
 * @weight: set at the receiver; @fresh: passes until its rate says something
 * @active: it has declared a backlog, and @told counts
 */
struct mroce_share_member {
	struct list_head node;
	struct mroce_rx *rx;
	u32 heard, bytes, backlog;
	u32 seen, used, used_before;
	u32 told, told_at, demand;
	u8 weight, fresh;
	bool active, held_back;
};

#define MROCE_HUNGRY	U32_MAX

/**
 * struct mroce_share - a plane of a receiver
 * @capacity: KiB/s; 0: not known, nobody is limited
 * @members: those heard lately
 * @connected: halves; @active of them with a backlog, of @weight in all
 * @announced: what active members were told, and of what was taken back @pending, the part that may
 *	still be on its way: taken back before each @pending_at + @rtt
 * @hungry: weight of those that want all they can get; @limited: KiB/s that the others want
 * @level: KiB/s a weight
 * @rtt: ns, of those who connected lately
 * @packet: bytes of the largest packet seen
 * @pass_at: the last pass; @next_pass
 */
struct mroce_share {
	u32 capacity;
	struct list_head members;
	u32 connected, active, weight;
	u32 announced;
	u32 pending[MROCE_SHARE_PENDING];
	u64 pending_at[MROCE_SHARE_PENDING];
	u32 hungry, limited, level;
	u32 packet;
	u64 rtt, pass_at, next_pass;
};

void mroce_share_init(struct mroce_share *s);
/* KiB/s; 0: not known */
void mroce_share_capacity(struct mroce_share *s, u32 capacity);
void mroce_share_connect(struct mroce_share *s, struct mroce_share_member *m, struct mroce_rx *rx,
			 u8 weight);
void mroce_share_disconnect(struct mroce_share *s, struct mroce_share_member *m);
/* Gives a connected member another weight; 0 is 1. */
void mroce_share_weigh(struct mroce_share *s, struct mroce_share_member *m, u8 weight);
/* A round-trip time, or somewhat more. */
void mroce_share_rtt(struct mroce_share *s, u64 rtt);

/* Packets of a member have arrived. Under its half's lock; any number of halves at once. */
static inline void mroce_share_count(struct mroce_share_member *m, u32 bytes, u64 now)
{
	WRITE_ONCE(m->bytes, m->bytes + bytes);
	WRITE_ONCE(m->heard, (u32)(now >> 10));
}

/* What data packets say of their sender. */
static inline void mroce_share_says(struct mroce_share_member *m, u32 backlog, bool held_back)
{
	WRITE_ONCE(m->backlog, backlog);
	WRITE_ONCE(m->held_back, held_back);
}

/* Is there anything for mroce_share_update() to do? Without the lock. */
bool mroce_share_stale(const struct mroce_share *s, const struct mroce_share_member *m, u64 now);
/*
 * Brings the member's share up to date; it has been heard of, and its packets have up to @packet
 * bytes.
 */
void mroce_share_update(struct mroce_share *s, struct mroce_share_member *m, u32 packet, u64 now);
/*
 * The next member that is to be told its share unasked: less than it knows, or more and waiting
 * for it. NULL: none now. Looks at a few.
 */
struct mroce_share_member *mroce_share_tell(struct mroce_share *s, u64 now);
/* Bytes that a sender may send from idle. */
u32 mroce_share_allowance(const struct mroce_share *s);

#endif
