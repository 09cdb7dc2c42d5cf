/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mroce-load: types and functions shared by its files. The protocol between
 * the two ends is described here, since every file leans on it.
 *
 * Nothing but Verbs is used for the load itself; a TCP connection carries
 * options, addresses and keys before it and the verdict after it.
 *
 * Plan. Each queue pair has two directions (0: client to server, 1: server to
 * client). A direction is a sequence of epochs; an epoch is a list of messages
 * that ends with a synchronising message (M_SYNC: a Send, or a Write with
 * immediate). workload.c derives an epoch from (seed, queue pair, direction,
 * epoch number) alone, so both ends hold the same plan and nobody needs to be
 * told what an operation carries.
 *
 * Memory. For each direction the requester has a local arena (sources, and
 * sinks of Reads and atomics), the responder a remote arena (Write targets,
 * Read sources, atomic cells, receive buffers). Both are cut into W slices;
 * epoch e uses slice e mod W. What is not a buffer is guard zone. Four images
 * go with an epoch: what local and remote slice hold before it and after it.
 * An image is a list of extents of generated patterns, made by playing the
 * epoch in posting order. So "the last of overlapping Writes wins", "a Read
 * sees the Writes before it" and "guards are untouched" are the one statement
 * "the slice equals its image", and every byte is checked.
 *
 * Who may touch what, and when. Let L be the lag, and W = 2L.
 *  (1) A responder verifies the whole slice of epoch e when the completion of
 *      its synchronising message arrives: a queue pair executes in order, so
 *      by then every earlier operation of the epoch is in memory. Then, before
 *      it posts anything else, it prepares that slice for epoch e + W: fills
 *      it and posts its receives.
 *  (2) A requester starts epoch e when it has itself verified epoch e - L of
 *      the opposite direction. The peer posted that one after verifying, and
 *      preparing again, the slice of our epoch e - 2L = e - W by (2) and (1).
 *      So the remote slice of epoch e is ready, at no cost in messages, and
 *      nothing in flight can reach a slice that is being verified. Each wait
 *      is for an epoch with a smaller number: no deadlock.
 *  (3) The local slice is used again when the last request of its epoch has
 *      completed; it is verified first (sources unchanged, sinks right, guards
 *      untouched). Read sinks are verified at their own completion as well.
 *      Read sources lie in the remote slice and change only in step (1).
 *  (4) Sources of inline requests are overwritten as soon as post_send
 *      returned, which Verbs allows.
 *  (5) Within an epoch a Write over bytes that an earlier request reads, and a
 *      request that sends an earlier Read's sink, carry a fence, and so does
 *      the synchronising message of an epoch with Reads: InfiniBand
 *      orders them no other way.
 *  (6) Memory without relaxed ordering is polled besides: a fresh Write target
 *      whose last byte has its new value must be complete, and so must all
 *      Writes posted before it; likewise for the flag cell (order.c).
 *
 * End. The client chooses: it sends the synchronising message of some epoch e
 * with another first word, which means that e + 2L is the last epoch. By (2)
 * neither end can have started a later one.
 *
 * A memory window covers each remote slice where the device has them. It is
 * bound again, with the next key, in step (1) if the epoch invalidated it; the
 * bind is posted before the messages that tell the peer, on the same queue.
 */
#ifndef MROCE_LOAD_H
#define MROCE_LOAD_H

#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <pthread.h>
#include <sys/socket.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#define MAX_SGE		16
#define MAX_SLICES	8
#define MAX_EPOCH	256	/* messages of an epoch, without the last */
#define SLICE_HEAD	256	/* atomic cells and the flag cell */
#define SLICE_TAIL	4096	/* guard that is checked with every epoch */
#define CELLS		8
#define CELL_OFF	64
#define FLAG_OFF	192
#define EXIT_BAD	1
#define EXIT_USAGE	2
#define EXIT_STALL	3
#define EXIT_SETUP	4

