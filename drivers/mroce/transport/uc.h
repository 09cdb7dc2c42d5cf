/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unreliable connections: how a message is cut into packets, and which packets that come are
 * taken. No connection half has a part in it: one path, no window, nothing acknowledged, a gap
 * ends the message that it is in (rule 11). Pure: the caller serialises.
 */
#ifndef MROCE_TRANSPORT_UC_H
#define MROCE_TRANSPORT_UC_H

#include "packet.h"
#include "reason.h"

/* Packet @i of message @m, whose number is that of its first packet; the bytes that it carries. */
u32 mroce_uc_cut(const struct mroce_uc *m, u32 i, struct mroce_uc *p);

/**
 * struct mroce_uc_rx - the receiving side of a queue pair
 * @expected: number of the next packet
 * @open: in a message
 * @opcode, @length, @psize: of that message
 * @offset: of its next packet
 */
struct mroce_uc_rx {
	u32 expected;
	bool open;
	u8 opcode;
	u16 psize;
	u32 length, offset;
};

/* with the number that the peer begins at */
void mroce_uc_start(struct mroce_uc_rx *r, u32 psn);
/*
 * A packet of @bytes of payload has come. NONE: it is to be taken, and it is the next of its
 * message; or why not, and then nothing more of its message will be.
 */
enum mroce_reason mroce_uc_arrive(struct mroce_uc_rx *r, const struct mroce_uc *p, u32 bytes);
/* What it said was to be taken could not be: the rest of the message is dropped too. */
void mroce_uc_refuse(struct mroce_uc_rx *r);

#endif
