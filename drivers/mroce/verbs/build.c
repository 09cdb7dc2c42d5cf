// SPDX-License-Identifier: GPL-2.0
/*
 * The payload of a transmission: pages of the poster's regions by reference, small or
 * scattered ones by copy. Bottom halves off, no lock held; the message is pinned, so its
 * request and its slots stay. Keys are looked up for every transmission: a region that
 * has gone meanwhile is never read.
 */
#include "qp.h"

#define MAX_PIECES 16 /* pages that a train may refer to, with one fragment to spare */

/* Fragments that the range would take if no two were contiguous. */
static unsigned int pieces(const struct mroce_sge *sge, unsigned int n, u64 offset,
			   unsigned int len)
{
	unsigned int count = 0, i;

	for (i = 0; i < n && len; i++) {
		unsigned int part;
		u64 addr;

		if (offset >= sge[i].length) {
			offset -= sge[i].length;
			continue;
		}
		part = min_t(u64, sge[i].length - offset, len);
		addr = sge[i].addr + offset;
		count += (offset_in_page(addr) + part + PAGE_SIZE - 1) >> PAGE_SHIFT;
		len -= part;
		offset = 0;
	}
	return count;
}

static enum mroce_reason copy_to_pages(struct mroce_qp *qp, const struct mroce_send *s, u64 offset,
				       unsigned int len, struct sk_buff *skb, int *err)
{
	enum mroce_reason reason = MROCE_REASON_NONE;

	while (len && !reason && !*err) {
		unsigned int part = min_t(unsigned int, len, PAGE_SIZE);
		struct page *page = alloc_page(GFP_ATOMIC | __GFP_NOWARN);

		if (!page) {
			*err = -ENOMEM;
			break;
		}
		reason = mroce_sge_read(qp->dev, qp->ib->pd, s->sge, s->num_sge, offset,
					page_address(page), part);
		if (!reason)
			*err = mroce_packet_add(skb, page, 0, part, false);
		put_page(page);
		offset += part;
		len -= part;
	}
	return reason;
}

static enum mroce_reason build_request(struct mroce_qp *qp, struct mroce_xmit *x,
				       struct sk_buff *skb, int *err)
{
	const struct mroce_send *s = mroce_sq_send(&qp->sq, x->msg->wr);
	unsigned int fixed = mroce_opinfo[x->msg->opcode].fixed;
	struct mroce_wire_atomic *atomic;
	enum mroce_reason reason;
	unsigned int done;

	if (unlikely(qp->ib->qp_type == IB_QPT_XRC_INI))
		mroce_xrc_name(x, s->srqn);
	if (x->msg->opcode == MROCE_OP_ATOMIC_WRITE) {
		skb_put_data(skb, &s->compare_add, fixed);
		return MROCE_REASON_NONE;
	}
	if (fixed) {
		atomic = skb_put(skb, sizeof(*atomic));
		atomic->compare_add = cpu_to_be64(s->compare_add);
		atomic->swap = cpu_to_be64(s->swap);
		return MROCE_REASON_NONE;
	}
	if (!x->bytes)
		return MROCE_REASON_NONE;
	if (s->flags & MROCE_WQE_INLINE) {
		/* the skb has room for it, as for all that is copied */
		static_assert(MROCE_MAX_INLINE < MROCE_COPY_BELOW);
		skb_put_data(skb, s->inline_data + x->data.offset, x->bytes);
		return MROCE_REASON_NONE;
	}
	if (x->count == 1 && x->bytes < MROCE_COPY_BELOW)
		return mroce_sge_read(qp->dev, qp->ib->pd, s->sge, s->num_sge, x->data.offset,
				      skb_put(skb, x->bytes), x->bytes);
	if (s->num_sge > 1 && pieces(s->sge, s->num_sge, x->data.offset, x->bytes) > MAX_PIECES)
		return copy_to_pages(qp, s, x->data.offset, x->bytes, skb, err);
	reason = mroce_sge_to_skb(qp->dev, qp->ib->pd, s->sge, s->num_sge, x->data.offset, x->bytes,
				  skb, &done);
	if (!reason && done < x->bytes)
		*err = -EMSGSIZE;
	return reason;
}

/* The source of a READ has gone since the cursor checked it: say so in place of the data. */
static enum mroce_reason source_gone(struct mroce_xmit *x)
{
	/* of a train the rest shows as a gap behind this one, and is asked for no more */
	x->data.opcode = MROCE_OP_ERROR_RESP;
	x->data.imm = MROCE_N_ACCESS;
	x->data.offset = 0;
	x->data.flags |= MROCE_F_FIRST | MROCE_F_LAST;
	x->bytes = 0;
	return MROCE_REASON_NONE;
}

static enum mroce_reason build_response(struct mroce_qp *qp, struct mroce_xmit *x,
					struct sk_buff *skb, int *err)
{
	const struct mroce_msg *m = x->msg;
	u64 addr = m->addr + x->data.offset;
	enum mroce_reason reason;
	struct mroce_mr *mr;

	if (m->opcode == MROCE_OP_ATOMIC_RESP) {
		*(__be64 *)skb_put(skb, sizeof(__be64)) =
			cpu_to_be64(qp->responder->results[m->msn & qp->resp_mask]);
		return MROCE_REASON_NONE;
	}
	if (m->opcode != MROCE_OP_READ_RESP || !x->bytes)
		return MROCE_REASON_NONE;
	mr = mroce_qp_mr_get(qp, m->rkey, IB_ACCESS_REMOTE_READ, addr, x->bytes, &reason);
	if (!mr)
		return source_gone(x);
	if (x->count == 1 && x->bytes < MROCE_COPY_BELOW)
		mroce_mr_read(mr, addr, skb_put(skb, x->bytes), x->bytes);
	else
		*err = mroce_mr_to_skb(mr, addr, x->bytes, skb);
	mroce_mr_put(mr);
	return MROCE_REASON_NONE;
}

enum mroce_reason mroce_qp_build(struct mroce_txs *txs, struct mroce_xmit *x, struct sk_buff *skb,
				 int *err)
{
	struct mroce_qp *qp = mroce_qp_of(txs);
	enum mroce_reason reason;

	*err = 0;
	reason = txs->response ? build_response(qp, x, skb, err) : build_request(qp, x, skb, err);
	if (reason == MROCE_REASON_NONE && !*err) {
		mroce_qp_count(qp, MROCE_CNT_TX_PACKETS, x->count);
		mroce_qp_count(qp, MROCE_CNT_TX_BYTES, x->bytes);
		if (x->resend)
			mroce_qp_count(qp, MROCE_CNT_TX_RESENT, x->count);
	}
	return reason;
}
