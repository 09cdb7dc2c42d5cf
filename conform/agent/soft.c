// SPDX-License-Identifier: GPL-2.0
/* The agent over the model: mroce-soft [-l ...] -- [-M MTU] [-n PATHS] [-s SEED] [-c CAPACITY] [-x LOSS] ADDRESS... */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "soft/packets.h"
#include "soft/soft.h"
#include "soft/udp.h"

static struct soft *node;
static struct udp *udp;
static uint64_t due;
static unsigned int loss, rng = 1; /* of a thousand packets sent */

static struct {
	uint8_t *memory;
	unsigned int size;
	uint32_t rkey;
} mrs[OBJECTS];
static struct soft_qp *qps[OBJECTS];
static struct soft_connect connects[OBJECTS];

static void carry(void *context, const struct soft_datagram *d)
{
	(void)context;
	rng = rng * 1103515245 + 12345;
	if ((rng >> 16) % 1000 >= loss)
		udp_send(udp, d);
}

int backend_open(int argc, char **argv)
{
	struct soft_config c = {.mtu = 1500, .paths = 4, .seed = 1, .send = carry};
	int option;

	/* main.c has taken its own words: these begin anew, without a name of a program */
	argv--;
	argc++;
	optind = 1;
	while ((option = getopt(argc, argv, "+M:n:s:c:x:")) != -1) {
		switch (option) {
		case 'M':
			c.mtu = atoi(optarg);
			break;
		case 'n':
			c.paths = atoi(optarg);
			break;
		case 's':
			c.seed = strtoull(optarg, NULL, 0);
			break;
		case 'c':
			c.capacity = strtoull(optarg, NULL, 0);
			break;
		case 'x':
			loss = atoi(optarg);
			break;
		default:
			return 1;
		}
	}
	for (; optind < argc && c.planes < 8; optind++)
		if (address_parse(argv[optind], &c.address[c.planes++])) {
			fprintf(stderr, "mroce-soft: %s is no address\n", argv[optind]);
			return 1;
		}
	if (!c.planes) {
		fprintf(stderr, "mroce-soft: an address is wanted\n");
		return 1;
	}
	udp = udp_open(c.address, c.planes, MROCE_PORT);
	if (!udp) {
		perror("mroce-soft: cannot bind");
		return 1;
	}
	node = soft_new(&c, udp_now());
	return !node;
}

const char *backend_caps(void)
{
	return "soft rc uc ud flush";
}

static void work(uint64_t wait)
{
	static uint8_t bytes[65536];
	struct soft_datagram d;
	unsigned int n;

	for (n = 0; n < 64 && udp_receive(udp, &d, bytes, sizeof(bytes), n ? 0 : wait); n++)
		soft_input(node, &d, udp_now());
	if (udp_now() >= due)
		due = soft_run(node, udp_now());
}

void backend_wait(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	udp_watch(udp, fd);
	while (poll(&p, 1, 0) != 1)
		work(100000);
	work(0);
}

void backend_clear(void)
{
	unsigned int i;

	for (i = 0; i < OBJECTS; i++) {
		backend_drop(i);
		backend_dereg(i);
	}
}

int backend_mr(unsigned int size, unsigned int access, unsigned int *mr, uint64_t *addr,
	       uint32_t *rkey)
{
	unsigned int i;

	for (i = 0; i < OBJECTS && mrs[i].memory; i++)
		;
	if (i == OBJECTS)
		return ENOMEM;
	mrs[i].memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
	if (!mrs[i].memory)
		return ENOMEM;
	memset(mrs[i].memory, 0, size);
	mrs[i].size = size;
	*addr = (uintptr_t)mrs[i].memory;
	*rkey = mrs[i].rkey = soft_region(node, mrs[i].memory, size, *addr, access);
	*mr = i;
	return 0;
}

int backend_dereg(unsigned int mr)
{
	if (mr >= OBJECTS || !mrs[mr].memory)
		return EINVAL;
	soft_region_drop(node, mrs[mr].rkey);
	free(mrs[mr].memory);
	mrs[mr].memory = NULL;
	return 0;
}

uint8_t *backend_memory(unsigned int mr, unsigned int offset, unsigned int length)
{
	if (mr >= OBJECTS || !mrs[mr].memory || offset > mrs[mr].size ||
	    length > mrs[mr].size - offset)
		return NULL;
	return mrs[mr].memory + offset;
}

