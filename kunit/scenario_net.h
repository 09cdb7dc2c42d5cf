/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trials: many hosts send over a network, and what came of it is measured at the bottleneck and at
 * the programs. KUnit asserts on the figures of a few small ones, the runner in userspace
 * (host/scenarios*.c) prints those of many. No floating point: shares are parts per million.
 */
#ifndef MROCE_KUNIT_SCENARIO_NET_H
#define MROCE_KUNIT_SCENARIO_NET_H

#include "sim.h"

#define GBIT(n) ((n) * 125000000ULL) /* bytes a second */
#define MBIT(n) ((n) * 125000ULL)
#define USEC	1000ULL
#define MSEC	1000000ULL
#define SEC	1000000000ULL

enum trial_pattern {
	TRIAL_STAR, /* hosts 1 and up send to host 0 */
	TRIAL_PAIRS, /* host 2 i + 1 sends to host 2 i */
	TRIAL_MESH, /* each of the first half of the hosts sends to each of the other half */
};

/**
 * struct trial_cfg - who sends what over which network
 * @sim: its @topo and @hosts are set here
 * @load: of each sender; @load2: of every second one if @two
 * @senders: hosts that send
 * @warm, @time: ns before measuring begins, and for which it lasts
 * @neck: links whose queue is the bottleneck, number @neck_i in every plane
 * @watch: remember what comes to the bottleneck of plane 0
 * @undrained: end with requests outstanding
 */
struct trial_cfg {
	struct sim_cfg sim;
	struct sim_topo topo;
	struct sim_load load, load2;
	enum trial_pattern pattern;
	u32 senders;
	u64 warm, time;
	enum sim_link_kind neck;
	u32 neck_i;
	bool two, watch, undrained;
};

/**
 * struct trial_result - measured over some time
 * @goodput: bytes a second of payload that landed, of all senders; @least, @most: of one
 * @wire: bytes a second that left the bottleneck; @use: share of what it could carry
 * @mean_queue, @max_queue: bytes, of the plane's that had the longest
 * @drops: at queues and policers of the bottleneck; @packets: that came there, but for ACKs
 * @jain: fairness of the senders' goodput
 * @resent: share of packets that were sent again
 * @p50, @p99: ns from a request's post to its completion
 */
struct trial_result {
	u64 ns, goodput, least, most, wire, mean_queue, max_queue;
	u64 packets, drops, lost, marks, probe_timeouts, spurious, p50, p99, messages;
	u32 use, jain, resent, srtt;
};

struct trial_sender {
	struct sim_qp *qp;
	u64 landed;
};

struct trial {
	struct trial_cfg c;
	struct sim *s;
	u64 start, since; /* of the run, of measuring */
	u32 n;
	struct trial_sender *sender;
	struct mroce_tx_stats before;
	u64 before_packets;
};

/* Everything is connected and starts when time does. NULL: no memory. */
struct trial *trial_new(const struct trial_cfg *c);
/* Lets time pass: until @at ns after the start. */
void trial_until(struct trial *t, u64 at);
/* Measuring begins now, and what came since then. */
void trial_begin(struct trial *t);
void trial_measure(struct trial *t, struct trial_result *r);
/* All of it: warm, begin, time, measure. */
void trial_run(struct trial *t, struct trial_result *r);
/*
 * All that was posted completes (unless the configuration says no), then the run is taken apart.
 * False: something that must hold did not, and @why.
 */
bool trial_end(struct trial *t, char *why, size_t size);

/* Payload bytes a second that a link of @rate carries in full packets. */
u64 trial_payload_rate(const struct trial *t, u64 rate);
struct sim_link *trial_neck(struct trial *t, u32 plane);

/**
 * struct trial_settled - how arrivals at the bottleneck come to its capacity
 * @first: when the first packet came
 * @at: end of the last window of packets whose rate was beyond the tolerance; 0: none; NEVER: such
 * windows go on to the end, or there is no window at all
 * @windows: how many; @off: share of them that were beyond the tolerance
 * @worst: largest deviation in the second half of the time
 * @dropped: packets
 */
struct trial_settled {
	u64 first, at;
	u32 windows, off, worst, dropped;
};

/*
 * Windows of @packets packets other than ACKs at the watched bottleneck in [@from, @end), dropped
 * ones included; @tolerance of the capacity in parts per million.
 */
void trial_settle(struct trial *t, u32 packets, u32 tolerance, u64 from, u64 end,
		  struct trial_settled *r);
/* Jain's index over all senders' data packets that came to the bottleneck in [@from, @to). */
u32 trial_jain_arrivals(struct trial *t, u64 from, u64 to);
u32 trial_jain(const u64 *x, u32 n);

#endif
