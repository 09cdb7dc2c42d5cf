/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queue pair: qp.c creates and destroys it and takes doorbells; qp_state.c modifies and
 * queries, sqd.c what is changed in SQD; open.c binds it to its connection; reads.c has what the
 * peer's READs take; sq.c takes requests from the send ring to the engine,
 * wqe.c reads and checks one, progress.c completes them; build.c fills packets; recv.c places
 * what arrives; responder.c is the cursor; flush.c the error state; ud.c datagrams and the GSI;
 * uc.c unreliable connections; xrc.c what is particular to XRC.
 *
 * qp->lock is taken with bottom halves off; order qp->lock > half->lock > cq->lock, and
 * nothing is sent, copied from or to packets of a connection, or told to a program under it.
 */
#ifndef MROCE_VERBS_QP_H
#define MROCE_VERBS_QP_H

#include "verbs.h"
#include "../conn/conn.h"
#include "../transport/uc.h"

#define MROCE_SEND_REG_MR 32 /* struct mroce_send.opcode beyond enum mroce_wqe_opcode */
#define MROCE_GSI_QPN	  1
#define MROCE_GROUP_QPN	  0xffffff /* what a datagram to a group names */
#define MROCE_GRH_BYTES	  40
#define MROCE_SRQ_AHEAD	  64 /* messages that a stream binds ahead in an SRQ, at most (rule 10) */

/**
 * struct mroce_send - a send request, read once from its ring and kept until its completion
 * @wr_id, @opcode (enum mroce_wqe_opcode or MROCE_SEND_REG_MR), @flags (MROCE_WQE_*): the program's
 * @msn: of its message, if it is one
 * @answer: READ, FLUSH, atomics: message number of the response that may answer it
 * @wire: it is a message (else local: LOCAL_INV, REG_MR, BIND_MW, done at once, completed in its
 *	turn)
 * @complete: only its turn is missing
 * @status: IB_WC_*, of a request that is not a message
 * @reason: behind @status
 * @length: of its data; FLUSH: of its range
 * @sge, @inline_data: as posted
 */
struct mroce_send {
	u64 wr_id;
	u8 opcode, flags;
	u8 num_sge;
	bool wire, complete;
	bool invalidates; /* READ_WITH_INV */
	u8 status;
	u16 reason;
	u32 msn, answer;
	u32 length;
	u32 imm;
	u64 remote_addr;
	u32 rkey;
	u64 compare_add, swap;
	u32 ah, qpn, qkey;
	u32 srqn; /* XRC */
	struct ib_mr *reg_mr; /* kernel: REG_MR */
	u32 reg_key; /* and READ_WITH_INV: dies with its completion */
	int reg_access;
	struct mroce_bind bind; /* BIND_MW */
	struct mroce_ah *kah; /* kernel UD and GSI: the handle itself, referenced */
	union {
		DECLARE_FLEX_ARRAY(struct mroce_sge, sge);
		DECLARE_FLEX_ARRAY(u8, inline_data);
	};
};

/**
 * struct mroce_sq - the send queue
 * @ring: shared with the program (struct mroce_sq_wqe slots); kernel users have none and fill
 *	@sends themselves
 * @post_lock: irqsave; producers of kernel users
 * @posted: kernel users: requests in @sends, those not yet fetched included
 * @fetched: requests taken from the ring; @done: completed (published as the ring's consumer)
 * @sends: kernel copies, slot = number & (entries - 1), @send_size bytes each
 * @run: takes requests to the engine for kernel users (rule 38)
 * @kicks: MROCE_DOORBELL_* that @run has to look at
 * @building: requests whose datagrams are being built
 * @stopped: a request failed; nothing behind it is fetched
 * @waiting: the next request waits for earlier ones
 */
struct mroce_sq {
	struct mroce_kring ring;
	spinlock_t post_lock; /* producers of kernel users */
	u32 posted;
	u32 fetched, done;
	u32 entries, max_wr, max_sge, max_inline, send_size;
	void *sends;
	struct tasklet_struct run;
	unsigned long kicks;
	u32 building;
	bool sig_all, stopped, waiting;
};

/*
 * what the device's tables hold: outlives the queue pair by an RCU grace period, so that a
 * lookup can fail
 */
struct mroce_qp_handle {
	refcount_t refs;
	struct ib_qp *ib;
	struct rcu_head rcu;
};

/*
 * a held packet: a copy of its payload, so that nothing of the network's or of a local
 * sender's waits with it (rule 8)
 */
