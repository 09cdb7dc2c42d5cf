// SPDX-License-Identifier: GPL-2.0
/*
 * Checking: memory against images, completions against the plan; and saying
 * exactly what is wrong. The first failure of the process is printed whole,
 * under one lock, and ends the run. Called by the workers for their own queue
 * pairs; report_stall() by the main thread, which only reads.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include "load.h"

static pthread_mutex_t print_lock = PTHREAD_MUTEX_INITIALIZER;

bool side_failed(const struct side *s)
{
	return __atomic_load_n(&s->failed, __ATOMIC_RELAXED);
}

void fail_code(struct side *s, int code)
{
	int none = 0;

	__atomic_compare_exchange_n(&s->exit_code, &none, code, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	__atomic_store_n(&s->failed, 1, __ATOMIC_RELEASE);
}

void fail(struct side *s, const char *fmt, ...)
{
	va_list ap;

	if (side_failed(s))
		return;
	pthread_mutex_lock(&print_lock);
	if (!side_failed(s)) {
		fflush(stdout);
		fprintf(stderr, "mroce-load: %s: FAIL: ", s->name);
		va_start(ap, fmt);
		vfprintf(stderr, fmt, ap);
		va_end(ap);
		fputc('\n', stderr);
		fail_code(s, EXIT_BAD);
	}
	pthread_mutex_unlock(&print_lock);
}

static void dump_line(const char *name, const uint8_t *p, unsigned int n, unsigned int bad)
{
	unsigned int i;

	fprintf(stderr, "  %-8s", name);
	for (i = 0; i < n; i++)
		fprintf(stderr, "%c%02x", i == bad ? '>' : ' ', p[i]);
	fputc('\n', stderr);
}

static const char *role(const struct msg *m, bool tx, bool recv)
{
	if (recv)
		return "receive buffer of";
	if (m->op == OP_READ || m->op == OP_CAS || m->op == OP_FADD)
		return tx ? "result of" : "bytes read by";
	return tx ? "source of" : "target of";
}

/* the last message that has the byte at off; how = which of its buffers */
static const struct msg *owner(const struct epoch *ep, bool tx, uint64_t off, uint64_t *at,
			       const char **how)
{
	unsigned int i, j;

	for (i = ep->n; i-- > 0;) {
		const struct msg *m = &ep->m[i];
		const struct piece *pc = tx ? m->src : m->rcv;
		unsigned int n = tx ? m->nsrc : m->nrcv;

		*at = 0;
		for (j = 0; j < n; j++) {
			if (off - pc[j].off < pc[j].len && off >= pc[j].off) {
				*at += off - pc[j].off;
				*how = role(m, tx, !tx);
				return m;
			}
			*at += pc[j].len;
		}
		if (!tx && m->op > OP_SEND_INV && off >= m->target && off < m->target + m->size) {
			*at = off - m->target;
			*how = role(m, tx, false);
			return m;
		}
	}
	return NULL;
}

static void describe(struct qp *q, bool tx, const struct epoch *ep, const struct image *im,
		     const uint8_t *mem, const struct miss *ms, uint32_t lo, uint32_t hi,
		     const struct msg *m, uint64_t at, const char *how, const char *what)
{
	uint8_t want[32], got[32];
	uint32_t from = ms->off > lo + 8 ? ms->off - 8 : lo, n, i;

	fprintf(stderr, "  qp %u (number 0x%x), %s direction, epoch %lu (%s): %s\n", q->idx,
		q->qp->qp_num, tx ? "outgoing" : "incoming", (unsigned long)ep->num,
		mode_name(ep->mode), what);
	if (m)
		fprintf(stderr,
			"  %s message %lu, %s, size %u, flags 0x%x, target offset %u (mod 64: %u), source mod 64: %u: byte %lu\n",
			how, (unsigned long)m->num, op_name(m->op), m->size, m->flags, m->target,
			m->target & 63, m->nsrc ? m->src[0].off & 63 : 0, (unsigned long)at);
	else
		fprintf(stderr, "  in a guard zone: no message of this epoch may touch it\n");
	fprintf(stderr,
		"  slice offset %lu: expected 0x%02x, got 0x%02x; %lu bytes differ, the last at %lu\n",
		(unsigned long)ms->off, ms->want, ms->got, (unsigned long)ms->count,
		(unsigned long)ms->last);
	n = hi - from < 32 ? hi - from : 32;
	for (i = 0; i < n; i++) {
		want[i] = img_byte(im, from + i);
		got[i] = mem[from + i];
	}
	fprintf(stderr, "  from offset %u%s:\n", from,
		mem[ms->off] == ms->want ? ", where the right bytes have landed meanwhile" : "");
	dump_line("expected", want, n, ms->off - from);
	dump_line("got", got, n, ms->off - from);
}

