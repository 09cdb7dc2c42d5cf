// SPDX-License-Identifier: GPL-2.0
/*
 * See uc.h.
 */
#include "uc.h"

u32 mroce_uc_cut(const struct mroce_uc *m, u32 i, struct mroce_uc *p)
{
	u32 offset = i * m->psize;
	u32 bytes = min_t(u32, m->length - offset, m->psize);

	*p = *m;
	p->psn += i;
	p->offset = offset;
	p->flags &= ~(MROCE_F_FIRST | MROCE_F_LAST);
	if (mroce_opinfo[m->opcode].rdma)
		p->addr += offset;
	if (!i)
		p->flags |= MROCE_F_FIRST;
	if (offset + bytes == m->length)
		p->flags |= MROCE_F_LAST;
	return bytes;
}

void mroce_uc_start(struct mroce_uc_rx *r, u32 psn)
{
	*r = (struct mroce_uc_rx){ .expected = psn };
}

void mroce_uc_refuse(struct mroce_uc_rx *r)
{
	r->open = false;
}

enum mroce_reason mroce_uc_arrive(struct mroce_uc_rx *r, const struct mroce_uc *p, u32 bytes)
{
	s32 ahead = mroce_seq_diff(p->psn, r->expected);

	/* a duplicate, or one that was overtaken: its message is over */
	if (ahead < 0)
		return MROCE_REASON_RX_DUPLICATE;
	if (ahead)
		r->open = false;
	r->expected = p->psn + 1;
	if (p->flags & MROCE_F_FIRST) {
		r->open = true;
		r->opcode = p->opcode;
		r->length = p->length;
		r->psize = p->psize;
		r->offset = 0;
	} else if (!r->open) {
		return MROCE_REASON_RX_GAP;
	} else if (p->offset != r->offset || p->opcode != r->opcode || p->length != r->length ||
		   p->psize != r->psize) {
		r->open = false;
		return MROCE_REASON_RX_MALFORMED;
	}
	r->offset += bytes;
	if (p->flags & MROCE_F_LAST)
		r->open = false;
	return MROCE_REASON_NONE;
}
