/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A simulated network that runs the real protocol engine: hosts with sending and
 * receiving halves and queue pairs, a network (net.h), a
 * virtual clock, one seeded generator. The glue around the engine makes the calls that
 * the kernel's glue makes, with time passing between them. Single threaded; the same
 * configuration and seed give the same run, event for event. Whatever breaks an
 * invariant ends the run with its reason in @why.
 *
 * sim.c: clock, events, packets; net.c: the network; sim_conn.c: halves and handshake; sim_rx.c:
 * the receive path; sim_qp.c: queue pairs and the programs that use them; sim_check.c:
 * what must hold of what programs see; sim_audit.c: of the engine's own state.
 */
#ifndef MROCE_KUNIT_SIM_H
#define MROCE_KUNIT_SIM_H

#include "alloc.h"
#include "net.h"
#include "../drivers/mroce/transport/tx.h"
#include "../drivers/mroce/transport/rx.h"

#define SIM_HOSTS     16   /* if the configuration does not say */
#define SIM_MAX_CPUS  4
#define SIM_LOG	      8192 /* numbers of a path whose packets are remembered, at most */
#define SIM_MILLION   1000000
#define SIM_LATENCIES 1024

struct sim_host;
struct sim_op;
struct sim_qp;

/**
 * struct sim_cfg - the network and its hosts
 * @topo: the network; NULL: a star, of which the next fields say all
 * @rate: bytes a second of every host's link, each way; 0: endless
 * @delay: ns, one way
 * @limit, @mark, @loss, @ack_loss, @dup, @reorder, @burst, @late: as in struct sim_wire
 * @hosts: 0: SIM_HOSTS
 * @local_drop: transmissions a million that fail on the sending host
 * @payload: bytes of a packet; @train: of a transmission
 * @npaths: of a connection
 * @whole: trains are not cut but delivered as sent; @gro: packets are joined again at the receiver
 * @cpus: processors that receive; @spray: packets of one path go to any of them
 * @copy: ns to copy a KiB; @step: ns between two steps of the receive path, at most; 0: hosts take
 * no time at all
 * @hold_limit: held packets a host, at most; 0: no limit
 * @light: no payload is moved, only packets are tracked
 * @unshared: receivers do not know their capacity, and tell no shares
 * @weight: that every receiver gives the sender on this host; NULL: all the same
 * @audit: events between two looks at the engine's state; 0: none
 */
struct sim_cfg {
	const struct sim_topo *topo;
	u64 seed, rate, delay, late, copy, step;
	u32 hosts, audit;
	u32 limit, mark;
	u32 loss, ack_loss, dup, reorder, burst, local_drop;
	u32 train, hold_limit;
	u16 payload;
	u8 npaths, cpus;
	bool whole, gro, spray, light, unshared;
	const u8 *weight;
};

#define SIM_SEND      BIT(MROCE_OP_SEND)
#define SIM_SEND_IMM  BIT(MROCE_OP_SEND_IMM)
#define SIM_SEND_INV  BIT(MROCE_OP_SEND_INV)
#define SIM_WRITE     BIT(MROCE_OP_WRITE)
#define SIM_WRITE_IMM BIT(MROCE_OP_WRITE_IMM)
#define SIM_READ      BIT(MROCE_OP_READ)
#define SIM_CAS	      BIT(MROCE_OP_CMP_SWAP)
#define SIM_ADD	      BIT(MROCE_OP_FETCH_ADD)
#define SIM_FLUSH     BIT(MROCE_OP_FLUSH)
#define SIM_ATOMIC_WRITE BIT(MROCE_OP_ATOMIC_WRITE)
#define SIM_ALL	      (0xffu | SIM_FLUSH | SIM_ATOMIC_WRITE)
#define SIM_MAX_OP    11

/**
 * struct sim_load - what a queue pair's program does
 * @count: requests to post; 0: it never enters RTS
 * @ops: which, bits SIM_*
 * @len_min, @len_max: bytes of a message; half of them are drawn short if @mixed
 * @depth: requests outstanding; @batch: posted at a time
 * @buffers: receive buffers of @buffer_len bytes; @repost: ns until a used one is posted again
 * @srq: no credit is advertised
 * @relaxed: the memory that its peer writes to is registered with relaxed ordering
 * @overlap: its Writes, and ATOMIC_WRITEs, overlap each other
 * @fence: requests a million with a fence
 * @start: ns at which it posts first; @stop: at which it posts nothing more, 0: after @count
 * @on, @off: ns for which it posts, and does not, in turn; 0: always
 * @pace: bytes a second that it posts; 0: as fast as they complete
 * @close: destroy the queue pair when it has got this many messages
 * @bad_msn, @bad_nack: its peer refuses this message for this reason
 */
