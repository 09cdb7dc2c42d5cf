// SPDX-License-Identifier: GPL-2.0
/*
 * Two to four hosts that run the engine over kunit's simulated network, with programs that post all
 * operations; the input says what the network is like and what happens to it on the way.
 *
 * Input: HEADER bytes, the network and the programs; then operations of OP bytes each:
 *   after    packets until it, 0: on the same packet as the one before
 *   what     one of enum what
 *   where    which field, path, host, earlier packet
 *   how      how a field changes (fuzz_mutate_number()); of others, a detail
 *   value    four bytes, big endian
 *
 * Lossy inputs (bit 0 of the header is 0) lose, repeat, delay, mark and reorder packets, cut links,
 * take memory away, destroy queue pairs: all that sim_check.c and sim_audit.c say must hold, every
 * program ends, and none is told of an error that only a malformed packet makes.
 *
 * Hostile ones also change, cut short, forge packets with valid ids. Data may be wrong then, and
 * connections may end. Still: a stream number is placed once, inside its window, in memory that the
 * program gave; a message is handled in order, once, when each of its bytes has landed; requests
 * complete in order, those with an answer after it; the engine's state is consistent
 * (sim_audit.c), its memory bounded; every program ends, and nothing is left.
 */
#include "fuzz.h"
#include "../kunit/sim.h"

#define HEADER	24
#define OP	8
#define MSEC	1000000ULL
#define SEC	1000000000ULL
#define LIMIT	(120 * SEC)	/* virtual time in which everything ends */
#define KEPT	32		/* packets that may come again */
#define AUDIT	64		/* events */
#define MEMORY	(64 << 20)	/* bytes of the engine: no input has windows that need more */

enum what {
	WHAT_NOTHING,
	/* what a network does */
	WHAT_DROP,
	WHAT_COPY,		/* what follows on this packet is done to a copy of it */
	WHAT_AGAIN,		/* and here to an earlier packet, which comes again */
	WHAT_DELAY,
	WHAT_MARK,
	WHAT_CUT,		/* a host's links in a plane, for a while */
	/* what a host does */
	WHAT_MOVE,		/* a path to another plane */
	WHAT_SIZE,
	WHAT_UNREACHABLE,
	WHAT_TUNE,
	WHAT_SHRINK,
	WHAT_STARVE,		/* allocations fail for a while */
	WHAT_DESTROY,		/* a queue pair */
	WHAT_ANNOUNCE,
	WHAT_CAPACITY,
	WHAT_LAST_LOSSY = WHAT_CAPACITY,
	/* what only an attacker does, or a bad wire without a sum */
	WHAT_FIELD,
	WHAT_FIELD_OF,		/* takes the value that an earlier packet has there */
	WHAT_SHORT,
	WHAT_PAYLOAD,
	WHAT_FORGE,		/* a packet of any type with the ids of this connection */
	WHAT_RESET,
	WHAT_ELSEWHERE,		/* to another host */
	WHATS
};

struct run {
	const u8 *op;
	u32 ops, wait;
	struct sim_packet *kept[KEPT];
	u32 nkept;
	bool destroyed;
	struct sim_topo topo;
	u8 weight[4];
};

static u32 value_of(const u8 *op)
{
	return (u32)op[4] << 24 | op[5] << 16 | op[6] << 8 | op[7];
}

static void send_later(struct sim *s, void *arg)
{
	sim_net_send(s, arg);
}

static void feed_again(struct sim *s, void *arg)
{
	(void)s;
	(void)arg;
	sim_alloc_fail_after(-1);
}

/* ---- hosts ---- */

static struct sim_txh *txh_of(struct sim *s, u8 where)
{
	struct sim_host *h = &s->host[where % s->hosts];

	return list_first_entry_or_null(&h->txhs, struct sim_txh, node);
}

static struct sim_qp *qp_of(struct sim *s, u8 where)
{
	return s->nqps ? s->qp[where % s->nqps] : NULL;
}

static void shrink(struct sim *s)
{
	struct sim_txh *t;
	struct sim_rxh *r;
	u32 i;

	for (i = 0; i < s->hosts; i++) {
		list_for_each_entry(t, &s->host[i].txhs, node)
			mroce_tx_shrink(&t->tx, s->now);
		list_for_each_entry(r, &s->host[i].rxhs, node)
			mroce_rx_shrink(&r->rx, s->now);
	}
}

