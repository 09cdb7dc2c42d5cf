/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libmroce-soft: MetaRoCE in userspace, over any carrier of datagrams, as an executable model. It is written from
 * Documentation/protocol.rst alone and shares nothing with the kernel module but include/mroce/wire.h.
 *
 * A node is driven from outside: whoever has received a datagram calls soft_input(), and soft_run() when the time that
 * it returned last has come. Nothing is done otherwise; there are no threads, sockets or clocks in here (udp.h has some).
 * The same calls with the same times and seed give the same packets.
 *
 * Work completes as in Verbs, and its status has the numbers of enum ibv_wc_status.
 */
#ifndef MROCE_SOFT_H
#define MROCE_SOFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct soft;
struct soft_qp;

struct soft_address {
	uint8_t gid[16];	/* IPv6, or IPv4 mapped into it */
};

struct soft_datagram {
	struct soft_address from, to;
	uint16_t port;		/* source port */
	uint8_t tos;		/* with the two bits of ECN */
	uint8_t hops;
	const void *bytes;
	size_t length;
};

struct soft_config {
	struct soft_address address[8];	/* one a plane; that of the first contact first */
	unsigned int planes;
	uint16_t mtu;		/* of all planes */
	unsigned int paths;	/* that it asks for and agrees to; 1 to 64 */
	uint64_t seed;
	uint64_t capacity;	/* bytes a second that shares are made of; 0: not known */
	void (*send)(void *context, const struct soft_datagram *d);
	void *context;
};

enum soft_type { SOFT_RC, SOFT_UC, SOFT_UD };

enum soft_access {
	SOFT_WRITE = 1 << 1, SOFT_READ = 1 << 2, SOFT_ATOMIC = 1 << 3,
	SOFT_FLUSH = 1 << 8, SOFT_PERSISTENT = 1 << 9, SOFT_RELAXED = 1 << 20,
};

enum soft_status {
	SOFT_OK = 0, SOFT_FLUSHED = 5, SOFT_REM_INV_REQ = 9, SOFT_REM_ACCESS = 10, SOFT_REM_OP = 11,
	SOFT_RETRY_EXC = 12, SOFT_RNR_EXC = 13,
};

enum soft_state { SOFT_RESET, SOFT_INIT, SOFT_RTR, SOFT_RTS, SOFT_ERROR };

struct soft_connect {
	struct soft_address to;
	uint32_t qpn, sq_psn, rq_psn;
	unsigned int timeout, retry, rnr_retry, rnr_timer;	/* as in ibv_qp_attr */
	unsigned int reads;					/* outstanding, both ways; 0: 16 */
	unsigned int mtu;					/* largest payload; 0: what the path passes */
};

struct soft_work {
	uint64_t id;
	uint8_t opcode;		/* enum mroce_opcode */
	const void *data;	/* READ and atomics: where the answer goes */
	uint32_t length;
	uint64_t addr;
	uint32_t rkey, imm;	/* imm: also the key to invalidate, and FLUSH's kinds */
	uint64_t compare_add, swap;
	bool unsignalled, solicited;
	struct soft_address to;	/* UD: and the rest */
	uint32_t qpn, qkey;
};

struct soft_completion {
	uint64_t id;
	enum soft_status status;
	uint8_t opcode;		/* of the request; of a receive: what came */
	bool receive, with_imm;
	uint32_t length, imm, src_qpn;
};

struct soft *soft_new(const struct soft_config *config, uint64_t now);
void soft_free(struct soft *s);
void soft_input(struct soft *s, const struct soft_datagram *d, uint64_t now);	/* times in ns */
uint64_t soft_run(struct soft *s, uint64_t now);

/* Memory that a peer may use; addresses on the wire are @at on. */
uint32_t soft_region(struct soft *s, void *memory, uint64_t length, uint64_t at, unsigned int access);
void soft_region_drop(struct soft *s, uint32_t rkey);

struct soft_qp *soft_qp(struct soft *s, enum soft_type type, unsigned int access);
uint32_t soft_qpn(const struct soft_qp *qp);
int soft_ready_to_receive(struct soft_qp *qp, const struct soft_connect *c);
int soft_ready_to_send(struct soft_qp *qp);
/* with attributes that are known only now, as in Verbs */
int soft_ready_to_send_with(struct soft_qp *qp, uint32_t sq_psn, unsigned int timeout, unsigned int retry,
			    unsigned int rnr_retry);
void soft_qp_error(struct soft_qp *qp);
void soft_qp_drop(struct soft_qp *qp);
void soft_qkey(struct soft_qp *qp, uint32_t qkey);
enum soft_state soft_state(const struct soft_qp *qp);

int soft_post_receive(struct soft_qp *qp, uint64_t id, void *data, uint32_t length);
int soft_post(struct soft_qp *qp, const struct soft_work *w);
bool soft_poll(struct soft_qp *qp, struct soft_completion *c);

struct soft_counters {
	uint64_t sent, received, malformed, dropped, lost, resent, duplicates, timeouts, acks, resets;
};
const struct soft_counters *soft_counters(const struct soft *s);

#endif
