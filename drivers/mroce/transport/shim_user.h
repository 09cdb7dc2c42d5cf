/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's names for userspace builds of the engine (fuzzers, tools): types,
 * byte order, arithmetic, bitmaps, lists, memory. The semantics are the kernel's
 * as far as the engine relies on them; there are no locks and no concurrency.
 * Never included in the kernel: see shim.h.
 */
#ifndef MROCE_TRANSPORT_SHIM_USER_H
#define MROCE_TRANSPORT_SHIM_USER_H

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef long long s64;
typedef s64 ktime_t;
typedef unsigned int gfp_t;

#define U8_MAX		((u8)~0U)
#define U16_MAX		((u16)~0U)
#define U32_MAX		((u32)~0U)
#define U64_MAX		(~0ULL)
#define S32_MAX		0x7fffffff
#define S32_MIN		(-S32_MAX - 1)
#define S64_MAX		0x7fffffffffffffffLL
#define S64_MIN		(-S64_MAX - 1)

#define PAGE_SHIFT	12
#define PAGE_SIZE	(1UL << PAGE_SHIFT)
#define PAGE_MASK	(~(PAGE_SIZE - 1))

#define NSEC_PER_USEC	1000L
#define NSEC_PER_MSEC	1000000L
#define NSEC_PER_SEC	1000000000L
#define USEC_PER_MSEC	1000L
#define USEC_PER_SEC	1000000L

/* compiler */
#define __iomem
#define __user
#define __rcu
#define __force
#define __bitwise
#ifndef __packed
#define __packed		__attribute__((packed))
#endif
#define __aligned(x)		__attribute__((aligned(x)))
#define __printf(a, b)		__attribute__((format(printf, a, b)))
#define __maybe_unused		__attribute__((unused))
#define __must_check		__attribute__((warn_unused_result))
#ifndef __always_inline
#define __always_inline		inline __attribute__((always_inline))
#endif
#define noinline		__attribute__((noinline))
#define fallthrough		__attribute__((fallthrough))
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define barrier()		__asm__ __volatile__("" : : : "memory")
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define smp_wmb()		__atomic_thread_fence(__ATOMIC_RELEASE)
#define smp_rmb()		__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)

#ifndef static_assert
#define static_assert(e, ...)	_Static_assert(e, #e)
#endif
#define BUILD_BUG_ON(e)		_Static_assert(!(e), #e)
#define EXPORT_SYMBOL_GPL(s)

/* A warning in the engine is a bug: a fuzzer must stop at it. */
static inline bool mroce_shim_warn(bool bad, const char *what, const char *file, int line)
{
	if (unlikely(bad)) {
		fprintf(stderr, "%s:%d: WARN_ON(%s)\n", file, line, what);
		abort();
	}
	return bad;
}

#define WARN_ON(e)		mroce_shim_warn(!!(e), #e, __FILE__, __LINE__)
#define WARN_ON_ONCE(e)		WARN_ON(e)
#define WARN(e, ...)		WARN_ON(e)
#define WARN_ONCE(e, ...)	WARN_ON(e)
#define BUG_ON(e)		((void)WARN_ON(e))
#define pr_debug(...)		do { } while (0)

/* byte order */
#define cpu_to_be16(x)		((__be16)htobe16(x))
#define cpu_to_be32(x)		((__be32)htobe32(x))
#define cpu_to_be64(x)		((__be64)htobe64(x))
#define be16_to_cpu(x)		((u16)be16toh((u16)(x)))
#define be32_to_cpu(x)		((u32)be32toh((u32)(x)))
#define be64_to_cpu(x)		((u64)be64toh((u64)(x)))

/* arithmetic */
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define sizeof_field(t, m)	sizeof(((t *)0)->m)
#define offsetofend(t, m)	(offsetof(t, m) + sizeof_field(t, m))
#define container_of(p, t, m)	((t *)((char *)(p) - offsetof(t, m)))
#define struct_size(p, m, n)	(sizeof(*(p)) + sizeof((p)->m[0]) * (size_t)(n))
#define array_size(a, b)	((size_t)(a) * (size_t)(b))