/* What the kernel's glue tells a sending half, at any time. */
static void tell(struct sim *s, struct sim_txh *t, const u8 *op)
{
	u32 value = value_of(op);
	struct mroce_tx *tx = &t->tx;
	u8 path = op[3] % tx->npaths;
	struct mroce_hello hello;

	switch (op[1] % WHATS) {
	case WHAT_MOVE:
		if (tx->state == MROCE_TX_OPEN)
			mroce_tx_path_move(tx, path, value % sim_planes(s), value & 0x100, s->now);
		break;
	case WHAT_SIZE:
		mroce_tx_path_size(tx, path, value, s->now);
		break;
	case WHAT_UNREACHABLE:
		mroce_tx_path_unreachable(tx, path, tx->path[path].next - 1 - value % 40, s->now);
		break;
	case WHAT_ANNOUNCE:
		hello = tx->hello;
		hello.serial++;
		hello.nonce = sim_random(s);
		mroce_tx_announce(tx, &hello, s->now);
		break;
	}
	sim_tx_settle(t);
	sim_xmit(t);
}

static void on_host(struct sim *s, struct run *run, const u8 *op)
{
	struct sim_txh *t = txh_of(s, op[2]);
	struct sim_qp *qp = qp_of(s, op[2]);
	u32 value = value_of(op), plane = op[3] % sim_planes(s);

	switch (op[1] % WHATS) {
	case WHAT_CUT:
		sim_host_cut(s, s->now, op[2] % s->hosts, plane, true, op[3] & 0x80);
		sim_host_cut(s, s->now + value % (300 * MSEC), op[2] % s->hosts, plane, false,
			     op[3] & 0x80);
		break;
	case WHAT_TUNE:
		/* one of its planes may be gone, but it has chosen one */
		if (qp && !qp->detached)
			mroce_txs_tune(value & 1 ? &qp->req : &qp->resp, value >> 8 | 1,
				       value >> 16 & 7, value >> 19 & 7, value >> 22);
		break;
	case WHAT_SHRINK:
		shrink(s);
		break;
	case WHAT_STARVE:
		sim_alloc_fail_after(op[3] % 8);
		sim_at(s, s->now + value % (50 * MSEC), feed_again, NULL);
		break;
	case WHAT_DESTROY:
		if (qp && qp->txh) {
			run->destroyed = true;
			sim_qp_error(qp, MROCE_REASON_ERR_FLUSHED, 0);
		}
		break;
	case WHAT_CAPACITY:
		mroce_share_capacity(&s->host[op[2] % s->hosts].share[plane], value >> 4);
		break;
	default:
		if (t)
			tell(s, t, op);
	}
}

/* ---- packets ---- */

static struct sim_packet *kept(struct run *run, u8 where)
{
	u32 n = min_t(u32, run->nkept, KEPT);

	return n ? run->kept[(run->nkept - 1 - where % n) % KEPT] : NULL;
}

static void keep(struct sim *s, struct run *run, const struct sim_packet *p)
{
	struct sim_packet **slot = &run->kept[run->nkept++ % KEPT];

	if (*slot)
		sim_packet_put(s, *slot);
	*slot = sim_packet_copy(s, p);
}

static bool is_numbered(u8 type)
{
	return type == MROCE_T_OPEN || type == MROCE_T_DATA || type == MROCE_T_CONTROL ||
	       type == MROCE_T_PROBE;
}

/* The first @len bytes of @p, in a block of that size: reading beyond it is seen. */
static struct sim_packet *shorter(struct sim *s, struct sim_packet *p, u32 len)
{
	struct sim_packet *c = sim_packet_new(s, p->from, p->to, p->hdr, len);

	if (!c)
		return p;
	c->payload = p->payload;
	c->off = p->off;
	c->key = p->key;
	c->plane = p->plane;
	c->path = p->path;
	c->epoch = p->epoch;
	c->numbered = p->numbered;
	sim_packet_put(s, p);
	return c;
}

static void change_field(struct run *run, struct sim_packet *p, const u8 *op)
{
	const struct fuzz_field *field;
	struct sim_packet *other;
	u32 n = fuzz_fields(p->hdr[offsetof(struct mroce_wire_base, type)], &field);

	if (!n)
		return;
	field += op[2] % n;
	if (field->at + field->bytes > p->len)
		return;
	if (op[1] % WHATS == WHAT_FIELD) {
		fuzz_mutate_number(p->hdr + field->at, field->bytes, op[3], value_of(op));
		return;
	}
	other = kept(run, op[3]);
	if (other && field->at + field->bytes <= other->len)
		memcpy(p->hdr + field->at, other->hdr + field->at, field->bytes);
}

