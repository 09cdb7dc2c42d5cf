/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB */
/*
 * What the module and its rdma-core provider share: the version handshake, the
 * answers of each object's creation, the rings that are mapped into the program,
 * and the doorbell. Nothing here goes over the wire (see mroce/wire.h).
 *
 * A ring is one mmap()ed area: a struct mroce_ring, then @entries slots of
 * @stride bytes. Indices run freely over 32 bits; slot = index & (entries - 1).
 * Whoever advances an index stores it with release semantics, the other side
 * loads it with acquire semantics.
 */
#ifndef MROCE_ABI_USER_H
#define MROCE_ABI_USER_H

#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>

/*
 * MROCE_UVERBS_ABI is what uverbs reports for the device; it changes only if the
 * version handshake itself does. The rings and structures below are version
 * MROCE_ABI_VERSION; a provider states the range it speaks in alloc_ucontext.
 */
#define MROCE_UVERBS_ABI	1
#define MROCE_ABI_VERSION	1

/* private id of this driver, outside the kernel's enum rdma_driver_id */
#define MROCE_DRIVER_ID		0x6d726f63	/* "mroc" */

#define MROCE_MAX_INLINE	512	/* bytes */
#define MROCE_MAX_SGE		32

/**
 * struct mroce_ring - head of every mapped ring, one cache line a writer
 * @producer: next index to fill; written by the program (send, receive rings) or the module
 *   (completions)
 * @consumer: next index to take; written by the module (send, receive rings) or the program
 *   (completions)
 * @flags: MROCE_RING_*, written by the module
 * @pad0: @producer has a cache line of its own
 * @pad1: and so has @consumer
 * @pad2: fills the header's last line
 *
 * Send ring: @consumer passes a slot when its request is complete (and, if
 * unsignalled, when a later one is). Receive ring of a queue pair: when its
 * completion is written. Ring of an SRQ: when the slot has been read.
 *
 * Moving a queue pair to RESET discards what is queued: the module then stores
 * @producer into @consumer of both its rings; neither starts again at 0.
 */
struct mroce_ring {
	__u32 producer;
	__u32 pad0[15];
	__u32 consumer;
	__u32 pad1[15];
	__u32 flags;
	__u32 pad2[31];
};

#define MROCE_RING_HEADER	256	/* sizeof(struct mroce_ring): the offset of slot 0 */

/*
 * Receive rings: a sender waits for a buffer, or the queue pair is in the error
 * state and flushes what is posted; ring the doorbell after posting.
 * The program posts, then executes a full barrier, then reads the flag.
 */
#define MROCE_RING_NEED_DOORBELL	(1u << 0)
/* Completion rings: a completion was lost for want of room; the CQ is in error. */
#define MROCE_RING_OVERFLOW		(1u << 1)
/*
 * Completion rings: the device was removed and the module has let go of this
 * ring and of those of every queue pair that completes here; it is the last
 * store (release) to any of them. The provider then completes what lies between
 * @consumer and @producer of the send and receive rings as flushed, itself.
 */
#define MROCE_RING_GONE			(1u << 2)
/*
 * Send rings: a thread of the kernel's looks at @producer: no doorbell is needed. The program
 * posts, then executes a full barrier, then reads the flag.
 */
#define MROCE_RING_POLLED		(1u << 3)

struct mroce_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

/* opcodes of struct mroce_sq_wqe; kernel-only requests have none */
enum mroce_wqe_opcode {
	MROCE_WQE_SEND			= 0,
	MROCE_WQE_SEND_IMM		= 1,
	MROCE_WQE_SEND_INV		= 2,
	MROCE_WQE_WRITE			= 3,
	MROCE_WQE_WRITE_IMM		= 4,
	MROCE_WQE_READ			= 5,
	MROCE_WQE_CMP_SWAP		= 6,
	MROCE_WQE_FETCH_ADD		= 7,
	MROCE_WQE_LOCAL_INV		= 8,
	MROCE_WQE_BIND_MW		= 9,
	MROCE_WQE_FLUSH			= 10,	/* with MROCE_CAP_PLACEMENT, as ATOMIC_WRITE */
	MROCE_WQE_ATOMIC_WRITE		= 11,
};