struct mroce_packet {
	struct mroce_held held;
	u64 addr;
	u32 rkey, len;
	bool last;
	u8 data[];
};

/* operands of an atomic that waits for the cursor; under the receiving half's lock */
struct mroce_operand {
	bool used;
	u32 msn;
	u64 compare_add, swap;
};

/**
 * struct mroce_responder - what READs and atomics of the peer, and refusals of its messages, take
 * @msg: messages of the response space; under the sending half's lock
 * @results: of atomics, by the response's message number & the queue pair's @resp_mask; likewise
 * @operands: of atomics, @room of them: more than the peer may have open
 * @more_msg, @more_operands: allocations of their own, since the limit was raised; else NULL
 */
struct mroce_responder {
	struct mroce_msg *msg;
	u64 *results;
	struct mroce_operand *operands;
	u32 room;
	struct mroce_msg *more_msg;
	struct mroce_operand *more_operands;
};

/**
 * struct mroce_bound - buffers of an SRQ that are bound to receive numbers of a stream
 * @lock: around it; outside the half's lock, inside none
 * @next: receive number to be bound next; those in [@done, @next) have one
 * @recvs: MROCE_SRQ_AHEAD slots of @size bytes
 * @ahead: at most so many at once
 * @from: XRC target: the SRQ that each is of, with a reference
 */
struct mroce_bound {
	spinlock_t lock; /* of all below */
	u32 next, done;
	u32 ahead, size;
	void *recvs;
	struct mroce_srq **from;
};

/*
 * the refusal that will end the queue pair when the cursor comes to it; under the receiving
 * half's lock
 */
struct mroce_rx_error {
	bool set;
	u8 status; /* IB_WC_* of the receive request that is at fault; success: none is */
	u8 nack;
	u16 reason;
	u32 msn, rsn;
};

/* asynchronous events that wait for the work item: bits of @events */
enum mroce_qp_event {
	MROCE_QPE_FATAL,
	MROCE_QPE_ACCESS,
	MROCE_QPE_REQUEST,
	MROCE_QPE_EST,
	MROCE_QPE_DRAINED,
	MROCE_QPE_LAST_WQE,
	MROCE_QPE_MAX
};

/**
 * struct mroce_uc_qp - what a queue pair of type UC has in place of a connection
 * @flow: to the peer
 * @psn: number of the next packet; whoever sends has it alone
 * @rx: under ud_lock
 * @taken: ud_recv holds a buffer of the SRQ; under ud_lock
 */
struct mroce_uc_qp {
	struct mroce_flow flow;
	u32 psn;
	struct mroce_uc_rx rx;
	bool taken;
};

/**
 * struct mroce_qp - a queue pair
 * @ib: the core's part
 * @handle: its entry in the device's tables, and its references
 * @lock: bottom halves off. State, send queue, completions of sends.
 * @state: IB_QPS_*
 * @attr: as set by modify_qp; @tuning: by the method of tune.c
 * @poller: thread that looks at the send ring (poll.c), or NULL; under mroce_qp_mutex()
 * @poll_wait: where it sleeps; @poll_ns: how long it looks in vain before that
 * @bound: instead of @rq, with an SRQ or for those of an XRC domain
 * @xrcd: XRC target: its domain; it has neither @scq nor @rcq
 * @waiter, @waits_on: in the list of that SRQ, with a reference; under @lock
 * @stream: own id, drawn at each entry into RTR; 0: none
 * @saddr, @daddr: of the address vector
 * @txh, @rxh: halves; @rxh is NULL until the peer is heard. Under @lock.
 * @req, @resp: sending side of the request and the response space, on @txh
 * @rreq, @rresp: receiving side of both, on @rxh
 * @req_msg: messages of @req, which lie behind the send queue's @sends
 * @responder: NULL until the peer reads; set under @txh's lock
 * @resp_mask: responses that it has room for - 1
 * @answers: READs and atomics posted: message number of the next one's response
 * @peer_closed: the peer's queue pair is gone or in error: @gone will end this one
 * @placed: lowest request number that the peer has to be told of as not placed
 * @error: reason of the error state
 * @by_responder: the error state was entered for what the peer asked: its refusal is repeated until
 *	reset
 * @close_told: CLOSE was sent; @established: something of the peer has arrived
 * @quiet: error state: nothing touches buffers any more, requests may be flushed
 * @ud_lock: UD, GSI and UC: taking and filling of receive buffers
 * @ud_recv: UD and UC with an SRQ: the request being filled
 */