#define min(a, b) \
	({ __typeof__(a) min_a = (a); __typeof__(b) min_b = (b); min_a < min_b ? min_a : min_b; })
#define max(a, b) \
	({ __typeof__(a) max_a = (a); __typeof__(b) max_b = (b); max_a > max_b ? max_a : max_b; })
#define min3(a, b, c)		min(min(a, b), c)
#define max3(a, b, c)		max(max(a, b), c)
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define max_t(t, a, b)		max((t)(a), (t)(b))
#define clamp(v, lo, hi)	min(max(v, lo), hi)
#define clamp_t(t, v, lo, hi)	clamp((t)(v), (t)(lo), (t)(hi))
#define clamp_val(v, lo, hi)	clamp_t(__typeof__(v), v, lo, hi)
#define swap(a, b) \
	do { __typeof__(a) swap_a = (a); (a) = (b); (b) = swap_a; } while (0)
#define abs_diff(a, b)		((a) > (b) ? (a) - (b) : (b) - (a))

#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define DIV_ROUND_UP_ULL(n, d)	DIV_ROUND_UP((u64)(n), d)
#define ALIGN(x, a)		(((x) + (__typeof__(x))(a) - 1) & ~((__typeof__(x))(a) - 1))
#define ALIGN_DOWN(x, a)	((x) & ~((__typeof__(x))(a) - 1))
#define IS_ALIGNED(x, a)	(!((x) & ((__typeof__(x))(a) - 1)))
#define round_up(x, a)		ALIGN(x, a)
#define round_down(x, a)	ALIGN_DOWN(x, a)
#define roundup(x, n)		(DIV_ROUND_UP(x, n) * (n))
#define rounddown(x, n)		((x) - (x) % (n))
#define upper_32_bits(x)	((u32)((u64)(x) >> 32))
#define lower_32_bits(x)	((u32)(x))

#define check_add_overflow(a, b, r)	__builtin_add_overflow(a, b, r)
#define check_sub_overflow(a, b, r)	__builtin_sub_overflow(a, b, r)
#define check_mul_overflow(a, b, r)	__builtin_mul_overflow(a, b, r)

static inline u64 div_u64(u64 n, u32 d) { return n / d; }
static inline s64 div_s64(s64 n, s32 d) { return n / d; }
static inline u64 div64_u64(u64 n, u64 d) { return n / d; }
static inline s64 div64_s64(s64 n, s64 d) { return n / d; }
static inline u64 mul_u32_u32(u32 a, u32 b) { return (u64)a * b; }

static inline u64 div_u64_rem(u64 n, u32 d, u32 *rem)
{
	*rem = n % d;
	return n / d;
}

static inline u64 div64_u64_rem(u64 n, u64 d, u64 *rem)
{
	*rem = n % d;
	return n / d;
}

static inline u64 mul_u64_u32_shr(u64 a, u32 b, unsigned int shift)
{
	return (u64)(((unsigned __int128)a * b) >> shift);
}

static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	return (u64)(((unsigned __int128)a * b) >> shift);
}

static inline u64 mul_u64_u32_div(u64 a, u32 b, u32 d)
{
	return (u64)((unsigned __int128)a * b / d);
}

static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 d)
{
	return (u64)((unsigned __int128)a * b / d);
}

/* bits; words are unsigned long, as in the kernel */
#define BITS_PER_BYTE		8
#define BITS_PER_LONG		(BITS_PER_BYTE * (int)sizeof(long))
#define BITS_PER_LONG_LONG	64
#define BITS_TO_LONGS(n)	DIV_ROUND_UP(n, BITS_PER_LONG)
#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define BIT_MASK(n)		(1UL << ((n) % BITS_PER_LONG))
#define BIT_WORD(n)		((n) / BITS_PER_LONG)
#define GENMASK(h, l)		((~0UL << (l)) & (~0UL >> (BITS_PER_LONG - 1 - (h))))
#define GENMASK_ULL(h, l)	((~0ULL << (l)) & (~0ULL >> (63 - (h))))
#define DECLARE_BITMAP(b, n)	unsigned long b[BITS_TO_LONGS(n)]

