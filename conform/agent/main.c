// SPDX-License-Identifier: GPL-2.0
/*
 * usage: mroce-conform-agent [-l ADDRESS] [-p PORT] [-1] ...    (what follows is the implementation's)
 * The hands of mroce-conform at the target: it makes what the suite asks for, one line a request, one line an answer,
 * "ok ..." or "error ERRNO WORDS". mroce-conform(1) has the list. One suite at a time is served; what it made is gone
 * with its connection.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent.h"

enum { LINE = 300000 };

static char line[LINE], answer[LINE];

static void ok(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void ok(const char *format, ...)
{
	va_list a;

	va_start(a, format);
	vsnprintf(answer, sizeof(answer), format, a);
	va_end(a);
}

static int gid_parse(const char *text, uint8_t gid[16])
{
	memset(gid, 0, 16);
	if (inet_pton(AF_INET6, text, gid) == 1)
		return 0;
	gid[10] = gid[11] = 0xff;
	return inet_pton(AF_INET, text, gid + 12) == 1 ? 0 : EINVAL;
}

/* ---- the requests; @a are their words */

static int do_hello(const char *a)
{
	(void)a;
	ok("ok %s", backend_caps());
	return 0;
}

static int do_clear(const char *a)
{
	(void)a;
	backend_clear();
	ok("ok");
	return 0;
}

static int do_mr(const char *a)
{
	unsigned int size, access, mr;
	uint64_t addr;
	uint32_t rkey;
	int e;

	if (sscanf(a, "%u %x", &size, &access) != 2)
		return EINVAL;
	e = backend_mr(size, access, &mr, &addr, &rkey);
	ok("ok %u %" PRIx64 " %x", mr, addr, rkey);
	return e;
}

static int do_dereg(const char *a)
{
	ok("ok");
	return backend_dereg(atoi(a));
}

static int do_peek(const char *a)
{
	unsigned int mr, offset, length, i;
	uint8_t *p;
	char *at = answer + 3;

	if (sscanf(a, "%u %u %u", &mr, &offset, &length) != 3 || length > (LINE - 8) / 2)
		return EINVAL;
	p = backend_memory(mr, offset, length);
	if (!p)
		return EINVAL;
	ok("ok ");
	for (i = 0; i < length; i++)
		at += sprintf(at, "%02x", p[i]);
	return 0;
}

static int do_poke(const char *a)
{
	unsigned int mr, offset, length, i, byte;
	int n;
	uint8_t *p;

	if (sscanf(a, "%u %u %n", &mr, &offset, &n) != 2)
		return EINVAL;
	length = strlen(a + n) / 2;
	p = backend_memory(mr, offset, length);
	if (!p)
		return EINVAL;
	for (i = 0; i < length && sscanf(a + n + 2 * i, "%2x", &byte) == 1; i++)
		p[i] = byte;
	ok("ok");
	return 0;
}

static int do_fill(const char *a)
{
	unsigned int mr, offset, length, byte;
	uint8_t *p;

	if (sscanf(a, "%u %u %u %x", &mr, &offset, &length, &byte) != 4)
		return EINVAL;
	p = backend_memory(mr, offset, length);
	if (!p)
		return EINVAL;
	memset(p, byte, length);
	ok("ok");
	return 0;
}

static int do_srq(const char *a)
{
	unsigned int srq = 0;
	int e = backend_srq(atoi(a), &srq);

	ok("ok %u", srq);
	return e;
}

static int do_qp(const char *a)
{
	unsigned int access, sends, receives, qp = 0;
	char type[8];
	uint32_t qpn = 0;
	int srq, e;

	if (sscanf(a, "%7s %x %u %u %d", type, &access, &sends, &receives, &srq) != 5)
		return EINVAL;
	e = backend_qp(type, access, sends, receives, srq, &qp, &qpn);
	ok("ok %u %u", qp, qpn);
	return e;
}

static int do_rtr(const char *a)
{
	struct agent_connect c = {.hops = 64};
	unsigned int qp;
	char address[64];

	if (sscanf(a, "%u %63s %u %u %u %u %u %u %u", &qp, address, &c.qpn, &c.rq_psn, &c.rnr_timer,
		   &c.reads, &c.mtu, &c.traffic_class, &c.hops) < 7 ||
	    gid_parse(address, c.gid))
		return EINVAL;
	ok("ok");
	return backend_rtr(qp, &c);
}

static int do_rts(const char *a)
{
	struct agent_connect c = {0};
	unsigned int qp;

	if (sscanf(a, "%u %u %u %u %u %u", &qp, &c.sq_psn, &c.timeout, &c.retry, &c.rnr_retry,
		   &c.reads) != 6)
		return EINVAL;
	ok("ok");
	return backend_rts(qp, &c);
}

static int do_state(const char *a)
{
	unsigned int state = 0;
	int e = backend_state(atoi(a), &state);

	ok("ok %u", state);
	return e;
}

static int do_modify(const char *a)
{
	unsigned int qp, state;

	if (sscanf(a, "%u %u", &qp, &state) != 2)
		return EINVAL;
	ok("ok");
	return backend_modify(qp, state);
}

