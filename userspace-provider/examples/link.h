/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the examples have in common: two programs connected by rdma_cm, one of which writes into the other's memory.
 */
#ifndef MROCE_EXAMPLE_LINK_H
#define MROCE_EXAMPLE_LINK_H

#include <stdbool.h>
#include <rdma/rdma_cma.h>

#define LINK_BYTES	(1 << 20)	/* of memory at either end */
#define LINK_CHUNK	65536		/* bytes of a Write */
#define LINK_DEPTH	16		/* Writes at once */

struct link {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	char *memory;
	uint64_t addr;		/* of the peer's memory */
	uint32_t rkey;
};

/* Waits for a connection at a port, and until whoever made it says that it is through. Exits on errors. */
void link_serve(const char *port, unsigned int connections);
void link_connect(struct link *l, const char *host, const char *port);
/* A Write more; @wait: until one is complete. */
void link_write(struct link *l, bool wait);
/* Waits for @n Writes. */
void link_drain(struct link *l, unsigned int n);
/* Says that we are through. */
void link_close(struct link *l);
/* "NAME: what went wrong", and the end */
void __attribute__((noreturn)) die(const char *what, int err);

#endif
