/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of a device: per CPU, 64 bits, one list. The first block is the reasons
 * (transport/reason.h), the second what follows here. They feed `rdma statistic`,
 * netlink and Documentation/. Any context.
 */
#ifndef MROCE_OBSERVE_COUNTERS_H
#define MROCE_OBSERVE_COUNTERS_H

#include <linux/percpu.h>
#include <linux/types.h>

#include "../transport/reason.h"

/* X(symbol, "name", "meaning") */
#define MROCE_COUNTERS(X) \
	X(TX_PACKETS,		"tx_packets", \
	  "wire packets handed to the stack, of every type") \
	X(TX_BYTES,		"tx_bytes", \
	  "payload bytes of these, retransmissions included") \
	X(TX_SKBS,		"tx_skbs", \
	  "trains and single packets that carried them") \
	X(RX_PACKETS,		"rx_packets",		"wire packets received, of every type") \
	X(RX_BYTES,		"rx_bytes",		"payload bytes of these") \
	X(RX_SKBS,		"rx_skbs", \
	  "trains and single packets that carried them") \
	X(TX_RESENT,		"tx_resent",		"data packets sent again") \
	X(TX_LOST,		"tx_lost",		"data packets taken as lost by a gap") \
	X(TX_PROBE_TIMEOUT,	"tx_probe_timeout",	"probe timeouts of a path") \
	X(TX_SPURIOUS,		"tx_spurious", \
	  "packets taken as lost by a gap that arrived") \
	X(TX_ACKS,		"tx_acks",		"ACKs sent") \
	X(RX_ACKS,		"rx_acks",		"ACKs received") \
	X(RX_CE,		"rx_ce", \
	  "data packets marked Congestion Experienced") \
	X(RX_NOT_ECT,		"rx_not_ect", \
	  "numbered packets that came without ECN's ECT") \
	X(RX_HELD,		"rx_held", \
	  "packets held until earlier ones landed") \
	X(RX_RESET,		"rx_reset",		"RESETs received") \
	X(TX_RESET,		"tx_reset",		"RESETs sent") \
	X(CONNS_OPENED,		"conns_opened",		"sending halves established") \
	X(STREAMS_OPENED,	"streams_opened",	"streams opened to a peer") \
	X(RNR_WAITS,		"rnr_waits", \
	  "streams paused for want of a receive buffer at the peer") \
	X(PATH_SUSPECT,		"path_suspect", \
	  "paths that did not answer in time") \
	X(PATH_FAILED,		"path_failed", \
	  "paths taken out of use, their data sent by others") \
	X(PATH_RECOVERED,	"path_recovered", \
	  "paths that answered probes and carry data again") \
	X(PATH_REDRAWN,		"path_redrawn", \
	  "new source ports of failed paths") \
	X(PATH_SHRUNK,		"path_shrunk", \
	  "paths found to lose full-size packets only") \
	X(PLANES_VERIFIED,	"planes_verified", \
	  "addresses of peers' planes found to be theirs") \
	X(CQ_NOTIFIED,		"cq_notified",		"completion events raised")

enum mroce_counter {
	MROCE_CNT_REASON0 = 0,
	MROCE_CNT_REASON_LAST = MROCE_REASON_MAX - 1,
#define X(sym, name, text) MROCE_CNT_##sym,
	MROCE_COUNTERS(X)
#undef X
	MROCE_CNT_MAX
};

struct mroce_counters {
	u64 v[MROCE_CNT_MAX];
};

struct mroce_dev;

/* counts a reason, and traces it */
void mroce_drop(struct mroce_dev *dev, enum mroce_reason reason);
u64 mroce_counter_sum(struct mroce_dev *dev, unsigned int index);
u64 mroce_counters_sum(const struct mroce_counters __percpu *counters, unsigned int index);
extern const char *const mroce_counter_names[MROCE_CNT_MAX];
extern const char *const mroce_reason_names[MROCE_REASON_MAX];

#endif
