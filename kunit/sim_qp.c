// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs in the simulation, and the programs that use them: a program keeps some requests
 * outstanding, posts receive buffers, and ends when all its requests have completed or its queue
 * pair has failed.
 */
#include "sim.h"

static void post_more(struct sim *s, void *arg);
static void stop(struct sim *s, void *arg);

struct sim_qp *sim_qp_by_stream(struct sim_host *h, u32 stream)
{
	u32 i = stream - h->first_stream;

	return i < h->nqps ? h->qp[i] : NULL;
}

static u32 slots(const struct sim_qp *qp)
{
	return roundup_pow_of_two(qp->load.depth) * 2;
}

static struct sim_qp *new_qp(struct sim *s, struct sim_host *h, const struct sim_load *load)
{
	struct sim_qp *qp = sim_zalloc(1, sizeof(*qp));

	if (!qp || !sim_grow(s, (void **)&s->qp, &s->max_qps, s->nqps, sizeof(*s->qp)) ||
	    !sim_grow(s, (void **)&h->qp, &h->max_qps, h->nqps, sizeof(*h->qp))) {
		kvfree(qp);
		return NULL;
	}
	qp->s = s;
	qp->host = h;
	qp->load = *load;
	if (!qp->load.depth)
		qp->load.depth = 16;
	if (!qp->load.batch)
		qp->load.batch = 1;
	if (!qp->load.log_packets)
		qp->load.log_packets = 12;
	if (!qp->load.log_messages)
		qp->load.log_messages = 10;
	if (!qp->load.reads)
		qp->load.reads = 16;
	qp->index = s->nqps;
	qp->stream = h->first_stream + h->nqps;
	h->qp[h->nqps++] = qp;
	qp->rq_posted = load->buffers;
	s->qp[s->nqps++] = qp;
	return qp;
}

/* What a queue pair does at RTR; its memory is as large as its peer's program needs. */
static void ready_to_receive(struct sim_qp *qp, struct sim_qp *peer, u32 peer_psn)
{
	struct sim *s = qp->s;
	u32 len = peer->load.len_max;

	qp->peer = peer;
	qp->resp_mask = roundup_pow_of_two(qp->load.reads) * 2 - 1;
	qp->resps = sim_zalloc(qp->resp_mask + 1, sizeof(*qp->resps));
	qp->result = sim_zalloc(qp->resp_mask + 1, sizeof(*qp->result));
	if (!s->cfg.light && peer->load.count) {
		qp->mem_size = (size_t)slots(peer) * (len + 1);
		qp->mem = sim_zalloc(qp->mem_size, 1);
		qp->recv = sim_zalloc(qp->load.buffers + 1, qp->load.buffer_len + 1);
		if (peer->load.overlap && !qp->load.relaxed)
			qp->owner = sim_zalloc((size_t)slots(peer) * (len + 1), sizeof(u32));
	}
	qp->txh = sim_txh_get(qp->host, peer->host->index);
	if (!qp->txh)
		return;
	mroce_txs_init(&qp->resp, true, qp->stream, qp->resps, qp->resp_mask + 1);
	mroce_txs_attach(&qp->resp, &qp->txh->tx, 0);
	mroce_rxs_init(&qp->rreq, false, qp->stream, peer_psn, qp->load.log_packets,
		       qp->load.log_messages);
	mroce_rxs_init(&qp->rresp, true, qp->stream, 0, qp->load.log_packets,
		       qp->load.log_messages);
	qp->rreq.credit = qp->load.srq ? MROCE_CREDIT_NONE : qp->rq_posted;
	qp->rreq.reads_max = qp->load.reads;
	sim_track_init(&qp->track[0], peer_psn, qp->rreq.window, qp->rreq.window_msgs);
	sim_track_init(&qp->track[1], 0, qp->rresp.window, qp->rresp.window_msgs);
}

static void ready_to_send(struct sim_qp *qp, u32 psn)
{
	struct sim *s = qp->s;
	u32 n = roundup_pow_of_two(qp->load.depth);
	struct mroce_open open = {
		.own_qpn = qp->index + 1,
		.peer_qpn = qp->peer->index + 1,
		.psn = psn,
		.stream = qp->stream,
		.log_packets = qp->load.log_packets,
		.log_messages = qp->load.log_messages,
		.reads = qp->load.reads,
	};

	qp->reqs = sim_zalloc(n, sizeof(*qp->reqs));
	if (!s->cfg.light)
		qp->local = sim_zalloc(n, qp->load.len_max + 1);
	mroce_txs_init(&qp->req, false, qp->stream, qp->reqs, n);
	mroce_txs_attach(&qp->req, &qp->txh->tx, psn);
	qp->req.timeout = qp->load.timeout;
	qp->req.rnr_retry = qp->load.rnr_retry;
	qp->req.rnr_left = qp->load.rnr_retry;
	qp->req.reads_max = qp->load.reads;
	qp->req.floor = &qp->rresp.base;
	qp->rts = true;
	mroce_txs_open(&qp->req, &open, s->now);
	sim_xmit(qp->txh);
	qp->started = s->now;
	qp->posting = true;
	sim_at(s, s->now + qp->load.start, post_more, qp);
	if (qp->load.stop)
		sim_at(s, s->now + qp->load.stop, stop, qp);
}

