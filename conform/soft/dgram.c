// SPDX-License-Identifier: GPL-2.0
/* Unreliable datagrams and connections. Clauses U and Y. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

enum { GRH = 40 };

static struct receive *take(struct soft_qp *qp)
{
	struct receive *r = qp->receive;

	if (r) {
		qp->receive = r->next;
		if (!qp->receive)
			qp->receive_tail = &qp->receive;
	}
	return r;
}

static void grh(uint8_t *p, const struct soft_datagram *d)
{
	memset(p, 0, GRH);
	if (is_v4(&d->from)) {
		p[20] = 0x45;
		p[21] = d->tos;
		p[28] = d->hops;
		p[29] = 17;
		memcpy(p + 32, d->from.gid + 12, 4);
		memcpy(p + 36, d->to.gid + 12, 4);
		return;
	}
	p[0] = 0x60 | d->tos >> 4;
	p[1] = d->tos << 4;
	p[6] = 0x1b;
	p[7] = d->hops;
	memcpy(p + 8, d->from.gid, 16);
	memcpy(p + 24, d->to.gid, 16);
}

void ud_input(struct soft *s, const struct soft_datagram *d)
{
	const struct mroce_wire_ud *w = d->bytes;
	uint32_t length = be32toh(w->length);
	struct soft_qp *qp = qp_find(s, be32toh(w->dst_qpn));
	struct receive *r;

	if (!qp || qp->type != SOFT_UD || (qp->state != SOFT_RTR && qp->state != SOFT_RTS) ||
	    qp->qkey != be32toh(w->qkey) || (be16toh(w->pkey) & 0x7fff) != 0x7fff || !qp->receive ||
	    qp->receive->length < length + GRH) {
		s->count.dropped++;
		return;
	}
	r = take(qp);
	grh(r->data, d);
	memcpy(r->data + GRH, w + 1, length);
	qp_done(qp, &(struct soft_completion){
			    .id = r->id,
			    .receive = true,
			    .opcode = w->flags & MROCE_UD_IMM ? MROCE_OP_SEND_IMM : MROCE_OP_SEND,
			    .with_imm = w->flags & MROCE_UD_IMM,
			    .imm = be32toh(w->imm),
			    .length = length + GRH,
			    .src_qpn = be32toh(w->src_qpn) & 0xffffff,
		    });
	free(r);
}

static const struct soft_address *source(struct soft *s, const struct soft_address *to)
{
	unsigned int i;

	for (i = 0; i + 1 < s->config.planes && is_v4(&s->config.address[i]) != is_v4(to); i++)
		;
	return &s->config.address[i];
}

void ud_send(struct soft_qp *qp, const struct soft_work *w)
{
	uint8_t packet[65536];
	struct mroce_wire_ud *u = (void *)packet;
	bool imm = w->opcode == MROCE_OP_SEND_IMM;

	if (w->length > sizeof(packet) - sizeof(*u))
		return;
	*u = (struct mroce_wire_ud){
		.dst_qpn = htobe32(w->qpn),
		.src_qpn = htobe32(qp->qpn),
		.qkey = htobe32(w->qkey),
		.imm = htobe32(imm ? w->imm : 0),
		.pkey = htobe16(0xffff),
		.length = htobe32(w->length),
		.flags = (imm ? MROCE_UD_IMM : 0) | (w->solicited ? MROCE_UD_SOLICITED : 0),
	};
	base(&u->base, MROCE_T_UD, 0, 0, 0, 0);
	memcpy(u + 1, w->data, w->length);
	transmit(qp->soft, source(qp->soft, &w->to), &w->to,
		 MROCE_PATH_PORT_BASE + (qp->qpn & 0x3fff), 0, 0, packet, sizeof(*u) + w->length);
	qp_done(qp,
		&(struct soft_completion){.id = w->id, .opcode = w->opcode, .length = w->length});
}

void uc_send(struct soft_qp *qp, const struct soft_work *w)
{
	unsigned int psize = qp->connect.mtu ? qp->connect.mtu : LEAST_PAYLOAD;
	uint32_t i, n = packets_of(w->opcode, w->length, psize);
	bool write = w->opcode == MROCE_OP_WRITE || w->opcode == MROCE_OP_WRITE_IMM;
	uint8_t packet[65536];
	struct mroce_wire_uc *u = (void *)packet;

	for (i = 0; i < n; i++) {
		uint32_t offset = i * psize,
			 bytes = w->length - offset < psize ? w->length - offset : psize;

		*u = (struct mroce_wire_uc){
			.dst_qpn = htobe32(qp->connect.qpn),
			.src_qpn = htobe32(qp->qpn),
			.psn = htobe32(qp->psn++),
			.offset = htobe32(offset),
			.length = htobe32(w->length),
			.imm = htobe32(w->imm),
			.addr = htobe64(write ? w->addr + offset : 0),
			.rkey = htobe32(write ? w->rkey : 0),
			.opcode = w->opcode,
			.psize = htobe16(psize),
			.flags = (i ? 0 : MROCE_F_FIRST) | (i == n - 1 ? MROCE_F_LAST : 0) |
				 (w->solicited ? MROCE_F_SOLICITED : 0),
		};
		base(&u->base, MROCE_T_UC, 0, 0, 0, 0);
		memcpy(u + 1, (const uint8_t *)w->data + offset, bytes);
		transmit(qp->soft, source(qp->soft, &qp->connect.to), &qp->connect.to,
			 MROCE_PATH_PORT_BASE + (qp->qpn & 0x3fff), 0, 0, packet,
			 sizeof(*u) + bytes);
	}
	qp_done(qp,
		&(struct soft_completion){.id = w->id, .opcode = w->opcode, .length = w->length});
}

/* The message that is being received is over; its buffer is for the next one ([Y6]) */
static void abandon(struct soft_qp *qp)
{
	if (qp->uc_buffer) {
		qp->uc_buffer->next = qp->receive;
		if (!qp->receive)
			qp->receive_tail = &qp->uc_buffer->next;
		qp->receive = qp->uc_buffer;
		qp->uc_buffer = NULL;
	}
	qp->uc_open = false;
}

