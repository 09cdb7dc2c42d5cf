/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The generic netlink family (netlink.c), as the rest of the module sees it: events. Any context
 * but hard interrupts.
 */
#ifndef MROCE_OBSERVE_NETLINK_H
#define MROCE_OBSERVE_NETLINK_H

#include <rdma/mroce-netlink.h>

#include "../mroce.h"

int mroce_nl_init(void);
void mroce_nl_exit(void);

/* A plane was added, drained or removed. */
void mroce_nl_plane(struct mroce_dev *dev, const struct net_device *ndev, u8 slot, u8 state);
/* A path of this half is in another state. */
void mroce_nl_path(struct mroce_dev *dev, u64 half, u8 path, u8 plane, u8 state);

#endif
