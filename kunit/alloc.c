// SPDX-License-Identifier: GPL-2.0
/*
 * The counting allocator behind the engine under test. One test at a time: no locks.
 */
#include "alloc.h"

#ifndef __KERNEL__
#include <malloc.h>
#endif

static long allocated;
static size_t bytes, most;
static long fail_after = -1;

/* Only userspace can tell, of any pointer. */
static size_t size_of(const void *p)
{
#ifdef __KERNEL__
	return 0;
#else
	return malloc_usable_size((void *)p);
#endif
}

void *sim_alloc(size_t n, size_t size, gfp_t gfp)
{
	void *p;

	if (!fail_after)
		return NULL;
	if (fail_after > 0)
		fail_after--;
	p = kvcalloc(n, size, GFP_KERNEL);
	(void)gfp;
	if (!p)
		return NULL;
	allocated++;
	bytes += size_of(p);
	most = max(most, bytes);
	return p;
}

void sim_free(const void *p)
{
	if (!p)
		return;
	allocated--;
	bytes -= size_of(p);
	kvfree(p);
}

long sim_allocated(void)
{
	return allocated;
}

size_t sim_allocated_most(void)
{
	return most;
}

void sim_alloc_fail_after(long n)
{
	fail_after = n;
}
