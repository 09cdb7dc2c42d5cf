// SPDX-License-Identifier: GPL-2.0
/*
 * Wire form to host order and back, and the two halves of a train: cutting it
 * into packets and recognising packets that it can be built from again. The
 * wire structures are packed, so nothing here assumes alignment.
 * Pure: untrusted bytes in, no state, no locks, any context.
 */
#include "packet.h"

static void get_base(const struct mroce_wire_base *w, struct mroce_base *b)
{
	b->version = w->version;
	b->type = w->type;
	b->path = w->path;
	b->epoch = w->epoch;
	b->number = be32_to_cpu(w->number);
	b->id = be64_to_cpu(w->id);
}

static void put_base(struct mroce_wire_base *w, const struct mroce_base *b, u8 type, u8 version)
{
	w->version = version;
	w->type = type;
	w->path = b->path;
	w->epoch = b->epoch;
	w->number = cpu_to_be32(b->number);
	w->id = cpu_to_be64(b->id);
}

/*
 * A handshake is how two hosts find out that they speak different
 * versions, so its packets are let through.
 */
static bool version_free(u8 type)
{
	return type == MROCE_T_HELLO || type == MROCE_T_HELLO_ACK;
}

int mroce_parse_base(const void *p, size_t len, struct mroce_base *b)
{
	if (len < sizeof(struct mroce_wire_base))
		return -EBADMSG;
	get_base(p, b);
	if (b->version != MROCE_WIRE_VERSION && !version_free(b->type))
		return -EPROTONOSUPPORT;
	if (!b->version)
		return -EBADMSG;
	if (!b->type || b->type >= MROCE_T_MAX)
		return -EOPNOTSUPP;
	return 0;
}

/* the base header of a packet that must be @size bytes and of type @t1 or @t2 */
static int parse_as(const void *p, size_t len, size_t size, u8 t1, u8 t2, struct mroce_base *b)
{
	int err = mroce_parse_base(p, len, b);

	if (err)
		return err;
	if (b->type != t1 && b->type != t2)
		return -EOPNOTSUPP;
	return len < size ? -EBADMSG : 0;
}

/* May @payload bytes at @offset be packets of a message of @length that is cut into packets? */
static bool is_cut(u32 offset, u32 length, u16 psize, u8 flags, size_t payload)
{
	u64 end = (u64)offset + payload;
	bool last = end == length;

	if (offset % psize || end > length)
		return false;
	if (!!(flags & MROCE_F_FIRST) != !offset || !!(flags & MROCE_F_LAST) != last)
		return false;
	/* only the last packet of a message is short, and only an empty message is empty */
	return (last || !(payload % psize)) && (payload || !length);
}

/* What must hold between the fields of a packet or train whose message is cut into packets. */
static int check_payload(const struct mroce_data *d, size_t payload, u32 *count)
{
	u32 n;

	if (!is_cut(d->offset, d->length, d->psize, d->flags, payload))
		return -EBADMSG;
	/* more than serial numbers can tell apart would look whole at once */
	if (mroce_packets(d->opcode, d->length, d->psize) > BIT(30))
		return -EBADMSG;
	if (payload > (size_t)MROCE_TRAIN_MAX * d->psize)
		return -EBADMSG;
	n = payload ? ((u32)payload - 1) / d->psize + 1 : 1;
	/* a sum over one packet says nothing about those that a segmenter would make of a train */
	if (n > 1 && d->flags & MROCE_F_CRC)
		return -EBADMSG;
	*count = n;
	return 0;
}

size_t mroce_data_payload(const void *p, size_t left)
{
	const struct mroce_wire_data *w = p;

	if (w->opcode >= ARRAY_SIZE(mroce_opinfo) || ~w->flags & (MROCE_F_FIRST | MROCE_F_LAST))
		return left;
	if (!mroce_opinfo[w->opcode].payload)
		return min_t(size_t, left, mroce_opinfo[w->opcode].fixed);
	return min_t(size_t, left, be32_to_cpu(w->length));
}

