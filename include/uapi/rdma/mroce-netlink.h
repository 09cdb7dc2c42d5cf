/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * The generic netlink family "mroce": planes and attributes of devices, their connections with
 * paths, streams and shares, and events. Requests name a device of the caller's network namespace.
 * Those that change something, or tell of peers' connections, need CAP_NET_ADMIN; the former say
 * in an extended acknowledgement what was wrong.
 */
#ifndef MROCE_NETLINK_H
#define MROCE_NETLINK_H

#define MROCE_NL_NAME		"mroce"
#define MROCE_NL_VERSION	1
#define MROCE_NL_EVENTS		"events"	/* multicast group */

/**
 * enum mroce_nl_cmd - requests, replies and events
 * @MROCE_NL_DEV_GET: dump: a message a device: DEV, INSTANCE and its attributes (NPATHS and later)
 * @MROCE_NL_DEV_SET: DEV and the attributes to change: NPATHS, BURST, HELD_LIMIT, CAPACITY. They
 *	hold for what begins afterwards. Errors: ENODEV, ERANGE
 * @MROCE_NL_PLANE_ADD: DEV, IFINDEX. ENODEV; EEXIST it is a plane already; EOPNOTSUPP or EBUSY of
 *	no use; EMSGSIZE its MTU is too small; ENOSPC
 * @MROCE_NL_PLANE_DRAIN: DEV, IFINDEX: nothing is sent there any more, what comes is taken
 * @MROCE_NL_PLANE_DEL: DEV, IFINDEX. EBUSY: it is the netdev that the link was added on
 * @MROCE_NL_PLANE_GET: dump: a message a plane: DEV, IFINDEX, SLOT, STATE, UP, MTU, SPEED
 * @MROCE_NL_PATH_GET: dump: a message a path of a sending half: DEV, HALF and the rest
 * @MROCE_NL_PLANE_EVENT: DEV, IFINDEX, SLOT, STATE
 * @MROCE_NL_PATH_EVENT: DEV, HALF, PATH, SLOT, STATE
 * @MROCE_NL_PEER_SET: DEV, PEER, WEIGHT, at once, for connections that exist too. ENODEV; EINVAL
 *	no address of a host; ERANGE; ENOSPC 4,096 peers have one other than 1
 * @MROCE_NL_PEER_GET: dump: a message a peer whose weight is not 1: DEV, PEER, WEIGHT
 * @MROCE_NL_CONN_GET: dump: a message a half of a connection: DEV, DIRECTION, HALF, STATE, LOCAL,
 *	PEER, INSTANCE of the peer, STREAMS (sending), NPATHS, PAYLOAD, CARRIED, BYTES, RESENT, LOST
 *	and BACKLOG (sending), MARKED_ALL (receiving)
 * @MROCE_NL_STREAM_GET: dump: a message a queue pair that is connected: DEV, HALF, QPN, PEER_QPN,
 *	STATE, PAUSE, LOCAL, PEER, MESSAGES, INFLIGHT_PACKETS, BACKLOG, and what was chosen for it:
 *	PLANES, NPATHS, WEIGHT, BURST
 * @MROCE_NL_SHARE_GET: dump: a message a half and plane that has a share: DEV, DIRECTION, HALF,
 *	SLOT, PEER, SHARE, SENDERS, and if it receives WEIGHT, DEMAND, RATE
 */
enum mroce_nl_cmd {
	MROCE_NL_UNSPEC,
	MROCE_NL_DEV_GET,
	MROCE_NL_DEV_SET,
	MROCE_NL_PLANE_ADD,
	MROCE_NL_PLANE_DRAIN,
	MROCE_NL_PLANE_DEL,
	MROCE_NL_PLANE_GET,
	MROCE_NL_PATH_GET,
	MROCE_NL_PLANE_EVENT,
	MROCE_NL_PATH_EVENT,
	MROCE_NL_PEER_SET,
	MROCE_NL_PEER_GET,
	MROCE_NL_CONN_GET,
	MROCE_NL_STREAM_GET,
	MROCE_NL_SHARE_GET,
};

/* MROCE_NL_A_STATE of a plane */
enum mroce_nl_plane_state {
	MROCE_PLANE_ADDED,
	MROCE_PLANE_DRAINING,
	MROCE_PLANE_REMOVED,
};

