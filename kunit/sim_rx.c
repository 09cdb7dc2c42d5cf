// SPDX-License-Identifier: GPL-2.0
/*
 * The receive path in the simulation: an operation goes through the calls of rx.h one by one, with
 * time between them, in which other processors' operations run. That is the point: every
 * interleaving that locks allow can occur here.
 */
#include "sim.h"

enum step {
	STEP_ARRIVE,
	STEP_CLAIM,
	STEP_COPIED,
	STEP_HOLD,
	STEP_COPIED_ONE,
	STEP_LAND,
	STEP_LANDED,
	STEP_FINISH,
	STEP_CURSOR
};

struct sim_op {
	struct mroce_rxop op;
	struct sim *s;
	struct sim_cpu *cpu;
	struct sim_rxh *rxh;
	struct sim_qp *qp;
	struct mroce_rxs *rxs;
	struct sim_packet *pkt;
	struct sim_held *held;
	struct mroce_data data;
	u32 count, one;
	u64 copy, hold;
	u8 step;
	bool refused;
};

static void run_step(struct sim *s, void *arg);

/* the next step after @ns of work, and some more at random */
static void then(struct sim_op *o, u8 step, u64 ns)
{
	struct sim *s = o->s;

	o->step = step;
	if (!s->cfg.step) {
		s->immediate = o;
		return;
	}
	sim_at(s, s->now + ns + sim_below(s, (u32)s->cfg.step), run_step, o);
}

static u32 packet_bytes(const struct sim_op *o, u32 i)
{
	if (o->data.psize == 0 || o->count == 1)
		return o->pkt->payload;
	return min(o->pkt->payload - i * o->data.psize, (u32)o->data.psize);
}

/* the header of packet @i alone */
static struct mroce_data packet_data(const struct sim_op *o, u32 i)
{
	struct mroce_data d = o->data;

	d.spn += i;
	d.base.number += i;
	d.offset += i * d.psize;
	if (mroce_opinfo[d.opcode].rdma)
		d.addr += (u64)i * d.psize;
	if (i)
		d.flags &= ~MROCE_F_FIRST;
	if (i + 1 < o->count)
		d.flags &= ~(MROCE_F_LAST | MROCE_F_ACKREQ);
	return d;
}

static void place_one(struct sim_op *o, u32 i)
{
	struct mroce_data d = packet_data(o, i);

	sim_place(o->qp, &d, o->pkt, o->pkt->off + i * o->data.psize, packet_bytes(o, i));
}

static u64 copy_time(struct sim *s, u32 bytes)
{
	return 100 + div_u64(s->cfg.copy * bytes, 1024);
}

static void next_on_cpu(struct sim_cpu *cpu);

static void op_end(struct sim_op *o)
{
	struct sim_cpu *cpu = o->cpu;
	struct sim *s = o->s;

	sim_packet_put(s, o->pkt);
	s->ops--;
	kvfree(o);
	cpu->busy = false;
	next_on_cpu(cpu);
}

/*
 * which space's stream; the response space of a queue pair whose peer never opens is attached here
 */
static struct mroce_rxs *find_stream(struct sim_op *o)
{
	struct sim_qp *qp = sim_qp_by_stream(o->rxh->host, o->data.stream);
	bool response = o->data.flags & MROCE_F_RESPONSE;
	struct mroce_rxs *rxs;

	if (!qp || qp->detached)
		return NULL;
	rxs = response ? &qp->rresp : &qp->rreq;
	if (!rxs->rx && response && qp->opened && o->rxh->rx.instance == qp->txh->tx.instance) {
		mroce_rxs_attach(&qp->rresp, &o->rxh->rx, qp->peer_stream);
		qp->rxh = o->rxh;
	}
	if (rxs->rx != &o->rxh->rx)
		return NULL;
	o->qp = qp;
	o->rxs = rxs;
	return rxs;
}

static void credit(struct sim_op *o)
{
	struct sim_qp *qp = o->qp;

	if (!mroce_opinfo[o->data.opcode].receive || mroce_seq_before(o->data.rsn, o->rxs->credit))
		return;
	if (!qp->load.srq && mroce_rxs_credit(o->rxs, qp->rq_posted)) {
		mroce_tx_control(&qp->txh->tx, MROCE_C_CREDIT, qp->peer_stream, qp->rq_posted);
		sim_xmit(qp->txh);
	}
}

