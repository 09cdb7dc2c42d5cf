// SPDX-License-Identifier: GPL-2.0
/*
 * Connecting with rdma_cm: the server listens on the control connection's own
 * address, one port above it; the client's private data say which queue pair a
 * request is for. Used by the end's main thread only.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include "load.h"

#define WAIT_MS	30000

struct greeting {
	uint64_t nonce;		/* big-endian, like idx */
	uint32_t idx;
} __attribute__((packed));

static uint64_t swap64(uint64_t x)
{
	return htonl(1) == 1 ? x : __builtin_bswap64(x);
}

/* an IPv4 address in IPv6 clothes means the IPv4 address to rdma_cm */
static void unmap(struct sockaddr_storage *ss, int port)
{
	struct sockaddr_in6 *in6 = (void *)ss;
	struct sockaddr_in in = { .sin_family = AF_INET };

	if (ss->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		memcpy(&in.sin_addr, in6->sin6_addr.s6_addr + 12, 4);
		memset(ss, 0, sizeof(*ss));
		memcpy(ss, &in, sizeof(in));
	}
	if (ss->ss_family == AF_INET6)
		in6->sin6_port = htons(port);
	else
		((struct sockaddr_in *)ss)->sin_port = htons(port);
}

static int server_addr(struct side *s)
{
	socklen_t len = sizeof(s->addr);
	struct addrinfo *ai, hint = { .ai_family = s->o->family };
	int rc;

	if (s->o->self) {
		rc = getaddrinfo(s->o->host, NULL, &hint, &ai);
		if (rc) {
			fprintf(stderr, "mroce-load: %s: %s\n", s->o->host, gai_strerror(rc));
			return -1;
		}
		memcpy(&s->addr, ai->ai_addr, ai->ai_addrlen);
		freeaddrinfo(ai);
	} else {
		rc = s->dir ? getsockname(s->ctl, (void *)&s->addr, &len) :
			      getpeername(s->ctl, (void *)&s->addr, &len);
		if (rc)
			return -1;
	}
	unmap(&s->addr, s->o->port + 1);
	return 0;
}

/* waits for an event; its private data are copied, the event is acknowledged */
static int next_event(struct side *s, struct rdma_cm_event *out, struct greeting *g)
{
	struct pollfd pf = { .fd = s->ec->fd, .events = POLLIN };
	struct rdma_cm_event *ev;
	int rc;

	do
		rc = poll(&pf, 1, WAIT_MS);
	while (rc < 0 && errno == EINTR);
	if (rc <= 0) {
		fprintf(stderr, "mroce-load: rdma_cm: no answer in %d s\n", WAIT_MS / 1000);
		return -1;
	}
	if (rdma_get_cm_event(s->ec, &ev))
		return -1;
	*out = *ev;
	if (g) {
		memset(g, 0xff, sizeof(*g));
		if (ev->param.conn.private_data &&
		    ev->param.conn.private_data_len >= sizeof(*g))
			memcpy(g, ev->param.conn.private_data, sizeof(*g));
	}
	rdma_ack_cm_event(ev);
	return 0;
}

static int expect(struct side *s, enum rdma_cm_event_type want)
{
	struct rdma_cm_event ev;

	if (next_event(s, &ev, NULL))
		return -1;
	if (ev.event == want)
		return 0;
	fprintf(stderr, "mroce-load: rdma_cm: %s (status %d) instead of %s\n",
		rdma_event_str(ev.event), ev.status, rdma_event_str(want));
	return -1;
}

static int resolve(struct side *s, struct rdma_cm_id *id)
{
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&s->addr, 5000)) {
		fprintf(stderr, "mroce-load: rdma_resolve_addr: %m\n");
		return -1;
	}
	return expect(s, RDMA_CM_EVENT_ADDR_RESOLVED);
}

