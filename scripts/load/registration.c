// SPDX-License-Identifier: GPL-2.0
/*
 * How long it takes to register memory with a device and to let go of it: once a large piece, and
 * many small ones. Pages are there already, so what is measured is pinning and the device's own
 * tables.
 */
#include <sys/mman.h>
#include <time.h>

#include "harness.h"

#define LARGE	(1ul << 30)
#define SMALL	4096ul
#define MANY	1000
#define RUNS	5
#define ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static const char usage_text[] =
	"usage: mroce-registration DEVICE\n"
	"Prints \"NAME VALUE\" lines, microseconds, medians of 5: large and large_back, to register 1 GiB\n"
	"and to deregister it; small and small_back, the same for 1,000 pieces of 4 KiB in all.\n";

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

static int order(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return (d > 0) - (d < 0);
}

static void report(const char *name, double *us)
{
	qsort(us, RUNS, sizeof(*us), order);
	printf("%s %.1f\n", name, us[RUNS / 2]);
}

static void measure(char *buf, size_t size, int count, const char *there,
		    const char *back)
{
	double up[RUNS], down[RUNS], began;
	struct ibv_mr *regions[MANY];
	int run, i;

	for (run = 0; run < RUNS; run++) {
		began = now_us();
		for (i = 0; i < count; i++) {
			regions[i] = made(ibv_reg_mr(pd, buf + i * size, size, ACCESS), "ibv_reg_mr");
		}
		up[run] = now_us() - began;
		began = now_us();
		for (i = 0; i < count; i++)
			must(ibv_dereg_mr(regions[i]), "ibv_dereg_mr");
		down[run] = now_us() - began;
	}
	report(there, up);
	report(back, down);
}

int main(int argc, char **argv)
{
	char *buf;

	if (argc != 2 || argv[1][0] == '-') {
		fputs(usage_text, argc == 2 && !strcmp(argv[1], "-h") ? stdout : stderr);
		return argc == 2 && !strcmp(argv[1], "-h") ? 0 : 2;
	}
	buf = mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buf == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	open_device(argv[1]);
	measure(buf, LARGE, 1, "large", "large_back");
	measure(buf, SMALL, MANY, "small", "small_back");
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	munmap(buf, LARGE);
	return 0;
}
