// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "udp.h"

enum { ADDRESSES = 64, SOURCES = 512 };

struct source {
	struct soft_address address;
	uint16_t port;
	int fd;
};

struct udp {
	struct soft_address address[ADDRESSES];
	int fd[ADDRESSES];
	unsigned int n, sources, next;
	uint16_t port;
	int watched;
	struct source source[SOURCES];
};

union any {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static bool v4(const struct soft_address *a)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(a->gid, mapped, 12);
}

int address_parse(const char *text, struct soft_address *a)
{
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET6, text, a->gid) == 1)
		return 0;
	a->gid[10] = a->gid[11] = 0xff;
	return inet_pton(AF_INET, text, a->gid + 12) == 1 ? 0 : -1;
}

const char *address_text(const struct soft_address *a, char *text, size_t size)
{
	return v4(a) ? inet_ntop(AF_INET, a->gid + 12, text, size)
		     : inet_ntop(AF_INET6, a->gid, text, size);
}

uint64_t udp_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static socklen_t sockaddr_of(const struct soft_address *a, uint16_t port, union any *s)
{
	memset(s, 0, sizeof(*s));
	if (v4(a)) {
		s->in.sin_family = AF_INET;
		s->in.sin_port = htons(port);
		memcpy(&s->in.sin_addr, a->gid + 12, 4);
		return sizeof(s->in);
	}
	s->in6.sin6_family = AF_INET6;
	s->in6.sin6_port = htons(port);
	memcpy(&s->in6.sin6_addr, a->gid, 16);
	return sizeof(s->in6);
}

static int bound(const struct soft_address *a, uint16_t port)
{
	union any s;
	socklen_t n = sockaddr_of(a, port, &s);
	int on = 1, size = 8 << 20, df4 = IP_PMTUDISC_PROBE, df6 = IPV6_PMTUDISC_PROBE, error;
	int fd = socket(s.sa.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (s.sa.sa_family == AF_INET) {
		setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof(on));
		setsockopt(fd, IPPROTO_IP, IP_RECVTTL, &on, sizeof(on));
		setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &df4, sizeof(df4));
		setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &s.in.sin_addr, sizeof(s.in.sin_addr));
	} else {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
		setsockopt(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, &on, sizeof(on));
		setsockopt(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, &on, sizeof(on));
		setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &df6, sizeof(df6));
	}
	if (!bind(fd, &s.sa, n))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

struct udp *udp_open(const struct soft_address *address, unsigned int n, uint16_t port)
{
	struct udp *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->port = port;
	u->watched = -1;
	for (; u->n < n && u->n < ADDRESSES; u->n++) {
		u->address[u->n] = address[u->n];
		u->fd[u->n] = bound(&address[u->n], port);
		if (u->fd[u->n] < 0) {
			udp_close(u);
			return NULL;
		}
	}
	return u;
}

void udp_close(struct udp *u)
{
	int error = errno;

	while (u->n)
		close(u->fd[--u->n]);
	while (u->sources)
		close(u->source[--u->sources].fd);
	free(u);
	errno = error;
}

void udp_watch(struct udp *u, int fd)
{
	u->watched = fd;
}

static int source(struct udp *u, const struct soft_address *a, uint16_t port)
{
	struct source *s;
	unsigned int i;

	for (i = 0; port == u->port && i < u->n; i++)
		if (!memcmp(&u->address[i], a, sizeof(*a)))
			return u->fd[i];
	for (i = 0; i < u->sources; i++)
		if (u->source[i].port == port && !memcmp(&u->source[i].address, a, sizeof(*a)))
			return u->source[i].fd;
	if (u->sources < SOURCES) {
		s = &u->source[u->sources];
	} else {
		s = &u->source[u->next++ % SOURCES];
		close(s->fd);
	}
	s->address = *a;
	s->port = port;
	s->fd = bound(a, port);
	if (s->fd >= 0 && u->sources < SOURCES)
		u->sources++;
	return s->fd;
}

int udp_send(struct udp *u, const struct soft_datagram *d)
{
	union any to;
	union {
		struct cmsghdr align;
		char bytes[2 * CMSG_SPACE(sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec v = {(void *)d->bytes, d->length};
	struct msghdr m = {
		.msg_name = &to,
		.msg_namelen = sockaddr_of(&d->to, u->port, &to),
		.msg_iov = &v,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	bool four = v4(&d->to);
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int fd = source(u, &d->from, d->port), value = d->tos;

	if (fd < 0)
		return -1;
	*c = (struct cmsghdr){CMSG_LEN(sizeof(int)), four ? IPPROTO_IP : IPPROTO_IPV6,
			      four ? IP_TOS : IPV6_TCLASS};
	memcpy(CMSG_DATA(c), &value, sizeof(value));
	c = CMSG_NXTHDR(&m, c);
	value = d->hops ? d->hops : 64;
	*c = (struct cmsghdr){CMSG_LEN(sizeof(int)), four ? IPPROTO_IP : IPPROTO_IPV6,
			      four ? IP_TTL : IPV6_HOPLIMIT};
	memcpy(CMSG_DATA(c), &value, sizeof(value));
	return sendmsg(fd, &m, 0) < 0 ? -1 : 0;
}

static int take(int fd, struct soft_datagram *d, void *buffer, size_t size)
{
	union any from;
	union {
		struct cmsghdr align;
		char bytes[256];
	} control;
	struct iovec v = {buffer, size};
	struct msghdr m = {
		.msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &v,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(fd, &m, 0);
	struct cmsghdr *c;

	if (n < 0)
		return 0;
	memset(&d->from, 0, sizeof(d->from));
	if (from.sa.sa_family == AF_INET) {
		d->from.gid[10] = d->from.gid[11] = 0xff;
		memcpy(d->from.gid + 12, &from.in.sin_addr, 4);
		d->port = ntohs(from.in.sin_port);
	} else {
		memcpy(d->from.gid, &from.in6.sin6_addr, 16);
		d->port = ntohs(from.in6.sin6_port);
	}
	d->tos = d->hops = 0;
	for (c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		int value = 0;

		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
			d->tos = *CMSG_DATA(c);
			continue;
		}
		memcpy(&value, CMSG_DATA(c), sizeof(value));
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL)
			d->hops = value;
		else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)
			d->tos = value;
		else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT)
			d->hops = value;
	}
	d->bytes = buffer;
	d->length = n;
	return 1;
}

int udp_receive(struct udp *u, struct soft_datagram *d, void *buffer, size_t size, uint64_t wait)
{
	struct pollfd p[ADDRESSES + 1];
	struct timespec t = {wait / 1000000000, wait % 1000000000};
	unsigned int i, n = u->n;

	for (i = 0; i < u->n; i++)
		p[i] = (struct pollfd){.fd = u->fd[i], .events = POLLIN};
	if (u->watched >= 0)
		p[n++] = (struct pollfd){.fd = u->watched, .events = POLLIN};
	if (ppoll(p, n, &t, NULL) <= 0)
		return 0;
	for (i = 0; i < u->n; i++)
		if (p[i].revents && take(u->fd[i], d, buffer, size)) {
			d->to = u->address[i];
			return 1;
		}
	return 0;
}
