// SPDX-License-Identifier: GPL-2.0
/*
 * One end from beginning to end: control connection, set-up, workers, watchdog,
 * verdict. With --self two of them run, the server's in a thread of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include "load.h"

#define FIN_WAIT_MS	60000

volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* The first SIGINT ends a run in order, with everything checked; the second ends the program. */
static void end_in_order(void)
{
	struct sigaction sa = { .sa_handler = on_interrupt, .sa_flags = SA_RESETHAND | SA_RESTART };

	sigaction(SIGINT, &sa, NULL);
}

static int start_workers(struct side *s)
{
	unsigned int i;

	s->t0 = now_ns();
	s->t_stop = s->t0 + s->p.seconds * 1000000000ull;
	__atomic_store_n(&s->running, (int)s->p.threads, __ATOMIC_RELEASE);
	for (i = 0; i < s->p.threads; i++) {
		errno = pthread_create(&s->workers[i].thread, NULL, worker_main, &s->workers[i]);
		if (errno) {
			fprintf(stderr, "mroce-load: cannot start a thread: %m\n");
			__atomic_sub_fetch(&s->running, (int)(s->p.threads - i), __ATOMIC_RELEASE);
			fail_code(s, EXIT_SETUP);
			return -1;
		}
		s->workers[i].started = true;
	}
	return 0;
}