static inline int fls(unsigned int x) { return x ? 32 - __builtin_clz(x) : 0; }
static inline int fls64(u64 x) { return x ? 64 - __builtin_clzll(x) : 0; }
static inline int ffs64(u64 x) { return __builtin_ffsll((long long)x); }
static inline unsigned long __ffs(unsigned long x) { return (unsigned long)__builtin_ctzl(x); }
static inline unsigned long __fls(unsigned long x) { return (unsigned long)(BITS_PER_LONG - 1 - __builtin_clzl(x)); }
static inline unsigned int __ffs64(u64 x) { return (unsigned int)__builtin_ctzll(x); }
static inline unsigned long ffz(unsigned long x) { return (unsigned long)__builtin_ctzl(~x); }
static inline unsigned int hweight8(unsigned int x) { return (unsigned int)__builtin_popcount(x & 0xff); }
static inline unsigned int hweight32(unsigned int x) { return (unsigned int)__builtin_popcount(x); }
static inline unsigned int hweight_long(unsigned long x) { return (unsigned int)__builtin_popcountl(x); }
static inline unsigned long hweight64(u64 x) { return (unsigned long)__builtin_popcountll(x); }

#define ilog2(x)		(fls64(x) - 1)
#define order_base_2(x)		((x) > 1 ? ilog2((u64)(x) - 1) + 1 : 0)
#define is_power_of_2(x)	((x) && !((x) & ((x) - 1)))
#define roundup_pow_of_two(x)	(1UL << order_base_2(x))
#define rounddown_pow_of_two(x)	(1UL << ilog2(x))

static inline bool test_bit(long n, const unsigned long *b)
{
	return b[BIT_WORD(n)] & BIT_MASK(n);
}

static inline void __set_bit(long n, unsigned long *b) { b[BIT_WORD(n)] |= BIT_MASK(n); }
static inline void __clear_bit(long n, unsigned long *b) { b[BIT_WORD(n)] &= ~BIT_MASK(n); }
#define set_bit(n, b)		__set_bit(n, b)
#define clear_bit(n, b)		__clear_bit(n, b)
#define __assign_bit(n, b, v)	((v) ? __set_bit(n, b) : __clear_bit(n, b))

static inline bool __test_and_set_bit(long n, unsigned long *b)
{
	bool old = test_bit(n, b);

	__set_bit(n, b);
	return old;
}

static inline bool __test_and_clear_bit(long n, unsigned long *b)
{
	bool old = test_bit(n, b);

	__clear_bit(n, b);
	return old;
}

#define test_and_set_bit(n, b)		__test_and_set_bit(n, b)
#define test_and_clear_bit(n, b)	__test_and_clear_bit(n, b)

/* first bit at or above @from that equals @value, @size if there is none */
static inline unsigned long mroce_shim_find(const unsigned long *b, unsigned long size,
					    unsigned long from, bool value)
{
	while (from < size) {
		unsigned long w = value ? b[BIT_WORD(from)] : ~b[BIT_WORD(from)];

		w &= ~0UL << (from % BITS_PER_LONG);
		from -= from % BITS_PER_LONG;
		if (w)
			return min(from + __ffs(w), size);
		from += BITS_PER_LONG;
	}
	return size;
}

#define find_next_bit(b, n, f)		mroce_shim_find(b, n, f, true)
#define find_next_zero_bit(b, n, f)	mroce_shim_find(b, n, f, false)
#define find_first_bit(b, n)		mroce_shim_find(b, n, 0, true)
#define find_first_zero_bit(b, n)	mroce_shim_find(b, n, 0, false)

static inline unsigned long find_last_bit(const unsigned long *b, unsigned long size)
{
	unsigned long i = size;

	while (i--)
		if (test_bit((long)i, b))
			return i;
	return size;
}

#define for_each_set_bit(i, b, n) \
	for ((i) = find_first_bit(b, n); (i) < (n); (i) = find_next_bit(b, n, (i) + 1))
#define for_each_clear_bit(i, b, n) \
	for ((i) = find_first_zero_bit(b, n); (i) < (n); (i) = find_next_zero_bit(b, n, (i) + 1))

static inline void bitmap_zero(unsigned long *b, unsigned int n)
{
	memset(b, 0, BITS_TO_LONGS(n) * sizeof(long));
}