struct sim_load {
	u32 count, ops, len_min, len_max, depth, batch;
	u32 buffers, buffer_len, fence, close, bad_msn;
	u64 repost, timeout, start, stop, on, off, pace;
	u8 rnr_retry, rnr_timer, log_packets, log_messages, reads, bad_nack;
	bool relaxed, strict, overlap, mixed, srq, bad;
};

struct sim_event {
	u64 at, order;
	void (*fn)(struct sim *s, void *arg);
	void *arg;
};

/**
 * struct sim_packet - a packet or a whole train on its way; reference counted
 * @hdr: the wire header; @payload bytes follow it, which are bytes @off on of the pattern @key
 * @plane, @path, @epoch: say the route; @route: links, @hop of @hops were entered
 */
struct sim_packet {
	struct list_head node;
	u32 refs, payload, len, off;
	u64 key, value[2];
	u32 route[4];
	u16 from, to;
	u8 plane, path, epoch, hop, hops;
	bool ce, ect, not_ect, ack, numbered;
	bool fragment; /* several IP fragments, all small */
	u8 hdr[];
};

struct sim_held {
	struct mroce_held held;
	struct sim_packet *pkt;
	struct mroce_data data; /* of this packet alone */
	u32 off, bytes;
};

/* what a path's number carried, for the check of acknowledgements */
struct sim_log {
	u32 number, spn;
	u32 qp; /* index + 1; 0: no data */
	u8 epoch;
	bool response, used, arrived;
};

/* the numbers of one path, a ring that grows with what is in flight */
struct sim_path_log {
	struct sim_log *log;
	u32 size, expect;
	u8 epoch;
};

struct sim_txh {
	struct mroce_tx tx;
	struct list_head node; /* host->txhs */
	struct sim_host *host;
	u16 peer;
	bool sending, again;
	struct mroce_xmit x;
	u64 armed;
	struct sim_path_log *log; /* [npaths] */
};

struct sim_rxh {
	struct mroce_rx rx;
	struct list_head node; /* host->rxhs */
	struct sim_host *host;
	struct sim_txh *sender;
	u16 peer;
	u64 armed, born;
	struct mroce_ack ack;
};

/* what an id names: the low bits are an index */
#define SIM_ID_BITS 24
struct sim_half {
	u64 id;
	struct sim_txh *txh;
	struct sim_rxh *rxh;
};

struct sim_cpu {
	struct sim_host *host;
	struct list_head backlog;
	bool busy;
};

struct sim_host {
	struct sim *s;
	u16 index;
	u64 instance;
	u32 first_stream, held;
	struct list_head txhs, rxhs;
	struct sim_qp **qp; /* by stream - first_stream */
	u32 nqps, max_qps;
	struct sim_cpu cpu[SIM_MAX_CPUS];
	struct mroce_share share[MROCE_MAX_PLANES];
};

enum sim_placed { SIM_NOTHING, SIM_HELD, SIM_LANDED };

/*
 * the checker's own view of one space of a queue pair's receiving side: numbers below @base have
 * landed; @part: of hostile runs, what has landed of each message of the window
 */
struct sim_track {
	u32 base, mask;
	u8 *state;
	u32 next_msn; /* at the cursor */
	u32 part_mask;
	struct sim_part {
		u32 msn, first, bytes;
		bool used;
	} *part;
};

struct sim_wr {
	u64 addr, key, value, posted_at;
	u32 length, rkey, imm;
	u8 opcode;
	bool fence, done, responded, delivered;
};

enum sim_qp_state { SIM_QP_RTS, SIM_QP_ERROR, SIM_QP_GONE };

/**
 * struct sim_qp - a queue pair, its memory and its program
 * @load: the program's; @peer: the other end
 * @track: what has landed here: [0] requests, [1] responses
 * @wr: every request of the program, by msn
 * @mem: what the peer writes to; @owner: msn + 1 of the Write whose byte is there (overlapping
 * Writes)
 * @recv: receive buffers; @local: destinations of Reads
 * @rq_posted, @rq_done: receive numbers
 * @result: of atomics, by slot of the response
 * @started: when it was connected; @next_post: earliest, by its pace
 * @landed: payload bytes of requests that have landed here
 * @mem_size: bytes of @mem
 */
