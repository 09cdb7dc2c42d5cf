// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the KUnit suites in userspace and prints KTAP.
 * usage: mroce_kunit [PATTERN]: suites or "suite.case" whose name contains it.
 */
#include <kunit/test.h>

extern struct kunit_suite *const host_suites[];

void host_note(struct kunit *test, const char *level, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("    # %s: %s", test->name, level);
	vprintf(fmt, args);
	va_end(args);
	if (!*fmt || fmt[strlen(fmt) - 1] != '\n')
		printf("\n");
}

void host_fail(struct kunit *test, bool stop, const char *file, int line, const char *fmt, ...)
{
	va_list args;

	test->failed = true;
	va_start(args, fmt);
	printf("    # %s: %s failed at %s:%d\n    #   ", test->name,
	       stop ? "ASSERTION" : "EXPECTATION", file, line);
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
	if (stop)
		longjmp(test->abort, 1);
}

void *kunit_kzalloc(struct kunit *test, size_t size, gfp_t gfp)
{
	struct host_memory *m = calloc(1, sizeof(*m) + size);

	(void)gfp;
	m->next = test->memory;
	test->memory = m;
	return m->data;
}

static bool run_one(struct kunit_suite *suite, struct kunit_case *c, const void *param)
{
	struct kunit test = { .name = c->name, .param_value = param };
	struct host_memory *m;

	if (!setjmp(test.abort)) {
		if (suite->init && suite->init(&test))
			test.failed = true;
		else
			c->run_case(&test);
	}
	if (suite->exit)
		suite->exit(&test);
	while ((m = test.memory)) {
		test.memory = m->next;
		free(m);
	}
	return !test.failed;
}

int main(int argc, char **argv)
{
	const char *pattern = argc > 1 ? argv[1] : "";
	unsigned int bad = 0, good = 0, n;
	struct kunit_suite *const *s;
	struct kunit_case *c;
	char name[256];

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (s = host_suites; *s; s++) {
		printf("    # Subtest: %s\n", (*s)->name);
		for (c = (*s)->test_cases, n = 1; c->run_case; c++, n++) {
			char desc[KUNIT_PARAM_DESC_SIZE] = "";
			const void *param = NULL;
			bool ok = true;

			snprintf(name, sizeof(name), "%s.%s", (*s)->name, c->name);
			if (!strstr(name, pattern))
				continue;
			if (c->generate) {
				while ((param = c->generate(param, desc))) {
					bool one = run_one(*s, c, param);

					printf("        %s %s\n", one ? "ok" : "not ok", desc);
					ok = ok && one;
				}
			} else {
				ok = run_one(*s, c, NULL);
			}
			printf("    %s %u %s\n", ok ? "ok" : "not ok", n, c->name);
			*(ok ? &good : &bad) += 1;
		}
	}
	printf("# %u passed, %u failed\n", good, bad);
	return bad ? 1 : 0;
}