int mroce_parse_data(const void *p, size_t len, size_t payload, struct mroce_data *d, u32 *count)
{
	const struct mroce_wire_data *w = p;
	const struct mroce_opinfo *info;
	int err;

	err = parse_as(p, len, sizeof(*w), MROCE_T_DATA, MROCE_T_DATA, &d->base);
	if (err)
		return err;
	if (w->opcode >= ARRAY_SIZE(mroce_opinfo) || !mroce_opinfo[w->opcode].valid)
		return -EOPNOTSUPP;
	info = &mroce_opinfo[w->opcode];

	d->stream = be32_to_cpu(w->stream);
	d->spn = be32_to_cpu(w->spn);
	d->msn = be32_to_cpu(w->msn);
	d->rsn = be32_to_cpu(w->rsn);
	d->offset = be32_to_cpu(w->offset);
	d->length = be32_to_cpu(w->length);
	d->addr = be64_to_cpu(w->addr);
	d->rkey = be32_to_cpu(w->rkey);
	d->imm = be32_to_cpu(w->imm);
	d->opcode = w->opcode;
	d->flags = w->flags;
	d->psize = be16_to_cpu(w->psize);
	d->stamp = be32_to_cpu(w->stamp);
	d->backlog = be32_to_cpu(w->backlog);
	d->floor = be32_to_cpu(w->floor);
	d->crc = be32_to_cpu(w->crc);

	/* everybody divides by the payload size, also for messages that have no payload */
	if (!d->psize)
		return -EBADMSG;
	if (!!(d->flags & MROCE_F_RESPONSE) != info->response)
		return -EBADMSG;
	if (info->payload)
		return check_payload(d, payload, count);
	if (d->offset || ~d->flags & (MROCE_F_FIRST | MROCE_F_LAST) || payload != info->fixed)
		return -EBADMSG;
	*count = 1;
	return 0;
}

bool mroce_begins_run(const struct mroce_data *d, struct mroce_small *run)
{
	const struct mroce_opinfo *info = &mroce_opinfo[d->opcode];

	if (!info->payload || info->response || info->inv || d->flags & MROCE_F_CRC ||
	    ~d->flags & (MROCE_F_FIRST | MROCE_F_LAST))
		return false;
	*run = (struct mroce_small){
		.addr = d->addr,
		.length = d->length,
		.rkey = d->rkey,
		.imm = d->imm,
		.flags = d->flags,
	};
	return true;
}

bool mroce_joins_run(const void *p, size_t left, u32 i, struct mroce_data *d,
		     struct mroce_small *m)
{
	const u8 fixed = MROCE_F_FIRST | MROCE_F_LAST | MROCE_F_RESPONSE | MROCE_F_CRC;
	const struct mroce_wire_data *w = p;
	u32 receives = mroce_opinfo[d->opcode].receive ? i : 0;

	if (w->base.version != d->base.version || w->base.type != d->base.type ||
	    w->base.path != d->base.path || w->base.epoch != d->base.epoch ||
	    w->base.id != cpu_to_be64(d->base.id) || w->stream != cpu_to_be32(d->stream) ||
	    w->opcode != d->opcode || w->psize != cpu_to_be16(d->psize) ||
	    w->stamp != cpu_to_be32(d->stamp) || w->offset ||
	    (w->flags & fixed) != (MROCE_F_FIRST | MROCE_F_LAST))
		return false;
	if (be32_to_cpu(w->base.number) != d->base.number + i ||
	    be32_to_cpu(w->spn) != d->spn + i || be32_to_cpu(w->msn) != d->msn + i ||
	    be32_to_cpu(w->rsn) != d->rsn + receives)
		return false;
	m->length = be32_to_cpu(w->length);
	if (m->length > d->psize || m->length > left)
		return false;
	m->addr = be64_to_cpu(w->addr);
	m->rkey = be32_to_cpu(w->rkey);
	m->imm = be32_to_cpu(w->imm);
	m->flags = w->flags;
	d->flags |= m->flags & (MROCE_F_ACKREQ | MROCE_F_HELD_BACK);
	d->backlog = be32_to_cpu(w->backlog);
	d->floor = be32_to_cpu(w->floor);
	return true;
}

