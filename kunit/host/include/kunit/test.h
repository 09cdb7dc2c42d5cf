/* SPDX-License-Identifier: GPL-2.0 */
/*
 * As much of KUnit's interface as the suites use, for running them in userspace
 * under sanitizers and a debugger (make -C kunit host). A failed assertion leaves
 * the test case by longjmp(); everything runs in one thread.
 */
#ifndef MROCE_HOST_KUNIT_TEST_H
#define MROCE_HOST_KUNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include "../../../../drivers/mroce/transport/shim.h"

#define KUNIT_PARAM_DESC_SIZE	128

struct kunit;

struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
	const void *(*generate)(const void *prev, char *desc);
};

struct kunit_suite {
	const char *name;
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case *test_cases;
};

struct host_memory {
	struct host_memory *next;
	u64 data[];
};

struct kunit {
	void *priv;
	const char *name;
	const void *param_value;
	bool failed;
	jmp_buf abort;
	struct host_memory *memory;
};

#define KUNIT_CASE(f)			{ .run_case = f, .name = #f }
#define KUNIT_CASE_SLOW(f)		KUNIT_CASE(f)
#define KUNIT_CASE_PARAM(f, g)		{ .run_case = f, .name = #f, .generate = g }
#define KUNIT_ARRAY_PARAM(n, list, get_desc)                                                       \
	static const void *n##_gen_params(const void *prev, char *desc)                            \
	{                                                                                          \
		__auto_type all = &(list);                                                         \
		typeof(&(*all)[0]) first = *all, next = prev ? prev : first;                       \
		void (*host_describe)(typeof(first), char *) = get_desc;                           \
		if (prev)                                                                          \
			next++;                                                                    \
		if (next == first + ARRAY_SIZE(*all))                                              \
			return NULL;                                                               \
		if (host_describe)                                                                 \
			host_describe(next, desc);                                                 \
		return next;                                                                       \
	}

void host_note(struct kunit *test, const char *level, const char *fmt, ...) __printf(3, 4);
void host_fail(struct kunit *test, bool stop, const char *file, int line, const char *fmt, ...)
	__printf(5, 6);
void *kunit_kzalloc(struct kunit *test, size_t size, gfp_t gfp);

#define kunit_info(t, ...)	host_note(t, "", __VA_ARGS__)
#define kunit_warn(t, ...)	host_note(t, "warning: ", __VA_ARGS__)
#define kunit_err(t, ...)	host_note(t, "error: ", __VA_ARGS__)

#define KUNIT_FAIL(t, ...)	host_fail(t, false, __FILE__, __LINE__, __VA_ARGS__)

#define HOST_COMPARE(t, stop, l, op, r)                                                            \
	do {                                                                                       \
		typeof(l) host_l = (l);                                                            \
		typeof(r) host_r = (r);                                                            \
		if (!(host_l op host_r))                                                           \
			host_fail(t, stop, __FILE__, __LINE__, "%s %s %s: %lld, %lld", #l, #op,    \
				  #r, (long long)host_l, (long long)host_r);                       \
	} while (0)
#define HOST_TRUTH(t, stop, c, want)                                                               \
	do {                                                                                       \
		bool host_got = (c), host_want = (want);                                           \
		if (host_got != host_want)                                                         \
			host_fail(t, stop, __FILE__, __LINE__, "%s is not %s", #c,                 \
				  host_want ? "true" : "false");                                   \
	} while (0)

#define KUNIT_EXPECT_TRUE(t, c)		HOST_TRUTH(t, false, c, true)
#define KUNIT_EXPECT_FALSE(t, c)	HOST_TRUTH(t, false, c, false)
#define KUNIT_ASSERT_TRUE(t, c)		HOST_TRUTH(t, true, c, true)
#define KUNIT_ASSERT_FALSE(t, c)	HOST_TRUTH(t, true, c, false)
#define KUNIT_EXPECT_EQ(t, l, r)	HOST_COMPARE(t, false, l, ==, r)
#define KUNIT_EXPECT_NE(t, l, r)	HOST_COMPARE(t, false, l, !=, r)
#define KUNIT_EXPECT_LT(t, l, r)	HOST_COMPARE(t, false, l, <, r)
#define KUNIT_EXPECT_LE(t, l, r)	HOST_COMPARE(t, false, l, <=, r)
#define KUNIT_EXPECT_GT(t, l, r)	HOST_COMPARE(t, false, l, >, r)
#define KUNIT_EXPECT_GE(t, l, r)	HOST_COMPARE(t, false, l, >=, r)
#define KUNIT_ASSERT_EQ(t, l, r)	HOST_COMPARE(t, true, l, ==, r)
#define KUNIT_ASSERT_NE(t, l, r)	HOST_COMPARE(t, true, l, !=, r)
#define KUNIT_ASSERT_LE(t, l, r)	HOST_COMPARE(t, true, l, <=, r)
#define KUNIT_ASSERT_GE(t, l, r)	HOST_COMPARE(t, true, l, >=, r)
#define KUNIT_EXPECT_EQ_MSG(t, l, r, ...)	HOST_COMPARE(t, false, l, ==, r)
#define KUNIT_EXPECT_PTR_EQ(t, l, r) \
	HOST_TRUTH(t, false, (const void *)(l) == (const void *)(r), true)
#define KUNIT_ASSERT_PTR_EQ(t, l, r) \
	HOST_TRUTH(t, true, (const void *)(l) == (const void *)(r), true)
#define KUNIT_EXPECT_NULL(t, p)		HOST_TRUTH(t, false, !(p), true)
#define KUNIT_EXPECT_NOT_NULL(t, p)	HOST_TRUTH(t, false, !!(p), true)
#define KUNIT_ASSERT_NULL(t, p)		HOST_TRUTH(t, true, !(p), true)
#define KUNIT_ASSERT_NOT_NULL(t, p)	HOST_TRUTH(t, true, !!(p), true)
#define KUNIT_EXPECT_MEMEQ(t, l, r, n)	HOST_TRUTH(t, false, !memcmp(l, r, n), true)

#define kunit_test_suites(...) \
	struct kunit_suite *const host_suites[] = { __VA_ARGS__, NULL }

#endif