/* MROCE_NL_A_STATE of a path, as in the module's transport/tx.h */
enum mroce_nl_path_state {
	MROCE_NL_PATH_PROBING,
	MROCE_NL_PATH_ACTIVE,
	MROCE_NL_PATH_SUSPECT,
	MROCE_NL_PATH_FAILED,
};

/* MROCE_NL_A_STATE of a sending half; a receiving one is OPEN, or HELLO until it was heard of */
enum mroce_nl_conn_state {
	MROCE_NL_CONN_IDLE,
	MROCE_NL_CONN_HELLO,
	MROCE_NL_CONN_OPEN,
	MROCE_NL_CONN_DEAD,
};

/* MROCE_NL_A_STATE of a stream */
enum mroce_nl_stream_state {
	MROCE_NL_STREAM_CLOSED,
	MROCE_NL_STREAM_OPENING,
	MROCE_NL_STREAM_OPEN,
	MROCE_NL_STREAM_FAILED,
};

/* MROCE_NL_A_PAUSE: what the peer refused, so that the stream waits; as on the wire */
enum mroce_nl_pause {
	MROCE_NL_PAUSE_NONE,
	MROCE_NL_PAUSE_RNR,
	MROCE_NL_PAUSE_HOLD,
	MROCE_NL_PAUSE_WINDOW,
	MROCE_NL_PAUSE_READS,
	MROCE_NL_PAUSE_NOT_READY,
	MROCE_NL_PAUSE_MEMORY,
	MROCE_NL_PAUSE_FAULT,
};

enum mroce_nl_direction {
	MROCE_NL_SENDS,
	MROCE_NL_RECEIVES,
};

/**
 * enum mroce_nl_attr - attributes
 * @MROCE_NL_A_PAD: alignment
 * @MROCE_NL_A_DEV: string: the device's name
 * @MROCE_NL_A_IFINDEX: u32: a netdev
 * @MROCE_NL_A_SLOT: u8: a plane's place in its device; of a path: the pair of planes that it is on
 * @MROCE_NL_A_STATE: u8: enum mroce_nl_plane_state or enum mroce_nl_path_state
 * @MROCE_NL_A_UP: u8: 1: the netdev has a carrier
 * @MROCE_NL_A_MTU: u32: of the netdev, bytes
 * @MROCE_NL_A_SPEED: u32: of the netdev, Mb/s; 0: unknown
 * @MROCE_NL_A_INSTANCE: u64: random, new with every link
 * @MROCE_NL_A_NPATHS: u8: paths of a new connection, 1 to 64; of a connection: paths that it has;
 *	of a stream: how many of these it goes by, 0: all
 * @MROCE_NL_A_BURST: u32: bytes that a path sends at a visit, 1 to 61,440; 1: packet by packet; of
 *	a stream, 0: as its device
 * @MROCE_NL_A_HELD_LIMIT: u64: bytes of packets held for order, at most
 * @MROCE_NL_A_HELD: u64: bytes held now (read only)
 * @MROCE_NL_A_CAPACITY: u32: what the netdev passes in truth, Mb/s; 0: its speed
 * @MROCE_NL_A_HALF: u64: number of a half, unique among those of its device and direction (not the
 *	id on the wire); of a stream: of the half that sends
 * @MROCE_NL_A_PATH: u8: index of a path in it
 * @MROCE_NL_A_EPOCH: u8: source ports that it had before, modulo 256
 * @MROCE_NL_A_PORT: u16: its source port, host order
 * @MROCE_NL_A_LOCAL: 16 bytes: source address, IPv4 mapped into IPv6
 * @MROCE_NL_A_PEER: 16 bytes: destination address; with a weight: the address that the peer
 *	connects from, that of its first plane
 * @MROCE_NL_A_SRTT: u32: round-trip time, ns; 0: not known
 * @MROCE_NL_A_CWND: u32: window, bytes
 * @MROCE_NL_A_INFLIGHT: u32: of that in use
 * @MROCE_NL_A_PAYLOAD: u16: payload of a packet that it passes, bytes
 * @MROCE_NL_A_PACKETS: u32: that the peer has received in this epoch
 * @MROCE_NL_A_MARKED: u32: of these, marked Congestion Experienced
 * @MROCE_NL_A_LOST: u64: packets found lost
 * @MROCE_NL_A_WEIGHT: u8: by which a sender's part of this receiver's bandwidth is multiplied,
 *	1 to 100; 1 unless it is set; of a stream: its part of what its half sends
 * @MROCE_NL_A_DIRECTION: u8: enum mroce_nl_direction
 * @MROCE_NL_A_STREAMS: u32: queue pairs that use the half
 * @MROCE_NL_A_CARRIED: u64: data packets sent, those sent again included, or received
 * @MROCE_NL_A_BYTES: u64: payload of these; of a path: that the peer has received in this epoch
 * @MROCE_NL_A_RESENT: u64: packets sent again
 * @MROCE_NL_A_BACKLOG: u64: bytes posted and never sent
 * @MROCE_NL_A_MARKED_ALL: u64: packets received that were marked Congestion Experienced
 * @MROCE_NL_A_SHARE: u32: what the sender may send to that plane, KiB/s; 0: no limit is known
 * @MROCE_NL_A_SENDERS: u16: senders that share the plane now
 * @MROCE_NL_A_DEMAND: u32: what the sender wants, KiB/s; 0xffffffff: all that it can get
 * @MROCE_NL_A_RATE: u32: what came of it lately, KiB/s, with headers
 * @MROCE_NL_A_QPN: u32: number of a queue pair
 * @MROCE_NL_A_PEER_QPN: u32: and of the one that it is connected to
 * @MROCE_NL_A_MESSAGES: u32: requests that are not complete
 * @MROCE_NL_A_INFLIGHT_PACKETS: u32: packets sent and neither acknowledged nor taken as lost
 * @MROCE_NL_A_PAUSE: u8: enum mroce_nl_pause
 * @MROCE_NL_A_PLANES: u8: bits of the slots of the planes that a stream goes by
 */