#define MROCE_WQE_SIGNALED	(1u << 0)
#define MROCE_WQE_SOLICITED	(1u << 1)
#define MROCE_WQE_FENCE		(1u << 2)
#define MROCE_WQE_INLINE	(1u << 3)	/* data follow the header in place of SGEs */

/* struct mroce_sq_wqe.imm of a FLUSH: one of the first two at least */
#define MROCE_WQE_FLUSH_GLOBAL		(1u << 0)
#define MROCE_WQE_FLUSH_PERSISTENT	(1u << 1)
#define MROCE_WQE_FLUSH_REGION		(1u << 4)	/* the whole of it, not a range */

/**
 * struct mroce_sq_wqe - one slot of a send ring
 * @wr_id: the program's
 * @opcode: enum mroce_wqe_opcode
 * @flags: MROCE_WQE_*
 * @num_sge: SGEs behind this header, 0 to the queue pair's max_send_sge; FLUSH, ATOMIC_WRITE: 0
 * @imm: immediate data as given (big endian), or the rkey to invalidate (LOCAL_INV, SEND_INV), or
 *   MROCE_WQE_FLUSH_*
 * @remote_addr: RDMA and atomics; BIND_MW: first address of the window
 * @rkey: RDMA and atomics; BIND_MW: the window's new key, same index as its present one
 * @length: bytes of inline data if MROCE_WQE_INLINE; of a FLUSH's range; else 0
 * @atomic: operands of CMP_SWAP (@compare_add is compared) and FETCH_ADD (@compare_add is added);
 *   the 8 bytes of an ATOMIC_WRITE are @compare_add, as they lie in memory
 * @ud: UD only; @ah is the number that create_ah returned
 * @xrc: SEND*, WRITE_IMM of an XRC queue pair: number of the peer's SRQ
 * @bind: BIND_MW: bytes, lkey of the region, IB_ACCESS_* of the window; @length 0 unbinds
 * @reserved: 0
 */
struct mroce_sq_wqe {
	__aligned_u64 wr_id;
	__u8 opcode;
	__u8 flags;
	__u8 num_sge;
	__u8 reserved;
	__u32 imm;
	__aligned_u64 remote_addr;
	__u32 rkey;
	__u32 length;
	union {
		struct {
			__aligned_u64 compare_add;
			__aligned_u64 swap;
		} atomic;
		struct {
			__u32 ah;
			__u32 qpn;
			__u32 qkey;
			__u32 reserved;
		} ud;
		struct {
			__u32 srqn;
			__u32 reserved[3];
		} xrc;
		struct {
			__aligned_u64 length;
			__u32 lkey;
			__u32 access;
		} bind;
	};
	/* then num_sge × struct mroce_sge, or @length bytes of inline data */
};

/**
 * struct mroce_rq_wqe - one slot of a receive ring
 * @wr_id: the program's
 * @num_sge: SGEs behind this header, 0 to max_recv_sge
 * @reserved: 0
 */
struct mroce_rq_wqe {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 reserved;
	/* then num_sge × struct mroce_sge */
};

#define MROCE_CQE_GRH		(1u << 0)	/* 40 bytes of GRH lie before the data */
#define MROCE_CQE_IMM		(1u << 1)
#define MROCE_CQE_INV		(1u << 2)	/* @imm is the rkey that was invalidated */
#define MROCE_CQE_SOLICITED	(1u << 3)
#define MROCE_CQE_IPV4		(1u << 4)	/* IPv4 header in the last 20 bytes of that GRH */

/**
 * struct mroce_cqe - one slot of a completion ring, 64 bytes
 * @wr_id: of the request
 * @timestamp: CLOCK_MONOTONIC_RAW at completion, ns
 * @status: enum ibv_wc_status
 * @opcode: enum ibv_wc_opcode; not meaningful unless @status is success
 * @flags: MROCE_CQE_*
 * @byte_len: received, read or atomic bytes
 * @qpn: the queue pair that this belongs to
 * @src_qp: UD: the sender's
 * @imm: immediate data as sent (big endian), or an rkey
 * @vendor_err: the reason behind @status (enum mroce_reason)
 * @reserved: 0
 */
struct mroce_cqe {
	__aligned_u64 wr_id;
	__aligned_u64 timestamp;
	__u8 status;
	__u8 opcode;
	__u16 flags;
	__u32 byte_len;
	__u32 qpn;
	__u32 src_qp;
	__u32 imm;
	__u32 vendor_err;
	__u32 reserved[6];
};