size_t mroce_build_data(void *p, const struct mroce_data *d)
{
	struct mroce_wire_data *w = p;

	put_base(&w->base, &d->base, MROCE_T_DATA, MROCE_WIRE_VERSION);
	w->stream = cpu_to_be32(d->stream);
	w->spn = cpu_to_be32(d->spn);
	w->msn = cpu_to_be32(d->msn);
	w->rsn = cpu_to_be32(d->rsn);
	w->offset = cpu_to_be32(d->offset);
	w->length = cpu_to_be32(d->length);
	w->addr = cpu_to_be64(d->addr);
	w->rkey = cpu_to_be32(d->rkey);
	w->imm = cpu_to_be32(d->imm);
	w->opcode = d->opcode;
	w->flags = d->flags;
	w->psize = cpu_to_be16(d->psize);
	w->stamp = cpu_to_be32(d->stamp);
	w->backlog = cpu_to_be32(d->backlog);
	w->floor = cpu_to_be32(d->floor);
	w->crc = cpu_to_be32(d->crc);
	return sizeof(*w);
}

static int get_record(const struct mroce_wire_record *w, struct mroce_record_news *r)
{
	r->kind = w->kind;
	r->reason = w->reason;
	r->flags = w->flags;
	r->timer = w->timer;
	r->stream = be32_to_cpu(w->stream);
	r->spn = be32_to_cpu(w->spn);
	r->number = be32_to_cpu(w->number);
	r->value = be32_to_cpu(w->value);

	if (r->kind < MROCE_R_CREDIT || r->kind > MROCE_R_FLOOR)
		return -EBADMSG;
	if (r->kind == MROCE_R_NACK && (r->reason == MROCE_N_NONE || r->reason >= MROCE_N_MAX))
		return -EBADMSG;
	return 0;
}

int mroce_parse_ack(const void *p, size_t len, struct mroce_ack *a)
{
	const struct mroce_wire_ack *w = p;
	const struct mroce_wire_record *r;
	int err, i;

	err = parse_as(p, len, sizeof(*w), MROCE_T_ACK, MROCE_T_ACK, &a->base);
	if (err)
		return err;
	if (w->nrecords > MROCE_MAX_RECORDS || len < sizeof(*w) + w->nrecords * sizeof(*r))
		return -EBADMSG;

	a->anchor = be32_to_cpu(w->anchor);
	a->echo = be32_to_cpu(w->echo);
	a->delay = be32_to_cpu(w->delay);
	a->packets = be32_to_cpu(w->packets);
	a->ce = be32_to_cpu(w->ce);
	a->bytes = be64_to_cpu(w->bytes);
	a->share = be32_to_cpu(w->share);
	a->allowance = be32_to_cpu(w->allowance);
	a->flags = w->flags;
	a->nrecords = w->nrecords;
	a->active = be16_to_cpu(w->active);
	for (i = 0; i < MROCE_BITMAP_WORDS; i++)
		a->bitmap[i] = be64_to_cpu(w->bitmap[i]);
	if (mroce_seq_after(a->anchor, a->base.number))
		return -EBADMSG;

	r = (const struct mroce_wire_record *)(w + 1);
	for (i = 0; i < a->nrecords; i++) {
		err = get_record(r + i, &a->record[i]);
		if (err)
			return err;
	}
	return 0;
}

