/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of a kernel user share: the device under test, requests that are waited for,
 * queue pairs that are connected to each other, and memory. Process context.
 */
#ifndef MROCE_CONSUMER_H
#define MROCE_CONSUMER_H

#include <linux/completion.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>

#define CONSUMER_DEPTH	64	/* requests a queue */
#define CONSUMER_SGE	4
#define CONSUMER_READS	16	/* READs and atomics at once */

/**
 * struct request - a work request that somebody waits for
 * @cqe: what wr_cqe points to
 * @wc: how it completed, once @done is
 * @done: has completed
 */
struct request {
	struct ib_cqe cqe;
	struct ib_wc wc;
	struct completion done;
};

/**
 * struct consumer - the device under test, and whoever tests it
 * @dev: device
 * @pd: all that a test creates is in this domain
 * @gid: of the address at which the device reaches itself
 * @gid_index: where that is in its table
 * @dmac: and the Ethernet address that belongs to it
 * @cpu: of the test, and another
 * @rounds: how often a test tries what may or may not happen
 * @send: for perform(), one at a time
 */
struct consumer {
	struct ib_device *dev;
	struct ib_pd *pd;
	union ib_gid gid;
	int gid_index;
	u8 dmac[ETH_ALEN];
	int cpu[2];
	unsigned int rounds;
	struct request send;
};

/* the tests: each creates and destroys all that it needs */
int consumer_operations(struct consumer *c);
int consumer_handlers(struct consumer *c);
int consumer_call_chain(struct consumer *c);
int consumer_destruction(struct consumer *c);
int consumer_regions(struct consumer *c);
int consumer_lasting(struct consumer *c);
int consumer_bad(struct consumer *c);

/* says what went wrong: -EIO */
__printf(1, 2) int failed(const char *fmt, ...);

/* ---- connect.c ---- */

void request_init(struct request *r);
int await(struct request *r, enum ib_wc_status want);
/* posts one request, and waits for its completion */
int perform(struct consumer *c, struct ib_qp *qp, struct ib_send_wr *wr, enum ib_wc_status want);
int post_recv(struct ib_qp *qp, struct request *r, struct ib_sge *sge, int num_sge);

struct ib_qp *create_qp(struct consumer *c, struct ib_cq *cq);
/* from whatever state */
int connect_pair(struct consumer *c, struct ib_qp *const qp[2]);
int create_pair(struct consumer *c, struct ib_cq *cq0, struct ib_cq *cq1, struct ib_qp *qp[2]);
/* one that is NULL or an error is not there */
void destroy_pair(struct ib_qp *qp[2]);

/* ---- memory.c ---- */

/**
 * struct buffer - memory for work requests of this kernel, which needs no registration
 * @va: where the processor finds it
 * @dma: where the device does
 * @len: bytes
 */
struct buffer {
	u8 *va;
	u64 dma;
	unsigned int len;
};

int buffer_alloc(struct consumer *c, struct buffer *b, unsigned int len);
void buffer_free(struct consumer *c, struct buffer *b);

/**
 * struct region - memory in pages that lie apart, and the region that they are mapped to
 * @va: where the processor finds them
 * @len: bytes
 * @pages: how many
 * @sg: where the device finds them, NULL if there are none
 * @mr: region, NULL if there is none
 */
struct region {
	u8 *va;
	unsigned int len;
	unsigned int pages;
	struct scatterlist *sg;
	struct ib_mr *mr;
};

int region_alloc(struct consumer *c, struct region *r, unsigned int pages);
void region_free(struct consumer *c, struct region *r);
/* a new one, without a key of use */
int region_map(struct consumer *c, struct region *r);
int region_dereg(struct region *r);
/* REG_MR on @qp, with another key than before */
int region_register(struct consumer *c, struct ib_qp *qp, struct region *r, int access);
int region_invalidate(struct consumer *c, struct ib_qp *qp, u32 key, enum ib_wc_status want);

void paint(u8 *p, unsigned int len, unsigned int seed);
int compare(const char *what, const u8 *have, const u8 *want, unsigned int len);

#endif
