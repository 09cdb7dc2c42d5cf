// SPDX-License-Identifier: GPL-2.0
/*
 * The planes of a sending half: which path belongs to which, and what the paths of one plane
 * share. Pure; the half's lock is the caller's.
 */
#include "tx.h"

/* An ACTIVE path, and only such a one, counts in its plane. */
void mroce_plane_join(struct mroce_tx *tx, struct mroce_txpath *p)
{
	struct mroce_tx_plane *pl = &tx->plane[p->plane];

	pl->window += p->cwnd;
	pl->inflight += p->inflight;
}

void mroce_plane_leave(struct mroce_tx *tx, struct mroce_txpath *p)
{
	struct mroce_tx_plane *pl = &tx->plane[p->plane];

	pl->window -= p->cwnd;
	pl->inflight -= p->inflight;
}

void mroce_tx_planes(struct mroce_tx *tx, u8 nplanes)
{
	u32 i;

	nplanes = clamp_t(u8, nplanes, 1, MROCE_MAX_PLANES);
	for (i = 0; i < tx->npaths; i++) {
		struct mroce_txpath *p = &tx->path[i];

		if (p->state == MROCE_PATH_ACTIVE)
			mroce_plane_leave(tx, p);
		p->plane = i % nplanes;
		if (p->state == MROCE_PATH_ACTIVE)
			mroce_plane_join(tx, p);
	}
	tx->nplanes = nplanes;
}
