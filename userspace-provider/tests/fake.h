/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A stand-in for libibverbs and the module: objects are numbers, a memory file is
 * the command file, and the test is the kernel's side of every ring. One test
 * thread, but for the fields that say otherwise.
 */
#ifndef MROCE_TEST_FAKE_H
#define MROCE_TEST_FAKE_H

#include <stdio.h>
#include <stdlib.h>

#include "mroce.h"

/* the module's view of a ring */
struct fake_ring {
	struct mroce_ring_info info;
	struct mroce_ring *ring;
};

struct fake_module {
	/* set by a test before it creates an object */
	uint32_t abi;
	uint64_t caps;
	uint32_t first_index;	/* where new rings begin */
	uint32_t entries;	/* of new send, receive and shared rings */
	uint32_t cq_entries;
	uint32_t stride;
	struct ibv_qp_cap cap;	/* what is granted */
	int doorbell_err;
	int resize_err;
	bool bad_ring;		/* return a ring that cannot be one */
	/* filled by the last creation */
	struct fake_ring cq, sq, rq, srq;
	/* counted; atomic */
	atomic_int sq_doorbells, rq_doorbells, srq_doorbells;
	atomic_int live;	/* objects not destroyed */
};

extern struct fake_module fake;
extern const struct verbs_context_ops *ops;

void fake_reset(void);
struct ibv_context *fake_open(void);
void fake_close(struct ibv_context *context);
/* unmap the module's side of the last CQ and queue pair */
void fake_forget_rings(void);

static inline void *fake_slot(const struct fake_ring *ring, uint32_t index)
{
	return (uint8_t *)ring->ring + MROCE_RING_HEADER +
	       (size_t)(index & (ring->info.entries - 1)) * ring->info.stride;
}

/* the module writes a completion; false if there is no room */
bool fake_complete(struct fake_ring *cq, uint64_t wr_id, uint32_t qpn);
/* the module takes the oldest request of a send or receive ring */
bool fake_consume(struct fake_ring *ring, uint64_t *wr_id);

extern atomic_int checks;
#define CHECK(cond)                                                            \
	do {                                                                   \
		checks++;                                                      \
		if (!(cond)) {                                                 \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__,       \
				__LINE__, #cond);                              \
			abort();                                               \
		}                                                              \
	} while (0)

struct test {
	const char *name;
	void (*run)(void);
};

extern const struct test cq_tests[], qp_tests[];

/* what the tests of both files create */
struct ibv_cq *make_cq(struct ibv_context *context, int cqe);
struct ibv_qp *make_qp(struct ibv_pd *pd, struct ibv_cq *cq,
		       struct ibv_srq *srq, enum ibv_qp_type type);
void make_ready(struct ibv_qp *qp);

#endif
