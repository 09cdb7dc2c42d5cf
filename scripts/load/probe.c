// SPDX-License-Identifier: GPL-2.0
/*
 * usage: mroce-probe [--json] [--address ADDRESS] [--only WORDS] [--seconds N] DEVICE GID-INDEX
 * Tries what Verbs have on a device that is connected with itself, each thing for real and in a
 * process of its own, and prints a line a thing: group, name, verdict, detail, with tabs between,
 * or --json. Verdicts: yes; no, with the errno or the status of the completion; wrong, with what
 * came instead; not tried, with the reason. ADDRESS is one of the device's netdev: iWARP devices
 * are connected by it. --only takes things whose "group/name" has WORDS in it. What takes longer
 * than N (30) seconds is wrong. Exit status 0 if all was tried or could not be, whatever came out.
 */
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>
#include <sys/wait.h>

#include "probe.h"
#include "probe_cm.h"

static const struct group *const groups[] = {
	&device_attributes, &capability_flags, &port_attributes, &device_verbs, &memory_verbs,
	&access_flags, &windows, &completion_queues, &receive_queues, &qp_types, &qp_verbs, &qp_states,
	&qp_query, &rc_post, &rc_wr, &uc_post, &uc_wr, &ud_post, &ud_wr, &send_flags, &datagrams,
	&error_statuses, &async_events,
};

static const char *device, *address;
static unsigned int seconds = 30;

/* ---- in the process that tries ---- */

static void __attribute__((noreturn, format(printf, 2, 0)))
verdict(const char *word, const char *fmt, va_list args)
{
	printf("%s\t", word);
	vprintf(fmt, args);
	fflush(stdout);
	_exit(0);
}

#define VERDICT(word, fmt) do { \
		va_list args; \
		va_start(args, fmt); \
		verdict(word, fmt, args); \
	} while (0)

void yes(const char *fmt, ...)
{
	VERDICT("yes", fmt);
}

void no_because(const char *fmt, ...)
{
	VERDICT("no", fmt);
}

void untried(const char *fmt, ...)
{
	VERDICT("not tried", fmt);
}

void no(int err, const char *what)
{
	/* some calls give it with a sign */
	const char *name = strerrorname_np(abs(err));

	no_because("%s: %s", err && name ? name : "no errno", what);
}

int error_of(int ret)
{
	return ret == -1 ? errno : abs(ret);
}

bool iwarp(void)
{
	return ctx->device->transport_type == IBV_TRANSPORT_IWARP;
}

static void connect_by_cm(struct pair *p)
{
	if (!address)
		untried("no --address, by which iWARP connects");
	cm_join(p, address);
}

void open_all(void)
{
	open_device(device);
	if (iwarp())
		connector = connect_by_cm;
	open_memory();
}

static void __attribute__((noreturn)) try(const struct item *item)
{
	patience = seconds / 3;
	on_failure = no;
	if (!item->bare)
		open_all();
	if (item->run)
		item->run();
	else
		item->run_with(item->arg);
	yes("%s", "");
}

/* ---- in the one that asks ---- */

struct result {
	char text[512];
	const char *verdict, *detail;
};

/* a line is enough, and neither tabs nor what ends a string in JSON are of use in it */
static void tidy(char *text)
{
	text[strcspn(text, "\n")] = 0;
	for (; *text; text++)
		if (*text == '"' || *text == '\\' || (unsigned char)*text < ' ')
			*text = '\'';
}

/* what the process says until it ends, or until @seconds are over: whether it has ended */
static bool listen_to(int fd, char *text, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	time_t now = time(NULL), end = now + seconds;
	size_t n = 0;
	ssize_t got;

	while ((now = time(NULL)) <= end) {
		if (poll(&p, 1, (end - now) * 1000 + 500) != 1)
			continue;
		got = read(fd, text + n, size - 1 - n);
		if (got <= 0)
			return true;
		n += got;
		text[n] = 0;
	}
	return false;
}

/* what a device has of a process may take long to go; one that does not end even so is left alone */
static bool reap(pid_t pid, int *status)
{
	int i;

	for (i = 0; i < 6000; i++) {
		if (waitpid(pid, status, WNOHANG) == pid)
			return true;
		usleep(10000);
	}
	return false;
}

static void ask(const struct item *item, struct result *r)
{
	int fds[2], status = 0;
	char *said = r->text;
	bool ended;
	pid_t pid;

	fflush(stdout);
	if (pipe(fds))
		die("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		setpgid(0, 0);
		dup2(fds[1], STDOUT_FILENO);
		close(fds[0]);
		close(fds[1]);
		try(item);
	}
	close(fds[1]);
	*said = 0;
	ended = listen_to(fds[0], r->text, sizeof(r->text));
	close(fds[0]);
	if (ended)
		ended = reap(pid, &status);
	/* and what it has started */
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	r->verdict = "wrong";
	r->detail = said;
	if (!ended) {
		snprintf(said, sizeof(r->text), reap(pid, &status) ? "no end" :
								     "no end, not even when killed");
	} else if (WIFSIGNALED(status)) {
		snprintf(said, sizeof(r->text), "ended by SIG%s", sigabbrev_np(WTERMSIG(status)));
	} else if (WEXITSTATUS(status)) {
		/* die() has put the program's name before it */
		if (strchr(said, ':'))
			r->detail = strchr(said, ':') + 2;
	} else {
		r->verdict = said;
		r->detail = said + strcspn(said, "\t");
		if (*r->detail)
			*(char *)r->detail++ = 0;
	}
	tidy((char *)r->detail);
}

static void show(const struct group *g, const struct item *item, const struct result *r, bool json)
{
	static bool more;

	if (json)
		printf("%s\n{ \"group\": \"%s\", \"name\": \"%s\", \"verdict\": \"%s\", "
		       "\"detail\": \"%s\" }", more ? "," : "[", g->name, item->name, r->verdict,
		       r->detail);
	else
		printf("%s\t%s\t%s\t%s\n", g->name, item->name, r->verdict, r->detail);
	more = true;
}

static bool wanted(const char *words, const struct group *g, const struct item *item)
{
	char name[256];

	snprintf(name, sizeof(name), "%s/%s", g->name, item->name);
	return !words || strstr(name, words);
}

static const struct option options[] = {
	{ "json", no_argument, NULL, 'j' }, { "address", required_argument, NULL, 'a' },
	{ "only", required_argument, NULL, 'o' }, { "seconds", required_argument, NULL, 's' },
	{},
};

static int usage(void)
{
	fprintf(stderr, "usage: mroce-probe [--json] [--address ADDRESS] [--only WORDS] "
			"[--seconds N] DEVICE GID-INDEX\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *words = NULL;
	bool json = false;
	unsigned int i, k;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			json = true;
			break;
		case 'a':
			address = optarg;
			break;
		case 'o':
			words = optarg;
			break;
		case 's':
			seconds = atoi(optarg);
			break;
		default:
			return usage();
		}
	}
	if (argc - optind != 2 || seconds < 4)
		return usage();
	device = argv[optind];
	gid_index = atoi(argv[optind + 1]);
	for (i = 0; i < ARRAY_SIZE(groups); i++) {
		for (k = 0; k < groups[i]->n; k++) {
			const struct item *item = &groups[i]->items[k];
			struct result r;

			if (!wanted(words, groups[i], item))
				continue;
			ask(item, &r);
			show(groups[i], item, &r, json);
		}
	}
	if (json)
		puts("\n]");
	return 0;
}
