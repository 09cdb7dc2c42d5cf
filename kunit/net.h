/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The simulation's network: one-way links with a rate, a queue, marks and faults, put together to
 * planes that are networks of their own. In a plane every host has a link up and a link down;
 * hosts of one leaf meet there, hosts of different leaves by one of the spines, which a hash of
 * (hosts, path, epoch) chooses, as a switch's ECMP does. One leaf: a star. Two leaves and one
 * spine: a dumbbell.
 */
#ifndef MROCE_KUNIT_NET_H
#define MROCE_KUNIT_NET_H

#include "alloc.h"

#define SIM_WIRE_OVERHEAD 50 /* bytes around our header: Ethernet, IP, UDP */

struct sim;
struct sim_packet;

/**
 * struct sim_wire - what a link is like
 * @rate: bytes a second; 0: endless
 * @delay: ns of propagation
 * @limit: bytes that may wait, more is dropped at the tail; 0: any number
 * @mark: bytes waiting from which packets are marked CE; 0: never
 * @loss: packets a million that are lost behind the queue; @ack_loss: the same of ACKs
 * @burst: mean length of a burst of losses (Gilbert and Elliott's model); 0 or 1: independent
 * @dup: packets a million that come twice
 * @reorder: a million that are late, by up to @late ns
 * @early: a million that skip @delay, and so overtake
 * @police: bytes a second of a token bucket of @bucket bytes; what exceeds it is dropped; 0: none
 * @bleach: it makes packets Not-ECT
 * @qdisc: what does not fit into the queue fails on the sending host, which knows (links up)
 * @false_mark: packets a million that are marked without reason
 */
struct sim_wire {
	u64 rate, delay, late, police;
	u32 limit, mark, loss, ack_loss, burst, dup, reorder, early, bucket, false_mark;
	bool bleach, qdisc;
};

/**
 * struct sim_topo - what a network is like
 * @planes: networks side by side; 0: one
 * @leaves: host i is at leaf i % @leaves; 0: one
 * @spines: that connect the leaves, at least one if there are several
 * @up, @down: a host's links; @trunk: from a leaf to a spine; @fan: from a spine to a leaf
 */
struct sim_topo {
	u32 planes, leaves, spines;
	struct sim_wire up, down, trunk, fan;
};

enum sim_link_kind { SIM_UP, SIM_DOWN, SIM_TRUNK, SIM_FAN, SIM_LINK_KINDS };

/**
 * struct sim_link_stats - since the last sim_net_reset()
 * @packets, @bytes: that came into the queue; @marked of them here; @before: bytes that were in it
 * @tail_drops, @lost, @policed, @cut: packets that were not
 * @max_queue: bytes; @area: bytes × ns, the queue's integral over time
 */
struct sim_link_stats {
	u64 packets, bytes, before, marked, tail_drops, lost, policed, cut, max_queue, area;
};

#define SIM_ARRIVAL_ACK	    0x01
#define SIM_ARRIVAL_MARKED  0x02
#define SIM_ARRIVAL_DROPPED 0x04

/* a packet at the entrance of a watched link: @queue bytes were there */
struct sim_arrival {
	u64 at;
	u32 bytes, queue;
	u16 from;
	u8 flags;
};

/**
 * struct sim_link - one way
 * @busy: fs at which its queue will be empty; @fs: a byte takes so many
 * @police_busy, @police_fs: of the policer's bucket
 * @bad: in a burst of losses, which ends at @bad_until at the latest
 * @arrival: what came since it is @watched
 */
struct sim_link {
	const struct sim_wire *wire;
	u64 busy, fs, police_busy, police_fs, bad_until;
	bool down, bad, watched;
	struct sim_link_stats stats;
	struct sim_arrival *arrival;
	u32 arrivals, max_arrivals;
};

/* Links are made when they are first asked for; then s->cfg is final. */
struct sim_link *sim_link(struct sim *s, u32 plane, enum sim_link_kind kind, u32 i);
static inline u32 sim_trunk(const struct sim_topo *t, u32 leaf, u32 spine)
{
	return leaf * t->spines + spine;
}

void sim_link_wire(struct sim_link *l, const struct sim_wire *w);
/* Another kind of wire for all links of this kind in a plane. @w is the caller's. */
void sim_plane_wire(struct sim *s, u32 plane, enum sim_link_kind kind, const struct sim_wire *w);
/* Cuts or heals a link at a time; what is on its way is lost. */
void sim_link_cut(struct sim *s, u64 at, struct sim_link *l, bool down);
/* A host's links in a plane, both ways; @carrier: the host notices. */
void sim_host_cut(struct sim *s, u64 at, u32 host, u32 plane, bool down, bool carrier);
/* Remembers each packet that comes to it. */
void sim_link_watch(struct sim_link *l);
/* Statistics of all links begin anew. */
void sim_net_reset(struct sim *s);
/* Sends a packet over its route; @p->from, @to, @plane, @path and @epoch say which. */
void sim_net_send(struct sim *s, struct sim_packet *p);
void sim_net_free(struct sim *s);
u32 sim_planes(struct sim *s);
/* Would a host's device drop a transmission of so many bytes before it leaves the host? */
bool sim_net_refuses(struct sim *s, u32 host, u32 plane, u32 bytes);
/* bytes that have left a link since the last sim_net_reset() */
u64 sim_link_left(struct sim *s, const struct sim_link *l);
/* bytes in a link's queue now */
u64 sim_link_queue(struct sim *s, const struct sim_link *l);

#endif