/* slice: where image offset 0 lies */
bool check_range(struct qp *q, bool tx, const struct epoch *ep, const struct image *im,
		 const uint8_t *slice, uint32_t off, uint32_t len, const char *what)
{
	const struct msg *m;
	const char *how = "";
	struct miss ms;
	uint64_t at = 0;

	q->w->c.checked += len;
	if (img_check(im, slice + off, off, len, &ms))
		return true;
	pthread_mutex_lock(&print_lock);
	if (!side_failed(q->side)) {
		fflush(stdout);
		fprintf(stderr, "mroce-load: %s: FAIL: wrong bytes (seed %lu)\n", q->side->name,
			(unsigned long)q->side->p.seed);
		m = owner(ep, tx, ms.off, &at, &how);
		describe(q, tx, ep, im, slice, &ms, off, off + len, m, at, how, what);
		fail_code(q->side, EXIT_BAD);
	}
	pthread_mutex_unlock(&print_lock);
	return false;
}

/* a Send's payload in a buffer of the shared receive queue, and its guards */
bool check_payload(struct qp *q, const struct epoch *ep, const struct msg *m,
		   const struct srq_slot *slot)
{
	uint32_t left = m->size, done = 0;
	unsigned int i;

	for (i = 0; i < slot->n && left; i++) {
		uint32_t n = slot->pc[i].len < left ? slot->pc[i].len : left;

		/* check_range() adds the image offset */
		if (!check_range(q, false, ep, &ep->pay,
				 slot->mem + slot->pc[i].off - (m->pay + done),
				 m->pay + done, n, "payload in a shared receive buffer"))
			return false;
		done += n;
		left -= n;
	}
	return true;
}

static const char *wc_name(int op)
{
	static const struct {
		int op;
		const char *name;
	} n[] = {
		{ IBV_WC_SEND, "SEND" }, { IBV_WC_RDMA_WRITE, "RDMA_WRITE" },
		{ IBV_WC_RDMA_READ, "RDMA_READ" }, { IBV_WC_COMP_SWAP, "COMP_SWAP" },
		{ IBV_WC_FETCH_ADD, "FETCH_ADD" }, { IBV_WC_BIND_MW, "BIND_MW" },
		{ IBV_WC_RECV, "RECV" },
		{ IBV_WC_RECV_RDMA_WITH_IMM, "RECV_RDMA_WITH_IMM" },
	};
	unsigned int i;

	for (i = 0; i < sizeof(n) / sizeof(n[0]); i++)
		if (n[i].op == op)
			return n[i].name;
	return "?";
}

static bool bad_wc(struct qp *q, const struct ibv_wc *wc, const struct epoch *ep,
		   const struct msg *m, const char *what, uint64_t want, uint64_t got)
{
	fail(q->side,
	     "qp %u (number 0x%x): completion of %s message %lu (%s, size %u, epoch %lu): %s: expected 0x%lx, got 0x%lx; wr_id 0x%lx, opcode %s, byte_len %u, wc_flags 0x%x (seed %lu)",
	     q->idx, q->qp->qp_num, wc->opcode & IBV_WC_RECV ? "incoming" : "outgoing",
	     m ? (unsigned long)m->num : 0, m ? op_name(m->op) : "bind", m ? m->size : 0,
	     ep ? (unsigned long)ep->num : 0, what, (unsigned long)want, (unsigned long)got,
	     (unsigned long)wc->wr_id, wc_name(wc->opcode), wc->byte_len, wc->wc_flags,
	     (unsigned long)q->side->p.seed);
	return false;
}