/* Another type in the packet's place, with its ids and numbers, else of zeros or the value. */
static struct sim_packet *forge(struct sim *s, struct sim_packet *p, const u8 *op)
{
	u8 hdr[MROCE_HEADER_MAX];
	struct mroce_wire_base *b = (struct mroce_wire_base *)hdr;
	u32 len = fuzz_header(op[2] % MROCE_T_MAX), i;
	struct sim_packet *c;

	if (!len)
		return p;
	for (i = 0; i < sizeof(hdr); i++)
		hdr[i] = op[3] & 1 ? op[4 + i % 4] : 0;
	memcpy(hdr, p->hdr, sizeof(*b));
	b->type = op[2] % MROCE_T_MAX;
	c = sim_packet_new(s, p->from, p->to, hdr, len);
	if (!c)
		return p;
	c->plane = p->plane;
	c->path = p->path;
	c->epoch = p->epoch;
	sim_packet_put(s, p);
	return c;
}

static void reset(struct sim *s, const struct sim_packet *p, const u8 *op)
{
	struct sim_txh *t = txh_of(s, p->from);
	struct mroce_reset r = { .type = MROCE_T_DATA };

	mroce_parse_base(p->hdr, p->len, &r.base);
	if (!t)
		return;
	if (op[3] & 1)
		r.base.number += value_of(op);
	mroce_tx_reset(&t->tx, &r, sim_random(s), s->now);
	sim_xmit(t);
}

/* What the packet @p is now after one operation; NULL: it is gone. */
static struct sim_packet *on_packet(struct sim *s, struct run *run, struct sim_packet *p,
				    const u8 *op)
{
	u32 value = value_of(op);

	switch (op[1] % WHATS) {
	case WHAT_DROP:
		sim_packet_put(s, p);
		return NULL;
	case WHAT_DELAY:
		sim_at(s, s->now + value % (op[3] & 1 ? 400 * MSEC : 2 * MSEC), send_later, p);
		return NULL;
	case WHAT_MARK:
		p->ce = !p->ack;
		return p;
	case WHAT_FIELD:
	case WHAT_FIELD_OF:
		change_field(run, p, op);
		return p;
	case WHAT_SHORT:
		return shorter(s, p, value % (p->len + 1));
	case WHAT_PAYLOAD:
		p->payload = op[3] & 1 ? p->payload + (s8)value : value & 0xffff;
		p->payload &= 0xffff;
		return p;
	case WHAT_FORGE:
		return forge(s, p, op);
	case WHAT_RESET:
		reset(s, p, op);
		return p;
	case WHAT_ELSEWHERE:
		p->to = value % s->hosts;
		return p;
	}
	return p;
}

static void send(struct sim *s, struct sim_packet *p)
{
	if (!p)
		return;
	if (p->len >= sizeof(struct mroce_wire_base))
		p->numbered = is_numbered(p->hdr[offsetof(struct mroce_wire_base, type)]);
	sim_net_send(s, p);
}

/* Each packet that is sent: operations whose turn it is. */
static bool filter(struct sim *s, struct sim_packet *p, const struct mroce_base *b)
{
	struct run *run = s->filter_arg;
	struct sim_packet *now = p, *more;
	bool first = true;
	const u8 *op;
	u8 what;

	(void)b;
	keep(s, run, p);
	/* the caller has a reference of its own, so that it need not know what becomes of this */
	p->refs++;
	for (; run->ops; run->ops--, run->op += OP, first = false) {
		op = run->op;
		if (first && run->wait < op[0]) {
			run->wait++;
			break;
		}
		if (!first && op[0])
			break;
		run->wait = 0;
		what = op[1] % WHATS;
		if (what > WHAT_LAST_LOSSY && !s->hostile)
			continue;
		if (what >= WHAT_CUT && what <= WHAT_LAST_LOSSY) {
			on_host(s, run, op);
			continue;
		}
		if (what == WHAT_COPY || what == WHAT_AGAIN) {
			more = what == WHAT_COPY ? now : kept(run, op[2]);
			more = more ? sim_packet_copy(s, more) : NULL;
			send(s, now);
			now = more;
			continue;
		}
		if (now)
			now = on_packet(s, run, now, op);
	}
	if (now == p && p->refs == 2) {
		p->refs--;
		p->numbered = is_numbered(p->hdr[offsetof(struct mroce_wire_base, type)]);
		return false;
	}
	send(s, now);
	return true;
}