struct sim_qp {
	struct sim *s;
	struct sim_host *host;
	struct sim_qp *peer;
	u32 index, stream, peer_stream;
	u8 state;
	struct sim_load load;
	struct sim_txh *txh;
	struct sim_rxh *rxh;
	struct mroce_txs req, resp;
	struct mroce_rxs rreq, rresp;
	struct mroce_msg *reqs, *resps;
	struct sim_track track[2];
	struct sim_wr *wr;
	u32 max_wr;
	u32 posted, completed, received, resp_posted, resp_mask;
	u32 rq_posted, rq_done;
	u8 *mem, *recv, *local;
	size_t mem_size;
	u32 *owner;
	u64 counter[2], *result;
	u32 adds, swaps; /* posted so far */
	bool rts, opened, posting, detached, finished;
	enum mroce_reason fail_reason;
	u8 fail_nack;
	u64 started, next_post;
	u64 first_post, last_done, bytes_done, landed, max_latency;
};

struct sim {
	struct sim_cfg cfg;
	u64 now, order, random, handled;
	struct sim_event *event;
	u32 events, max_events;
	struct sim_host *host;
	struct sim_qp **qp;
	struct sim_half *half;
	u32 hosts, nqps, max_qps, halves, max_halves;
	u32 unfinished, ops, packets_alive;
	struct {
		struct sim_topo topo;
		struct sim_link *link;
		u64 since; /* of the statistics */
	} net;
	struct sim_op *immediate; /* goes on without an event */
	u32 latency[SIM_LATENCIES]; /* of messages since sim_reset(), by sim_latency_bucket() */
	/* drops what it returns true for; for tests that want one packet lost */
	bool (*filter)(struct sim *s, struct sim_packet *p, const struct mroce_base *b);
	void *filter_arg;
	bool quiet; /* the run is over: nothing is delivered or posted any more */
	bool hostile; /* packets are forged: only sim_broken() ends a run, not sim_fail() */
	bool failed;
	char why[200];
	struct {
		u64 packets, lost, dups, reordered, marked, tail_drops, acks, held, landed,
			local_drops;
		u64 duplicates, refused, merged, completed;
	} stats;
};

/* ---- sim.c ---- */
struct sim *sim_new(const struct sim_cfg *cfg);
/*
 * Lets what is on its way end, takes everything apart and checks that nothing is left. False:
 * s->why of the run was set (copied to @why).
 */
bool sim_end(struct sim *s, char *why, size_t size);
void sim_fail(struct sim *s, const char *fmt, ...) __printf(2, 3);
/* The same for what nobody's packets may bring about. */
void sim_broken(struct sim *s, const char *fmt, ...) __printf(2, 3);
#define SIM_CHECK(s, c, ...)                      \
	do {                                      \
		if (!(c))                         \
			sim_fail(s, __VA_ARGS__); \
	} while (0)
u64 sim_random(struct sim *s);
u32 sim_below(struct sim *s, u32 n); /* 0 to n - 1 */
bool sim_chance(struct sim *s, u32 ppm);
u64 sim_mix(u64 x);
void sim_at(struct sim *s, u64 at, void (*fn)(struct sim *s, void *arg), void *arg);
/* Runs until no event is left, or until @until (virtual ns), or a failure. */
void sim_run(struct sim *s, u64 until);
/* Runs until every program has ended, or until @limit. True: they have. */
bool sim_run_all(struct sim *s, u64 limit);
/* Statistics of the network and latencies begin anew. */
void sim_reset(struct sim *s);
/* ns that so many messages a million took at most, to 1/16 */
u64 sim_latency(struct sim *s, u32 ppm);
void sim_note_latency(struct sim *s, u64 ns);
struct sim_packet *sim_packet_new(struct sim *s, u16 from, u16 to, const void *hdr, u32 len);
struct sim_packet *sim_packet_copy(struct sim *s, const struct sim_packet *p);
void sim_packet_put(struct sim *s, struct sim_packet *p);
void sim_send(struct sim *s, struct sim_packet *p);
/* the plane that a path of a connection belongs to */
u32 sim_plane_of(struct sim *s, u32 path);
void *sim_zalloc(size_t n, size_t size);
/* Room for element @n of an array of @max; moves the array if it must grow. */
bool sim_grow(struct sim *s, void **array, u32 *max, u32 n, size_t size);

