// SPDX-License-Identifier: GPL-2.0
/* OPEN: what is accepted and what is not; streams that end. Clauses S. */
#include <stdio.h>
#include <string.h>

#include "script.h"

static bool replies(const struct packet *p, const void *what)
{
	return base_of(p)->id == htobe64(((const struct out *)what)->own_id);
}

/* The status of the answer to this OPEN */
static const struct mroce_wire_open *ask_open(struct t *t, struct stream *s,
					      struct mroce_wire_open *w)
{
	static struct mroce_wire_open answer;
	struct packet *p;

	forget(t);
	send_numbered(t, s->out, 0, w, sizeof(*w));
	p = wait_for(t, MROCE_T_OPEN_REPLY, replies, s->out, 2000);
	need(t, p, "OPEN is not answered");
	memcpy(&answer, p->bytes, sizeof(answer));
	need(t, p->d.port == s->out->path[0].port, "the answer comes from port %u, OPEN from %u",
	     p->d.port, s->out->path[0].port);
	need(t, (p->d.tos & 3) == NOT_ECT, "OPEN_REPLY has TOS %02x", p->d.tos);
	return &answer;
}

static struct stream *not_opened(struct t *t)
{
	return connected_with(t, &(struct attributes){DEFAULTS, .no_open = true, .no_rts = true});
}

static void accepted(struct t *t, long arg)
{
	struct stream *s = not_opened(t);
	const struct mroce_wire_open *a;
	struct mroce_wire_open w;
	uint32_t id;

	(void)arg;
	open_make(s, &w, 1);
	a = ask_open(t, s, &w);
	need(t, a->status == MROCE_OPEN_ACCEPT, "status %u", a->status);
	need(t, a->stream, "stream id 0");
	need(t, be32toh(a->to) == s->own, "to is %x, the opener's stream id is %x", be32toh(a->to),
	     s->own);
	need(t, be32toh(a->attempt) == 1, "attempt %u", be32toh(a->attempt));
	need(t, be32toh(a->own_qpn) == s->target_qpn && be32toh(a->peer_qpn) == s->qpn,
	     "queue pairs %u and %u", be32toh(a->own_qpn), be32toh(a->peer_qpn));
	need(t, a->log_packets >= 6 && a->log_packets <= 17, "window of 2^%u packets",
	     a->log_packets);
	need(t, a->base.path == 0 && a->base.epoch == s->out->path[0].epoch, "path %u, epoch %u",
	     a->base.path, a->base.epoch);
	id = be32toh(a->stream);
	/* again: the same */
	open_make(s, &w, 2);
	a = ask_open(t, s, &w);
	need(t, a->status == MROCE_OPEN_ACCEPT && be32toh(a->stream) == id,
	     "OPEN again: status %u, stream %x", a->status, be32toh(a->stream));
	need(t, be32toh(a->attempt) == 2, "its answer is to attempt %u", be32toh(a->attempt));
}

enum wrong { PSN, OWN_QP, PEER, NO_QP, OTHER_STREAM, OTHER_HALF, NOT_RTR, ERROR };

static void not_accepted(struct t *t, long arg)
{
	struct stream *s = not_opened(t);
	const struct mroce_wire_open *a;
	struct mroce_wire_open w;
	struct out *o = s->out;

	open_make(s, &w, 1);
	switch (arg) {
	case PSN:
		w.psn = htobe32(s->psn + 1);
		break;
	case OWN_QP:
		w.own_qpn = htobe32(s->qpn + 1);
		break;
	case PEER:
		w.peer_qpn = htobe32((s->target_qpn + 0x1234) & 0xffffff);
		break;
	case NO_QP:
		ask(t, "drop %u", s->qp);
		break;
	case OTHER_STREAM:
		need(t, stream_open(t, s), "OPEN is not accepted");
		w.stream = htobe32(s->own + 2);
		w.attempt = htobe32(9);
		s->own += 2;
		break;
	case OTHER_HALF:
		need(t, stream_open(t, s), "OPEN is not accepted");
		s->out = o = out_new(t, s->peer);
		w.attempt = htobe32(9);
		break;
	case NOT_RTR:
		sscanf(ask(t, "qp rc %x 16 16 -1", ACCESS_ALL), "%u %u", &s->qp, &s->target_qpn);
		w.peer_qpn = htobe32(s->target_qpn);
		break;
	case ERROR:
		ask(t, "modify %u 6", s->qp);
		break;
	}
	a = ask_open(t, s, &w);
	need(t, a->status == MROCE_OPEN_NOT_READY || a->status == MROCE_OPEN_REFUSED,
	     "it is accepted, status %u", a->status);
}

/* Who only says that he is the peer: another address, the same instance */
static void not_the_peer(struct t *t, long arg)
{
	struct stream *s;
	struct peer *impostor;
	struct out *o;
	const struct mroce_wire_open *a;
	struct mroce_wire_open w;
	uint64_t instance;

	(void)arg;
	s = not_opened(t);
	impostor = peer_fresh(t);
	instance = impostor->instance;
	impostor->instance = s->peer->instance;
	o = out_new(t, impostor);
	impostor->instance = instance;
	s->out = o;
	t->auto_hello = false;
	open_make(s, &w, 1);
	a = ask_open(t, s, &w);
	need(t, a->status != MROCE_OPEN_ACCEPT,
	     "who has another address, and proves nothing, opens the stream");
}

