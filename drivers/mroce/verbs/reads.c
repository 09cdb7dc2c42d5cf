// SPDX-License-Identifier: GPL-2.0
/*
 * What READs and atomics of the peer take at this side: messages of the response space, results and
 * operands of atomics. Most queue pairs never have any, so what a page holds comes with the first
 * of them. It grows if the limit is raised (SQD), and never shrinks.
 */
#include <linux/delay.h>
#include <linux/mm.h>

#include "qp.h"

/* A response may wait for its last transmission to be built while the requester has gone on. */
static u32 responses_of(u32 reads)
{
	return roundup_pow_of_two(max(4 * reads, 16U));
}

/* The message at the cursor is taken beyond the limit, where the requester keeps to another. */
static u32 operands_of(u32 reads)
{
	return reads + 1;
}

static size_t responses_size(u32 responses)
{
	return responses * (sizeof(struct mroce_msg) + sizeof(u64));
}

static size_t responder_size(u32 responses, u32 reads)
{
	return sizeof(struct mroce_responder) + responses_size(responses) +
	       operands_of(reads) * sizeof(struct mroce_operand);
}

static struct mroce_responder *alloc_responder(u32 responses, u32 reads, gfp_t gfp)
{
	struct mroce_responder *r = kvzalloc(responder_size(responses, reads), gfp);

	if (r) {
		r->msg = (struct mroce_msg *)(r + 1);
		r->results = (u64 *)(r->msg + responses);
		r->operands = (struct mroce_operand *)(r->results + responses);
		r->room = operands_of(reads);
	}
	return r;
}

static u32 limit_of(const struct mroce_qp *qp)
{
	return max_t(u32, READ_ONCE(qp->attr.max_dest_rd_atomic), 1);
}

int mroce_responder_prepare(struct mroce_qp *qp, u32 reads)
{
	u32 n;

	reads = max(reads, 1U);
	n = responses_of(reads);
	qp->resp_mask = n - 1;
	if (responder_size(n, reads) <= PAGE_SIZE)
		return 0;
	qp->responder = alloc_responder(n, reads, GFP_KERNEL_ACCOUNT);
	return qp->responder ? 0 : -ENOMEM;
}

void mroce_responder_free(struct mroce_qp *qp)
{
	struct mroce_responder *r = qp->responder;

	if (!r)
		return;
	kvfree(r->more_msg);
	kvfree(r->more_operands);
	kvfree(r);
	qp->responder = NULL;
}

bool mroce_qp_may_respond(struct mroce_qp *qp)
{
	struct mroce_responder *r;

	/* who sees it sees that it is zeroed */
	if (smp_load_acquire(&qp->responder))
		return true;
	r = alloc_responder(qp->resp_mask + 1, limit_of(qp), GFP_ATOMIC | __GFP_NOWARN);
	if (!r)
		return false;
	spin_lock_bh(&qp->txh->lock);
	if (!qp->responder) {
		qp->resp.msg = r->msg;
		/* pairs with the acquire above */
		smp_store_release(&qp->responder, r);
		r = NULL;
	}
	spin_unlock_bh(&qp->txh->lock);
	kvfree(r);
	return true;
}

/* ---- another limit, while the peer asks on ---- */

/* Responses that are under way move with their results; nobody builds a packet of one meanwhile. */
static void move_responses(struct mroce_qp *qp, struct mroce_msg *msg, u32 responses)
{
	struct mroce_responder *r = qp->responder;
	u64 *results = (u64 *)(msg + responses);
	struct mroce_txhalf *h = qp->txh;
	struct mroce_msg *old;
	u32 msn;

	spin_lock_bh(&h->lock);
	while (qp->resp.busy) {
		spin_unlock_bh(&h->lock);
		usleep_range(20, 100);
		spin_lock_bh(&h->lock);
	}
	for (msn = qp->resp.msn_una; msn != qp->resp.msn_end; msn++)
		results[msn & (responses - 1)] = r->results[msn & qp->resp_mask];
	mroce_txs_move(&qp->resp, msg, responses);
	old = r->more_msg;
	r->more_msg = msg;
	r->msg = msg;
	r->results = results;
	qp->resp_mask = responses - 1;
	spin_unlock_bh(&h->lock);
	kvfree(old);
}

/* What is no longer used. */
static struct mroce_operand *limited(struct mroce_qp *qp, struct mroce_operand *operands, u32 reads)
{
	struct mroce_responder *r = qp->responder;
	struct mroce_operand *old = NULL;

	if (operands) {
		memcpy(operands, r->operands, r->room * sizeof(*operands));
		old = r->more_operands;
		r->more_operands = operands;
		r->operands = operands;
		r->room = operands_of(reads);
	}
	qp->rreq.reads_max = reads;
	return old;
}

static void set_limit(struct mroce_qp *qp, struct mroce_operand *operands, u32 reads)
{
	struct mroce_operand *old;

	spin_lock_bh(&qp->lock);
	/* in the receiving half's lock, if there is one by now */
	if (qp->rxh) {
		spin_lock(&qp->rxh->lock);
		old = limited(qp, operands, reads);
		spin_unlock(&qp->rxh->lock);
	} else {
		old = limited(qp, operands, reads);
	}
	spin_unlock_bh(&qp->lock);
	kvfree(old);
}

int mroce_responder_limit(struct mroce_qp *qp, u32 reads)
{
	struct mroce_operand *operands = NULL;
	struct mroce_msg *msg;
	u32 n;

	lockdep_assert_held(mroce_qp_mutex(qp));
	reads = max(reads, 1U);
	n = responses_of(reads);
	/* the one that is there, or that the softirq may make, is as large as it was */
	if (reads <= limit_of(qp))
		goto set;
	if (!mroce_qp_may_respond(qp))
		return -ENOMEM;
	if (n > qp->resp_mask + 1) {
		msg = kvzalloc(responses_size(n), GFP_KERNEL_ACCOUNT);
		if (!msg)
			return -ENOMEM;
		move_responses(qp, msg, n);
	}
	if (operands_of(reads) > qp->responder->room) {
		operands = kvcalloc(operands_of(reads), sizeof(*operands), GFP_KERNEL_ACCOUNT);
		if (!operands)
			return -ENOMEM;
	}
set:
	set_limit(qp, operands, reads);
	return 0;
}
