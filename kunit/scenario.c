// SPDX-License-Identifier: GPL-2.0
/*
 * What simulated test cases share. See scenario.h.
 */
#include "scenario.h"

struct sim *scenario_new(struct kunit *test, const struct sim_cfg *cfg)
{
	struct sim *s = sim_new(cfg);

	KUNIT_ASSERT_NOT_NULL(test, s);
	return s;
}

void scenario_end(struct kunit *test, struct sim *s)
{
	u64 seed = s->cfg.seed;
	char why[200];

	if (!sim_end(s, why, sizeof(why)))
		KUNIT_FAIL(test, "seed %llu: %s", (unsigned long long)seed, why);
}

static void tell_tx(struct kunit *test, const char *what, const struct mroce_txs *t)
{
	kunit_info(test,
		   "  %s: state %u una %u nxt %u end %u msn %u/%u/%u nlost %u out %u busy %u credit %u rsn %u reads %u%s%s reason %u ready %d\n",
		   what, t->state, t->una, t->nxt, t->end, t->msn_una, t->msn_nxt, t->msn_end,
		   t->nlost, t->out, t->busy, t->credit, t->rsn, t->reads_out,
		   t->paused ? " paused" : "", t->failed ? " failed" : "", t->pause_reason,
		   !list_empty(&t->ready));
}

static void tell_rx(struct kunit *test, const char *what, const struct mroce_rxs *r)
{
	kunit_info(test,
		   "  %s: base %u msn %u credit %u copiers %u%s%s%s refuse %u msn %u held %d\n",
		   what, r->base, r->msn, r->credit, r->copiers, r->running ? " running" : "",
		   r->landing ? " landing" : "", r->refusing ? " refusing" : "", r->refuse_reason,
		   r->refuse_msn, !list_empty(&r->held));
}

void scenario_stuck(struct kunit *test, struct sim *s)
{
	u32 i, k;

	if (s->failed) {
		KUNIT_FAIL(test, "seed %llu: broken", (unsigned long long)s->cfg.seed);
		return;
	}
	KUNIT_FAIL(test, "seed %llu: not all has ended; %u events left",
		   (unsigned long long)s->cfg.seed, s->events);
	for (i = 0; i < s->nqps; i++) {
		struct sim_qp *qp = s->qp[i];

		if (qp->finished)
			continue;
		kunit_info(test,
			   "queue pair %u of host %u: posted %u completed %u of %u, receives %u/%u\n",
			qp->index, qp->host->index, qp->posted, qp->completed, qp->load.count,
			qp->peer->rq_done, qp->peer->rq_posted);
		tell_tx(test, "req", &qp->req);
		tell_rx(test, "peer rreq", &qp->peer->rreq);
		tell_tx(test, "peer resp", &qp->peer->resp);
		tell_rx(test, "rresp", &qp->rresp);
		for (k = 0; k < qp->txh->tx.npaths; k++) {
			struct mroce_txpath *p = &qp->txh->tx.path[k];

			kunit_info(test,
				   "  path %u: state %u next %u high %u inflight %u cwnd %u timeouts %u records %u\n",
				   k, p->state, p->next, p->high, p->inflight, p->cwnd, p->timeouts,
				   p->tail - p->head);
		}
	}
}

void scenario_all_completed(struct kunit *test, struct sim *s)
{
	u32 i;

	for (i = 0; i < s->nqps; i++) {
		struct sim_qp *qp = s->qp[i];

		if (!qp->rts || s->failed)
			continue;
		if (qp->completed != qp->load.count || qp->state != SIM_QP_RTS)
			KUNIT_FAIL(test,
				   "seed %llu: queue pair %u completed %u of %u, failed for reason %u, nack %u",
				   (unsigned long long)s->cfg.seed, qp->index, qp->completed,
				   qp->load.count, qp->fail_reason, qp->fail_nack);
	}
}

void scenario_randomise_load(struct sim *s, struct sim_load *l)
{
	l->count = 20 + sim_below(s, 150);
	l->ops = 1 + sim_below(s, 255);
	if (sim_below(s, 2))
		l->ops |= SIM_FLUSH | SIM_ATOMIC_WRITE;
	l->len_max = sim_below(s, 2) ? 1 + sim_below(s, 300) : 1 + sim_below(s, 40000);
	l->depth = 1 + sim_below(s, 40);
	l->batch = 1 + sim_below(s, l->depth);
	l->relaxed = sim_below(s, 2);
	l->overlap = sim_below(s, 3) == 0;
	l->fence = sim_below(s, 2) ? 0 : sim_below(s, 300000);
	l->reads = 1 + sim_below(s, 16);
	l->log_packets = 6 + sim_below(s, 7);
	l->log_messages = 1 + sim_below(s, 10);
	l->repost = sim_below(s, 2) ? 0 : sim_below(s, 500000);
	l->buffers = 1 + sim_below(s, 40);
	l->srq = sim_below(s, 4) == 0;
	l->rnr_timer = 1 + sim_below(s, 8);
	l->buffer_len = 40000;
	l->start = sim_below(s, 2) ? 0 : sim_below(s, 3000000);
}

void scenario_randomise(struct sim *s, struct sim_load *l)
{
	struct sim_cfg *c = &s->cfg;

	c->rate = 10000000ULL << sim_below(s, 8);
	c->delay = sim_below(s, 2) ? sim_below(s, 20000) : sim_below(s, 2000000);
	c->limit = sim_below(s, 2) ? 0 : 100000 + sim_below(s, 1000000);
	c->mark = sim_below(s, 2) ? 0 : 20000 + sim_below(s, 200000);
	c->loss = sim_below(s, 3) ? sim_below(s, 100000) : 0;
	c->ack_loss = sim_below(s, 3) ? sim_below(s, 200000) : 0;
	c->burst = sim_below(s, 20);
	c->dup = sim_below(s, 3) ? 0 : sim_below(s, 200000);
	c->reorder = sim_below(s, 2) ? 0 : sim_below(s, 300000);
	c->late = 1 + sim_below(s, 2000000);
	c->local_drop = sim_below(s, 3) ? 0 : sim_below(s, 30000);
	c->payload = sim_below(s, 3) ? 1024 << sim_below(s, 4) : 100 + sim_below(s, 8000);
	c->train = sim_below(s, 2) ? 57344 : sim_below(s, 61440);
	c->npaths = 1 + sim_below(s, 16);
	c->cpus = 1 + sim_below(s, 4);
	c->spray = sim_below(s, 2);
	c->whole = sim_below(s, 3) == 0;
	c->gro = sim_below(s, 2);
	c->copy = sim_below(s, 2) ? 100 : sim_below(s, 30000);
	c->step = 1 + (sim_below(s, 2) ? sim_below(s, 500) : sim_below(s, 20000));
	c->hold_limit = sim_below(s, 3) ? 0 : 1 + sim_below(s, 8);
	c->audit = 64;
	scenario_randomise_load(s, l);
}