/* ---- sim_conn.c ---- */
struct sim_txh *sim_txh_get(struct sim_host *h, u16 peer);
void sim_txh_free(struct sim_txh *t);
void sim_rxh_free(struct sim_rxh *r);
void sim_xmit(struct sim_txh *t);
void sim_tx_settle(struct sim_txh *t);
void sim_tx_arm(struct sim_txh *t);
void sim_acks(struct sim_rxh *r);
/* the carrier of a host's device of a plane has come or gone */
void sim_carrier(struct sim_host *h, u32 plane, bool up);
void sim_bare(struct sim_host *from, u16 to, const void *hdr, u32 len);
/* every packet that is not numbered */
/* the simple network of struct sim_cfg: a star, all faults on the way up */
void sim_star(const struct sim_cfg *c, struct sim_topo *t);
void sim_unnumbered(struct sim_host *h, struct sim_packet *p, const struct mroce_base *b);
struct sim_rxh *sim_rxh_by_id(struct sim_host *h, u64 id);

/* ---- sim_rx.c ---- */
void sim_receive(struct sim *s, struct sim_packet *p);

/* ---- sim_qp.c ---- */
/* Two queue pairs that are connected to each other; the program of the first is @a. */
struct sim_qp *sim_connect(struct sim *s, u16 host_a, const struct sim_load *a, u16 host_b,
			   const struct sim_load *b);
struct sim_qp *sim_qp_by_stream(struct sim_host *h, u32 stream);
void sim_qp_open(struct sim_host *h, struct sim_rxh *r, const struct mroce_open *open);
void sim_qp_open_reply(struct sim_txh *t, const struct mroce_open *reply);
void sim_qp_control(struct sim_host *h, const struct mroce_control *c);
void sim_qp_build(struct sim_qp *qp, struct mroce_xmit *x, struct sim_packet *p);
void sim_qp_progress(struct mroce_txs *txs);
/* messages at the cursor; true if another step is wanted */
void sim_qp_cursor(struct sim_qp *qp, struct mroce_rxs *rxs);
void sim_qp_error(struct sim_qp *qp, enum mroce_reason reason, u8 nack);
void sim_qp_detach(struct sim_qp *qp);
void sim_qp_free(struct sim_qp *qp);
static inline struct sim_qp *sim_qp_of(struct mroce_txs *txs)
{
	return txs->response ? container_of(txs, struct sim_qp, resp)
			     : container_of(txs, struct sim_qp, req);
}

/* ---- sim_check.c ---- */
u8 sim_pattern(u64 key, u32 off);
u64 sim_key(struct sim_qp *qp, u32 msn);
u64 sim_read_key(struct sim_qp *qp);
void sim_track_init(struct sim_track *t, u32 base, u32 window, u32 messages);
/* May a packet or train be copied to memory? enum mroce_nack; forged ones may not always */
u8 sim_refuses(struct sim_qp *qp, const struct mroce_data *d, u32 bytes);
/* an ATOMIC_WRITE is carried out */
void sim_atomic_write(struct sim_qp *qp, const struct mroce_desc *d);
/* one packet's bytes go to memory now */
void sim_place(struct sim_qp *qp, const struct mroce_data *d, struct sim_packet *p, u32 off,
	       u32 bytes);
void sim_note_held(struct sim_qp *qp, const struct mroce_data *d);
struct sim_log *sim_log_of(struct sim_txh *t, u8 path, u32 number);
void sim_note_sent(struct sim_txh *t, const struct mroce_xmit *x);
void sim_check_ack(struct sim_rxh *r, const struct mroce_ack *a);
void sim_check_message(struct sim_qp *qp, const struct mroce_desc *d);
void sim_check_complete(struct sim_qp *qp, const struct mroce_msg *m);

/* ---- sim_audit.c ---- */
void sim_audit(struct sim *s);
/* the same of one receiving half, and of one space of a stream */
void sim_audit_rx(struct sim *s, struct mroce_rx *rx);
void sim_audit_rxs(struct sim *s, const struct mroce_rxs *rxs);

#define SIM_WRITE_BASE 0x100000000ULL
#define SIM_READ_BASE  0x300000000ULL
#define SIM_ADD_ADDR   0x500000000ULL
#define SIM_SWAP_ADDR  0x500000008ULL

#endif
