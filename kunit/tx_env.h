/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One sending half with a stream in each space, for tests that make its calls one by one.
 */
#ifndef MROCE_KUNIT_TX_ENV_H
#define MROCE_KUNIT_TX_ENV_H

#include <kunit/test.h>
#include "alloc.h"
#include "../drivers/mroce/transport/tx.h"

#define ENV_MSGS     64
#define ENV_STREAMS  4
#define ENV_PSIZE    1000
#define ENV_OWN_ID   0xaaaaULL
#define ENV_PEER_ID  0xbbbbULL
#define ENV_INSTANCE 0xccccULL
#define ENV_PSN	     500
#define ENV_OWN(i)   (0x100 + (i))
#define ENV_PEER(i)  (0x200 + (i))
#define ENV_TIMEOUT  (2000 * MROCE_MSEC)

struct tx_env {
	struct mroce_tx tx;
	struct mroce_txs req[ENV_STREAMS], resp;
	struct mroce_msg msgs[ENV_STREAMS][ENV_MSGS], resps[ENV_MSGS];
	struct mroce_hello hello, hello_ack;
	struct mroce_ack ack;
	struct mroce_xmit x;
	u64 now;
	u32 floor;
	bool paced;
};

int tx_env_init(struct kunit *test); /* HELLO is due, nothing is opened */
void tx_env_exit(struct kunit *test);
/* another half, of so many paths */
void tx_env_restart(struct kunit *test, u8 npaths, u32 train);
/* The handshake, and OPEN of request stream @i (and the response stream with the first). */
void tx_open_half(struct kunit *test);
void tx_open(struct kunit *test, u32 i);

/* The next thing to transmit, sent: in env->x. */
bool tx_pick(struct tx_env *env);
/* The next data; whatever else there is goes unseen. */
bool tx_pick_data(struct tx_env *env);
/* Sends all that there is; returns the packets of data. */
u32 tx_pick_all(struct tx_env *env);
struct mroce_msg *tx_post(struct tx_env *env, u32 i, u8 opcode, u32 bytes);
/* An ACK of @path up to @high with every bit set. More is set by the caller before tx_ack(). */
struct mroce_ack *tx_ack_new(struct tx_env *env, u8 path, u32 high);
void tx_ack_miss(struct tx_env *env, u32 number);
void tx_ack_late(struct tx_env *env, u32 number);
void tx_ack_nack(struct tx_env *env, u32 i, u8 reason, u8 timer, u32 spn, u32 number);
enum mroce_reason tx_ack(struct tx_env *env);
/* The time comes for the next timer (at most @limit ns on); false: none before. */
bool tx_timer(struct tx_env *env, u64 limit);
/* How many messages of stream @i are complete now. */
u32 tx_complete(struct tx_env *env, u32 i);

#endif
