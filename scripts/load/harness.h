/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What programs share that test Verbs in one process, a test each run: a device, a domain, a
 * region, and two queue pairs that are connected to each other. Whatever is not as it should be
 * is said, and ends the program.
 */
#ifndef MROCE_HARNESS_H
#define MROCE_HARNESS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#define MEMORY	(64 << 10)
#define RIGHTS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		 IBV_ACCESS_REMOTE_ATOMIC)

#define die(...) \
	do { printf("%s: ", program_invocation_short_name); printf(__VA_ARGS__); putchar('\n'); \
	     exit(1); } while (0)
/* @call must fail with @want: a pointer is returned, or the errno */
#define refused_pointer(call, want) (errno = 0, refused_with((call) ? 0 : errno, want, #call))
#define refused(call, want) refused_with(call, want, #call)

struct pair {
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
};

struct test {
	const char *name;
	void (*run)(void);
};

extern struct ibv_context *ctx;
extern struct ibv_device_attr dev;
extern struct ibv_port_attr port;
extern struct ibv_pd *pd;
extern struct ibv_mr *mr;
extern uint8_t *memory;		/* first half: what is sent, second half: where to */
extern uint8_t gid_index;
extern union ibv_gid gid;
extern enum ibv_qp_type qp_type; /* of what create_qp() makes */
extern unsigned int patience;	/* seconds that completions may take */
/* instead of ending the program: what follows when must() or made() fail */
extern void (*on_failure)(int err, const char *what);
/* instead of ibv_modify_qp(): how two queue pairs are connected */
extern void (*connector)(struct pair *p);

void refused_with(int got, int want, const char *call);
void must(int err, const char *what);
void *made(void *object, const char *what);
void open_device(const char *name);
void open_memory(void);

struct ibv_qp *create_qp(struct ibv_cq *cq, struct ibv_srq *srq, struct ibv_qp_cap *cap);
int to_init(struct ibv_qp *qp, uint8_t port_num, uint16_t pkey_index);
struct ibv_ah_attr self(void);
int to_rtr(struct ibv_qp *qp, struct ibv_qp *peer, unsigned int reads);
int to_rts(struct ibv_qp *qp, unsigned int reads);
int modify(struct ibv_qp *qp, enum ibv_qp_state state);
/* Two queue pairs of one completion queue, connected; an SRQ is the second's. */
struct pair connected(struct ibv_qp_cap *cap, struct ibv_srq *srq, int cqe, unsigned int reads);
/* queue pairs that are in RESET */
void connect_pair(struct pair *p, unsigned int reads);
/* an error has ended them */
void again(struct pair *p);
void disconnect(struct pair *p);

/* signalled; RDMA goes to the second half of @memory */
int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr);
int post_recv(struct ibv_qp *qp, struct ibv_srq *srq, struct ibv_sge *sge, int num);
/* @n completions come, each with @status, and no more */
void completes(struct ibv_cq *cq, unsigned int n, enum ibv_wc_status status);
struct ibv_wc next_completion(struct ibv_cq *cq);
/* asynchronous events: whether one comes within a time; but for COMM_EST, no other may */
bool event(enum ibv_event_type type, int ms);

/* Write or Read @length bytes between the start of @memory and @to by @rkey */
void access_by(struct pair *p, int from, enum ibv_wr_opcode opcode, uint64_t to, size_t length,
	       uint32_t rkey, enum ibv_wc_status status);
void atomic_by(struct pair *p, uint64_t to, uint32_t rkey, enum ibv_wc_status status);
/* of the second queue pair; type 2, by a work request, has a new key */
uint32_t bind_2(struct pair *p, struct ibv_mw *mw, struct ibv_mw_bind_info info,
		enum ibv_wc_status status);
void bind_1(struct pair *p, struct ibv_mw *mw, struct ibv_mw_bind_info info,
	    enum ibv_wc_status status);

/* the first @size bytes are new, and not yet where they will be */
void fill(size_t size);
void arrived(size_t size, const char *what);

/* the program's main(): "DEVICE GID-INDEX TEST", or "--list" */
int run_test(int argc, char **argv, const struct test *tests, unsigned int n);

#endif