struct mroce_qp {
	struct ib_qp *ib;
	struct mroce_qp_handle *handle;
	struct mroce_dev *dev;
	struct mroce_cq *scq, *rcq;
	struct mroce_srq *srq;
	spinlock_t lock; /* state, send queue */
	enum ib_qp_state state;
	struct ib_qp_attr attr;
	struct mroce_qp_tuning tuning;
	struct task_struct *poller;
	wait_queue_head_t poll_wait;
	u64 poll_ns;
	bool user, holds_module;

	struct mroce_sq sq;
	struct mroce_rq rq;
	struct mroce_bound bound;
	struct mroce_srq_waiter waiter;
	struct mroce_srq *waits_on;
	struct mroce_xrcd *xrcd;

	u32 stream;
	struct in6_addr saddr, daddr;
	struct mroce_txhalf *txh;
	struct mroce_rxhalf *rxh;
	struct mroce_txs req, resp;
	struct mroce_rxs rreq, rresp;
	struct mroce_msg *req_msg;
	struct mroce_responder *responder;
	u32 resp_mask;
	u32 answers, placed;
	struct mroce_rx_error rx_error;

	bool peer_closed, by_responder, close_told, established, quiet, sqd_told;
	enum mroce_reason error;

	spinlock_t ud_lock; /* receive queue of datagrams */
	struct mroce_recv *ud_recv;
	struct mroce_uc_qp uc;

	struct completion unused;
	struct work_struct flush;
	struct work_struct event;
	struct delayed_work gone;
	unsigned long events;
	struct mroce_counters __percpu *stats; /* of the counter that it is bound to; under RCU */
};

/**
 * struct mroce_ib_qp - what the core allocates, rounded up to a power of two: there is little in it
 * @mutex: modify, destroy; of @qp too
 * @qp: NULL once destroyed: 6.1 lists its resources, and so queries them, a little longer
 */
struct mroce_ib_qp {
	struct ib_qp ib;
	struct mutex mutex; /* modify, query, destroy, flush */
	struct mroce_qp *qp;
};

static inline struct mutex *mroce_qp_mutex(const struct mroce_qp *qp)
{
	return &container_of(qp->ib, struct mroce_ib_qp, ib)->mutex;
}

static inline struct mroce_qp *to_mqp(struct ib_qp *ib)
{
	return container_of(ib, struct mroce_ib_qp, ib)->qp;
}

/* counter.c: beside the device's own counter; any context */
void mroce_qp_count_bound(struct mroce_qp *qp, unsigned int counter, u64 n);
static inline void mroce_qp_count(struct mroce_qp *qp, unsigned int counter, u64 n)
{
	if (unlikely(READ_ONCE(qp->stats)))
		mroce_qp_count_bound(qp, counter, n);
}

static inline struct mroce_send *mroce_sq_send(const struct mroce_sq *sq, u32 index)
{
	return sq->sends + (size_t)(index & (sq->entries - 1)) * sq->send_size;
}

static inline struct mroce_qp *mroce_qp_of(struct mroce_txs *txs)
{
	return txs->response ? container_of(txs, struct mroce_qp, resp)
			     : container_of(txs, struct mroce_qp, req);
}

/* The region, or window, that the peer names; as mroce_mr_get(). */
static inline struct mroce_mr *mroce_qp_mr_get(struct mroce_qp *qp, u32 rkey, int access, u64 addr,
					       u64 len, enum mroce_reason *reason)
{
	if (unlikely(qp->xrcd))
		return mroce_mr_get_xrc(qp->dev, qp->xrcd, qp->ib->qp_num, rkey, access, addr, len,
					reason);
	return mroce_mr_get_remote(qp->dev, qp->ib->pd, qp->ib->qp_num, rkey, access, addr, len,
				   reason);
}

/* the states in which packets are taken */
static inline bool mroce_qp_receives(const struct mroce_qp *qp)
{
	enum ib_qp_state state = READ_ONCE(qp->state);

	return state == IB_QPS_RTR || state == IB_QPS_RTS || state == IB_QPS_SQD ||
	       state == IB_QPS_SQE;
}

static inline bool mroce_qp_is_xrc(const struct mroce_qp *qp)
{
	return qp->ib->qp_type == IB_QPT_XRC_INI || qp->ib->qp_type == IB_QPT_XRC_TGT;
}