static inline void bitmap_fill(unsigned long *b, unsigned int n)
{
	memset(b, 0xff, BITS_TO_LONGS(n) * sizeof(long));
}

static inline void bitmap_copy(unsigned long *to, const unsigned long *from, unsigned int n)
{
	memcpy(to, from, BITS_TO_LONGS(n) * sizeof(long));
}

static inline void bitmap_set(unsigned long *b, unsigned int from, unsigned int n)
{
	while (n--)
		__set_bit(from++, b);
}

static inline void bitmap_clear(unsigned long *b, unsigned int from, unsigned int n)
{
	while (n--)
		__clear_bit(from++, b);
}

static inline bool bitmap_empty(const unsigned long *b, unsigned int n) { return find_first_bit(b, n) == n; }
static inline bool bitmap_full(const unsigned long *b, unsigned int n) { return find_first_zero_bit(b, n) == n; }

static inline unsigned int bitmap_weight(const unsigned long *b, unsigned int n)
{
	unsigned int weight = 0;
	unsigned long i;

	for_each_set_bit(i, b, n)
		weight++;
	return weight;
}

/* memory */
#define GFP_KERNEL		0u
#define GFP_ATOMIC		1u
#define GFP_NOWAIT		2u
#define GFP_NOIO		4u
#define __GFP_NOWARN		0u
#define __GFP_ZERO		0u
#define __GFP_ACCOUNT		0u
#define GFP_KERNEL_ACCOUNT	GFP_KERNEL

/* all of it zeroed: what reads memory before writing it is for the sanitizers of a kernel build to find */
#define kmalloc(n, gfp)		((void)(gfp), calloc(1, n))
#define kzalloc(n, gfp)		((void)(gfp), calloc(1, n))
#define kcalloc(n, size, gfp)	((void)(gfp), calloc(n, size))
#define kmalloc_array(n, size, gfp)	kcalloc(n, size, gfp)
#define kvmalloc(n, gfp)	kmalloc(n, gfp)
#define kvzalloc(n, gfp)	kzalloc(n, gfp)
#define kvcalloc(n, size, gfp)	kcalloc(n, size, gfp)
#define kvmalloc_array(n, size, gfp)	kcalloc(n, size, gfp)
#define bitmap_zalloc(n, gfp)	((unsigned long *)kcalloc(BITS_TO_LONGS(n), sizeof(long), gfp))
#define kfree(p)		free((void *)(p))
#define kvfree(p)		free((void *)(p))
#define bitmap_free(p)		free(p)

static inline void *kmemdup(const void *p, size_t n, gfp_t gfp)
{
	void *to = kmalloc(n, gfp);

	if (to)
		memcpy(to, p, n);
	return to;
}

static inline void memzero_explicit(void *p, size_t n)
{
	memset(p, 0, n);
	barrier();
}

/* doubly linked lists */
struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD_INIT(h)	{ &(h), &(h) }
#define LIST_HEAD(h)		struct list_head h = LIST_HEAD_INIT(h)

static inline void INIT_LIST_HEAD(struct list_head *h) { h->next = h->prev = h; }
static inline bool list_empty(const struct list_head *h) { return h->next == h; }
static inline bool list_is_singular(const struct list_head *h) { return h->next != h && h->next == h->prev; }
static inline bool list_is_last(const struct list_head *e, const struct list_head *h) { return e->next == h; }
static inline bool list_is_first(const struct list_head *e, const struct list_head *h) { return e->prev == h; }

static inline void mroce_shim_link(struct list_head *prev, struct list_head *next)
{
	prev->next = next;
	next->prev = prev;
}

static inline void list_add(struct list_head *e, struct list_head *h)
{
	mroce_shim_link(e, h->next);
	mroce_shim_link(h, e);
}

static inline void list_add_tail(struct list_head *e, struct list_head *h)
{
	mroce_shim_link(h->prev, e);
	mroce_shim_link(e, h);
}

/* a deleted entry's pointers crash whoever follows them */
static inline void list_del(struct list_head *e)
{
	mroce_shim_link(e->prev, e->next);
	e->next = NULL;
	e->prev = NULL;
}