static void arrive(struct sim_op *o)
{
	struct sim *s = o->s;
	struct sim_host *h = o->rxh->host;
	enum mroce_reason reason;
	struct mroce_base b;
	struct mroce_control c;
	struct mroce_open open;

	mroce_parse_base(o->pkt->hdr, o->pkt->len, &b);
	memset(&o->data, 0, sizeof(o->data));
	o->count = 1;
	switch (b.type) {
	case MROCE_T_DATA:
		if (mroce_parse_data(o->pkt->hdr, o->pkt->len, o->pkt->payload, &o->data,
				     &o->count)) {
			sim_fail(s, "a data packet does not parse");
			op_end(o);
			return;
		}
		break;
	case MROCE_T_OPEN:
		if (mroce_parse_open(o->pkt->hdr, o->pkt->len, &open)) {
			sim_fail(s, "an OPEN does not parse");
			op_end(o);
			return;
		}
		o->data.base = b;
		o->data.stamp = open.stamp;
		o->data.flags = open.flags;
		break;
	default:
		if (mroce_parse_control(o->pkt->hdr, o->pkt->len, &c)) {
			sim_fail(s, "a CONTROL does not parse");
			op_end(o);
			return;
		}
		o->data.base = b;
		o->data.stamp = c.stamp;
		o->data.flags = c.flags;
	}
	reason = mroce_rx_arrive(&o->rxh->rx, &o->data, o->count, o->pkt->payload, o->pkt->ce,
				 s->now, &o->op);
	if (reason != MROCE_REASON_NONE) {
		sim_acks(o->rxh); /* an unknown epoch is answered */
		op_end(o);
		return;
	}
	o->op.whole = s->cfg.whole;
	if (b.type == MROCE_T_OPEN)
		sim_qp_open(h, o->rxh, &open);
	else if (b.type == MROCE_T_CONTROL)
		sim_qp_control(h, &c);
	if (b.type != MROCE_T_DATA) {
		o->op.bits = 1;
		then(o, STEP_FINISH, 0);
		return;
	}
	if (!find_stream(o)) {
		mroce_rx_unknown(&o->rxh->rx, &o->op);
		then(o, STEP_FINISH, 0);
		return;
	}
	/* what the kernel pins by a reference; destroying waits for it */
	then(o, STEP_CLAIM, 0);
}

static void claim(struct sim_op *o)
{
	struct sim *s = o->s;
	struct sim_qp *qp = o->qp;
	const struct sim_load *load = &qp->load;
	u32 i, bytes = 0;
	u8 nack;

	if (qp->detached) {
		o->rxs = NULL;
		mroce_rx_unknown(&o->rxh->rx, &o->op);
		then(o, STEP_FINISH, 0);
		return;
	}
	credit(o);
	if (!o->rxs->response) {
		mroce_txs_released(&qp->resp, o->data.floor, s->now);
		sim_tx_settle(qp->txh);
	}
	mroce_rxs_claim(o->rxs, &o->op);
	if (!o->op.claimed) {
		s->stats.duplicates += o->op.duplicate;
		s->stats.refused += !!o->op.refused;
		then(o, STEP_FINISH, 0);
		return;
	}
	/* the memory check */
	if (!o->rxs->response && qp->peer->load.bad && o->data.msn == qp->peer->load.bad_msn &&
	    qp->peer->load.bad_nack != MROCE_N_OPERATION) {
		mroce_rxs_unclaim(o->rxs, &o->op, o->op.claimed, qp->peer->load.bad_nack, 1);
		if (qp->peer->load.bad_nack < MROCE_N_ACCESS)
			qp->peer->load.bad = false; /* it passes */
		s->stats.refused++;
		then(o, STEP_FINISH, 0);
		return;
	}
	if (!o->rxs->response && load->srq && mroce_opinfo[o->data.opcode].receive &&
	    mroce_seq_diff(qp->rq_posted, o->data.rsn) <= 0) {
		mroce_rxs_unclaim(o->rxs, &o->op, o->op.claimed, MROCE_N_RNR, load->rnr_timer);
		s->stats.refused++;
		then(o, STEP_FINISH, 0);
		return;
	}
	nack = sim_refuses(qp, &o->data, o->pkt->payload);
	if (nack != MROCE_N_NONE) {
		mroce_rxs_unclaim(o->rxs, &o->op, o->op.claimed, nack, load->rnr_timer);
		s->stats.refused++;
		then(o, STEP_FINISH, 0);
		return;
	}
	o->copy = o->op.claimed;
	o->hold = 0;
	if (!o->op.inorder && !load->relaxed &&
	    (o->data.opcode == MROCE_OP_WRITE || o->data.opcode == MROCE_OP_WRITE_IMM)) {
		if (o->data.flags & MROCE_F_ORDERED)
			o->hold = o->copy;
		else if (o->data.flags & MROCE_F_LAST)
			o->hold = o->copy & BIT_ULL(o->count - 1);
	}
	o->copy &= ~o->hold;
	for (i = 0; i < o->count; i++)
		if (o->copy & BIT_ULL(i))
			bytes += packet_bytes(o, i);
	then(o, STEP_COPIED, copy_time(s, bytes));
}