/* where a ring is: arguments of mmap() on the device's command file, and its shape */
struct mroce_ring_info {
	__aligned_u64 offset;
	__u32 length;		/* bytes, whole pages */
	__u32 entries;		/* power of two */
	__u32 stride;		/* bytes a slot */
	__u32 reserved;
};

/**
 * struct mroce_alloc_ucontext_req - the provider's side of the version handshake
 * @abi_min: lowest MROCE_ABI_VERSION that the provider speaks
 * @abi_max: highest
 *
 * No common version: EOPNOTSUPP, and a kernel message that names both ranges.
 */
struct mroce_alloc_ucontext_req {
	__u32 abi_min;
	__u32 abi_max;
};

/* what a module of version 1 may offer beyond its first edition */
#define MROCE_CAP_SRQ_RESIZE	(1ULL << 0)	/* MROCE_METHOD_SRQ_RESIZE */
#define MROCE_CAP_PLACEMENT	(1ULL << 1)	/* MROCE_WQE_FLUSH, MROCE_WQE_ATOMIC_WRITE */

struct mroce_alloc_ucontext_resp {
	__u32 abi;		/* the version in use */
	__u32 reserved;
	__aligned_u64 caps;	/* MROCE_CAP_*; unknown ones are not looked at */
};

struct mroce_alloc_pd_resp {
	__u32 pdn;
	__u32 reserved;
};

struct mroce_create_ah_resp {
	__u32 ah;		/* for struct mroce_sq_wqe.ud */
	__u32 reserved;
};

struct mroce_create_cq_resp {
	struct mroce_ring_info cq;
};

struct mroce_resize_cq_resp {
	/* replaces the old one, which is still mapped; unpolled entries were moved */
	struct mroce_ring_info cq;
};

struct mroce_create_srq_resp {
	struct mroce_ring_info rq;
	__u32 srqn;
	__u32 reserved;
};

/*
 * Slots are sized for what was asked: stride = the header and the larger of the
 * SGEs and the inline data, rounded up to 64 bytes. rq.length is 0 with an SRQ.
 */
struct mroce_create_qp_resp {
	struct mroce_ring_info sq;
	struct mroce_ring_info rq;
};

/*
 * The doorbell: an ioctl method of the core's QP and SRQ objects. It takes the
 * object's handle, MROCE_DOORBELL_* for a QP, and nothing else; the module reads
 * the ring's producer index. EIO after the device is gone.
 */
enum mroce_qp_methods {
	MROCE_METHOD_QP_DOORBELL = (1U << UVERBS_ID_NS_SHIFT),
	MROCE_METHOD_QP_QUERY,
	MROCE_METHOD_QP_TUNE,
};

enum mroce_qp_doorbell_attrs {
	MROCE_ATTR_QP_DOORBELL_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
	MROCE_ATTR_QP_DOORBELL_FLAGS,
};

#define MROCE_DOORBELL_SQ	(1u << 0)
#define MROCE_DOORBELL_RQ	(1u << 1)

/**
 * struct mroce_qp_tuning - how a queue pair's packets go, beside others of its connection
 * @mask: MROCE_TUNE_*: which of the following are to be changed
 * @burst: bytes that a path sends of it at a visit, 1 to 61,440; 0: as the device has it
 * @planes: bits of the slots that it goes by; 0xff: all. Once all of them have failed, it
 *	goes by any
 * @paths: so many of the paths, 1 to 64; 0: all
 * @weight: of its turns, 1 to 100; 1 unless it is set
 * @reserved: 0
 * @poll: microseconds, to 50,000, for which a thread of the kernel's looks at the send ring in vain
 *	before it sleeps; while it looks, the ring has MROCE_RING_POLLED. 0: there is none, as
 *	at first. Of any type that sends
 * @reserved2: 0
 *
 * It holds until RESET, @poll as long as the queue pair, and may be set in any state. It is for
 * what this side sends: responses to the peer's READs too.
 */
struct mroce_qp_tuning {
	__u32 mask;
	__u32 burst;
	__u8 planes;
	__u8 paths;
	__u8 weight;
	__u8 reserved;
	__u16 poll;
	__u16 reserved2;
};