enum op {
	OP_SEND, OP_SEND_IMM, OP_SEND_INV, OP_WRITE, OP_WRITE_IMM,
	OP_READ, OP_CAS, OP_FADD, OP_MAX
};

enum mode { MODE_ALL, MODE_MIXED, MODE_POLL, MODE_FLAG, MODE_LAST, MODE_MAX };

enum {
	M_SIGNAL	= 1 << 0,
	M_FENCE		= 1 << 1,
	M_SOLICIT	= 1 << 2,
	M_INLINE	= 1 << 3,
	M_SYNC		= 1 << 4,
	M_FLAG		= 1 << 5,	/* a Write of the flag cell */
	M_FRESH		= 1 << 6,	/* target touched by no other request */
	M_POLL		= 1 << 7,	/* fresh, and its last byte changes */
	M_MW		= 1 << 8,	/* through the memory window's key */
	M_RECV		= 1 << 9,	/* takes a receive at the responder */
	M_OVER		= 1 << 10,	/* overlaps an earlier Write */
	M_SINK		= 1 << 11,	/* its source is the sink of a Read */
	M_BAD		= 1 << 12,	/* corrupted on purpose */
};

/* What both ends must agree on: 64-bit numbers only, sent as such. */
struct params {
	uint64_t seed, qps, threads, depth, max_size, ops, mode, relaxed, srq,
		 srq_size, srq_slots, lag, slices, slice, unit, sge, rd_sge,
		 rd_atomic, epoch_msgs, messages, seconds, cm, iwarp, window,
		 zero_sge, late_us, corrupt, stray, mtu, nonce;
};

#define PARAM_WORDS	(sizeof(struct params) / 8)

struct options {
	struct params p;
	const char *host, *bind, *dev, *json;
	int port, gid_index, family;
	int progress, stall, timeout;
	unsigned int inline_max;
	bool listen, self, events, solicited, selftest, quiet, lag_set;
};

/* ---- image.c: patterns and images ---- */

enum ext_kind { EXT_PATTERN, EXT_CONST };

struct ext {
	uint32_t off, len, base, kind;
	uint64_t key;
};

struct image {
	struct ext *e;
	unsigned int n, cap;
};

struct miss {
	uint64_t off, last, count;	/* image offsets; bytes that differ */
	uint8_t want, got;
};

uint64_t mix64(uint64_t x);
uint64_t key_of(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);
uint8_t pattern_byte(uint64_t key, uint32_t off);
void img_reset(struct image *im, uint32_t len, uint64_t key);
void img_free(struct image *im);
void img_put(struct image *im, uint32_t off, uint32_t len, uint64_t key,
	     uint32_t base, enum ext_kind kind);
void img_copy(struct image *dst, uint32_t doff, const struct image *src,
	      uint32_t soff, uint32_t len);
void img_fill(const struct image *im, void *mem, uint32_t off, uint32_t len);
bool img_check(const struct image *im, const void *mem, uint32_t off,
	       uint32_t len, struct miss *miss);
uint8_t img_byte(const struct image *im, uint32_t off);

/* ---- workload.c: the plan ---- */

struct piece {
	uint32_t off, len;
};

struct msg {
	uint64_t num;
	uint64_t compare, swap;		/* atomics: compare or add, swap */
	uint32_t flags, size, imm, target, pay, room;
	uint8_t op, nsrc, nrcv;
	struct piece src[MAX_SGE];	/* local slice: source or sink */
	struct piece rcv[MAX_SGE];	/* remote slice: the receive's buffers */
};

struct epoch {
	uint64_t num;
	enum mode mode;
	unsigned int n, nrecv, nflags;
	uint32_t lhi, rhi;		/* bytes of the slices in use */
	bool inv;			/* the window is invalidated in it */
	uint8_t mw_tag;			/* low byte of the window's key */
	uint64_t stop_word, go_word;	/* first word of the last message */
	struct image li, lf, ri, rf;	/* local, remote: initial, final */
	struct image pay;		/* Sends' payloads, when an SRQ is used */
	struct msg m[MAX_EPOCH + 1];
};