size_t mroce_build_ack(void *p, const struct mroce_ack *a)
{
	unsigned int i, n = min_t(unsigned int, a->nrecords, MROCE_MAX_RECORDS);
	struct mroce_wire_record *r;
	struct mroce_wire_ack *w = p;

	put_base(&w->base, &a->base, MROCE_T_ACK, MROCE_WIRE_VERSION);
	w->anchor = cpu_to_be32(a->anchor);
	w->echo = cpu_to_be32(a->echo);
	w->delay = cpu_to_be32(a->delay);
	w->packets = cpu_to_be32(a->packets);
	w->ce = cpu_to_be32(a->ce);
	w->bytes = cpu_to_be64(a->bytes);
	w->share = cpu_to_be32(a->share);
	w->allowance = cpu_to_be32(a->allowance);
	w->flags = a->flags;
	w->nrecords = n;
	w->active = cpu_to_be16(a->active);
	for (i = 0; i < MROCE_BITMAP_WORDS; i++)
		w->bitmap[i] = cpu_to_be64(a->bitmap[i]);

	r = (struct mroce_wire_record *)(w + 1);
	for (i = 0; i < n; i++) {
		r[i].kind = a->record[i].kind;
		r[i].reason = a->record[i].reason;
		r[i].flags = a->record[i].flags;
		r[i].timer = a->record[i].timer;
		r[i].stream = cpu_to_be32(a->record[i].stream);
		r[i].spn = cpu_to_be32(a->record[i].spn);
		r[i].number = cpu_to_be32(a->record[i].number);
		r[i].value = cpu_to_be32(a->record[i].value);
	}
	return sizeof(*w) + n * sizeof(*r);
}

int mroce_parse_control(const void *p, size_t len, struct mroce_control *c)
{
	const struct mroce_wire_control *w = p;
	int err;
	u8 type;

	err = parse_as(p, len, sizeof(*w), MROCE_T_CONTROL, MROCE_T_PROBE, &c->base);
	if (err)
		return err;
	c->op = w->op;
	c->flags = w->flags;
	c->length = be16_to_cpu(w->length);
	c->stream = be32_to_cpu(w->stream);
	c->value = be32_to_cpu(w->value);
	c->stamp = be32_to_cpu(w->stamp);

	if (c->op < MROCE_C_CLOSE || c->op > MROCE_C_PROBE)
		return -EOPNOTSUPP;
	type = c->op == MROCE_C_PROBE ? MROCE_T_PROBE : MROCE_T_CONTROL;
	return c->base.type == type ? 0 : -EBADMSG;
}

size_t mroce_build_control(void *p, const struct mroce_control *c)
{
	u8 type = c->op == MROCE_C_PROBE ? MROCE_T_PROBE : MROCE_T_CONTROL;
	struct mroce_wire_control *w = p;

	put_base(&w->base, &c->base, type, MROCE_WIRE_VERSION);
	w->op = c->op;
	w->flags = c->flags;
	w->length = cpu_to_be16(c->length);
	w->stream = cpu_to_be32(c->stream);
	w->value = cpu_to_be32(c->value);
	w->stamp = cpu_to_be32(c->stamp);
	return sizeof(*w);
}

#define QPN_MASK	0xffffffu
#define LOG_WINDOW_MAX	17	/* rule 5: windows of up to 2^17 */

int mroce_parse_open(const void *p, size_t len, struct mroce_open *o)
{
	const struct mroce_wire_open *w = p;
	int err;

	err = parse_as(p, len, sizeof(*w), MROCE_T_OPEN, MROCE_T_OPEN_REPLY, &o->base);
	if (err)
		return err;
	o->own_qpn = be32_to_cpu(w->own_qpn);
	o->peer_qpn = be32_to_cpu(w->peer_qpn);
	o->psn = be32_to_cpu(w->psn);
	o->stream = be32_to_cpu(w->stream);
	o->to = be32_to_cpu(w->to);
	o->credit = be32_to_cpu(w->credit);
	o->attempt = be32_to_cpu(w->attempt);
	o->log_packets = w->log_packets;
	o->log_messages = w->log_messages;
	o->status = w->status;
	o->reads = w->reads;
	o->flags = w->flags;
	o->kind = w->kind;
	o->stamp = be32_to_cpu(w->stamp);

	if (o->own_qpn & ~QPN_MASK || o->peer_qpn & ~QPN_MASK)
		return -EBADMSG;
	if (o->log_packets > LOG_WINDOW_MAX || o->log_messages > LOG_WINDOW_MAX)
		return -EBADMSG;
	if (o->base.type == MROCE_T_OPEN_REPLY && o->status > MROCE_OPEN_REFUSED)
		return -EBADMSG;
	/* toward 0 nothing is ever sent: the stream would be open and wait without a deadline */
	if (!o->stream && (o->base.type == MROCE_T_OPEN || o->status == MROCE_OPEN_ACCEPT))
		return -EBADMSG;
	return 0;
}