struct sim_qp *sim_connect(struct sim *s, u16 host_a, const struct sim_load *a, u16 host_b,
			   const struct sim_load *b)
{
	struct sim_qp *qa = new_qp(s, &s->host[host_a], a);
	struct sim_qp *qb = new_qp(s, &s->host[host_b], b);
	u32 psn_a = (u32)sim_random(s), psn_b = -sim_below(s, 200); /* B's wraps soon */

	if (!qa || !qb) {
		sim_fail(s, "no memory for queue pairs");
		return NULL;
	}
	ready_to_receive(qb, qa, psn_a);
	ready_to_receive(qa, qb, psn_b);
	qa->finished = !a->count && !a->close;
	qb->finished = !b->count && !b->close;
	s->unfinished += !qa->finished + !qb->finished;
	if (a->count)
		ready_to_send(qa, psn_a);
	if (b->count)
		ready_to_send(qb, psn_b);
	return qa;
}

/* ---- opening ---- */

static void reply_later(struct sim *s, void *arg)
{
	sim_send(s, arg);
}

void sim_qp_open(struct sim_host *h, struct sim_rxh *r, const struct mroce_open *open)
{
	struct sim *s = h->s;
	struct sim_qp *qp =
		open->peer_qpn && open->peer_qpn <= s->nqps ? s->qp[open->peer_qpn - 1] : NULL;
	struct mroce_open reply = *open;
	u8 hdr[MROCE_HEADER_MAX];
	struct sim_packet *p;

	reply.base.type = MROCE_T_OPEN_REPLY;
	reply.base.id = r->rx.peer_id;
	reply.base.number = 0;
	reply.to = open->stream;
	reply.own_qpn = open->peer_qpn;
	reply.peer_qpn = open->own_qpn;
	reply.status = MROCE_OPEN_NOT_READY;
	if (qp && qp->host == h && !qp->detached && qp->peer->index + 1 == open->own_qpn) {
		if (!qp->rreq.rx) {
			mroce_rxs_attach(&qp->rreq, &r->rx, open->stream);
			if (!qp->rresp.rx)
				mroce_rxs_attach(&qp->rresp, &r->rx, open->stream);
			qp->rxh = r;
			qp->peer_stream = open->stream;
			mroce_txs_opened(&qp->resp, open->stream, open->log_packets,
					 open->log_messages);
		}
		reply.stream = qp->stream;
		reply.credit = qp->load.srq ? MROCE_CREDIT_NONE : qp->rq_posted;
		reply.log_packets = qp->load.log_packets;
		reply.log_messages = qp->load.log_messages;
		reply.reads = qp->load.reads;
		reply.status = MROCE_OPEN_ACCEPT;
	}
	p = sim_packet_new(h->s, h->index, r->peer, hdr, mroce_build_open(hdr, &reply));
	if (p) /* behind the ACK of the OPEN */
		sim_at(h->s, h->s->now + h->s->cfg.step + 1, reply_later, p);
	if (qp && qp->txh)
		sim_xmit(qp->txh);
}

void sim_qp_open_reply(struct sim_txh *t, const struct mroce_open *reply)
{
	struct sim_qp *qp = sim_qp_by_stream(t->host, reply->to);

	if (!qp || qp->txh != t || qp->detached || !qp->rts)
		return;
	if (reply->status == MROCE_OPEN_ACCEPT) {
		qp->peer_stream = reply->stream;
		qp->opened = true;
	}
	mroce_txs_open_reply(&qp->req, reply, t->host->s->now);
}

void sim_qp_control(struct sim_host *h, const struct mroce_control *c)
{
	struct sim_qp *qp = sim_qp_by_stream(h, c->stream);

	if (!qp || qp->detached)
		return;
	if (c->op == MROCE_C_CREDIT && qp->rts)
		mroce_txs_credit(&qp->req, c->value, h->s->now);
	else if (c->op == MROCE_C_CLOSE && qp->rts)
		mroce_txs_closed(&qp->req, c->value, h->s->now);
	sim_tx_settle(qp->txh);
	sim_xmit(qp->txh);
}