static inline void list_del_init(struct list_head *e)
{
	mroce_shim_link(e->prev, e->next);
	INIT_LIST_HEAD(e);
}

static inline void list_move(struct list_head *e, struct list_head *h)
{
	mroce_shim_link(e->prev, e->next);
	list_add(e, h);
}

static inline void list_move_tail(struct list_head *e, struct list_head *h)
{
	mroce_shim_link(e->prev, e->next);
	list_add_tail(e, h);
}

static inline void list_splice_init(struct list_head *from, struct list_head *h)
{
	if (list_empty(from))
		return;
	mroce_shim_link(from->prev, h->next);
	mroce_shim_link(h, from->next);
	INIT_LIST_HEAD(from);
}

static inline void list_splice_tail_init(struct list_head *from, struct list_head *h)
{
	if (list_empty(from))
		return;
	mroce_shim_link(h->prev, from->next);
	mroce_shim_link(from->prev, h);
	INIT_LIST_HEAD(from);
}

#define list_entry(p, t, m)		container_of(p, t, m)
#define list_first_entry(h, t, m)	list_entry((h)->next, t, m)
#define list_last_entry(h, t, m)	list_entry((h)->prev, t, m)
#define list_next_entry(e, m)		list_entry((e)->m.next, __typeof__(*(e)), m)
#define list_prev_entry(e, m)		list_entry((e)->m.prev, __typeof__(*(e)), m)
#define list_first_entry_or_null(h, t, m) \
	(list_empty(h) ? NULL : list_first_entry(h, t, m))
#define list_entry_is_head(e, h, m)	(&(e)->m == (h))
#define list_for_each(p, h) \
	for ((p) = (h)->next; (p) != (h); (p) = (p)->next)
#define list_for_each_entry(e, h, m) \
	for ((e) = list_first_entry(h, __typeof__(*(e)), m); !list_entry_is_head(e, h, m); \
	     (e) = list_next_entry(e, m))
#define list_for_each_entry_reverse(e, h, m) \
	for ((e) = list_last_entry(h, __typeof__(*(e)), m); !list_entry_is_head(e, h, m); \
	     (e) = list_prev_entry(e, m))
#define list_for_each_entry_safe(e, n, h, m) \
	for ((e) = list_first_entry(h, __typeof__(*(e)), m), (n) = list_next_entry(e, m); \
	     !list_entry_is_head(e, h, m); (e) = (n), (n) = list_next_entry(n, m))
#define list_for_each_entry_from(e, h, m) \
	for (; !list_entry_is_head(e, h, m); (e) = list_next_entry(e, m))
#define list_for_each_prev(pos, head) \
	for ((pos) = (head)->prev; (pos) != (head); (pos) = (pos)->prev)

/* hash lists */
struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

#define INIT_HLIST_HEAD(h)	((h)->first = NULL)
static inline void INIT_HLIST_NODE(struct hlist_node *n) { n->next = NULL; n->pprev = NULL; }
static inline bool hlist_empty(const struct hlist_head *h) { return !h->first; }
static inline bool hlist_unhashed(const struct hlist_node *n) { return !n->pprev; }

static inline void hlist_add_head(struct hlist_node *n, struct hlist_head *h)
{
	n->next = h->first;
	n->pprev = &h->first;
	if (n->next)
		n->next->pprev = &n->next;
	h->first = n;
}

static inline void hlist_del_init(struct hlist_node *n)
{
	if (hlist_unhashed(n))
		return;
	*n->pprev = n->next;
	if (n->next)
		n->next->pprev = n->pprev;
	INIT_HLIST_NODE(n);
}

#define hlist_del(n)		hlist_del_init(n)
#define hlist_entry(p, t, m)	container_of(p, t, m)
#define hlist_entry_safe(p, t, m) \
	({ __typeof__(p) hlist_p = (p); hlist_p ? hlist_entry(hlist_p, t, m) : NULL; })
#define hlist_for_each_entry(e, h, m) \
	for ((e) = hlist_entry_safe((h)->first, __typeof__(*(e)), m); (e); \
	     (e) = hlist_entry_safe((e)->m.next, __typeof__(*(e)), m))

#endif
