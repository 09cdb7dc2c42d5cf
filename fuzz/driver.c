// SPDX-License-Identifier: GPL-2.0
/*
 * A target without libFuzzer: replays what is in files and folders, then runs inputs made of them
 * at random, the same for the same seed.
 *
 * usage: TARGET [-r RUNS] [-s SEED] [-a ARTIFACT] [PATH...]
 *        TARGET -w FOLDER     writes the target's own inputs to begin with
 * Without PATH the target's own inputs are what is replayed. What ends the program is written to
 * ARTIFACT.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <sanitizer/common_interface_defs.h>

#include "fuzz.h"

#define INPUT_MOST 4096

struct input {
	size_t size;
	u8 data[INPUT_MOST];
};

static struct input *corpus, current;
static u32 inputs, max_inputs;
static const char *artifact = "crash";

/* What is being run when the program dies; only calls that a signal handler may make. */
static void keep_current(void)
{
	static const char said[] = "the input is kept in ";
	int fd = creat(artifact, 0644);

	if (fd < 0 || write(fd, current.data, current.size) < 0)
		return;
	close(fd);
	if (write(2, said, sizeof(said) - 1) < 0 || write(2, artifact, strlen(artifact)) < 0 ||
	    write(2, "\n", 1) < 0)
		return;
}

static void on_abort(int sig)
{
	keep_current();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* What takes so long does not end. */
static void on_alarm(int sig)
{
	static const char said[] = "FUZZ: no end\n";

	(void)sig;
	if (write(2, said, sizeof(said) - 1) < 0)
		_exit(1);
	keep_current();
	_exit(1);
}

static void add(const struct input *in)
{
	if (inputs == max_inputs) {
		max_inputs = max(2 * max_inputs, 64U);
		corpus = realloc(corpus, max_inputs * sizeof(*corpus));
		if (!corpus)
			fuzz_fail("no memory");
	}
	corpus[inputs++] = *in;
}

static void add_file(const char *path)
{
	struct input in = {};
	FILE *f = fopen(path, "rb");

	if (!f)
		fuzz_fail("cannot read %s", path);
	in.size = fread(in.data, 1, sizeof(in.data), f);
	fclose(f);
	add(&in);
}

static void add_path(const char *path)
{
	struct dirent **entry;
	char name[4096];
	struct stat st;
	int i, n;

	if (!stat(path, &st) && !S_ISDIR(st.st_mode)) {
		add_file(path);
		return;
	}
	/* sorted: the same seed picks the same ones */
	n = scandir(path, &entry, NULL, alphasort);
	if (n < 0)
		fuzz_fail("cannot read %s", path);
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, entry[i]->d_name);
		if (entry[i]->d_name[0] != '.' && !stat(name, &st) && S_ISREG(st.st_mode))
			add_file(name);
		free(entry[i]);
	}
	free(entry);
}

static void write_seeds(const char *folder)
{
	char name[4096];
	u8 data[INPUT_MOST];
	size_t size;
	FILE *f;
	u32 i;

	for (i = 0; (size = fuzz_seed(data, sizeof(data), i)); i++) {
		snprintf(name, sizeof(name), "%s/seed-%03u", folder, i);
		f = fopen(name, "wb");
		if (!f || fwrite(data, 1, size, f) != size || fclose(f))
			fuzz_fail("cannot write %s", name);
	}
	printf("%u inputs to begin with\n", i);
}

static void run(void)
{
	/* of this process's time: others may have the processor */
	static const struct itimerval endless = { .it_value.tv_sec = 30 }, never;
	/* in a block of its own size, so that reading beyond it is seen */
	u8 *data = malloc(current.size ? current.size : 1);

	if (!data)
		fuzz_fail("no memory");
	memcpy(data, current.data, current.size);
	setitimer(ITIMER_PROF, &endless, NULL);
	fuzz_one(data, current.size);
	setitimer(ITIMER_PROF, &never, NULL);
	free(data);
}

size_t fuzz_mutate_bytes(u8 *data, size_t size, size_t most, struct fuzz_random *r)
{
	u32 at = fuzz_below(r, size), n = 1 + fuzz_below(r, 8);

	if (!size || (size < most && !fuzz_below(r, 8))) {
		n = min_t(size_t, n, most - size);
		memmove(data + at + n, data + at, size - at);
		while (n--) {
			data[at++] = fuzz_next(r);
			size++;
		}
		return size;
	}
	switch (fuzz_below(r, 4)) {
	case 0:
		data[at] ^= BIT(fuzz_below(r, 8));
		break;
	case 1:
		data[at] = fuzz_next(r);
		break;
	case 2:
		n = min_t(size_t, n, size - at);
		memmove(data + at, data + at + n, size - at - n);
		size -= n;
		break;
	default:
		n = min_t(size_t, n, size - at);
		memmove(data + at, data + fuzz_below(r, size - n + 1), n);
	}
	return size;
}

int main(int argc, char **argv)
{
	struct fuzz_random r = { .state = 1 };
	u32 runs = 0, i, k;
	size_t size;
	int option;

	while ((option = getopt(argc, argv, "r:s:a:w:")) != -1) {
		switch (option) {
		case 'r':
			runs = strtoul(optarg, NULL, 0);
			break;
		case 's':
			r.state = strtoul(optarg, NULL, 0);
			break;
		case 'a':
			artifact = optarg;
			break;
		case 'w':
			write_seeds(optarg);
			return 0;
		default:
			return 2;
		}
	}
	for (i = optind; i < argc; i++)
		add_path(argv[i]);
	for (i = 0; optind == argc && (size = fuzz_seed(current.data, INPUT_MOST, i)); i++) {
		current.size = size;
		add(&current);
	}
	if (!inputs)
		fuzz_fail("no inputs");
	__sanitizer_set_death_callback(keep_current);
	signal(SIGABRT, on_abort);
	signal(SIGPROF, on_alarm);
	for (i = 0; i < inputs; i++) {
		current = corpus[i];
		run();
	}
	for (i = 0; i < runs; i++) {
		current = corpus[fuzz_below(&r, inputs)];
		for (k = 1 + fuzz_below(&r, 12); k; k--)
			current.size = fuzz_mutate(current.data, current.size, INPUT_MOST, &r);
		run();
	}
	printf("%u inputs replayed, %u made of them\n", inputs, runs);
	free(corpus);
	return 0;
}