bool check_send_wc(struct qp *q, const struct ibv_wc *wc, const struct sqe *e)
{
	static const int opcode[OP_MAX] = {
		IBV_WC_SEND, IBV_WC_SEND, IBV_WC_SEND, IBV_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE,
		IBV_WC_RDMA_READ, IBV_WC_COMP_SWAP, IBV_WC_FETCH_ADD,
	};
	const struct msg *m = e->ep ? &e->ep->m[e->idx] : NULL;
	int want = m ? opcode[m->op] : IBV_WC_BIND_MW;

	if (wc->wr_id != e->wr_id)
		return bad_wc(q, wc, e->ep, m, "wr_id (order)", e->wr_id, wc->wr_id);
	if ((int)wc->opcode != want)
		return bad_wc(q, wc, e->ep, m, "opcode", want, wc->opcode);
	/* byte_len is defined for Reads and atomics on the send side */
	if (m && m->op >= OP_READ && wc->byte_len != m->size)
		return bad_wc(q, wc, e->ep, m, "byte_len", m->size, wc->byte_len);
	return true;
}

bool check_recv_wc(struct qp *q, const struct ibv_wc *wc, const struct epoch *ep,
		   const struct msg *m)
{
	bool imm = m->op == OP_SEND_IMM || m->op == OP_WRITE_IMM;
	int want = m->op == OP_WRITE_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
	unsigned int flags = imm ? IBV_WC_WITH_IMM : 0;
	uint32_t key;

	if (m->op == OP_SEND_INV)
		flags = IBV_WC_WITH_INV;
	if ((int)wc->opcode != want)
		return bad_wc(q, wc, ep, m, "opcode", want, wc->opcode);
	if (wc->byte_len != m->size)
		return bad_wc(q, wc, ep, m, "byte_len", m->size, wc->byte_len);
	if ((wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV)) != flags)
		return bad_wc(q, wc, ep, m, "wc_flags", flags, wc->wc_flags);
	if (imm && wc->imm_data != htonl(m->imm))
		return bad_wc(q, wc, ep, m, "immediate", m->imm, ntohl(wc->imm_data));
	key = q->mw_rkey[ep->num % q->side->p.slices];
	if (m->op == OP_SEND_INV && wc->invalidated_rkey != key)
		return bad_wc(q, wc, ep, m, "invalidated key", key, wc->invalidated_rkey);
	return true;
}

static const char *state_name(int st)
{
	static const char *const n[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return st >= 0 && st < 7 ? n[st] : "?";
}

void report_stall(struct side *s)
{
	unsigned int i;

	for (i = 0; i < s->p.qps; i++) {
		struct qp *q = &s->qps[i];
		struct ibv_qp_init_attr ia;
		struct ibv_qp_attr a = { .qp_state = IBV_QPS_UNKNOWN };

		if (!q->qp)
			continue;
		ibv_query_qp(q->qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RQ_PSN, &ia);
		fprintf(stderr,
			"  %s qp %u (0x%x, %s, sq_psn %u, rq_psn %u): out epoch %lu, %u of %u posted, %lu requests outstanding, %lu epochs complete; in epoch %lu at message %u, %lu receives posted, prepared to %lu%s\n",
			s->name, i, q->qp->qp_num, state_name(a.qp_state), a.sq_psn, a.rq_psn,
			(unsigned long)q->tx_epoch, q->tx_idx,
			q->tx_open ? q->tx[q->tx_epoch % s->p.slices]->n : 0,
			(unsigned long)(q->sq_head - q->sq_tail), (unsigned long)q->tx_done,
			(unsigned long)q->rx_epoch, q->rx_idx,
			s->srq ? 0 : (unsigned long)(q->rq_head - q->rq_tail),
			(unsigned long)q->rx_ready,
			q->done ? ", done" : "");
	}
}