/* finds the device by address; the server listens from now on */
int cm_open(struct side *s)
{
	if (server_addr(s))
		return EXIT_SETUP;
	s->ec = rdma_create_event_channel();
	if (!s->ec || rdma_create_id(s->ec, &s->listener, s, RDMA_PS_TCP)) {
		fprintf(stderr, "mroce-load: no rdma_cm: %m\n");
		return EXIT_SETUP;
	}
	if (!s->dir) {
		if (resolve(s, s->listener))
			return EXIT_SETUP;
	} else {
		rdma_set_option(s->listener, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR,
				&(int){ 1 }, sizeof(int));
		if (rdma_bind_addr(s->listener, (struct sockaddr *)&s->addr)) {
			fprintf(stderr, "mroce-load: rdma_bind_addr: %m\n");
			return EXIT_SETUP;
		}
	}
	if (!s->listener->verbs) {
		fprintf(stderr, "mroce-load: rdma_cm finds no device for the address\n");
		return EXIT_SETUP;
	}
	s->ctx = s->listener->verbs;
	s->port_num = s->listener->port_num;
	if (s->dir && rdma_listen(s->listener, 128)) {
		fprintf(stderr, "mroce-load: rdma_listen: %m\n");
		return EXIT_SETUP;
	}
	return 0;
}

static void conn_param(struct side *s, struct rdma_conn_param *cp)
{
	memset(cp, 0, sizeof(*cp));
	cp->responder_resources = s->p.rd_atomic;
	cp->initiator_depth = s->p.rd_atomic;
	cp->retry_count = 7;
	cp->rnr_retry_count = 7;
}

static int client_connect(struct side *s, struct qp *q)
{
	struct greeting g = { .nonce = swap64(s->p.nonce), .idx = htonl(q->idx) };
	struct rdma_conn_param cp;
	struct rdma_cm_id *id;

	if (rdma_create_id(s->ec, &id, q, RDMA_PS_TCP))
		return -1;
	q->id = id;
	if (resolve(s, id) || rdma_resolve_route(id, 5000) ||
	    expect(s, RDMA_CM_EVENT_ROUTE_RESOLVED))
		return -1;
	if (id->verbs != s->ctx) {
		fprintf(stderr, "mroce-load: rdma_cm changed the device\n");
		return -1;
	}
	if (qp_create(q, id) || rx_prepare_all(q))
		return -1;
	conn_param(s, &cp);
	cp.private_data = &g;
	cp.private_data_len = sizeof(g);
	if (rdma_connect(id, &cp)) {
		fprintf(stderr, "mroce-load: rdma_connect: %m\n");
		return -1;
	}
	return expect(s, RDMA_CM_EVENT_ESTABLISHED);
}

static int server_accept(struct side *s, struct rdma_cm_id *id, const struct greeting *g)
{
	struct rdma_conn_param cp;
	uint32_t idx = ntohl(g->idx);
	struct qp *q;

	if (swap64(g->nonce) != s->p.nonce || idx >= s->p.qps || s->qps[idx].id) {
		rdma_reject(id, NULL, 0);	/* not ours: somebody else's, or stale */
		return 0;
	}
	q = &s->qps[idx];
	if (id->verbs != s->ctx) {
		fprintf(stderr, "mroce-load: rdma_cm changed the device\n");
		return -1;
	}
	if (qp_create(q, id) || rx_prepare_all(q))
		return -1;
	conn_param(s, &cp);
	if (rdma_accept(id, &cp)) {
		fprintf(stderr, "mroce-load: rdma_accept: %m\n");
		return -1;
	}
	return 0;
}

int cm_connect(struct side *s)
{
	unsigned int done = 0;

	if (!s->dir) {
		for (; done < s->p.qps; done++)
			if (client_connect(s, &s->qps[done]))
				return EXIT_SETUP;
		return 0;
	}
	while (done < s->p.qps) {
		struct rdma_cm_event ev;
		struct greeting g;

		if (next_event(s, &ev, &g))
			return EXIT_SETUP;
		if (ev.event == RDMA_CM_EVENT_ESTABLISHED) {
			done++;
		} else if (ev.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			if (server_accept(s, ev.id, &g))
				return EXIT_SETUP;
		} else {
			fprintf(stderr, "mroce-load: rdma_cm: %s (status %d)\n",
				rdma_event_str(ev.event), ev.status);
			return EXIT_SETUP;
		}
	}
	return 0;
}

/* after the queue pairs are gone */
void cm_close(struct side *s)
{
	unsigned int i;

	for (i = 0; s->ec && s->qps && i < s->p.qps; i++)
		if (s->qps[i].id)
			rdma_destroy_id(s->qps[i].id);
	if (s->listener)
		rdma_destroy_id(s->listener);
	if (s->ec)
		rdma_destroy_event_channel(s->ec);
}