static int do_drop(const char *a)
{
	ok("ok");
	return backend_drop(atoi(a));
}

static int do_receive(const char *a)
{
	unsigned int mr, offset, length;
	uint64_t id;
	int qp, srq;

	if (sscanf(a, "%d %d %" SCNu64 " %u %u %u", &qp, &srq, &id, &mr, &offset, &length) != 6)
		return EINVAL;
	ok("ok");
	return backend_receive(qp, srq, id, mr, offset, length);
}

static int do_send(const char *a)
{
	struct agent_work w = {0};
	unsigned int qp;
	char address[64] = "";

	if (sscanf(a,
		   "%u %" SCNu64 " %u %u %u %u %" SCNx64 " %x %u %" SCNu64 " %" SCNu64
		   " %u %63s %u %x",
		   &qp, &w.id, &w.opcode, &w.mr, &w.offset, &w.length, &w.addr, &w.rkey, &w.imm,
		   &w.compare_add, &w.swap, &w.flags, address, &w.qpn, &w.qkey) < 12 ||
	    (*address && gid_parse(address, w.gid)))
		return EINVAL;
	ok("ok");
	return backend_send(qp, &w);
}

static int do_poll(const char *a)
{
	struct agent_completion c = {0};
	int e = backend_poll(atoi(a), &c);

	if (e == EAGAIN) {
		ok("ok none");
		return 0;
	}
	ok("ok %" PRIu64 " %u %u %u %u %u %u %u", c.id, c.status, c.opcode, c.receive, c.length,
	   c.with_imm, c.imm, c.src_qpn);
	return e;
}

static int do_attach(const char *a)
{
	unsigned int qp;
	char address[64];
	uint8_t gid[16];

	if (sscanf(a, "%u %63s", &qp, address) != 2 || gid_parse(address, gid))
		return EINVAL;
	ok("ok");
	return backend_attach(qp, gid);
}

static const struct {
	const char *name;
	int (*run)(const char *words);
} requests[] = {
	{"hello", do_hello},   {"clear", do_clear},   {"mr", do_mr},	       {"dereg", do_dereg},
	{"peek", do_peek},     {"poke", do_poke},     {"fill", do_fill},       {"srq", do_srq},
	{"qp", do_qp},	       {"rtr", do_rtr},	      {"rts", do_rts},	       {"state", do_state},
	{"modify", do_modify}, {"drop", do_drop},     {"receive", do_receive}, {"send", do_send},
	{"poll", do_poll},     {"attach", do_attach},
};

static void request(char *text)
{
	char *words = strchr(text, ' ');
	unsigned int i;
	int e = ENOSYS;

	if (words)
		*words++ = 0;
	for (i = 0; i < sizeof(requests) / sizeof(*requests); i++)
		if (!strcmp(text, requests[i].name))
			e = requests[i].run(words ? words : "");
	if (e)
		ok("error %d %s", e, strerror(e));
}

static void serve(int fd)
{
	size_t have = 0;
	ssize_t n;
	char *end;

	for (;;) {
		backend_wait(fd);
		n = read(fd, line + have, sizeof(line) - 1 - have);
		if (n <= 0 && !(n < 0 && errno == EINTR))
			return;
		have += n > 0 ? n : 0;
		line[have] = 0;
		while ((end = strchr(line, '\n'))) {
			*end = 0;
			request(line);
			strcat(answer, "\n");
			for (size_t at = 0, all = strlen(answer); at < all; at += n) {
				n = write(fd, answer + at, all - at);
				if (n < 0)
					return;
			}
			have -= end + 1 - line;
			memmove(line, end + 1, have + 1);
		}
		if (have == sizeof(line) - 1)
			return;
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in6 a = {
		.sin6_family = AF_INET6, .sin6_port = htons(19790), .sin6_addr = IN6ADDR_ANY_INIT};
	int option, on = 1, off = 0, once = 0, l = socket(AF_INET6, SOCK_STREAM, 0), fd;
	uint8_t gid[16];

	while ((option = getopt(argc, argv, "+l:p:1")) != -1) {
		switch (option) {
		case 'l':
			if (gid_parse(optarg, gid))
				goto usage;
			memcpy(&a.sin6_addr, gid, 16);
			break;
		case 'p':
			a.sin6_port = htons(atoi(optarg));
			break;
		case '1':
			once = 1;
			break;
		default:
			goto usage;
		}
	}
	if (backend_open(argc - optind, argv + optind))
		return 1;
	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(l, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (l < 0 || bind(l, (struct sockaddr *)&a, sizeof(a)) || listen(l, 1)) {
		perror("mroce-conform-agent: cannot listen");
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	do {
		backend_wait(l);
		fd = accept(l, NULL, NULL);
		if (fd < 0)
			continue;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		serve(fd);
		close(fd);
		backend_clear();
	} while (!once);
	return 0;
usage:
	fprintf(stderr, "usage: %s [-l ADDRESS] [-p PORT] [-1] IMPLEMENTATION...\n", argv[0]);
	return 2;
}