static void copied(struct sim_op *o)
{
	u32 i;

	for (i = 0; i < o->count; i++)
		if (o->copy & BIT_ULL(i))
			place_one(o, i);
	if (o->copy)
		mroce_rxs_placed(o->rxs, &o->op, o->copy);
	then(o, STEP_HOLD, 0);
}

static void hold(struct sim_op *o)
{
	struct sim *s = o->s;
	struct sim_held *held;
	struct mroce_data d;
	u32 i;

	if (!o->hold) {
		then(o, STEP_LAND, 0);
		return;
	}
	i = __ffs64(o->hold);
	o->hold &= o->hold - 1;
	/* past the limit what is at the lowest hole is still taken (hold() says false for it) */
	if (s->cfg.hold_limit && o->rxh->host->held >= s->cfg.hold_limit &&
	    o->data.spn + i != o->rxs->base) {
		mroce_rxs_unclaim(o->rxs, &o->op, BIT_ULL(i), MROCE_N_HOLD, 0);
		s->stats.refused++;
		then(o, STEP_HOLD, 0);
		return;
	}
	held = sim_zalloc(1, sizeof(*held));
	if (!held) {
		sim_fail(s, "no memory for a held packet");
		return;
	}
	d = packet_data(o, i);
	held->held.spn = d.spn;
	held->pkt = o->pkt;
	held->data = d;
	held->off = o->pkt->off + i * o->data.psize;
	held->bytes = packet_bytes(o, i);
	if (mroce_rxs_hold(o->rxs, &o->op, i, &held->held)) {
		held->pkt->refs++;
		o->rxh->host->held++;
		s->stats.held++;
		sim_note_held(o->qp, &d);
		then(o, STEP_HOLD, 0);
		return;
	}
	kvfree(held);
	o->one = i;
	then(o, STEP_COPIED_ONE, copy_time(s, packet_bytes(o, i)));
}

static void land(struct sim_op *o)
{
	struct mroce_held *h = mroce_rxs_land(o->rxs, &o->op);

	if (!h) {
		then(o, STEP_FINISH, 0);
		return;
	}
	o->held = container_of(h, struct sim_held, held);
	then(o, STEP_LANDED, copy_time(o->s, o->held->bytes));
}

static void landed(struct sim_op *o)
{
	struct sim_held *h = o->held;

	sim_place(o->qp, &h->data, h->pkt, h->off, h->bytes);
	mroce_rxs_landed(o->rxs, &o->op, h->data.spn, MROCE_N_NONE);
	sim_packet_put(o->s, h->pkt);
	o->rxh->host->held--;
	o->s->stats.landed++;
	kvfree(h);
	then(o, STEP_LAND, 0);
}

static void finish(struct sim_op *o)
{
	struct sim_log *log;
	struct sim_txh *t = o->rxh->sender;
	u32 i;

	for (i = 0; t && i < o->count; i++) {
		log = sim_log_of(t, o->data.base.path, o->data.base.number + i);
		if (log && log->number == o->data.base.number + i &&
		    log->epoch == o->data.base.epoch)
			log->arrived = true;
	}
	mroce_rx_finish(&o->rxh->rx, o->rxs, &o->op);
	if (o->rxs && mroce_rxs_begin(o->rxs)) {
		then(o, STEP_CURSOR, 0);
		return;
	}
	sim_acks(o->rxh);
	op_end(o);
}

