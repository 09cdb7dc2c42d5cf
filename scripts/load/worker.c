// SPDX-License-Identifier: GPL-2.0
/*
 * The workers' loop: each thread posts, polls and verifies for its own queue
 * pairs, and sleeps for completion events if asked to. Shares nothing with the
 * other workers but the shared receive queue (run.c).
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include "load.h"

#define SPINS	400	/* looks at memory before the queues get a turn */

static int poll_queues(struct worker *w)
{
	struct ibv_wc wc[16];
	int n, i, found = 0;

	n = ibv_poll_cq(w->scq, 16, wc);
	for (i = 0; i < n; i++)
		if (send_done(w, &wc[i]))
			return -1;
	found += n;
	if (n >= 0) {
		n = ibv_poll_cq(w->rcq, 16, wc);
		for (i = 0; i < n; i++)
			if (recv_done(w, &wc[i]))
				return -1;
		found += n;
	}
	if (n < 0) {
		fail(w->side, "poll_cq: %m");
		return -1;
	}
	return found;
}

/* everything outside the guards of every slice, once, at the very end */
static int final_check(struct qp *q)
{
	struct side *s = q->side;
	unsigned int i;

	for (i = 0; i < s->p.slices; i++) {
		struct epoch *ep = q->tx[i];

		if (ep->n && !check_range(q, true, ep, &ep->lf, lslice(q, i), 0, s->p.slice,
					  "whole local slice at the end"))
			return -1;
		ep = q->rx[i];
		if (!check_range(q, false, ep, ep->num < q->rx_epoch ? &ep->rf : &ep->ri,
				 rslice(q, i), 0, s->p.slice, "whole remote slice at the end"))
			return -1;
	}
	return 0;
}

static int qp_progress(struct qp *q)
{
	int rc, did = 0;

	if (q->done)
		return 0;
	if (q->rx_posted < q->rx_ready || q->bind_pending)
		if (serve(q))
			return -1;
	rc = tx_progress(q);
	if (rc < 0)
		return -1;
	did += rc;
	rc = order_poll(q);
	if (rc < 0)
		return -1;
	did += rc;
	if (q->rx_epoch > q->last && q->tx_epoch > q->last && q->sq_tail == q->sq_head) {
		q->done = true;
		did++;
	}
	return did;
}

static int arm(struct worker *w)
{
	errno = ibv_req_notify_cq(w->scq, 0);
	if (!errno)
		errno = ibv_req_notify_cq(w->rcq, w->side->o->solicited);
	if (errno)
		fail(w->side, "req_notify_cq: %m");
	return errno ? -1 : 0;
}

static int take_event(struct worker *w, int timeout_ms)
{
	struct pollfd pf = { .fd = w->chan->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *ctx;
	int rc;

	rc = poll(&pf, 1, timeout_ms);
	if (rc <= 0)
		return 0;
	if (ibv_get_cq_event(w->chan, &cq, &ctx)) {
		fail(w->side, "get_cq_event: %m");
		return -1;
	}
	if (ctx != w || (cq != w->scq && cq != w->rcq)) {
		fail(w->side, "an event for an unknown completion queue");
		return -1;
	}
	if (cq == w->scq)
		w->unacked_s++;
	else
		w->unacked_r++;
	w->c.events++;
	return 1;
}

/*
 * Sleeps until something completes. A completion that is found after the time
 * ran out, with no event for it even then, is an event that was lost.
 */
static int sleep_for_event(struct worker *w)
{
	bool late = w->side->p.late_us;
	int rc, found;

	if (arm(w))
		return -1;
	found = poll_queues(w);
	if (found)
		return found;
	rc = take_event(w, late ? 1 : 500);
	if (rc)
		return rc;
	found = poll_queues(w);
	if (found <= 0 || late || w->side->o->solicited)
		return found;
	if (!take_event(w, 1000)) {
		fail(w->side, "%d completions, but no event for them in a second", found);
		return -1;
	}
	return found;
}

static int worker_loop(struct worker *w)
{
	struct side *s = w->side;
	bool eager = s->p.mode == MODE_POLL || s->p.mode == MODE_FLAG;
	unsigned int i, idle = 0, spin;

	for (;;) {
		bool all = true;
		int did = 0, rc;

		if (side_failed(s))
			return -1;
		for (i = 0; i < s->p.qps; i++) {
			if (s->qps[i].w != w)
				continue;
			rc = qp_progress(&s->qps[i]);
			if (rc < 0)
				return -1;
			did += rc;
			/* watch memory, not the queues: that is the test */
			for (spin = 0; eager && !rc && spin < SPINS; spin++)
				rc = order_poll(&s->qps[i]);
			if (rc < 0)
				return -1;
			all = all && s->qps[i].done;
		}
		if (all)
			break;
		rc = poll_queues(w);
		if (rc < 0)
			return -1;
		did += rc;
		if (did) {
			idle = 0;
		} else if (w->chan) {
			if (sleep_for_event(w) < 0)
				return -1;
		} else if (++idle > 16) {
			sched_yield();
		}
	}
	if (poll_queues(w)) {
		fail(s, "completions after everything was complete");
		return -1;
	}
	for (i = 0; i < s->p.qps; i++)
		if (s->qps[i].w == w && final_check(&s->qps[i]))
			return -1;
	return 0;
}

void *worker_main(void *arg)
{
	struct worker *w = arg;

	worker_loop(w);
	__atomic_sub_fetch(&w->side->running, 1, __ATOMIC_RELEASE);
	return NULL;
}