/* ---- a run ---- */

static void network(struct sim_cfg *c, struct run *run, const u8 *h)
{
	static const u16 payloads[] = { 1024, 64, 256, 1400, 4096, 100, 1, 8192 };
	static const u64 rates[] = { 125000000, 12500000, 1250000000, 500000 };
	u32 i;

	*c = (struct sim_cfg){
		.seed = h[1],
		.rate = rates[h[2] % 4],
		.delay = 1000ULL << (h[3] % 12),
		.limit = h[4] & 1 ? 3000U << (h[4] >> 4) : 0,
		.mark = h[4] & 2 ? 2000U << (h[4] >> 5) : 0,
		.loss = (h[5] & 15) * 8000,
		.ack_loss = (h[5] >> 4) * 16000,
		.dup = (h[6] & 7) * 20000,
		.reorder = (h[6] >> 3 & 7) * 30000,
		.burst = h[6] >> 6 ? 8 : 0,
		.late = 1 + 1000ULL * h[7],
		.payload = payloads[h[8] & 7],
		.train = 1U << (h[8] >> 4),
		.npaths = 1 + h[9] % 8,
		.cpus = 1 + (h[9] >> 6),
		.whole = h[10] & 1,
		.gro = h[10] & 2,
		.spray = h[10] & 4,
		.unshared = h[10] & 8,
		.local_drop = h[10] & 16 ? 20000 : 0,
		.hold_limit = h[10] >> 5,
		.copy = 30ULL * h[11],
		.step = 1 + 40 * (h[12] & 127),
		.hosts = 2 + h[13] % 3,
		.audit = AUDIT,
		.weight = run->weight,
	};
	for (i = 0; i < ARRAY_SIZE(run->weight); i++)
		run->weight[i] = 1 + (h[13] >> 4) * i;
	run->topo.planes = 1 + (h[12] >> 7) + (h[13] >> 3 & 1) * 2;
	sim_star(c, &run->topo);
	c->topo = &run->topo;
}

static void program(struct sim_load *l, u16 payload, const u8 *h)
{
	static const u32 lengths[] = { 300, 1, 5000, 20000, 0, 64, 1500, 9000 };

	*l = (struct sim_load){
		.count = 1 + h[0] % 16,
		/* more packets would only take longer */
		.len_max = min(lengths[h[1] & 7], 40U * payload),
		.depth = 1 + (h[1] >> 3) % 16,
		.ops = h[2] | (h[3] & 1 ? SIM_FLUSH : 0) |
		       (h[3] & 2 ? SIM_ATOMIC_WRITE : 0),
		.relaxed = h[3] & 4,
		.overlap = h[3] & 8,
		.srq = h[3] & 16,
		.mixed = h[3] & 32,
		.fence = h[3] & 64 ? 200000 : 0,
		.timeout = SEC,
		.rnr_retry = 7,
		.rnr_timer = 1 + h[4] % 8,
		.buffers = 1 + (h[4] >> 3),
		.buffer_len = 20000,
		.repost = h[5] & 1 ? 0 : 1000ULL * h[5],
		.log_packets = 6 + (h[6] & 7),
		.log_messages = 1 + (h[6] >> 4 & 7),
		.reads = 1 + h[7] % 16,
		.batch = 1,
	};
	if (!(l->ops & SIM_ALL))
		l->ops = SIM_ALL;
	if (l->overlap && !l->len_max)
		l->len_max = 8;
}

/* Without forged packets nobody is told that what was sent was wrong. */
static void check_ends(struct sim *s, const struct run *run)
{
	u32 i;

	for (i = 0; i < s->nqps && !s->hostile; i++) {
		struct sim_qp *qp = s->qp[i];

		FUZZ_CHECK(qp->fail_nack < MROCE_N_ACCESS ||
			   (qp->fail_nack == MROCE_N_GONE && run->destroyed) ||
			   qp->peer->state != SIM_QP_RTS,
			   "queue pair %u failed for nack %u", i, qp->fail_nack);
	}
}