/* queue pair and device errors come as events; port changes are only told */
static void look_at_async(struct side *s)
{
	struct pollfd pf = { .fd = s->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event ev;

	while (poll(&pf, 1, 0) > 0) {
		if (ibv_get_async_event(s->ctx, &ev))
			return;
		switch (ev.event_type) {
		case IBV_EVENT_CQ_ERR:
		case IBV_EVENT_QP_FATAL:
		case IBV_EVENT_QP_REQ_ERR:
		case IBV_EVENT_QP_ACCESS_ERR:
		case IBV_EVENT_SRQ_ERR:
		case IBV_EVENT_DEVICE_FATAL:
			fail(s, "asynchronous event: %s", ibv_event_type_str(ev.event_type));
			break;
		case IBV_EVENT_COMM_EST:
			break;
		default:
			printf("%s: event: %s\n", s->name, ibv_event_type_str(ev.event_type));
		}
		ibv_ack_async_event(&ev);
	}
}

/* the peer says that it is finished, or is gone */
static void look_at_peer(struct side *s)
{
	struct pollfd pf = { .fd = s->ctl, .events = POLLIN };
	uint64_t ok;

	if (s->peer_fin || poll(&pf, 1, 0) <= 0)
		return;
	s->peer_fin = true;
	if (ctl_recv(s, CTL_FIN, &ok, 1, 2000)) {
		fail(s, "lost the peer");
		return;
	}
	s->peer_ok = ok;
	if (!ok)
		fail(s, "the peer found an error and stopped");
}

static uint64_t progress_sum(const struct side *s)
{
	struct counters c;

	sum_counters(s, &c);
	return c.completions + c.live_polls + c.live_flags;
}

static void watch(struct side *s)
{
	uint64_t last = 0, moved = now_ns(), shown = moved, now, v;
	struct counters prev = { 0 };

	while (__atomic_load_n(&s->running, __ATOMIC_ACQUIRE) > 0) {
		usleep(20000);
		look_at_async(s);
		look_at_peer(s);
		now = now_ns();
		v = progress_sum(s);
		if (v != last) {
			last = v;
			moved = now;
		}
		if (s->o->stall && now - moved > s->o->stall * 1000000000ull && !side_failed(s)) {
			fflush(stdout);
			fprintf(stderr, "mroce-load: %s: STALLED: no progress in %d s (seed %lu)\n",
				s->name, s->o->stall, (unsigned long)s->p.seed);
			report_stall(s);
			fail_code(s, EXIT_STALL);
		}
		if (s->o->progress && !s->o->quiet &&
		    now - shown > s->o->progress * 1000000000ull) {
			report_progress(s, &prev, (now - shown) / 1e9);
			shown = now;
		}
	}
}

/* both verdicts are known before anybody takes queue pairs down */
static void exchange_verdicts(struct side *s)
{
	uint64_t ok = !side_failed(s);

	ctl_send(s, CTL_FIN, &ok, 1);
	if (s->peer_fin)
		return;
	s->peer_fin = true;
	if (side_failed(s)) {
		/* let the peer stop first: it shall not see our memory vanish */
		ctl_recv(s, CTL_FIN, &ok, 1, 3000);
		return;
	}
	if (ctl_recv(s, CTL_FIN, &ok, 1, FIN_WAIT_MS) || !ok)
		fail(s, "the peer found an error or is gone");
}

static int run_end(struct side *s)
{
	unsigned int i;
	double secs;
	int rc;

	if (s->dir) {
		uint64_t w[PARAM_WORDS + 1];

		if (ctl_recv(s, CTL_HELLO, w, PARAM_WORDS + 1, 30000))
			return EXIT_SETUP;
		memcpy(&s->p, w + 1, sizeof(s->p));
	}
	rc = side_open(s);
	if (!rc)
		rc = negotiate(s);
	if (!rc)
		rc = side_memory(s);
	if (!rc)
		rc = connect_qps(s);
	if (!rc)
		rc = initial_binds(s);
	if (!rc)
		rc = ctl_barrier(s);
	if (rc) {
		fail_code(s, rc);
		close(s->ctl);
		return rc;
	}
	if (!s->o->quiet)
		printf("%s: %s, seed %lu, %lu queue pairs, mode %s\n", s->name,
		       ibv_get_device_name(s->ctx->device), (unsigned long)s->p.seed,
		       (unsigned long)s->p.qps, mode_name(s->p.mode));
	fflush(stdout);
	start_workers(s);
	watch(s);
	for (i = 0; i < s->p.threads; i++)
		if (s->workers[i].started)
			pthread_join(s->workers[i].thread, NULL);
	secs = (now_ns() - s->t0) / 1e9;
	look_at_async(s);
	if (side_failed(s) && s->exit_code == EXIT_BAD)
		report_stall(s);
	exchange_verdicts(s);
	if (!s->o->quiet)
		report_final(s, secs);
	report_json(s, secs);
	side_close(s);
	close(s->ctl);
	return s->exit_code;
}

static void side_init(struct side *s, const struct options *o, unsigned int dir, int ctl)
{
	memset(s, 0, sizeof(*s));
	s->o = o;
	s->p = o->p;
	s->dir = dir;
	s->ctl = ctl;
	s->name = dir ? "server" : "client";
}

static void *server_thread(void *arg)
{
	return (void *)(intptr_t)run_end(arg);
}

static int run_self(const struct options *o)
{
	struct side client, server;
	pthread_t t;
	void *rc2;
	int sv[2], rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		return EXIT_SETUP;
	side_init(&client, o, 0, sv[0]);
	side_init(&server, o, 1, sv[1]);
	errno = pthread_create(&t, NULL, server_thread, &server);
	if (errno)
		return EXIT_SETUP;
	rc = run_end(&client);
	pthread_join(t, &rc2);
	if (rc == EXIT_STALL || !rc2)
		return rc;
	return rc && rc != EXIT_BAD ? rc : (int)(intptr_t)rc2;
}

int main(int argc, char **argv)
{
	static struct side s;
	struct options o;
	int fd, rc;

	if (parse_options(argc, argv, &o))
		return EXIT_USAGE;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (o.selftest)
		return selftest(o.p.seed);
	if (o.self) {
		end_in_order();
		rc = run_self(&o);
	} else {
		fd = o.listen ? ctl_listen(&o) : ctl_connect(&o);
		if (fd < 0)
			return EXIT_SETUP;
		end_in_order();
		side_init(&s, &o, o.listen, fd);
		rc = run_end(&s);
	}
	printf("mroce-load: %s\n", rc ? "FAILED" : "passed");
	return rc;
}