int backend_srq(unsigned int depth, unsigned int *srq)
{
	(void)depth;
	(void)srq;
	return EOPNOTSUPP;
}

int backend_qp(const char *type, unsigned int access, unsigned int sends, unsigned int receives,
	       int srq, unsigned int *qp, uint32_t *qpn)
{
	unsigned int i;

	(void)sends;
	(void)receives;
	if (srq >= 0)
		return EOPNOTSUPP;
	for (i = 0; i < OBJECTS && qps[i]; i++)
		;
	if (i == OBJECTS)
		return ENOMEM;
	qps[i] = soft_qp(node,
			 !strcmp(type, "rc")   ? SOFT_RC
			 : !strcmp(type, "uc") ? SOFT_UC
					       : SOFT_UD,
			 access);
	if (!qps[i])
		return ENOMEM;
	if (!strcmp(type, "ud"))
		soft_qkey(qps[i], 0x11111111);
	*qp = i;
	*qpn = soft_qpn(qps[i]);
	return 0;
}

int backend_rtr(unsigned int qp, const struct agent_connect *c)
{
	struct soft_connect *s = &connects[qp % OBJECTS];

	if (qp >= OBJECTS || !qps[qp])
		return EINVAL;
	*s = (struct soft_connect){.qpn = c->qpn,
				   .rq_psn = c->rq_psn,
				   .rnr_timer = c->rnr_timer,
				   .reads = c->reads,
				   .mtu = 128 << c->mtu,
				   .sq_psn = c->sq_psn};
	memcpy(s->to.gid, c->gid, 16);
	return soft_ready_to_receive(qps[qp], s);
}

int backend_rts(unsigned int qp, const struct agent_connect *c)
{
	if (qp >= OBJECTS || !qps[qp])
		return EINVAL;
	return soft_ready_to_send_with(qps[qp], c->sq_psn, c->timeout, c->retry, c->rnr_retry);
}

int backend_state(unsigned int qp, unsigned int *state)
{
	static const unsigned int ibv[] = {0, 1, 2, 3, 6};

	if (qp >= OBJECTS || !qps[qp])
		return EINVAL;
	*state = ibv[soft_state(qps[qp])];
	return 0;
}

int backend_modify(unsigned int qp, unsigned int state)
{
	if (qp >= OBJECTS || !qps[qp] || state != 6)
		return EINVAL;
	soft_qp_error(qps[qp]);
	return 0;
}

int backend_drop(unsigned int qp)
{
	if (qp >= OBJECTS || !qps[qp])
		return EINVAL;
	soft_qp_drop(qps[qp]);
	qps[qp] = NULL;
	return 0;
}

int backend_receive(int qp, int srq, uint64_t id, unsigned int mr, unsigned int offset,
		    unsigned int length)
{
	uint8_t *p = backend_memory(mr, offset, length);

	if (srq >= 0 || qp < 0 || qp >= OBJECTS || !qps[qp] || !p)
		return EINVAL;
	return soft_post_receive(qps[qp], id, p, length);
}

int backend_send(unsigned int qp, const struct agent_work *w)
{
	uint8_t *p = backend_memory(w->mr, w->offset, w->length);
	struct soft_work s = {
		.id = w->id,
		.opcode = w->opcode,
		.data = p,
		.length = w->length,
		.addr = w->addr,
		.rkey = w->rkey,
		.imm = w->imm,
		.compare_add = w->compare_add,
		.swap = w->swap,
		.qpn = w->qpn,
		.qkey = w->qkey,
		.unsignalled = !(w->flags & WORK_SIGNALLED),
		.solicited = w->flags & WORK_SOLICITED,
	};

	if (qp >= OBJECTS || !qps[qp] || !p)
		return EINVAL;
	memcpy(s.to.gid, w->gid, 16);
	return soft_post(qps[qp], &s);
}

int backend_poll(unsigned int qp, struct agent_completion *c)
{
	struct soft_completion s;

	if (qp >= OBJECTS || !qps[qp])
		return EINVAL;
	if (!soft_poll(qps[qp], &s))
		return EAGAIN;
	*c = (struct agent_completion){
		.id = s.id,
		.status = s.status,
		.opcode = s.opcode,
		.length = s.length,
		.with_imm = s.with_imm,
		.imm = s.imm,
		.src_qpn = s.src_qpn,
		.receive = s.receive,
	};
	return 0;
}

int backend_attach(unsigned int qp, const uint8_t gid[16])
{
	(void)qp;
	(void)gid;
	return EOPNOTSUPP;
}