size_t mroce_build_open(void *p, const struct mroce_open *o)
{
	struct mroce_wire_open *w = p;

	put_base(&w->base, &o->base, o->base.type, MROCE_WIRE_VERSION);
	w->own_qpn = cpu_to_be32(o->own_qpn);
	w->peer_qpn = cpu_to_be32(o->peer_qpn);
	w->psn = cpu_to_be32(o->psn);
	w->stream = cpu_to_be32(o->stream);
	w->to = cpu_to_be32(o->to);
	w->credit = cpu_to_be32(o->credit);
	w->attempt = cpu_to_be32(o->attempt);
	w->log_packets = o->log_packets;
	w->log_messages = o->log_messages;
	w->status = o->status;
	w->reads = o->reads;
	w->flags = o->flags;
	w->kind = o->kind;
	memset(w->reserved, 0, sizeof(w->reserved));
	w->stamp = cpu_to_be32(o->stamp);
	return sizeof(*w);
}

#define NPATHS_MAX	64

int mroce_parse_hello(const void *p, size_t len, struct mroce_hello *h)
{
	const struct mroce_wire_hello *w = p;
	int err, i;

	err = parse_as(p, len, sizeof(*w), MROCE_T_HELLO, MROCE_T_HELLO_ACK, &h->base);
	if (err)
		return err;
	h->version_min = w->version_min;
	h->version_max = w->version_max;
	h->npaths = w->npaths;
	h->nplanes = w->nplanes;
	h->flags = w->flags;
	h->reason = w->reason;
	h->max_payload = be16_to_cpu(w->max_payload);
	h->own_id = be64_to_cpu(w->own_id);
	h->instance = be64_to_cpu(w->instance);
	h->half = be32_to_cpu(w->half);
	h->serial = be32_to_cpu(w->serial);
	h->nonce = be64_to_cpu(w->nonce);
	memcpy(h->cookie, w->cookie, sizeof(h->cookie));
	memcpy(h->to, w->to, sizeof(h->to));
	for (i = 0; i < MROCE_MAX_PLANES; i++) {
		memcpy(h->plane[i].addr, w->plane[i].addr, sizeof(h->plane[i].addr));
		h->plane[i].mtu = be16_to_cpu(w->plane[i].mtu);
		h->plane[i].flags = be16_to_cpu(w->plane[i].flags);
		h->plane[i].speed = be32_to_cpu(w->plane[i].speed);
	}

	if (!h->version_min || h->version_min > h->version_max)
		return -EBADMSG;
	if (h->nplanes > MROCE_MAX_PLANES || h->npaths > NPATHS_MAX)
		return -EBADMSG;
	/* an answer that makes no half need not name any */
	if (h->base.type == MROCE_T_HELLO && (!h->nplanes || !h->npaths))
		return -EBADMSG;
	return 0;
}

size_t mroce_build_hello(void *p, const struct mroce_hello *h)
{
	unsigned int i, n = min_t(unsigned int, h->nplanes, MROCE_MAX_PLANES);
	struct mroce_wire_hello *w = p;

	memset(w, 0, sizeof(*w));
	put_base(&w->base, &h->base, h->base.type, h->version_min);
	w->version_min = h->version_min;
	w->version_max = h->version_max;
	w->npaths = h->npaths;
	w->nplanes = n;
	w->flags = h->flags;
	w->reason = h->reason;
	w->max_payload = cpu_to_be16(h->max_payload);
	w->own_id = cpu_to_be64(h->own_id);
	w->instance = cpu_to_be64(h->instance);
	w->half = cpu_to_be32(h->half);
	w->serial = cpu_to_be32(h->serial);
	w->nonce = cpu_to_be64(h->nonce);
	memcpy(w->cookie, h->cookie, sizeof(w->cookie));
	memcpy(w->to, h->to, sizeof(w->to));
	for (i = 0; i < n; i++) {
		memcpy(w->plane[i].addr, h->plane[i].addr, sizeof(w->plane[i].addr));
		w->plane[i].mtu = cpu_to_be16(h->plane[i].mtu);
		w->plane[i].flags = cpu_to_be16(h->plane[i].flags);
		w->plane[i].speed = cpu_to_be32(h->plane[i].speed);
	}
	return sizeof(*w);
}

