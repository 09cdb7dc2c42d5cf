/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the agent at the target offers to the suite, over whatever implementation: verbs.c has it over libibverbs, soft.c
 * over the model. Each returns 0 or an errno; objects are small numbers. main.c has the lines that ask for them.
 */
#ifndef CONFORM_AGENT_H
#define CONFORM_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OBJECTS = 1024, SLOT_FREE = 0 };

struct agent_connect {
	uint8_t gid[16];
	uint32_t qpn, rq_psn, sq_psn;
	unsigned int rnr_timer, reads, mtu, timeout, retry, rnr_retry;
	unsigned int traffic_class, hops;
};

struct agent_work {
	uint64_t id, addr, compare_add, swap;
	unsigned int opcode, mr, offset, length, flags;	/* opcode: of the wire */
	uint32_t rkey, imm, qpn, qkey;
	uint8_t gid[16];
};
enum { WORK_SIGNALLED = 1, WORK_SOLICITED = 2, WORK_FENCE = 4 };

struct agent_completion {
	uint64_t id;
	unsigned int status, opcode, length, with_imm, imm, src_qpn;
	bool receive;
};

int backend_open(int argc, char **argv);
const char *backend_caps(void);
/* work goes on until one of the descriptors can be read */
void backend_wait(int fd);
void backend_clear(void);

int backend_mr(unsigned int size, unsigned int access, unsigned int *mr, uint64_t *addr, uint32_t *rkey);
int backend_dereg(unsigned int mr);
uint8_t *backend_memory(unsigned int mr, unsigned int offset, unsigned int length);
int backend_srq(unsigned int depth, unsigned int *srq);
int backend_qp(const char *type, unsigned int access, unsigned int sends, unsigned int receives, int srq, unsigned int *qp,
	       uint32_t *qpn);
int backend_rtr(unsigned int qp, const struct agent_connect *c);
int backend_rts(unsigned int qp, const struct agent_connect *c);
int backend_state(unsigned int qp, unsigned int *state);	/* enum ibv_qp_state */
int backend_modify(unsigned int qp, unsigned int state);	/* RESET or ERR */
int backend_drop(unsigned int qp);
int backend_receive(int qp, int srq, uint64_t id, unsigned int mr, unsigned int offset, unsigned int length);
int backend_send(unsigned int qp, const struct agent_work *w);
int backend_poll(unsigned int qp, struct agent_completion *c);	/* EAGAIN: none */
int backend_attach(unsigned int qp, const uint8_t gid[16]);

#endif