/* ---- the program ---- */

static u32 random_length(struct sim_qp *qp)
{
	const struct sim_load *l = &qp->load;
	u32 most = l->len_max;

	if (l->mixed && sim_below(qp->s, 2))
		most = min(l->len_min + 200, l->len_max);
	return l->len_min + sim_below(qp->s, most - l->len_min + 1);
}

static u8 random_opcode(struct sim_qp *qp)
{
	u8 op;

	do {
		op = sim_below(qp->s, qp->load.ops & ~0xffu ? SIM_MAX_OP + 1 : 8);
	} while (!(qp->load.ops & BIT(op)));
	return op;
}

static bool post_one(struct sim_qp *qp)
{
	struct sim *s = qp->s;
	u32 msn = qp->posted, len = random_length(qp);
	struct mroce_post post = { .opcode = random_opcode(qp), .wr = msn };
	struct mroce_msg *m;
	struct sim_wr *wr;

	if (!sim_grow(s, (void **)&qp->wr, &qp->max_wr, msn, sizeof(*qp->wr)))
		return false;
	wr = &qp->wr[msn];
	wr->opcode = post.opcode;
	wr->key = sim_key(qp, msn);
	wr->fence = sim_chance(s, qp->load.fence);
	wr->imm = (u32)wr->key;
	switch (post.opcode) {
	case MROCE_OP_ATOMIC_WRITE:
		len = min(8U, qp->load.len_max);
		fallthrough;
	case MROCE_OP_WRITE:
	case MROCE_OP_WRITE_IMM:
		wr->addr = SIM_WRITE_BASE + (u64)(msn % slots(qp)) * qp->load.len_max;
		if (qp->load.overlap)
			wr->addr = SIM_WRITE_BASE + sim_below(s, qp->load.len_max);
		break;
	case MROCE_OP_FLUSH:
		wr->addr = SIM_WRITE_BASE;
		break;
	case MROCE_OP_READ:
		wr->addr = SIM_READ_BASE + sim_below(s, 100000);
		break;
	case MROCE_OP_FETCH_ADD:
		wr->addr = SIM_ADD_ADDR;
		wr->value = qp->adds++;
		len = 8;
		break;
	case MROCE_OP_CMP_SWAP:
		wr->addr = SIM_SWAP_ADDR;
		wr->value = qp->swaps++;
		len = 8;
		break;
	}
	wr->length = len;
	wr->rkey = qp->index + 0x100;
	post.addr = wr->addr;
	post.length = len;
	post.rkey = mroce_opinfo[post.opcode].rdma ? wr->rkey : 0;
	post.imm = wr->imm;
	post.fence = wr->fence;
	m = mroce_txs_post(&qp->req, &post, s->now);
	if (!m) {
		sim_fail(s, "queue pair %u: no room for request %u with %u outstanding", qp->index,
			 msn, msn - qp->completed);
		return false;
	}
	SIM_CHECK(s, m->msn == msn, "queue pair %u: request %u became message %u", qp->index, msn,
		  m->msn);
	wr->posted_at = s->now;
	qp->posted++;
	if (qp->load.pace)
		qp->next_post = max(qp->next_post, qp->started + qp->load.start) +
				div64_u64((u64)len * NSEC_PER_SEC, qp->load.pace);
	return true;
}

static bool is_over(const struct sim_qp *qp)
{
	return qp->posted == qp->load.count ||
	       (qp->load.stop && qp->s->now >= qp->started + qp->load.stop);
}

/* when the program posts next, if it has room; NEVER: no more */
static u64 may_post_at(const struct sim_qp *qp)
{
	const struct sim_load *l = &qp->load;
	u64 begin = qp->started + l->start, now = qp->s->now, at = max(now, qp->next_post), in;

	if (is_over(qp))
		return MROCE_NEVER;
	if (!l->off)
		return at;
	div64_u64_rem(at - begin, l->on + l->off, &in);
	return in < l->on ? at : at + l->on + l->off - in;
}

static void post_more(struct sim *s, void *arg)
{
	struct sim_qp *qp = arg;

	qp->posting = false;
	if (s->quiet || s->failed || qp->state != SIM_QP_RTS)
		return;
	if (!qp->posted)
		qp->first_post = s->now;
	while (qp->posted - qp->completed < qp->load.depth) {
		u64 at = may_post_at(qp);

		if (at > s->now) {
			if (at != MROCE_NEVER) {
				qp->posting = true;
				sim_at(s, at, post_more, qp);
			}
			break;
		}
		if (!post_one(qp))
			return;
	}
	sim_xmit(qp->txh);
}