#define MROCE_TUNE_BURST	(1u << 0)
#define MROCE_TUNE_PLANES	(1u << 1)
#define MROCE_TUNE_PATHS	(1u << 2)
#define MROCE_TUNE_WEIGHT	(1u << 3)
#define MROCE_TUNE_POLL		(1u << 4)

#define MROCE_TUNE_WEIGHT_MAX	100
#define MROCE_TUNE_POLL_MAX	50000

/**
 * struct mroce_qp_info - the stream and connection of an RC queue pair
 * @connection: number of the connection's sending half, MROCE_NL_A_HALF of mroce-netlink.h
 * @backlog: bytes posted and never sent
 * @qpn: the queue pair
 * @peer_qpn: the one that it is connected to
 * @messages: requests that are not complete
 * @inflight: packets sent and neither acknowledged nor taken as lost
 * @npaths: paths of the connection
 * @tuning: as it is, with every bit of its mask
 * @connection_state: enum mroce_nl_conn_state
 * @state: enum mroce_nl_stream_state
 * @pause: enum mroce_nl_pause
 * @reserved: 0
 * @local: address, IPv4 mapped into IPv6
 * @peer: address of the peer
 */
struct mroce_qp_info {
	__aligned_u64 connection;
	__aligned_u64 backlog;
	__u32 qpn;
	__u32 peer_qpn;
	__u32 messages;
	__u32 inflight;
	__u32 npaths;
	__u8 connection_state;
	__u8 state;
	__u8 pause;
	__u8 reserved;
	struct mroce_qp_tuning tuning;
	__u8 local[16];
	__u8 peer[16];
};

/**
 * struct mroce_path_info - a path of the connection
 * @bytes: payload that the peer has received in this epoch
 * @lost: packets found lost
 * @packets: that the peer has received in this epoch
 * @marked: of these, marked Congestion Experienced
 * @srtt: round-trip time, ns; 0: not known
 * @cwnd: window, bytes
 * @inflight: of that in use
 * @ifindex: of the netdev
 * @port: source port
 * @payload: of a packet that it passes, bytes
 * @path: index
 * @slot: of the plane
 * @state: enum mroce_nl_path_state
 * @epoch: source ports that it had before, modulo 256
 * @local: address, IPv4 mapped into IPv6
 * @peer: address of the peer
 */
struct mroce_path_info {
	__aligned_u64 bytes;
	__aligned_u64 lost;
	__u32 packets;
	__u32 marked;
	__u32 srtt;
	__u32 cwnd;
	__u32 inflight;
	__u32 ifindex;
	__u16 port;
	__u16 payload;
	__u8 path;
	__u8 slot;
	__u8 state;
	__u8 epoch;
	__u8 local[16];
	__u8 peer[16];
};

/* ENOTCONN: it is not connected, or not of type RC. @PATHS: as many as there is room for. */
enum mroce_qp_query_attrs {
	MROCE_ATTR_QP_QUERY_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
	MROCE_ATTR_QP_QUERY_INFO,	/* out: struct mroce_qp_info */
	MROCE_ATTR_QP_QUERY_PATHS,	/* out, optional: struct mroce_path_info[] */
};

/*
 * EINVAL: a value out of range; EOPNOTSUPP: a bit of the mask that is not known, or not for the
 * type; EBUSY: the device has as many threads that poll as there are processors
 */
enum mroce_qp_tune_attrs {
	MROCE_ATTR_QP_TUNE_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
	MROCE_ATTR_QP_TUNE_TUNING,	/* in: struct mroce_qp_tuning */
};

/*
 * Resizing replaces the ring of an SRQ, as that of a CQ: slots that were not read are moved, and
 * the old ring is not looked at any more. Nothing is posted meanwhile. EINVAL: they do not fit.
 */
enum mroce_srq_methods {
	MROCE_METHOD_SRQ_DOORBELL = (1U << UVERBS_ID_NS_SHIFT),
	MROCE_METHOD_SRQ_RESIZE,
};

enum mroce_srq_doorbell_attrs {
	MROCE_ATTR_SRQ_DOORBELL_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
};

enum mroce_srq_resize_attrs {
	MROCE_ATTR_SRQ_RESIZE_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
	MROCE_ATTR_SRQ_RESIZE_WR,	/* in: __u32, requests wanted */
	MROCE_ATTR_SRQ_RESIZE_RING,	/* out: struct mroce_ring_info */
};

#endif