static void tell_stuck(struct sim *s)
{
	u32 i;

	for (i = 0; i < s->nqps; i++) {
		struct sim_qp *qp = s->qp[i];
		struct mroce_txs *t = &qp->req;
		struct mroce_rxs *r = &qp->peer->rreq;

		if (qp->finished)
			continue;
		fprintf(stderr,
			"queue pair %u: posted %u, completed %u of %u; id %x state %u una %u nxt %u end %u msn %u/%u/%u lost %u out %u credit %u reads %u paused %u for %u failed %u; half %u timer %lld; peer: state %u base %u msn %u refusing %u for %u\n",
			i, qp->posted, qp->completed, qp->load.count, t->peer_id, t->state,
			t->una, t->nxt, t->end, t->msn_una, t->msn_nxt, t->msn_end, t->nlost,
			t->out, t->credit, t->reads_out, t->paused, t->pause_reason, t->failed,
			qp->txh->tx.state, (long long)(qp->txh->tx.timer - s->now),
			qp->peer->state, r->base, r->msn, r->refusing, r->refuse_reason);
	}
}

void fuzz_one(const u8 *in, size_t size)
{
	u8 head[HEADER] = {};
	struct run run = {};
	struct sim_load a, b;
	struct sim_cfg cfg;
	char why[200];
	struct sim *s;
	bool ended;
	u32 pairs, i;

	memcpy(head, in, min_t(size_t, size, HEADER));
	if (size > HEADER) {
		run.op = in + HEADER;
		run.ops = (size - HEADER) / OP;
	}
	network(&cfg, &run, head);
	program(&a, cfg.payload, head + 14);
	/* a peer that never has a buffer may keep a program waiting that wants to */
	if (head[0] & 1)
		a.rnr_retry = 3;
	b = a;
	b.count = head[0] & 2 ? a.count : 0;
	s = sim_new(&cfg);
	FUZZ_CHECK(s, "no memory");
	s->hostile = head[0] & 1;
	s->filter = filter;
	s->filter_arg = &run;
	pairs = 1 + (head[0] >> 2) % 3;
	for (i = 0; i < pairs; i++)
		sim_connect(s, 1 + i % (s->hosts - 1), &a, 0, &b);
	ended = sim_run_all(s, s->now + LIMIT);
	sim_alloc_fail_after(-1);
	if (!ended && !s->failed) {
		tell_stuck(s);
		fuzz_fail("not every program has ended");
	}
	if (!s->failed) {
		sim_audit(s);
		check_ends(s, &run);
	}
	FUZZ_CHECK(sim_allocated_most() <= MEMORY, "the engine took %zu bytes",
		   sim_allocated_most());
	for (i = 0; i < KEPT; i++)
		if (run.kept[i])
			sim_packet_put(s, run.kept[i]);
	s->filter = NULL;
	if (!sim_end(s, why, sizeof(why)))
		fuzz_fail("%s", why);
}

/* ---- inputs ---- */

static void random_op(u8 *op, struct fuzz_random *r)
{
	static const u8 common[] = { WHAT_COPY, WHAT_AGAIN, WHAT_FIELD, WHAT_FIELD, WHAT_FIELD_OF,
				     WHAT_DROP, WHAT_DELAY };
	u32 i;

	for (i = 0; i < OP; i++)
		op[i] = fuzz_next(r);
	op[0] = fuzz_below(r, 3) ? fuzz_below(r, 40) : 0;
	op[1] = fuzz_below(r, 2) ? common[fuzz_below(r, ARRAY_SIZE(common))] :
				   fuzz_below(r, WHATS);
	if (fuzz_below(r, 2))
		memset(op + 4, 0, 3);
}

size_t fuzz_mutate(u8 *in, size_t size, size_t most, struct fuzz_random *r)
{
	if (size && !fuzz_below(r, 10)) {
		in[0] ^= 1;
		return size;
	}
	return fuzz_mutate_ops(in, size, most, r, HEADER, OP, random_op);
}

/* Networks and programs of all kinds, with few operations and with many. */
size_t fuzz_seed(u8 *in, size_t most, u32 n)
{
	struct fuzz_random r = { .state = n };
	u32 i, ops = n % 4 * 8;

	if (n >= 64 || most < HEADER + 24 * OP)
		return 0;
	memset(in, 0, HEADER);
	for (i = 1; i < HEADER && n; i++)
		in[i] = fuzz_next(&r);
	in[0] = n % 16;
	/* some where nothing is wrong by itself */
	if (n % 8 < 4)
		memset(in + 5, 0, 2);
	for (i = 0; i < ops; i++)
		random_op(in + HEADER + i * OP, &r);
	return HEADER + ops * OP;
}