static void want_post(struct sim_qp *qp)
{
	u32 out = qp->posted - qp->completed;

	if (qp->posting || is_over(qp) || qp->load.depth - out < qp->load.batch)
		return;
	qp->posting = true;
	sim_at(qp->s, qp->s->now, post_more, qp);
}

static void close_event(struct sim *s, void *arg)
{
	struct sim_qp *qp = arg;

	if (!s->quiet)
		sim_qp_error(qp, MROCE_REASON_ERR_FLUSHED, 0);
}

static void repost(struct sim *s, void *arg)
{
	struct sim_qp *qp = arg;

	if (s->quiet || qp->state != SIM_QP_RTS)
		return;
	qp->rq_posted++;
	if (qp->load.srq || !qp->rreq.rx)
		return;
	if (mroce_rxs_credit(&qp->rreq, qp->rq_posted)) {
		mroce_tx_control(&qp->txh->tx, MROCE_C_CREDIT, qp->peer_stream, qp->rq_posted);
		sim_xmit(qp->txh);
	}
}

/* ---- the cursor ---- */

static void respond(struct sim_qp *qp, const struct mroce_desc *d)
{
	struct sim *s = qp->s;
	struct mroce_post post = { .opcode = MROCE_OP_READ_RESP, .rsn = d->msn };
	u32 slot = qp->resp_posted & qp->resp_mask;
	u8 nack = MROCE_N_NONE;

	if (qp->peer->load.bad && qp->peer->load.bad_msn == d->msn &&
	    qp->peer->load.bad_nack == MROCE_N_OPERATION)
		nack = MROCE_N_OPERATION;
	/* a region ends somewhere: a forged length would keep the responder busy for days */
	else if (d->opcode == MROCE_OP_READ && d->length > qp->peer->load.len_max)
		nack = MROCE_N_ACCESS;
	if (nack) {
		post.opcode = MROCE_OP_ERROR_RESP;
		post.imm = nack;
		mroce_rxs_refuse(&qp->rreq, d->msn + 1, nack);
	} else if (d->opcode == MROCE_OP_READ) {
		post.addr = d->addr;
		post.rkey = d->rkey;
		post.length = d->length;
	} else {
		post.opcode = mroce_opinfo[d->opcode].answered;
		post.length = mroce_opinfo[post.opcode].fixed;
	}
	post.wr = slot;
	if (!mroce_txs_post(&qp->resp, &post, s->now)) {
		sim_fail(s, "queue pair %u: no room for the response to %u", qp->index, d->msn);
		return;
	}
	qp->resp_posted++;
	if (d->opcode == MROCE_OP_ATOMIC_WRITE && !nack)
		sim_atomic_write(qp, d);
	if (d->opcode == MROCE_OP_FETCH_ADD)
		qp->result[slot] = qp->counter[0]++;
	if (d->opcode == MROCE_OP_CMP_SWAP)
		qp->result[slot] = qp->counter[1]++;
	sim_xmit(qp->txh);
}

void sim_qp_cursor(struct sim_qp *qp, struct mroce_rxs *rxs)
{
	const struct mroce_desc *d;
	struct mroce_desc m;
	struct sim *s = qp->s;

	while ((d = mroce_rxs_message(rxs))) {
		m = *d;
		sim_check_message(qp, &m);
		if (s->failed)
			return;
		if (m.opcode == MROCE_OP_ERROR_RESP) {
			mroce_txs_responded(&qp->req, m.rsn, m.imm, s->now);
			continue;
		}
		if (mroce_opinfo[m.opcode].response) {
			SIM_CHECK(s, mroce_txs_responded(&qp->req, m.rsn, MROCE_N_NONE, s->now),
				  "queue pair %u: a response to %u that is not awaited", qp->index,
				  m.rsn);
			continue;
		}
		qp->received++;
		if (mroce_opinfo[m.opcode].receive) {
			qp->rq_done++;
			sim_at(s, s->now + qp->load.repost, repost, qp);
		}
		if (mroce_opinfo[m.opcode].answered)
			respond(qp, &m);
		if (qp->load.close && qp->received == qp->load.close)
			sim_at(s, s->now, close_event, qp);
	}
	sim_tx_settle(qp->txh);
	sim_xmit(qp->txh);
}

/* ---- sending ---- */

