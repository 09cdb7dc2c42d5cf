// SPDX-License-Identifier: GPL-2.0
/*
 * The control connection (TCP, or a socket pair with --self): options, keys
 * and addresses before the run, the verdict after it; and the queue pairs'
 * transitions without rdma_cm. A record is type, count, then count 64-bit
 * words, all big-endian. Used by the end's main thread only.
 */
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include "load.h"

#define CTL_WORDS	1024
#define VERSION		1

int ctl_listen(const struct options *o)
{
	struct addrinfo hint = {
		.ai_family = o->family, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE,
	}, *ai, *a;
	int fd = -1, conn, one = 1, rc;
	char port[16];

	snprintf(port, sizeof(port), "%d", o->port);
	if (!o->bind && o->family == AF_UNSPEC)
		hint.ai_family = AF_INET6;	/* takes IPv4 as well */
	rc = getaddrinfo(o->bind, port, &hint, &ai);
	if (rc) {
		fprintf(stderr, "mroce-load: %s: %s\n", o->bind ? o->bind : "*", gai_strerror(rc));
		return -1;
	}
	for (a = ai; a; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (!bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, 1))
			break;
		close(fd);
		fd = -1;
	}
	freeaddrinfo(ai);
	if (fd < 0) {
		fprintf(stderr, "mroce-load: cannot listen on port %d: %m\n", o->port);
		return -1;
	}
	printf("listening on port %d\n", o->port);
	fflush(stdout);
	conn = accept(fd, NULL, NULL);
	close(fd);
	if (conn >= 0)
		setsockopt(conn, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return conn;
}

int ctl_connect(const struct options *o)
{
	struct addrinfo hint = { .ai_family = o->family, .ai_socktype = SOCK_STREAM }, *ai, *a;
	int fd = -1, one = 1, rc, tries;
	char port[16];

	snprintf(port, sizeof(port), "%d", o->port);
	rc = getaddrinfo(o->host, port, &hint, &ai);
	if (rc) {
		fprintf(stderr, "mroce-load: %s: %s\n", o->host, gai_strerror(rc));
		return -1;
	}
	/* scripts start both ends at once: give the server time to listen */
	for (tries = 0; fd < 0 && tries < 50; tries++) {
		if (tries)
			usleep(100000);
		for (a = ai; a && fd < 0; a = a->ai_next) {
			fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
			if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen)) {
				close(fd);
				fd = -1;
			}
		}
	}
	freeaddrinfo(ai);
	if (fd < 0)
		fprintf(stderr, "mroce-load: cannot connect to %s: %m\n", o->host);
	else
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static int write_all(int fd, const void *buf, size_t len)
{
	const char *p = buf;

	while (len) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		p += n;
		len -= n;
	}
	return 0;
}

static int read_all(int fd, void *buf, size_t len, int timeout_ms)
{
	char *p = buf;

	while (len) {
		struct pollfd pf = { .fd = fd, .events = POLLIN };
		int rc = poll(&pf, 1, timeout_ms);
		ssize_t n;

		if (rc < 0 && errno == EINTR)
			continue;
		if (rc <= 0)
			return -1;
		n = read(fd, p, len);
		if (n <= 0)
			return -1;
		p += n;
		len -= n;
	}
	return 0;
}

int ctl_send(struct side *s, enum ctl_type t, const uint64_t *w, unsigned int n)
{
	uint64_t buf[CTL_WORDS + 1];
	unsigned int i;

	if (n > CTL_WORDS)
		return -1;
	buf[0] = htobe64((uint64_t)t << 32 | n);
	for (i = 0; i < n; i++)
		buf[i + 1] = htobe64(w[i]);
	return write_all(s->ctl, buf, (n + 1) * 8);
}

int ctl_recv(struct side *s, enum ctl_type t, uint64_t *w, unsigned int n, int timeout_ms)
{
	uint64_t head;
	unsigned int i;

	if (read_all(s->ctl, &head, 8, timeout_ms))
		return -1;
	head = be64toh(head);
	if (head != ((uint64_t)t << 32 | n)) {
		/* an early verdict is the peer's way to say that it gave up */
		if (head >> 32 == CTL_FIN)
			fprintf(stderr, "mroce-load: the peer gave up\n");
		else
			fprintf(stderr, "mroce-load: the peer speaks something else\n");
		return -1;
	}
	if (read_all(s->ctl, w, n * 8, timeout_ms))
		return -1;
	for (i = 0; i < n; i++)
		w[i] = be64toh(w[i]);
	return 0;
}

static bool params_sane(const struct params *p)
{
	return p->qps && p->qps <= 4096 && p->threads && p->threads <= 256 &&
	       p->depth >= 4 && p->depth <= 65536 && p->slices && p->slices <= MAX_SLICES &&
	       p->lag * 2 == p->slices && p->sge && p->sge <= MAX_SGE && p->rd_sge <= MAX_SGE &&
	       p->epoch_msgs && p->epoch_msgs <= MAX_EPOCH && p->mode < MODE_MAX &&
	       p->slice >= p->max_size + 65536 && p->slice < 1u << 31 && p->unit &&
	       p->unit <= 65536 && p->max_size && (!p->srq || p->srq_slots);
}

