// SPDX-License-Identifier: GPL-2.0
/*
 * Protection domains: a number, and a count against the limit. Process context.
 */
#include "objects.h"

int mroce_alloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	static atomic_t last_pdn = ATOMIC_INIT(0);
	struct mroce_dev *dev = to_mdev(ib->device);
	struct mroce_pd *pd = to_mpd(ib);
	int err = 0;

	if (!mroce_take(&dev->pds, MROCE_MAX_PD))
		return -ENOMEM;

	pd->pdn = atomic_inc_return(&last_pdn);
	if (udata) {
		struct mroce_alloc_pd_resp resp = { .pdn = pd->pdn };

		err = mroce_respond(udata, &resp, sizeof(resp));
	}
	if (err)
		atomic_dec(&dev->pds);
	return err;
}

int mroce_dealloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	atomic_dec(&to_mdev(ib->device)->pds);
	return 0;
}