void sim_qp_build(struct sim_qp *qp, struct mroce_xmit *x, struct sim_packet *p)
{
	const struct mroce_opinfo *info = &mroce_opinfo[x->data.opcode];

	p->payload = info->fixed ? info->fixed : x->bytes;
	if (!x->txs->response) {
		struct sim_wr *wr = &qp->wr[x->msg->wr];

		p->key = wr->key;
		p->off = x->data.offset;
		p->value[0] = wr->value;
		return;
	}
	p->key = sim_read_key(qp);
	p->off = (u32)(x->msg->addr - SIM_READ_BASE) + x->data.offset;
	if (x->data.opcode == MROCE_OP_ATOMIC_RESP)
		p->value[0] = qp->result[x->msg->wr];
}

static void finish(struct sim_qp *qp)
{
	if (!qp->finished)
		qp->s->unfinished--;
	qp->finished = true;
}

void sim_qp_progress(struct mroce_txs *txs)
{
	struct sim_qp *qp = sim_qp_of(txs);
	struct sim *s = qp->s;
	struct mroce_msg *m;

	if (qp->detached)
		return;
	while ((m = mroce_txs_complete(txs))) {
		if (txs->response)
			continue;
		sim_check_complete(qp, m);
		if (s->failed)
			return;
		qp->completed++;
		qp->bytes_done += qp->wr[m->msn].length;
		qp->max_latency = max(qp->max_latency, s->now - qp->wr[m->msn].posted_at);
		sim_note_latency(s, s->now - qp->wr[m->msn].posted_at);
		qp->last_done = s->now;
	}
	if (mroce_txs_is_failed(txs) && qp->state == SIM_QP_RTS) {
		sim_qp_error(qp, txs->fail_reason, txs->fail_nack);
		return;
	}
	if (qp->rts && is_over(qp) && qp->completed == qp->posted && !qp->load.close)
		finish(qp);
	if (qp->rts)
		want_post(qp);
}

/* ---- the end ---- */

static void stop(struct sim *s, void *arg)
{
	struct sim_qp *qp = arg;

	if (qp->completed == qp->posted)
		finish(qp);
}

static void detach_later(struct sim *s, void *arg)
{
	struct sim_qp *qp = arg;

	if (qp->detached)
		return;
	if (qp->rreq.copiers || qp->rresp.copiers || qp->req.busy || qp->resp.busy ||
	    qp->rreq.running || qp->rresp.running) {
		sim_at(s, s->now + 5000, detach_later, qp);
		return;
	}
	sim_qp_detach(qp);
	if (qp->peer_stream && !s->quiet) {
		mroce_tx_control(&qp->txh->tx, MROCE_C_CLOSE, qp->peer_stream, qp->rreq.base);
		sim_xmit(qp->txh);
	}
}

void sim_qp_error(struct sim_qp *qp, enum mroce_reason reason, u8 nack)
{
	if (qp->state != SIM_QP_RTS)
		return;
	qp->state = SIM_QP_ERROR;
	qp->fail_reason = reason;
	qp->fail_nack = nack;
	finish(qp);
	qp->rreq.dead = true;
	qp->rresp.dead = true;
	sim_at(qp->s, qp->s->now, detach_later, qp);
}

static void free_held(struct sim_qp *qp, struct list_head *list)
{
	struct sim_held *h, *next;

	list_for_each_entry_safe(h, next, list, held.node) {
		qp->host->held--;
		sim_packet_put(qp->s, h->pkt);
		kvfree(h);
	}
}

void sim_qp_detach(struct sim_qp *qp)
{
	struct sim *s = qp->s;
	LIST_HEAD(held);

	if (qp->detached || !qp->txh)
		return;
	qp->detached = true;
	SIM_CHECK(s, !qp->rreq.copiers && !qp->rresp.copiers, "queue pair %u: copiers are left",
		  qp->index);
	SIM_CHECK(s, !qp->req.busy && !qp->resp.busy,
		  "queue pair %u: transmissions are being built", qp->index);
	if (qp->rts)
		mroce_txs_detach(&qp->req);
	mroce_txs_detach(&qp->resp);
	mroce_rxs_detach(&qp->rreq, s->now, &held);
	free_held(qp, &held);
	INIT_LIST_HEAD(&held);
	mroce_rxs_detach(&qp->rresp, s->now, &held);
	free_held(qp, &held);
}

void sim_qp_free(struct sim_qp *qp)
{
	kvfree(qp->reqs);
	kvfree(qp->resps);
	kvfree(qp->result);
	kvfree(qp->wr);
	kvfree(qp->mem);
	kvfree(qp->recv);
	kvfree(qp->local);
	kvfree(qp->owner);
	kvfree(qp->track[0].state);
	kvfree(qp->track[1].state);
	kvfree(qp->track[0].part);
	kvfree(qp->track[1].part);
	kvfree(qp);
}