int mroce_parse_verify(const void *p, size_t len, struct mroce_verify *v)
{
	const struct mroce_wire_verify *w = p;
	int err;

	err = parse_as(p, len, sizeof(*w), MROCE_T_VERIFY, MROCE_T_VERIFY, &v->base);
	if (err)
		return err;
	v->nonce = be64_to_cpu(w->nonce);
	v->echo = be64_to_cpu(w->echo);
	v->flags = w->flags;
	/* 0 stands for none */
	if (!v->nonce || (v->flags & MROCE_V_REPLY && !v->echo))
		return -EBADMSG;
	return 0;
}

int mroce_parse_reset(const void *p, size_t len, struct mroce_reset *r)
{
	const struct mroce_wire_reset *w = p;
	int err;

	err = parse_as(p, len, sizeof(*w), MROCE_T_RESET, MROCE_T_RESET, &r->base);
	if (err)
		return err;
	r->type = w->type;
	r->instance = be64_to_cpu(w->instance);
	/* nobody answers a RESET, so none can be about one */
	if (!r->type || r->type >= MROCE_T_MAX || r->type == MROCE_T_RESET)
		return -EBADMSG;
	return 0;
}

size_t mroce_build_verify(void *p, const struct mroce_verify *v)
{
	struct mroce_wire_verify *w = p;

	memset(w, 0, sizeof(*w));
	put_base(&w->base, &v->base, MROCE_T_VERIFY, MROCE_WIRE_VERSION);
	w->nonce = cpu_to_be64(v->nonce);
	w->echo = cpu_to_be64(v->echo);
	w->flags = v->flags;
	return sizeof(*w);
}

size_t mroce_build_reset(void *p, const struct mroce_reset *r)
{
	struct mroce_wire_reset *w = p;

	put_base(&w->base, &r->base, MROCE_T_RESET, MROCE_WIRE_VERSION);
	w->type = r->type;
	memset(w->reserved, 0, sizeof(w->reserved));
	w->instance = cpu_to_be64(r->instance);
	return sizeof(*w);
}

int mroce_parse_ud(const void *p, size_t len, struct mroce_ud *u)
{
	const struct mroce_wire_ud *w = p;
	int err;

	err = parse_as(p, len, sizeof(*w), MROCE_T_UD, MROCE_T_UD, &u->base);
	if (err)
		return err;
	u->dst_qpn = be32_to_cpu(w->dst_qpn);
	u->src_qpn = be32_to_cpu(w->src_qpn);
	u->qkey = be32_to_cpu(w->qkey);
	u->imm = be32_to_cpu(w->imm);
	u->pkey = be16_to_cpu(w->pkey);
	u->flags = w->flags;
	u->length = be32_to_cpu(w->length);
	if (u->dst_qpn & ~QPN_MASK || u->src_qpn & ~QPN_MASK)
		return -EBADMSG;
	return 0;
}

size_t mroce_build_ud(void *p, const struct mroce_ud *u)
{
	struct mroce_wire_ud *w = p;

	put_base(&w->base, &u->base, MROCE_T_UD, MROCE_WIRE_VERSION);
	w->dst_qpn = cpu_to_be32(u->dst_qpn);
	w->src_qpn = cpu_to_be32(u->src_qpn);
	w->qkey = cpu_to_be32(u->qkey);
	w->imm = cpu_to_be32(u->imm);
	w->pkey = cpu_to_be16(u->pkey);
	w->flags = u->flags;
	w->reserved = 0;
	w->length = cpu_to_be32(u->length);
	return sizeof(*w);
}