/* reliable, so of a connection; XRC included */
static inline bool mroce_qp_is_rc(const struct mroce_qp *qp)
{
	return qp->ib->qp_type == IB_QPT_RC || mroce_qp_is_xrc(qp);
}

/* a receive queue of its own */
static inline bool mroce_qp_has_rq(const struct mroce_qp *qp)
{
	return !qp->srq && !mroce_qp_is_xrc(qp);
}

/* Its messages take buffers of SRQs, which are bound to them. */
static inline bool mroce_qp_binds(const struct mroce_qp *qp)
{
	return qp->srq || qp->xrcd;
}

static inline bool mroce_qp_is_uc(const struct mroce_qp *qp)
{
	return qp->ib->qp_type == IB_QPT_UC;
}

/* the GSI included */
static inline bool mroce_qp_is_ud(const struct mroce_qp *qp)
{
	return !mroce_qp_is_rc(qp) && !mroce_qp_is_uc(qp);
}

/* qp.c */
void mroce_qp_hold(struct mroce_qp *qp);
/* a reference, or NULL: it is being destroyed; under RCU */
struct mroce_qp *mroce_qp_by_handle(struct mroce_qp_handle *handle);
/* no packet finds the queue pair by this id any more */
void mroce_qp_stream_erase(struct mroce_dev *dev, u32 id);
/*
 * Takes posted requests to the engine and transmits; completes flushed ones. Process context
 * or softirq, no lock held.
 */
void mroce_qp_run(struct mroce_qp *qp, unsigned int doorbells);
/* The same soon, from the tasklet. Any context. */
void mroce_qp_kick(struct mroce_qp *qp, unsigned int doorbells);
/*
 * The first queue pair whose number is *@qpn or more, with a reference; *@qpn is set to it. NULL:
 * there is none.
 */
struct mroce_qp *mroce_qp_next(struct mroce_dev *dev, u32 *qpn);
/* queue pair of a stream, whatever its state; to be called under RCU */
struct mroce_txs *mroce_qp_find_txs(struct mroce_dev *dev, struct mroce_tx *tx, u32 own_id,
				    bool response);

/* qp_state.c */
int mroce_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int mroce_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init_attr);

/* open.c: connection of an RC queue pair. mutex is held. */
/* addresses that a connection can be between; -EINVAL, and it is logged */
int mroce_qp_check_address(struct mroce_qp *qp, const struct ib_qp_attr *attr,
			   struct in6_addr *saddr, struct in6_addr *daddr);
int mroce_qp_connect(struct mroce_qp *qp, const struct ib_qp_attr *attr); /* to RTR; may sleep */
void mroce_qp_start(struct mroce_qp *qp); /* to RTS */
/* class and hop limit of what both its spaces send; ns without progress that end it */
void mroce_qp_route(struct mroce_qp *qp, const struct ib_qp_attr *attr);
u64 mroce_qp_timeout(const struct ib_qp_attr *attr);
/*
 * Ends it: nothing of the engine refers to the queue pair afterwards. Sleeps until copies have
 * ended.
 */
void mroce_qp_disconnect(struct mroce_qp *qp);
/* Tells the peer, as far as it was ever heard of, once, that nothing more comes or is answered. */
void mroce_qp_say_close(struct mroce_qp *qp);
/* the stream was refused for want of a buffer in the SRQ: it is told when one is posted */
void mroce_qp_srq_wait(struct mroce_qp *qp, struct mroce_srq *srq);
/* for @srq, or for whichever (NULL) */
void mroce_qp_srq_unwait(struct mroce_qp *qp, const struct mroce_srq *srq);
/*
 * Is @h the receiving half that the peer of @qp sends on? Attaches the response space where
 * that is the first sign of it.
 */
bool mroce_qp_on_half(struct mroce_qp *qp, struct mroce_rxhalf *h);
/* Receive buffers may have been posted: tells a sender that waits. No lock held. */
void mroce_qp_credit(struct mroce_qp *qp);

/* reads.c; to RTR, and back: under the mutex */
int mroce_responder_prepare(struct mroce_qp *qp, u32 reads);
void mroce_responder_free(struct mroce_qp *qp);
/* Is there memory to respond with? No half's lock is held; neither half goes away. */
bool mroce_qp_may_respond(struct mroce_qp *qp);
/* in a state that receives: another limit of READs and atomics. Sleeps. */
int mroce_responder_limit(struct mroce_qp *qp, u32 reads);

/* sqd.c: what may change while the send queue is drained; the mutex is held. May sleep. */
int mroce_qp_change(struct mroce_qp *qp, const struct ib_qp_attr *attr, int mask);