/* One direction of one queue pair; epochs are generated in order. */
struct gen {
	const struct params *p;
	unsigned int qp, dir, inline_max;
	uint64_t epoch, num, npoll;
	uint8_t mw_tag[MAX_SLICES];
	bool mw_gone[MAX_SLICES];
};

void gen_init(struct gen *g, const struct params *p, unsigned int qp,
	      unsigned int dir, unsigned int inline_max);
void gen_epoch(struct gen *g, struct epoch *ep);
void epoch_free(struct epoch *ep);
void epoch_set_stop(const struct params *p, struct epoch *ep);
const char *op_name(unsigned int op);
const char *mode_name(unsigned int mode);
unsigned int split_pieces(uint64_t *rng, uint32_t *cursor, uint32_t len,
			  unsigned int max, uint32_t first_min, bool zero,
			  struct piece *out);
uint64_t rnd(uint64_t *rng);
int selftest(uint64_t seed);

/* ---- the running program ---- */

/* SIGINT came: a client ends as when its time is over, a server waits for it */
extern volatile sig_atomic_t interrupted;

struct counters {
	uint64_t msgs[OP_MAX], recvs, tx_bytes, rx_bytes, checked, completions;
	uint64_t live_polls, live_flags, late_polls, overlaps, fences, inlines;
	uint64_t windows, binds, epochs, events;
};

#define COUNTERS	(sizeof(struct counters) / 8)

struct sqe {
	uint64_t wr_id;
	struct epoch *ep;		/* NULL: a bind */
	unsigned int idx;
	bool signalled;
};

struct qp_info {
	uint64_t qpn, psn, rkey, addr, mtu, gid_hi, gid_lo, lid, mw[MAX_SLICES];
};

#define QP_INFO_WORDS	(sizeof(struct qp_info) / 8)

struct qp {
	struct side *side;
	struct worker *w;
	unsigned int idx;
	struct ibv_qp *qp;
	struct rdma_cm_id *id;
	unsigned int inline_max;
	struct qp_info mine, peer;
	uint8_t *local, *remote;
	struct ibv_mr *lmr, *rmr;
	struct ibv_mw *mw[MAX_SLICES];
	uint32_t mw_rkey[MAX_SLICES];

	/* requester */
	struct gen tx_gen;
	struct epoch *tx[MAX_SLICES];
	bool tx_busy[MAX_SLICES];
	uint32_t tx_hi[MAX_SLICES];
	uint64_t tx_epoch;		/* being posted, or next to start */
	uint64_t tx_done;		/* epochs completed */
	bool tx_open;
	unsigned int tx_idx;
	uint64_t tx_msgs, last;		/* last: number of the last epoch */
	struct sqe *sq;
	uint64_t sq_head, sq_tail;
	unsigned int unsignalled;
	uint64_t rng;
	bool bad_done, stray_done;

	/* responder */
	struct gen rx_gen;
	struct epoch *rx[MAX_SLICES];
	uint32_t rx_hi[MAX_SLICES];
	uint64_t rx_epoch;		/* being received; all before verified */
	uint64_t rx_ready;		/* prepared up to, exclusive */
	uint64_t rx_posted;		/* receives posted up to, exclusive */
	uint64_t rx_due[MAX_SLICES];
	unsigned int rx_idx;
	uint64_t rq_head, rq_tail;
	bool heard;
	unsigned int bind_pending;	/* bit mask of slices */

	/* order.c, of epoch rx_epoch */
	unsigned int ord_idx, ord_flags;
	bool done;
};

struct worker {
	struct side *side;
	pthread_t thread;
	bool started;
	struct ibv_comp_channel *chan;
	struct ibv_cq *scq, *rcq;
	unsigned int unacked_s, unacked_r;
	struct counters c;
};