static bool uc_place(struct soft_qp *qp, const struct mroce_wire_uc *w, uint32_t bytes)
{
	uint32_t offset = be32toh(w->offset);
	bool write = w->opcode == MROCE_OP_WRITE || w->opcode == MROCE_OP_WRITE_IMM;
	struct region *g;

	if (write) {
		if (w->flags & MROCE_F_LAST && w->opcode == MROCE_OP_WRITE_IMM && !qp->receive)
			return false;
		g = bytes ? region_find(qp->soft, be32toh(w->rkey), be64toh(w->addr), bytes,
					SOFT_WRITE)
			  : NULL;
		if (bytes && (!g || !(qp->access & SOFT_WRITE)))
			return false;
		if (bytes)
			memcpy(g->memory + (be64toh(w->addr) - g->at), w + 1, bytes);
		return true;
	}
	if (w->flags & MROCE_F_FIRST)
		qp->uc_buffer = take(qp);
	if (!qp->uc_buffer || qp->uc_buffer->length < be32toh(w->length))
		return false;
	memcpy(qp->uc_buffer->data + offset, w + 1, bytes);
	return true;
}

void uc_input(struct soft *s, const struct soft_datagram *d)
{
	const struct mroce_wire_uc *w = d->bytes;
	struct soft_qp *qp = qp_find(s, be32toh(w->dst_qpn));
	uint32_t psn = be32toh(w->psn), bytes = d->length - sizeof(*w);
	struct receive *r;

	if (!qp || qp->type != SOFT_UC || (qp->state != SOFT_RTR && qp->state != SOFT_RTS) ||
	    !same(&qp->connect.to, &d->from) || qp->connect.qpn != be32toh(w->src_qpn) ||
	    before(psn, qp->expected)) {
		s->count.dropped++;
		return;
	}
	if (psn != qp->expected || w->flags & MROCE_F_FIRST)
		abandon(qp);
	qp->expected = psn + 1;
	if (w->flags & MROCE_F_FIRST)
		qp->uc_open = true;
	if (!qp->uc_open || !uc_place(qp, w, bytes)) {
		s->count.dropped++;
		abandon(qp);
		return;
	}
	if (!(w->flags & MROCE_F_LAST))
		return;
	qp->uc_open = false;
	if (w->opcode == MROCE_OP_WRITE)
		return;
	r = w->opcode == MROCE_OP_WRITE_IMM ? take(qp) : qp->uc_buffer;
	qp->uc_buffer = NULL;
	qp_done(qp, &(struct soft_completion){
			    .id = r->id,
			    .receive = true,
			    .opcode = w->opcode,
			    .length = be32toh(w->length),
			    .imm = be32toh(w->imm),
			    .with_imm = w->opcode == MROCE_OP_WRITE_IMM ||
					w->opcode == MROCE_OP_SEND_IMM,
		    });
	free(r);
}