/*
 * wqe.c: one request into its slot of @sends; false: it is malformed, and its status says how.
 * qp->lock is held.
 */
bool mroce_wqe_fetch(struct mroce_qp *qp, const struct mroce_sq_wqe *wqe, struct mroce_send *s);
bool mroce_send_check(struct mroce_qp *qp, struct mroce_send *s);
int mroce_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
u8 mroce_wc_opcode(u8 opcode); /* IB_WC_* of a struct mroce_send.opcode */

/*
 * sq.c: at most @budget requests from the ring to the engine; the number taken. qp->lock is
 * held.
 */
unsigned int mroce_sq_fetch(struct mroce_qp *qp, unsigned int budget);
u32 mroce_sq_posted(struct mroce_qp *qp);
/* LOCAL_INV, REG_MR, BIND_MW: carries it out, and says in it how */
void mroce_sq_run_local(struct mroce_qp *qp, struct mroce_send *s);
/* the same, and completes what is done at once, until nothing more can be done */
unsigned int mroce_sq_advance(struct mroce_qp *qp, unsigned int budget);

/* progress.c; qp->lock is held */
void mroce_qp_gone_work(struct work_struct *work); /* itself takes it */
void mroce_sq_retire(struct mroce_qp *qp);
/* A work request completes for this reason; counted if it is an ERR_*. */
void mroce_qp_count_error(struct mroce_qp *qp, enum mroce_reason reason);
void mroce_sq_release(struct mroce_qp *qp);
void mroce_sq_cqe(struct mroce_qp *qp, const struct mroce_send *s, u8 status,
		  enum mroce_reason reason);

/* responder.c; bottom halves off */
/**
 * struct mroce_cursor - one run of a stream's cursor; on the caller's stack
 * @desc: the message that it is at, if there is a @message
 * @end: it has come to where the stream ends
 */
struct mroce_cursor {
	struct mroce_desc desc;
	bool message, end;
};

/* under the half's lock, which may be the one of the packet's last step; then, without it, run */
void mroce_cursor_begin(struct mroce_cursor *c, struct mroce_rxhalf *h, struct mroce_rxs *rxs);
void mroce_cursor_run(struct mroce_cursor *c, struct mroce_qp *qp, struct mroce_rxhalf *h,
		      struct mroce_rxs *rxs);
/*
 * The buffer of a receive number, bound now if need be; NULL, and why in *@nack. @srqn: XRC target:
 * of which SRQ.
 */
struct mroce_recv *mroce_qp_recv(struct mroce_qp *qp, u32 rsn, u32 srqn, u8 *nack);
/* the message may be served; NONE, or how it is refused */
u8 mroce_qp_admit(struct mroce_qp *qp, u8 opcode, u64 addr, u32 rkey, u32 length, u32 imm);
void mroce_rq_cqe(struct mroce_qp *qp, u64 wr_id, const struct mroce_cqe *from, bool solicited);

/* xrc.c */
/* a message that takes a buffer says of which SRQ */
void mroce_xrc_name(struct mroce_xmit *x, u32 srqn);
static inline u32 mroce_xrc_named(const struct mroce_data *d)
{
	return mroce_opinfo[d->opcode].place ? d->rkey : d->floor;
}

/* as mroce_qp_recv(); buffers are bound in the order of receive numbers */
struct mroce_recv *mroce_xrc_bind(struct mroce_qp *qp, u32 rsn, u32 srqn, u8 *nack);
/* protection domain of the buffer that is bound to @rsn */
struct ib_pd *mroce_xrc_pd(struct mroce_qp *qp, u32 rsn);
/* The receive request of number @rsn completes, at the cursor; false: none is bound to it. */
/* a buffer that it has bound is of an SRQ with that CQ */
bool mroce_xrc_completes_to(struct mroce_qp *qp, const struct mroce_cq *cq);
bool mroce_xrc_complete(struct mroce_qp *qp, u32 rsn, const struct mroce_cqe *cqe, bool solicited);
/* buffers that are bound and were never completed, newest first */
void mroce_xrc_give_back(struct mroce_qp *qp);
/* the stream was refused for want of a buffer in that SRQ */
void mroce_xrc_wait(struct mroce_qp *qp, u32 srqn);
/* The SRQ goes: a queue pair that waits for it does so no longer, one with a buffer of it ends. */
void mroce_xrc_leave(struct mroce_qp *qp, struct mroce_srq *srq);