struct srq_slot {
	uint8_t *mem;
	unsigned int n;
	struct piece pc[MAX_SGE];
};

/* One end. With --self the process has two. */
struct side {
	const struct options *o;
	struct params p;
	unsigned int dir;		/* that we send in: 0 client */
	int ctl;
	const char *name;
	struct sockaddr_storage addr;	/* rdma_cm: of the server */
	struct ibv_context *ctx;
	struct ibv_device_attr da;
	struct ibv_port_attr pa;
	int port_num, gid_index;
	bool own_ctx;
	union ibv_gid gid;
	struct ibv_pd *pd;
	struct ibv_srq *srq;
	struct ibv_mr *srq_mr;
	struct srq_slot *slots;
	uint8_t *srq_mem;
	size_t srq_len;
	struct worker *workers;
	struct qp *qps;
	struct rdma_event_channel *ec;
	struct rdma_cm_id *listener;
	uint64_t t0, t_end, t_stop;
	int running;			/* workers */
	int failed, exit_code;		/* atomic */
	bool peer_fin, peer_ok;
	struct counters peer_counters;
};

/* options.c */
int parse_options(int argc, char **argv, struct options *o);
/* device.c */
int side_open(struct side *s);
int side_caps(struct side *s, struct params *p);
int side_memory(struct side *s);
int qp_create(struct qp *q, struct rdma_cm_id *id);
void side_close(struct side *s);
/* connect.c */
enum ctl_type { CTL_HELLO = 0x6c6f6164, CTL_ACCEPT, CTL_QPS, CTL_READY, CTL_FIN };
int ctl_listen(const struct options *o);
int ctl_connect(const struct options *o);
int ctl_send(struct side *s, enum ctl_type t, const uint64_t *w, unsigned int n);
int ctl_recv(struct side *s, enum ctl_type t, uint64_t *w, unsigned int n,
	     int timeout_ms);
int negotiate(struct side *s);
int connect_qps(struct side *s);
int ctl_barrier(struct side *s);
/* cm.c */
int cm_open(struct side *s);
int cm_connect(struct side *s);
void cm_close(struct side *s);
/* worker.c */
void *worker_main(void *arg);
/* run.c */
int serve(struct qp *q);
int tx_progress(struct qp *q);
int recv_done(struct worker *w, const struct ibv_wc *wc);
int send_done(struct worker *w, const struct ibv_wc *wc);
int rx_prepare_all(struct qp *q);
int initial_binds(struct side *s);
/* verify.c */
__attribute__((format(printf, 2, 3)))
void fail(struct side *s, const char *fmt, ...);
void fail_code(struct side *s, int code);
bool side_failed(const struct side *s);
bool check_range(struct qp *q, bool tx, const struct epoch *ep,
		 const struct image *im, const uint8_t *slice, uint32_t off,
		 uint32_t len, const char *what);
bool check_payload(struct qp *q, const struct epoch *ep, const struct msg *m,
		   const struct srq_slot *slot);
bool check_send_wc(struct qp *q, const struct ibv_wc *wc, const struct sqe *e);
bool check_recv_wc(struct qp *q, const struct ibv_wc *wc,
		   const struct epoch *ep, const struct msg *m);
void report_stall(struct side *s);
/* order.c */
void order_reset(struct qp *q);
int order_poll(struct qp *q);
void order_finish(struct qp *q);
/* report.c */
void sum_counters(const struct side *s, struct counters *c);
void report_progress(struct side *s, struct counters *prev, double secs);
void report_final(struct side *s, double secs);
void report_json(struct side *s, double secs);

static inline uint8_t *lslice(struct qp *q, uint64_t e)
{
	return q->local + (e % q->side->p.slices) * q->side->p.slice;
}

static inline uint8_t *rslice(struct qp *q, uint64_t e)
{
	return q->remote + (e % q->side->p.slices) * q->side->p.slice;
}

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

#endif