static void wrong_stream(struct t *t, long arg)
{
	struct stream *s = connected(t);
	uint8_t bytes[64], zero[64] = {0};
	struct message m;

	pattern(bytes, sizeof(bytes), 1);
	m = write_at(s, 0, bytes, sizeof(bytes));
	s->id ^= 1 << arg;
	not_taken(t, s->out, 0, message_send(t, &m, 0, 0), "a packet of a stream that is none");
	s->id ^= 1 << arg;
	memory_is(t, s, 0, zero, sizeof(zero), "it is dropped: the memory");
	message_send(t, &m, 0, 0);
	still_works(t, s);
}

/* By another half than the one that it is attached to */
static void wrong_half(struct t *t, long arg)
{
	struct stream *s = connected(t);
	struct out *o = s->out, *other = out_new(t, s->peer);
	uint8_t bytes[64], zero[64] = {0};
	struct message m;

	(void)arg;
	pattern(bytes, sizeof(bytes), 1);
	m = write_at(s, 0, bytes, sizeof(bytes));
	s->out = other;
	not_taken(t, other, 0, message_send(t, &m, 0, 0),
		  "a packet of a stream that is attached to another half");
	s->out = o;
	memory_is(t, s, 0, zero, sizeof(zero), "it is dropped: the memory");
	message_send(t, &m, 0, 0);
	still_works(t, s);
}

static void unknown_control(struct t *t, long arg)
{
	struct stream *s = connected(t);

	taken(t, s->out, 0, control_send(t, s->out, 0, arg, s->id ^ 0x5555, 1),
	      "CONTROL for a stream that is not known");
	still_works(t, s);
}

/* A queue pair that only responds: it opens nothing and its requests are served */
static void responder_only(struct t *t, long arg)
{
	struct attributes a = {DEFAULTS, .no_rts = true};
	struct stream *s = connected_with(t, &a);
	struct packet *p;
	struct message m;

	(void)arg;
	m = read_at(s, 0, 64);
	message_send_all(t, &m, 0);
	p = response_for(t, s, MROCE_OP_READ_RESP);
	need(t, p->data.stream == s->own, "a response of a queue pair in RTR has stream id %x",
	     p->data.stream);
}

static void ids_fresh(struct t *t, long arg)
{
	uint32_t ids[12];
	int i, k;

	(void)arg;
	for (i = 0; i < 12; i++) {
		struct stream *s =
			connected_with(t, &(struct attributes){DEFAULTS, .no_rts = true});

		ids[i] = s->id;
		need(t, s->id, "stream id 0");
		for (k = 0; k < i; k++)
			need(t, ids[k] != ids[i], "a stream id is used again");
		ask(t, "drop %u", s->qp);
	}
}

static void many(struct t *t, long arg)
{
	struct out *o = out_new(t, peer_main(t));
	struct stream *s[20];
	long i;

	for (i = 0; i < arg; i++)
		s[i] = stream_new(t, o, &(struct attributes){DEFAULTS, .no_rts = true});
	for (i = 0; i < arg; i++)
		still_works(t, s[i]);
}

static const struct test_case cases[] = {
	{"accepted", "S3 S1 S2 D1 D4",
	 "OPEN is accepted, each field of the answer is as its table says, and again alike",
	 accepted},
	{"psn", "S3", "OPEN with another PSN than is expected is not accepted", not_accepted, PSN},
	{"own-qpn", "S3", "OPEN of another queue pair than the one that is connected to is not",
	 not_accepted, OWN_QP},
	{"peer-qpn", "S3", "OPEN to a queue pair that is none is not", not_accepted, PEER},
	{"dropped", "S3", "OPEN to a queue pair that was destroyed is not", not_accepted, NO_QP},
	{"other-stream", "S3", "OPEN with another stream id than before is not", not_accepted,
	 OTHER_STREAM},
	{"other-half", "S3", "OPEN by another half than before is not", not_accepted, OTHER_HALF},
	{"not-rtr", "S3", "OPEN to a queue pair that is not in RTR is not", not_accepted, NOT_RTR},
	{"error", "S3", "OPEN to a queue pair in the error state is not", not_accepted, ERROR},
	{"impostor", "S3", "an instance alone proves nothing", not_the_peer},
	{"unknown", "S6", "DATA of a stream that is none is dropped, its bit clear", wrong_stream,
	 0, 2},
	{"unknown", "S6", "DATA of a stream that is none is dropped, its bit clear", wrong_stream,
	 31},
	{"wrong-half", "S6", "DATA by a half that the stream is not attached to is dropped",
	 wrong_half},
	{"unknown-close", "S8", "CLOSE for a stream that is not known is acknowledged",
	 unknown_control, MROCE_C_CLOSE},
	{"unknown-credit", "S8", "CREDIT for a stream that is not known is acknowledged",
	 unknown_control, MROCE_C_CREDIT},
	{"responder", "S4",
	 "a queue pair that only responds answers with the stream id that OPEN gave",
	 responder_only},
	{"ids", "S1", "stream ids are not 0 and not used again", ids_fresh},
	{"many", "S3 C2", "one half carries many streams", many, 20},
};
CHAPTER(streams, "Streams: OPEN, CLOSE, who may send");