/* where what the buffer of @rsn names is looked up */
static inline struct ib_pd *mroce_qp_recv_pd(struct mroce_qp *qp, u32 rsn)
{
	return unlikely(qp->xrcd) ? mroce_xrc_pd(qp, rsn) : qp->ib->pd;
}

/* recv.c */
void mroce_packet_free(struct mroce_dev *dev, struct mroce_packet *p);

/* flush.c */
/* to the error state, unless it is in that or in RESET */
void mroce_qp_error(struct mroce_qp *qp, enum mroce_reason reason);
void mroce_qp_error_locked(struct mroce_qp *qp, enum mroce_reason reason);
void mroce_qp_raise(struct mroce_qp *qp, enum mroce_qp_event event);
void mroce_qp_flush_work(struct work_struct *work);
void mroce_qp_event_work(struct work_struct *work);
void mroce_qp_flush_soon(struct mroce_qp *qp);
/*
 * A request of an unreliable queue pair has failed: to SQE, in which it receives on, and what is
 * posted is flushed. qp->lock is held.
 */
void mroce_sq_error_locked(struct mroce_qp *qp, enum mroce_reason reason);
/* What is posted by now is flushed, and the send queue is ready again. Sleeps. */
void mroce_sq_recover(struct mroce_qp *qp);
/* Datagrams and UC: no request is being built; the state lets none begin. Sleeps. */
void mroce_qp_await_builders(struct mroce_qp *qp);
/* no copy of the peer's packets runs and none begins; the engine's streams are stopped. Sleeps. */
void mroce_qp_quiesce(struct mroce_qp *qp, bool all);

/* tune.c */
/*
 * The thread looks at the send ring until nothing came for @us, 0: never. EOPNOTSUPP: no program's
 * send queue; EBUSY: the device has as many threads as there are processors. Under
 * mroce_qp_mutex(), as the end of it, before the ring goes.
 */
int mroce_qp_poll(struct mroce_qp *qp, u32 us);
void mroce_qp_poll_end(struct mroce_qp *qp);
/* a doorbell came: what is next needs none */
void mroce_qp_poll_wake(struct mroce_qp *qp);

void mroce_qp_tune_default(struct mroce_qp *qp);
/* What was chosen, to both streams; under qp->lock, and the half's if they are attached. */
void mroce_qp_tune_streams(struct mroce_qp *qp);
/*
 * Its stream and connection; -ENOTCONN. *@half, if it is asked for: the sending half, with a
 * reference. No lock is held.
 */
int mroce_qp_info(struct mroce_qp *qp, struct mroce_qp_info *info, struct mroce_txhalf **half);

/* uc.c; the first two in process context, under the mutex */
int mroce_uc_connect(struct mroce_qp *qp, const struct ib_qp_attr *attr); /* to RTR */
/* where its packets go to, and come from; nothing is sent until it returns */
void mroce_uc_route(struct mroce_qp *qp, const struct ib_qp_attr *attr,
		    const struct in6_addr *saddr, const struct in6_addr *daddr);
void mroce_uc_begin(struct mroce_qp *qp, u32 psn); /* to RTS */
void mroce_uc_disconnect(struct mroce_qp *qp);
/* all packets of a message; its status says if it failed. No lock, one caller a queue pair. */
void mroce_uc_send(struct mroce_qp *qp, struct mroce_send *s);

/* ud.c, of UC too */
unsigned int mroce_ud_run(struct mroce_qp *qp, unsigned int budget);
u32 mroce_ud_max(const struct mroce_qp *qp);
/* A packet with @bytes of payload; counted, whatever becomes of it. Bottom halves off. */
void mroce_ud_transmit(struct mroce_qp *qp, struct mroce_flow *flow, struct sk_buff *skb,
		       u32 bytes);
/* The next receive buffer, or NULL; ud_lock is held. */
struct mroce_recv *mroce_ud_buffer(struct mroce_qp *qp);
/* The caller's reference is put. Softirq. */
void mroce_qp_datagram(struct mroce_qp *qp, const struct mroce_ud *ud, struct sk_buff *skb,
		       unsigned int off, const struct mroce_arrival *from);

/* mcast.c */
int mroce_attach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid);
int mroce_detach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid);
/* to all queue pairs of the group that it was sent to; softirq, under RCU */
void mroce_group_datagram(struct mroce_dev *dev, const struct mroce_ud *ud, struct sk_buff *skb,
			  unsigned int off, const struct mroce_arrival *from);

#endif
