/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every allocation of the engine under test is counted, and can be made to fail:
 * the engine's sources are compiled behind this header (engine/), which puts
 * counting functions in the place of the allocator's.
 */
#ifndef MROCE_KUNIT_ALLOC_H
#define MROCE_KUNIT_ALLOC_H

#include "../drivers/mroce/transport/shim.h"

#ifdef __KERNEL__
#include <linux/stdarg.h>
#else
#include <stdarg.h>
#endif

void *sim_alloc(size_t n, size_t size, gfp_t gfp);
void sim_free(const void *p);

/* allocations that were not freed */
long sim_allocated(void);
/* bytes that were allocated at a time, at most, since the beginning; in userspace only */
size_t sim_allocated_most(void);
/* after @n more allocations all fail, until called with a negative number */
void sim_alloc_fail_after(long n);

#ifdef SIM_COUNT_ALLOCATIONS
#undef kmalloc
#undef kzalloc
#undef kcalloc
#undef kmalloc_array
#undef kvmalloc
#undef kvzalloc
#undef kvcalloc
#undef kvmalloc_array
#undef bitmap_zalloc
#undef kfree
#undef kvfree
#undef bitmap_free
#define kmalloc(n, gfp)		     sim_alloc(1, n, gfp)
#define kzalloc(n, gfp)		     sim_alloc(1, n, gfp)
#define kcalloc(n, size, gfp)	     sim_alloc(n, size, gfp)
#define kmalloc_array(n, size, gfp)  sim_alloc(n, size, gfp)
#define kvmalloc(n, gfp)	     sim_alloc(1, n, gfp)
#define kvzalloc(n, gfp)	     sim_alloc(1, n, gfp)
#define kvcalloc(n, size, gfp)	     sim_alloc(n, size, gfp)
#define kvmalloc_array(n, size, gfp) sim_alloc(n, size, gfp)
#define bitmap_zalloc(n, gfp) sim_alloc(BITS_TO_LONGS(n), sizeof(long), gfp)
#define kfree(p)		     sim_free(p)
#define kvfree(p)		     sim_free(p)
#define bitmap_free(p)		     sim_free(p)
#endif

#endif
