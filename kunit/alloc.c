// SPDX-License-Identifier: GPL-2.0
/*
 * The counting allocator behind the engine under test. One test at a time: no locks.
 */
#include "alloc.h"

static long allocated;
static long fail_after = -1;

void *sim_alloc(size_t n, size_t size, gfp_t gfp)
{
	void *p;

	if (!fail_after)
		return NULL;
	if (fail_after > 0)
		fail_after--;
	p = kvcalloc(n, size, GFP_KERNEL);
	(void)gfp;
	if (p)
		allocated++;
	return p;
}

void sim_free(const void *p)
{
	if (!p)
		return;
	allocated--;
	kvfree(p);
}

long sim_allocated(void)
{
	return allocated;
}

void sim_alloc_fail_after(long n)
{
	fail_after = n;
}
