/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queue pair: qp.c creates, modifies, queries, destroys; sq.c takes requests from
 * the send ring to the engine and completes them; rq side and responder in recv.c and
 * responder.c; ud.c datagrams and the GSI; flush.c the error state.
 */
#ifndef MROCE_VERBS_QP_H
#define MROCE_VERBS_QP_H

#include "verbs.h"
#include "../conn/conn.h"

/**
 * struct mroce_send - a send request, read once from its ring and kept until its completion
 * @wr_id, @opcode (enum mroce_wqe_opcode or MROCE_SEND_REG_MR), @flags (MROCE_WQE_*): the program's
 * @msn: of its message, if it is one
 * @wire: it is a message (else local: LOCAL_INV, REG_MR, done at once, completed in its turn)
 * @status: of a local one
 * @length: of its data
 * @sge, @inline_data: as posted
 */
struct mroce_send {
	u64 wr_id;
	u8 opcode, flags;
	u8 num_sge;
	bool wire;
	u8 status;
	u32 msn;
	u32 length;
	u32 imm;
	u64 remote_addr;
	u32 rkey;
	u64 compare_add, swap;
	u32 ah, qpn, qkey;
	struct ib_mr *reg_mr;		/* kernel: REG_MR */
	u32 reg_key;
	int reg_access;
	struct mroce_ah *kah;		/* kernel UD and GSI: the handle itself, referenced */
	union {
		DECLARE_FLEX_ARRAY(struct mroce_sge, sge);
		DECLARE_FLEX_ARRAY(u8, inline_data);
	};
};

/**
 * struct mroce_sq - the send queue
 * @ring: shared with the program (struct mroce_sq_wqe slots), or the module's own
 * @post_lock: irqsave; producers of kernel users
 * @fetched: requests taken from the ring; @done: completed (published as the ring's consumer)
 * @sends: kernel copies, slot = number & (entries - 1), @send_size bytes each
 * @run: takes requests to the engine for kernel users (rule 38)
 */
struct mroce_sq {
	struct mroce_kring ring;
	spinlock_t post_lock;
	u32 fetched, done;
	u32 entries, max_sge, max_inline, send_size;
	void *sends;
	struct tasklet_struct run;
	bool sig_all;
};

/**
 * struct mroce_qp - a queue pair
 * @lock: bottom halves off; order: qp->lock > half->lock > cq->lock. State, send queue, completions of sends.
 * @req, @resp: sending side of the request and the response space, on @txh
 * @rreq, @rresp: receiving side of both, on @rxh
 * @stream: own id, drawn at each entry into RTR; 0: none
 * @mutex: modify, destroy
 */
struct mroce_qp {
	struct ib_qp ib;
	struct mroce_dev *dev;
	struct mroce_pd *pd;
	struct mroce_cq *scq, *rcq;
	struct mroce_srq *srq;
	spinlock_t lock;
	struct mutex mutex;
	enum ib_qp_state state;
	struct ib_qp_attr attr;
	struct ib_qp_cap cap;
	bool user;

	struct mroce_sq sq;
	struct mroce_rq rq;

	u32 stream;
	struct mroce_txhalf *txh;
	struct mroce_rxhalf *rxh;
	struct mroce_txs req, resp;
	struct mroce_rxs rreq, rresp;
	struct mroce_msg *req_msg, *resp_msg;

	struct list_head cq_node[2];
	refcount_t refs;
	struct completion unused;
	struct work_struct flush;
	struct rcu_head rcu;
};

static inline struct mroce_qp *to_mqp(struct ib_qp *ib) { return container_of(ib, struct mroce_qp, ib); }

static inline struct mroce_send *mroce_sq_send(const struct mroce_sq *sq, u32 index)
{
	return sq->sends + (size_t)(index & (sq->entries - 1)) * sq->send_size;
}

#endif