static void one_step(struct sim_op *o)
{
	switch (o->step) {
	case STEP_ARRIVE:
		arrive(o);
		break;
	case STEP_CLAIM:
		claim(o);
		break;
	case STEP_COPIED:
		copied(o);
		break;
	case STEP_HOLD:
		hold(o);
		break;
	case STEP_COPIED_ONE:
		place_one(o, o->one);
		mroce_rxs_placed(o->rxs, &o->op, BIT_ULL(o->one));
		then(o, STEP_HOLD, 0);
		break;
	case STEP_LAND:
		land(o);
		break;
	case STEP_LANDED:
		landed(o);
		break;
	case STEP_FINISH:
		finish(o);
		break;
	case STEP_CURSOR:
		sim_qp_cursor(o->qp, o->rxs);
		sim_acks(o->rxh);
		op_end(o);
		break;
	}
}

/* steps that take no time */
static void run_immediate(struct sim *s)
{
	struct sim_op *o;

	while ((o = s->immediate)) {
		s->immediate = NULL;
		one_step(o);
	}
}

static void run_step(struct sim *s, void *arg)
{
	one_step(arg);
}

/* what GRO does: a packet that continues the one before it in the backlog joins it */
static bool joined(struct sim *s, struct sim_cpu *cpu, struct sim_packet *p)
{
	struct sim_packet *last;
	struct mroce_data a, b;
	u32 n, m;

	if (!s->cfg.gro || list_empty(&cpu->backlog))
		return false;
	last = list_last_entry(&cpu->backlog, struct sim_packet, node);
	if (last->from != p->from || last->ce != p->ce || last->len != p->len || last->refs != 1)
		return false;
	if (mroce_parse_data(last->hdr, last->len, last->payload, &a, &n) ||
	    mroce_parse_data(p->hdr, p->len, p->payload, &b, &m) || m != 1)
		return false;
	if (!mroce_joins_data(last->hdr, n, p->hdr) || last->payload + p->payload > 65000)
		return false;
	SIM_CHECK(s, last->key == p->key && last->off + last->payload == p->off,
		  "packets join that do not follow each other");
	/* the train's last packet is now this one */
	((struct mroce_wire_data *)last->hdr)->flags |=
		((struct mroce_wire_data *)p->hdr)->flags & (MROCE_F_LAST | MROCE_F_ACKREQ);
	last->payload += p->payload;
	s->stats.merged++;
	sim_packet_put(s, p);
	return true;
}

static void next_on_cpu(struct sim_cpu *cpu)
{
	struct sim *s = cpu->host->s;
	struct sim_packet *p;
	struct mroce_base b;
	struct sim_rxh *r;
	struct sim_op *o;

	while (!cpu->busy && !list_empty(&cpu->backlog)) {
		p = list_first_entry(&cpu->backlog, struct sim_packet, node);
		list_del(&p->node);
		if (s->quiet || mroce_parse_base(p->hdr, p->len, &b)) {
			sim_packet_put(s, p);
			continue;
		}
		if (!p->numbered) {
			sim_unnumbered(cpu->host, p, &b);
			sim_packet_put(s, p);
			continue;
		}
		r = sim_rxh_by_id(cpu->host, b.id);
		o = r ? sim_zalloc(1, sizeof(*o)) : NULL;
		if (!o) {
			sim_packet_put(s, p);
			continue;
		}
		s->ops++;
		cpu->busy = true;
		o->s = s;
		o->cpu = cpu;
		o->rxh = r;
		o->pkt = p;
		then(o, STEP_ARRIVE, 0);
	}
}

void sim_receive(struct sim *s, struct sim_packet *p)
{
	struct sim_host *h = &s->host[p->to];
	struct mroce_base b = {};
	struct sim_cpu *cpu;
	u32 n = max_t(u32, s->cfg.cpus, 1);

	mroce_parse_base(p->hdr, p->len, &b);
	cpu = &h->cpu[s->cfg.spray ? sim_below(s, n) : b.path % n];
	if (s->quiet) {
		sim_packet_put(s, p);
		return;
	}
	if (joined(s, cpu, p))
		return;
	list_add_tail(&p->node, &cpu->backlog);
	next_on_cpu(cpu);
	run_immediate(s);
}
