/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One receiving half with one stream in each space, for tests that make its calls one by one.
 */
#ifndef MROCE_KUNIT_RX_ENV_H
#define MROCE_KUNIT_RX_ENV_H

#include <kunit/test.h>
#include "alloc.h"
#include "../drivers/mroce/transport/rx.h"

#define ENV_PATHS  4
#define ENV_PSIZE  1000
#define ENV_STREAM 0x1111
#define ENV_PEER   0x2222

struct rx_env {
	struct mroce_rx rx;
	struct mroce_rxs req, resp;
	struct mroce_ack ack;
	u64 now;
	u32 psn;
	u32 number[ENV_PATHS]; /* next of each path */
};

int rx_env_init(struct kunit *test);
void rx_env_exit(struct kunit *test);
/* again, with another first number and windows */
void rx_env_restart(struct rx_env *env, u32 psn, u8 log_packets, u8 log_messages);

/*
 * Packets [index, index + count) of the message @msn of @bytes that begins at number @first (from
 * the psn).
 */
struct mroce_data rx_data(struct rx_env *env, u8 opcode, u32 msn, u32 first, u32 bytes, u32 index,
			  u32 count);
/* Arrives on @path with the path's next number, and is claimed. */
enum mroce_reason rx_claim(struct kunit *test, struct mroce_rxop *op, u32 path, struct mroce_data d,
			   u32 count);
/* Claimed, placed, finished: a packet or train that meets no trouble. */
void rx_take(struct kunit *test, u32 path, struct mroce_data d, u32 count);
void rx_finish(struct rx_env *env, struct mroce_rxop *op);
/* A packet without a stream (a probe) with this number. */
void rx_probe(struct rx_env *env, u32 path, u32 number, u8 flags, bool ce);
/* The next ACK, in env->ack; false: none is due. */
bool rx_ack(struct rx_env *env);
void rx_no_more_acks(struct rx_env *env);
/* Does the last ACK report this number? */
bool rx_reported(const struct rx_env *env, u32 number);
const struct mroce_record_news *rx_record(const struct rx_env *env, u8 kind);

#endif