enum mroce_nl_attr {
	MROCE_NL_A_UNSPEC,
	MROCE_NL_A_PAD,
	MROCE_NL_A_DEV,
	MROCE_NL_A_IFINDEX,
	MROCE_NL_A_SLOT,
	MROCE_NL_A_STATE,
	MROCE_NL_A_UP,
	MROCE_NL_A_MTU,
	MROCE_NL_A_SPEED,
	MROCE_NL_A_INSTANCE,
	MROCE_NL_A_NPATHS,
	MROCE_NL_A_BURST,
	MROCE_NL_A_HELD_LIMIT,
	MROCE_NL_A_HELD,
	MROCE_NL_A_CAPACITY,
	MROCE_NL_A_HALF,
	MROCE_NL_A_PATH,
	MROCE_NL_A_EPOCH,
	MROCE_NL_A_PORT,
	MROCE_NL_A_LOCAL,
	MROCE_NL_A_PEER,
	MROCE_NL_A_SRTT,
	MROCE_NL_A_CWND,
	MROCE_NL_A_INFLIGHT,
	MROCE_NL_A_PAYLOAD,
	MROCE_NL_A_PACKETS,
	MROCE_NL_A_MARKED,
	MROCE_NL_A_LOST,
	MROCE_NL_A_WEIGHT,
	MROCE_NL_A_DIRECTION,
	MROCE_NL_A_STREAMS,
	MROCE_NL_A_CARRIED,
	MROCE_NL_A_BYTES,
	MROCE_NL_A_RESENT,
	MROCE_NL_A_BACKLOG,
	MROCE_NL_A_MARKED_ALL,
	MROCE_NL_A_SHARE,
	MROCE_NL_A_SENDERS,
	MROCE_NL_A_DEMAND,
	MROCE_NL_A_RATE,
	MROCE_NL_A_QPN,
	MROCE_NL_A_PEER_QPN,
	MROCE_NL_A_MESSAGES,
	MROCE_NL_A_INFLIGHT_PACKETS,
	MROCE_NL_A_PAUSE,
	MROCE_NL_A_PLANES,
	__MROCE_NL_A_COUNT
};

#define MROCE_NL_WEIGHT_MAX	100

#define MROCE_NL_A_MAX	(__MROCE_NL_A_COUNT - 1)

#endif
