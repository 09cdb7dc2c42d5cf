/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mroce-probe: things that a device may be able to do, in groups (probe_*.c). Each is tried in a
 * process of its own, which has a device, a domain and a region (harness.h), and ends with a
 * verdict: "yes" if run() returns, "no" where must() or made() fail, "wrong" where die() ends it.
 */
#ifndef MROCE_PROBE_H
#define MROCE_PROBE_H

#include "harness.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define FAR		(memory + MEMORY / 2)	/* where RDMA goes to */

struct item {
	const char *name;
	void (*run)(void);
	void (*run_with)(uint64_t arg);	/* one of the two */
	uint64_t arg;
	bool bare;	/* nothing is open yet */
};

struct group {
	const char *name;
	const struct item *items;
	unsigned int n;
};

#define TRY(title, f)		{ .name = title, .run = f }
#define TRY_WITH(title, f, a)	{ .name = title, .run_with = f, .arg = a }
#define GROUP(id, title) \
	const struct group id = { .name = title, .items = id##_items, .n = ARRAY_SIZE(id##_items) }

extern const struct group device_attributes, capability_flags, port_attributes, device_verbs;
extern const struct group memory_verbs, access_flags, windows;
extern const struct group completion_queues, receive_queues;
extern const struct group qp_types, qp_verbs, qp_states, qp_query, async_events, error_statuses;
extern const struct group rc_post, rc_wr, uc_post, uc_wr, ud_post, ud_wr, send_flags;
extern const struct group datagrams;

/* verdicts, which end the process */
void yes(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
void no(int err, const char *what) __attribute__((noreturn));
void no_because(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
void untried(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* what programs are given as errors: -1 and errno, an errno, or a negative one */
int error_of(int ret);
bool iwarp(void);
void open_all(void);

/* two connected queue pairs of one completion queue; @init says what is not as usual */
struct pair pair_of(enum ibv_qp_type type);
struct pair pair_with(const struct ibv_qp_init_attr_ex *init);
/* basic, for the second of a pair */
struct ibv_srq *make_srq(uint32_t wr);
/* @key must (not) let a Write to @at through; the pair is of no use after a denial */
void reaches(struct pair *p, void *at, uint64_t addr, uint32_t key);
void denied(struct pair *p, void *at, uint64_t addr, uint32_t key, enum ibv_wc_status status);

#endif
