/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What mroce devices offer beyond Verbs: a program may see the connection and the paths of its queue pair, choose how its
 * packets go, and be told when paths fail and heal. mroce_dv(7) is its manual. Structures grow at their ends only.
 */
#ifndef MROCE_DV_H
#define MROCE_DV_H

#include <stdint.h>
#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mroce_dv_path_state {
	MROCE_DV_PATH_PROBING,
	MROCE_DV_PATH_ACTIVE,
	MROCE_DV_PATH_SUSPECT,
	MROCE_DV_PATH_FAILED,
};

enum mroce_dv_stream_state {
	MROCE_DV_STREAM_CLOSED,
	MROCE_DV_STREAM_OPENING,
	MROCE_DV_STREAM_OPEN,
	MROCE_DV_STREAM_FAILED,
};

/* why a stream waits */
enum mroce_dv_pause {
	MROCE_DV_PAUSE_NONE,
	MROCE_DV_PAUSE_RNR,		/* the peer has no receive buffer */
	MROCE_DV_PAUSE_HOLD,		/* the peer holds as much for order as it may */
	MROCE_DV_PAUSE_WINDOW,
	MROCE_DV_PAUSE_READS,
	MROCE_DV_PAUSE_NOT_READY,	/* the peer's queue pair is not in RTR */
	MROCE_DV_PAUSE_MEMORY,		/* the peer is short of memory */
	MROCE_DV_PAUSE_FAULT,
};

enum mroce_dv_tuning_mask {
	MROCE_DV_BURST	= 1 << 0,
	MROCE_DV_PLANES	= 1 << 1,
	MROCE_DV_PATHS	= 1 << 2,
	MROCE_DV_WEIGHT	= 1 << 3,
	MROCE_DV_POLL	= 1 << 4,
};

/**
 * struct mroce_dv_tuning - how the packets of a queue pair go
 * @burst: bytes that a path sends of it at a visit, 1 to 61,440; 0: as the device has it
 * @planes: a bit for each plane, by its slot; 0xff: all
 * @paths: so many of the connection's paths, 1 to 64; 0: all
 * @weight: its part of what the connection sends, 1 to 100
 * @poll: microseconds, to 50,000: so long a thread of the kernel's looks for requests in vain before it sleeps, and posting
 *	one needs no system call meanwhile; 0: there is no thread. Of queue pairs of any type
 */
struct mroce_dv_tuning {
	uint32_t burst;
	uint8_t planes;
	uint8_t paths;
	uint8_t weight;
	uint16_t poll;
};

/**
 * struct mroce_dv_qp_attr - the stream of a queue pair, and its connection
 * @connection: number of the connection, unique in its device; queue pairs to one peer share it
 * @backlog: bytes posted and never sent
 * @peer_qpn: the queue pair that it is connected to
 * @messages: requests that are not complete
 * @inflight: packets sent and neither acknowledged nor taken as lost
 * @num_paths: of the connection
 * @stream_state: enum mroce_dv_stream_state; @pause: enum mroce_dv_pause
 * @tuning: what was chosen
 * @local, @peer: addresses, IPv4 mapped into IPv6
 */
struct mroce_dv_qp_attr {
	uint64_t connection;
	uint64_t backlog;
	uint32_t peer_qpn;
	uint32_t messages;
	uint32_t inflight;
	uint32_t num_paths;
	uint8_t stream_state;
	uint8_t pause;
	struct mroce_dv_tuning tuning;
	uint8_t local[16];
	uint8_t peer[16];
};

/**
 * struct mroce_dv_path_attr - a path of the connection
 * @bytes: payload that the peer has received in this epoch; of @packets @marked Congestion Experienced
 * @lost: packets found lost
 * @rtt_ns: round-trip time; 0: not known
 * @cwnd: window, bytes; @inflight of it is in use
 * @ifindex: of the netdev
 * @port: source port; @payload: bytes of a packet's that it passes
 * @path: index; @plane: slot of the plane; @state: enum mroce_dv_path_state
 * @epoch: source ports that it had before, modulo 256
 * @local, @peer: addresses
 */
struct mroce_dv_path_attr {
	uint64_t bytes;
	uint64_t lost;
	uint32_t packets;
	uint32_t marked;
	uint32_t rtt_ns;
	uint32_t cwnd;
	uint32_t inflight;
	uint32_t ifindex;
	uint16_t port;
	uint16_t payload;
	uint8_t path;
	uint8_t plane;
	uint8_t state;
	uint8_t epoch;
	uint8_t local[16];
	uint8_t peer[16];
};

enum mroce_dv_event_type {
	MROCE_DV_EVENT_PATH,	/* @connection, @path, @state: enum mroce_dv_path_state */
	MROCE_DV_EVENT_PLANE,	/* @plane, @ifindex, @state: enum mroce_dv_plane_state */
	MROCE_DV_EVENT_LOST,	/* there were more than could be kept: query the paths */
};

enum mroce_dv_plane_state {
	MROCE_DV_PLANE_ADDED,
	MROCE_DV_PLANE_DRAINING,
	MROCE_DV_PLANE_REMOVED,
};

struct mroce_dv_event {
	uint64_t connection;
	uint32_t type;
	uint32_t ifindex;
	uint8_t path;
	uint8_t plane;
	uint8_t state;
};

struct mroce_dv_events;

/* 0, or an errno. @size: of *@attr, *@tuning and of one of @paths, as the program was compiled with it. */
int mroce_dv_query_qp(struct ibv_qp *qp, struct mroce_dv_qp_attr *attr, uint32_t size);
/* *@num: entries that there is room for; of how many there are paths */
int mroce_dv_query_paths(struct ibv_qp *qp, struct mroce_dv_path_attr *paths, uint32_t *num, uint32_t size);
int mroce_dv_modify_qp(struct ibv_qp *qp, const struct mroce_dv_tuning *tuning, uint32_t mask, uint32_t size);

/* of all connections of the device; NULL, and errno */
struct mroce_dv_events *mroce_dv_open_events(struct ibv_context *context);
void mroce_dv_close_events(struct mroce_dv_events *events);
/* to be polled for POLLIN; may be made non-blocking */
int mroce_dv_events_fd(struct mroce_dv_events *events);
/* 0, or an errno: EAGAIN of a descriptor that does not block */
int mroce_dv_get_event(struct mroce_dv_events *events, struct mroce_dv_event *event, uint32_t size);

#ifdef __cplusplus
}
#endif

#endif
