// SPDX-License-Identifier: GPL-2.0
/*
 * What a polling receiver may rely on, in memory without relaxed ordering:
 * when the last byte of a fresh Write target has its new value, the whole
 * Write is there, and so is every Write posted before it; when the flag cell
 * reads k, everything before the k-th flag Write is there. Only looks at
 * memory, between completions; called by the worker that owns the queue pair.
 */
#include "load.h"

void order_reset(struct qp *q)
{
	q->ord_idx = 0;
	q->ord_flags = 0;
}

/* every fresh Write up to and including message "last" must be complete */
static bool verify_to(struct qp *q, const struct epoch *ep, unsigned int last,
		      const char *what)
{
	const uint8_t *mem = rslice(q, ep->num);

	for (; q->ord_idx <= last; q->ord_idx++) {
		const struct msg *m = &ep->m[q->ord_idx];

		if ((m->op != OP_WRITE && m->op != OP_WRITE_IMM) || !(m->flags & M_FRESH) ||
		    m->flags & M_SYNC)
			continue;
		if (!check_range(q, false, ep, &ep->rf, mem, m->target, m->size, what))
			return false;
		if (m->flags & M_POLL)
			q->w->c.live_polls++;
	}
	return true;
}

static bool seen(struct qp *q, const struct epoch *ep, const struct msg *m)
{
	uint32_t at = m->target + m->size - 1;

	return __atomic_load_n(rslice(q, ep->num) + at, __ATOMIC_ACQUIRE) ==
	       img_byte(&ep->rf, at);
}

static int poll_flags(struct qp *q, const struct epoch *ep)
{
	uint64_t *cell = (uint64_t *)(rslice(q, ep->num) + FLAG_OFF), v;
	unsigned int i, k = q->ord_flags;

	v = __atomic_load_n(cell, __ATOMIC_ACQUIRE);
	if (v == k)
		return 0;
	if (v < k || v > ep->nflags) {
		fail(q->side, "qp %u: epoch %lu: the flag reads 0x%lx after %u, of %u (seed %lu)",
		     q->idx, (unsigned long)ep->num, (unsigned long)v, k, ep->nflags,
		     (unsigned long)q->side->p.seed);
		return -1;
	}
	for (i = 0, k = 0; k < v; i++)
		if (ep->m[i].flags & M_FLAG)
			k++;
	q->w->c.live_flags += v - q->ord_flags;
	q->ord_flags = v;
	return verify_to(q, ep, i - 1, "flag seen, data before it not there") ? 1 : -1;
}

/*
 * Looks once: the newest Write that is visible first, since it says most; then
 * the next one. Returns 1 if something was there, 0 if not, -1 on failure.
 */
int order_poll(struct qp *q)
{
	const struct epoch *ep = q->rx[q->rx_epoch % q->side->p.slices];
	static const char what[] = "last byte seen, rest (or an earlier Write) not there";
	unsigned int i, next = ep->n, tries = 0;

	if (q->side->p.relaxed || q->rx_epoch >= q->rx_ready)
		return 0;
	if (ep->nflags > q->ord_flags)
		return poll_flags(q, ep);
	for (i = q->ord_idx; i < ep->n; i++) {
		if (!(ep->m[i].flags & M_POLL))
			continue;
		if (next == ep->n)
			next = i;
		else if (++tries > 8)
			break;
		if (i != next && seen(q, ep, &ep->m[i]))
			return verify_to(q, ep, i, what) ? 1 : -1;
	}
	if (next < ep->n && seen(q, ep, &ep->m[next]))
		return verify_to(q, ep, next, what) ? 1 : -1;
	return 0;
}

/* the epoch's last completion came: count what was not caught by polling */
void order_finish(struct qp *q)
{
	const struct epoch *ep = q->rx[q->rx_epoch % q->side->p.slices];
	unsigned int i;

	for (i = q->ord_idx; i < ep->n; i++)
		if (ep->m[i].flags & (M_POLL | M_FLAG))
			q->w->c.late_polls++;
}
