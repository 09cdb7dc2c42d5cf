/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queue pairs that send datagrams to each other: datagrams.c.
 */
#ifndef MROCE_DATAGRAMS_H
#define MROCE_DATAGRAMS_H

#include "harness.h"

#define QKEY	0x1234
#define GRH	40

struct ud {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

/* from RESET to RTS */
void ready_ud(struct ibv_qp *qp, uint32_t qkey);
struct ud make_ud(uint32_t qkey);
struct ud make_ud_on(uint32_t qkey, struct ibv_cq *cq);
void unmake_ud(struct ud *u);
/* to the second half of memory, GRH first, in pieces */
void receive_at(struct ud *u, size_t at, size_t length);
struct ibv_ah *post_to(struct ud *u, const union ibv_gid *to, uint32_t qpn, size_t length);
/* and to its end; @hears: it comes back to the sender */
void send_to(struct ud *u, const union ibv_gid *to, uint32_t qpn, size_t length, bool hears);
void got(size_t at, size_t length, const char *what);

/* whether the device's GID is an IPv4 address; a group: 239.9.8.N or ff15::9:8:N */
bool over_ipv4(void);
union ibv_gid group_of(uint8_t n);

#endif