int mroce_parse_uc(const void *p, size_t len, size_t payload, struct mroce_uc *u)
{
	const struct mroce_wire_uc *w = p;
	int err;

	err = parse_as(p, len, sizeof(*w), MROCE_T_UC, MROCE_T_UC, &u->base);
	if (err)
		return err;
	if (w->opcode >= ARRAY_SIZE(mroce_opinfo) || !mroce_opinfo[w->opcode].uc)
		return -EOPNOTSUPP;
	u->dst_qpn = be32_to_cpu(w->dst_qpn);
	u->src_qpn = be32_to_cpu(w->src_qpn);
	u->psn = be32_to_cpu(w->psn);
	u->offset = be32_to_cpu(w->offset);
	u->length = be32_to_cpu(w->length);
	u->addr = be64_to_cpu(w->addr);
	u->rkey = be32_to_cpu(w->rkey);
	u->imm = be32_to_cpu(w->imm);
	u->opcode = w->opcode;
	u->flags = w->flags;
	u->psize = be16_to_cpu(w->psize);
	if (u->dst_qpn & ~QPN_MASK || u->src_qpn & ~QPN_MASK || !u->psize)
		return -EBADMSG;
	/* that no sum of these overflows, the range check of the region finds out */
	if (payload > u->psize || !is_cut(u->offset, u->length, u->psize, u->flags, payload))
		return -EBADMSG;
	return 0;
}

size_t mroce_build_uc(void *p, const struct mroce_uc *u)
{
	struct mroce_wire_uc *w = p;

	put_base(&w->base, &u->base, MROCE_T_UC, MROCE_WIRE_VERSION);
	w->dst_qpn = cpu_to_be32(u->dst_qpn);
	w->src_qpn = cpu_to_be32(u->src_qpn);
	w->psn = cpu_to_be32(u->psn);
	w->offset = cpu_to_be32(u->offset);
	w->length = cpu_to_be32(u->length);
	w->addr = cpu_to_be64(u->addr);
	w->rkey = cpu_to_be32(u->rkey);
	w->imm = cpu_to_be32(u->imm);
	w->opcode = u->opcode;
	w->flags = u->flags;
	w->psize = cpu_to_be16(u->psize);
	return sizeof(*w);
}

/* of a train these are the last packet's; of a message FIRST is the first packet's */
#define LAST_ONLY	(MROCE_F_LAST | MROCE_F_ACKREQ)

void mroce_cut_data(void *wire, u32 i, u32 count)
{
	struct mroce_wire_data *w = wire;
	u32 step = i * be16_to_cpu(w->psize);

	w->base.number = cpu_to_be32(be32_to_cpu(w->base.number) + i);
	w->spn = cpu_to_be32(be32_to_cpu(w->spn) + i);
	w->offset = cpu_to_be32(be32_to_cpu(w->offset) + step);
	/* the segmenter may be handed anything: an unknown opcode has no address */
	if (w->opcode < ARRAY_SIZE(mroce_opinfo) && mroce_opinfo[w->opcode].rdma)
		w->addr = cpu_to_be64(be64_to_cpu(w->addr) + step);
	if (i)
		w->flags &= ~MROCE_F_FIRST;
	if (i + 1 < count)
		w->flags &= ~LAST_ONLY;
}

bool mroce_joins_data(const void *wire, u32 count, const void *next)
{
	const struct mroce_wire_data *n = next;
	struct mroce_wire_data want;

	memcpy(&want, wire, sizeof(want));
	if (want.base.type != MROCE_T_DATA || count >= MROCE_TRAIN_MAX)
		return false;
	if (want.opcode >= ARRAY_SIZE(mroce_opinfo) || !mroce_opinfo[want.opcode].payload)
		return false;
	if (want.flags & (LAST_ONLY | MROCE_F_CRC))
		return false;
	mroce_cut_data(&want, count, count + 1);
	want.flags |= n->flags & LAST_ONLY;
	return !memcmp(&want, n, sizeof(want));
}