/*
 * The client says what it wants, brought down to what its device can do; the
 * server brings it further down and both take that.
 */
int negotiate(struct side *s)
{
	uint64_t w[PARAM_WORDS + 1];

	if (s->dir == 0) {
		if (side_caps(s, &s->p))
			return EXIT_SETUP;
		w[0] = VERSION;
		memcpy(w + 1, &s->p, sizeof(s->p));
		if (ctl_send(s, CTL_HELLO, w, PARAM_WORDS + 1) ||
		    ctl_recv(s, CTL_ACCEPT, w, PARAM_WORDS + 1, 30000))
			return EXIT_SETUP;
		memcpy(&s->p, w + 1, sizeof(s->p));
	} else {
		if (side_caps(s, &s->p))
			return EXIT_SETUP;
		/* sizes are drawn around multiples of the packet's payload */
		if (!s->p.unit)
			s->p.unit = 128u << s->p.mtu;
		w[0] = VERSION;
		memcpy(w + 1, &s->p, sizeof(s->p));
		if (ctl_send(s, CTL_ACCEPT, w, PARAM_WORDS + 1))
			return EXIT_SETUP;
	}
	if (w[0] != VERSION || !params_sane(&s->p)) {
		fprintf(stderr, "mroce-load: the ends do not agree on parameters\n");
		return EXIT_SETUP;
	}
	return 0;
}

int ctl_barrier(struct side *s)
{
	uint64_t w = s->p.nonce;

	if (ctl_send(s, CTL_READY, &w, 1) || ctl_recv(s, CTL_READY, &w, 1, 60000)) {
		fprintf(stderr, "mroce-load: lost the peer while connecting\n");
		return EXIT_SETUP;
	}
	return 0;
}

static int swap_info(struct qp *q)
{
	struct side *s = q->side;

	q->mine.mtu = s->p.mtu;
	memcpy(&q->mine.gid_hi, s->gid.raw, 8);
	memcpy(&q->mine.gid_lo, s->gid.raw + 8, 8);
	q->mine.gid_hi = be64toh(q->mine.gid_hi);
	q->mine.gid_lo = be64toh(q->mine.gid_lo);
	q->mine.lid = s->pa.lid;
	if (ctl_send(s, CTL_QPS, (uint64_t *)&q->mine, QP_INFO_WORDS) ||
	    ctl_recv(s, CTL_QPS, (uint64_t *)&q->peer, QP_INFO_WORDS, 60000)) {
		fprintf(stderr, "mroce-load: lost the peer while exchanging keys\n");
		return EXIT_SETUP;
	}
	return 0;
}

static int to_init(struct qp *q)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = q->side->port_num,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};

	if (q->side->p.ops & (1ull << OP_CAS | 1ull << OP_FADD))
		a.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
	return ibv_modify_qp(q->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS);
}

static int to_rtr(struct qp *q)
{
	struct side *s = q->side;
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = s->p.mtu, .dest_qp_num = q->peer.qpn,
		.rq_psn = q->peer.psn, .max_dest_rd_atomic = s->p.rd_atomic,
		.min_rnr_timer = 1,
		.ah_attr = {
			.is_global = 1, .port_num = s->port_num, .dlid = q->peer.lid,
			.grh = { .sgid_index = s->gid_index, .hop_limit = 64 },
		},
	};
	uint64_t w;

	w = htobe64(q->peer.gid_hi);
	memcpy(a.ah_attr.grh.dgid.raw, &w, 8);
	w = htobe64(q->peer.gid_lo);
	memcpy(a.ah_attr.grh.dgid.raw + 8, &w, 8);
	return ibv_modify_qp(q->qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER);
}

static int to_rts(struct qp *q)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS, .timeout = q->side->o->timeout, .retry_cnt = 7,
		.rnr_retry = 7, .sq_psn = q->mine.psn, .max_rd_atomic = q->side->p.rd_atomic,
	};

	return ibv_modify_qp(q->qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

int connect_qps(struct side *s)
{
	unsigned int i;
	int rc;

	for (i = 0; i < s->p.qps; i++) {
		struct qp *q = &s->qps[i];

		if (!s->p.cm) {
			rc = qp_create(q, NULL);
			if (rc)
				return rc;
			if (to_init(q)) {
				fprintf(stderr, "mroce-load: modify_qp to INIT: %m\n");
				return EXIT_SETUP;
			}
			if (rx_prepare_all(q))
				return EXIT_SETUP;
		}
		rc = swap_info(q);
		if (rc)
			return rc;
	}
	if (s->p.cm)
		return cm_connect(s);
	for (i = 0; i < s->p.qps; i++) {
		if (to_rtr(&s->qps[i])) {
			fprintf(stderr, "mroce-load: modify_qp to RTR: %m\n");
			return EXIT_SETUP;
		}
	}
	rc = ctl_barrier(s);
	if (rc)
		return rc;
	for (i = 0; i < s->p.qps; i++) {
		if (to_rts(&s->qps[i])) {
			fprintf(stderr, "mroce-load: modify_qp to RTS: %m\n");
			return EXIT_SETUP;
		}
	}
	return 0;
}
