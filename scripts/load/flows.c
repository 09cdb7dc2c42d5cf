// SPDX-License-Identifier: GPL-2.0
/*
 * Traffic to measure with: from each device of one list to each of another, all of this host (the
 * hosts of a guest's networks are its namespaces), in one process and one thread, which sleeps
 * while it has nothing to do. So thousands of connections begin and end together, and what is
 * measured is the steady state: neither start nor end count. Nothing is checked but that
 * completions are successful; mroce-load checks bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#define BATCH 64
#define VISIT 4 /* batches of one completion queue before it is others' turn */
#define RECV  (1ull << 63)

static const char usage_text[] =
	"usage: mroce-flows [OPTION...] FROM,... TO,...\n"
	"Each device of FROM to each of TO, by IPv4; prints \"NAME VALUE\" lines.\n"
	"  -o OP        write (default), send or read\n"
	"  -s BYTES     a message (65536)\n"
	"  -d N         messages in flight on a queue pair (16)\n"
	"  -q N         queue pairs from one device to another (1)\n"
	"  -w SECONDS   of traffic before measuring begins (2)\n"
	"  -t SECONDS   to measure (10)\n"
	"  -W FILE,...  every -i MS (5) write the numbers in these files to -S FILE, behind the "
	"time\n"
	"  -x COMMAND   run it with \"open\" behind it when devices are open, \"connected\" when\n"
	"               queue pairs are, and \"loaded\" when half of the time to measure is over\n"
	"mbits: 10^6 bits of messages completed a second; idle: queue pairs that completed none;\n"
	"least, most, jain: of queue pairs, Mb/s, and Jain's index of their bytes; p50, p99, max:\n"
	"microseconds from a message's post to its completion.\n";

struct dev {
	const char *name;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *chan;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char *buf;
	union ibv_gid gid;
	int gid_index;
	unsigned int flows;
	bool again; /* there may be more to poll, which no event will tell */
};

struct flow {
	struct dev *from, *to;
	struct ibv_qp *qp, *peer;
	uint64_t bytes, first; /* completed; when measuring began */
	uint64_t *posted; /* when, of each slot */
};

static enum ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
static unsigned int size = 65536, depth = 16, qps = 1, interval = 5;
static double warm = 2, seconds = 10;
static const char *command, *watched, *series;
static struct dev devs[1024];
static struct flow *flows;
static unsigned int n_devs, n_flows;
static uint32_t *samples; /* of latency, us */
static size_t n_samples, max_samples;
static bool measuring;
static volatile bool finished;

#define die(...)                                              \
	do {                                                  \
		fprintf(stderr, "mroce-flows: " __VA_ARGS__); \
		fputc('\n', stderr);                          \
		exit(1);                                      \
	} while (0)

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void *must(void *p, const char *what, const char *who)
{
	if (!p)
		die("%s: no %s: %m", who, what);
	return p;
}

static void run_command(const char *phase)
{
	char line[1024];

	if (!command)
		return;
	snprintf(line, sizeof(line), "%s %s", command, phase);
	if (system(line))
		die("%s failed", line);
}

/* ---- devices */

static struct ibv_context *open_named(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **d;
	struct ibv_context *ctx = NULL;

	for (d = list; d && *d && !ctx; d++) {
		if (!strcmp(ibv_get_device_name(*d), name))
			ctx = ibv_open_device(*d);
	}
	if (list)
		ibv_free_device_list(list);
	return ctx;
}

static void find_gid(struct dev *dev)
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
	static struct ibv_gid_entry e[1024];
	ssize_t n = ibv_query_gid_table(dev->ctx, e, 1024, 0), i;

	for (i = 0; i < n; i++) {
		if (e[i].gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    !memcmp(e[i].gid.raw, v4, sizeof(v4))) {
			dev->gid = e[i].gid;
			dev->gid_index = e[i].gid_index;
			return;
		}
	}
	die("%s has no IPv4 address", dev->name);
}

static struct dev *dev_get(const char *name)
{
	struct dev *dev;

	for (dev = devs; dev < devs + n_devs; dev++) {
		if (!strcmp(dev->name, name))
			return dev;
	}
	if (n_devs == sizeof(devs) / sizeof(*devs))
		die("too many devices");
	n_devs++;
	dev->name = strdup(name);
	dev->ctx = must(open_named(name), "device", name);
	dev->pd = must(ibv_alloc_pd(dev->ctx), "protection domain", name);
	dev->chan = must(ibv_create_comp_channel(dev->ctx), "completion channel", name);
	fcntl(dev->chan->fd, F_SETFL, fcntl(dev->chan->fd, F_GETFL) | O_NONBLOCK);
	/* the flows of a device share their buffers: what is in them does not matter */
	dev->buf = must(aligned_alloc(4096, (size_t)depth * size + 4096), "memory", name);
	memset(dev->buf, 1, (size_t)depth * size);
	dev->mr = must(ibv_reg_mr(dev->pd, dev->buf, (size_t)depth * size,
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					  IBV_ACCESS_REMOTE_READ),
		       "memory region", name);
	find_gid(dev);
	return dev;
}

static void add_flows(const char *from, char *to)
{
	char *save, *name;
	unsigned int i;

	for (name = strtok_r(to, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		flows = must(realloc(flows, (n_flows + qps) * sizeof(*flows)), "memory", "flows");
		for (i = 0; i < qps; i++) {
			struct flow *f = &flows[n_flows++];

			*f = (struct flow){.from = dev_get(from), .to = dev_get(name)};
			f->posted = must(calloc(depth, sizeof(*f->posted)), "memory", "flows");
			f->from->flows++;
			f->to->flows++;
		}
	}
}

static void make_cqs(void)
{
	struct dev *dev;

	for (dev = devs; dev < devs + n_devs; dev++) {
		int entries = dev->flows * depth * 2;

		dev->cq = must(ibv_create_cq(dev->ctx, entries, dev, dev->chan, 0),
			       "completion queue", dev->name);
		if (ibv_req_notify_cq(dev->cq, 0))
			die("%s: no notification: %m", dev->name);
	}
}

/* ---- queue pairs */

static struct ibv_qp *make_qp(struct dev *dev, bool sends, bool receives)
{
	struct ibv_qp_init_attr init = {
		.send_cq = dev->cq,
		.recv_cq = dev->cq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = sends ? depth : 1,
			.max_recv_wr = receives ? depth : 1,
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};
	struct ibv_qp *qp = must(ibv_create_qp(dev->pd, &init), "queue pair", dev->name);

	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		die("%s: INIT: %m", dev->name);
	return qp;
}

static void connect_qp(struct ibv_qp *qp, struct dev *dev, struct ibv_qp *peer, struct dev *remote)
{
	unsigned int reads = opcode != IBV_WR_RDMA_READ ? 1 : depth < 128 ? depth : 128;
	struct ibv_device_attr limits;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp_num,
		.min_rnr_timer = 12,
		.ah_attr =
			{
				.is_global = 1,
				.port_num = 1,
				.grh = {.dgid = remote->gid,
					.sgid_index = dev->gid_index,
					.hop_limit = 64},
			},
	};
	struct ibv_port_attr port;
	int err, tries = 5;

	if (ibv_query_device(dev->ctx, &limits) || ibv_query_port(dev->ctx, 1, &port))
		die("%s: cannot query: %m", dev->name);
	if (reads > (unsigned int)limits.max_qp_rd_atom)
		reads = limits.max_qp_rd_atom;
	attr.path_mtu = port.active_mtu;
	attr.max_dest_rd_atomic = reads;
	/* the kernel asks for the neighbour's address once a second, and waits for one second */
	do {
		err = ibv_modify_qp(qp, &attr,
				    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					    IBV_QP_MIN_RNR_TIMER);
	} while (err == ETIMEDOUT && --tries);
	if (err)
		die("%s to %s: RTR: %s", dev->name, remote->name, strerror(err));
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.timeout = 17,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = reads,
	};
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		die("%s to %s: RTS: %m", dev->name, remote->name);
}

static void post_recv(unsigned int flow, unsigned int slot)
{
	struct dev *dev = flows[flow].to;
	struct ibv_sge sge = {(uintptr_t)dev->buf + (size_t)slot * size, size, dev->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = RECV | (uint64_t)flow << 16 | slot,
				 .sg_list = &sge,
				 .num_sge = 1},
			   *bad;

	if (ibv_post_recv(flows[flow].peer, &wr, &bad))
		die("%s: post_recv: %m", dev->name);
}

static void connect_all(void)
{
	struct flow *f;
	unsigned int i;

	for (f = flows; f < flows + n_flows; f++) {
		f->qp = make_qp(f->from, true, false);
		f->peer = make_qp(f->to, false, opcode == IBV_WR_SEND);
		connect_qp(f->peer, f->to, f->qp, f->from);
		connect_qp(f->qp, f->from, f->peer, f->to);
		for (i = 0; opcode == IBV_WR_SEND && i < depth; i++)
			post_recv(f - flows, i);
	}
}

/* ---- traffic */

struct batch {
	struct ibv_send_wr wr[BATCH];
	struct ibv_sge sge[BATCH];
	struct flow *flow;
	unsigned int n;
};

static void batch_post(struct batch *b)
{
	struct ibv_send_wr *bad;

	if (!b->n)
		return;
	b->wr[b->n - 1].next = NULL;
	if (ibv_post_send(b->flow->qp, b->wr, &bad))
		die("%s to %s: post_send: %m", b->flow->from->name, b->flow->to->name);
	b->n = 0;
}

static void batch_add(struct batch *b, struct flow *f, unsigned int slot, uint64_t now)
{
	size_t offset = (size_t)slot * size;
	unsigned int i;

	if (b->n == BATCH || b->flow != f)
		batch_post(b);
	b->flow = f;
	i = b->n++;
	f->posted[slot] = now;
	b->sge[i] = (struct ibv_sge){(uintptr_t)f->from->buf + offset, size, f->from->mr->lkey};
	b->wr[i] = (struct ibv_send_wr){
		.wr_id = (uint64_t)(f - flows) << 16 | slot,
		.next = &b->wr[i + 1],
		.sg_list = &b->sge[i],
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = (uintptr_t)f->to->buf + offset, .rkey = f->to->mr->rkey},
	};
}

static void sample(uint64_t ns)
{
	if (n_samples == max_samples) {
		max_samples = max_samples ? 2 * max_samples : 1 << 16;
		samples =
			must(realloc(samples, max_samples * sizeof(*samples)), "memory", "samples");
	}
	samples[n_samples++] = ns / 1000;
}

static void poll_dev(struct dev *dev)
{
	static struct batch b;
	struct ibv_wc wc[BATCH];
	unsigned int visit;
	int n = 0, i;

	for (visit = 0; visit < VISIT && (n = ibv_poll_cq(dev->cq, BATCH, wc)) > 0; visit++) {
		uint64_t now = now_ns(CLOCK_MONOTONIC);

		for (i = 0; i < n; i++) {
			unsigned int slot = wc[i].wr_id & 0xffff,
				     flow = (wc[i].wr_id & ~RECV) >> 16;
			struct flow *f = &flows[flow];

			if (wc[i].status)
				die("%s to %s: %s", f->from->name, f->to->name,
				    ibv_wc_status_str(wc[i].status));
			if (wc[i].wr_id & RECV) {
				post_recv(flow, slot);
				continue;
			}
			f->bytes += size;
			if (measuring)
				sample(now - f->posted[slot]);
			batch_add(&b, f, slot, now);
		}
		batch_post(&b);
	}
	if (n < 0)
		die("%s: poll_cq failed", dev->name);
	dev->again = n > 0;
}

static void start_all(void)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	static struct batch b;
	unsigned int i, slot;

	for (i = 0; i < n_flows; i++) {
		for (slot = 0; slot < depth; slot++)
			batch_add(&b, &flows[i], slot, now);
	}
	batch_post(&b);
}

static void run_for(int epoll, double s)
{
	uint64_t end = now_ns(CLOCK_MONOTONIC) + s * 1e9, now;
	struct epoll_event events[BATCH];
	bool again = false;
	struct dev *d;
	int i, n;

	while ((now = now_ns(CLOCK_MONOTONIC)) < end) {
		n = epoll_wait(epoll, events, BATCH, again ? 0 : (end - now) / 1000000 + 1);
		for (i = 0; i < n; i++) {
			struct dev *dev = events[i].data.ptr;
			unsigned int got = 0;
			struct ibv_cq *cq;
			void *context;

			while (!ibv_get_cq_event(dev->chan, &cq, &context))
				got++;
			ibv_ack_cq_events(dev->cq, got);
			if (ibv_req_notify_cq(dev->cq, 0))
				die("%s: no notification: %m", dev->name);
			dev->again = true;
		}
		again = false;
		for (d = devs; d < devs + n_devs; d++) {
			if (d->again)
				poll_dev(d);
			again |= d->again;
		}
	}
}

/* ---- what is watched meanwhile */

static void watch_once(FILE *out, const int *fd, unsigned int n)
{
	char text[32];
	ssize_t len;

	fprintf(out, "%.4f", now_ns(CLOCK_REALTIME) / 1e9);
	while (n--) {
		len = pread(*fd++, text, sizeof(text) - 1, 0);
		if (len <= 0)
			die("cannot read what is watched: %m");
		text[len] = 0;
		fprintf(out, ",%llu", strtoull(text, NULL, 0));
	}
	fputc('\n', out);
}

static void *watch(void *unused)
{
	char *names = strdup(watched), *save, *name;
	FILE *out = must(fopen(series, "w"), "file", series);
	unsigned int n = 0;
	int fd[16];

	(void)unused;
	for (name = strtok_r(names, ",", &save); name && n < 16;
	     name = strtok_r(NULL, ",", &save)) {
		fd[n] = open(name, O_RDONLY);
		if (fd[n++] < 0)
			die("%s: %m", name);
	}
	while (!finished) {
		watch_once(out, fd, n);
		usleep(interval * 1000);
	}
	fclose(out);
	return NULL;
}

/* ---- figures */

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void quantile(const char *name, double q)
{
	printf("%s %u\n", name, n_samples ? samples[(size_t)(q * (n_samples - 1))] : 0);
}

static void report(double s)
{
	double sum = 0, squares = 0, least = -1, most = 0;
	unsigned int idle = 0;
	struct flow *f;

	for (f = flows; f < flows + n_flows; f++) {
		double bytes = f->bytes - f->first;

		sum += bytes;
		squares += bytes * bytes;
		idle += !bytes;
		least = least < 0 || bytes < least ? bytes : least;
		most = bytes > most ? bytes : most;
	}
	printf("mbits %.3f\n", sum * 8 / s / 1e6);
	printf("messages %.0f\nflows %u\nidle %u\n", sum / size, n_flows, idle);
	printf("least %.5f\nmost %.5f\n", least * 8 / s / 1e6, most * 8 / s / 1e6);
	printf("jain %.4f\n", squares ? sum * sum / squares / n_flows : 0);
	qsort(samples, n_samples, sizeof(*samples), by_value);
	quantile("p50", 0.5);
	quantile("p99", 0.99);
	quantile("max", 1);
}

/*
 * To destroy a queue pair waits for what it has in flight. Thousands of them, one after another at
 * exit, would take minutes.
 */
static void *destroy_of(void *arg)
{
	struct dev *dev = arg;
	struct flow *f;

	for (f = flows; f < flows + n_flows; f++) {
		if (f->from == dev)
			ibv_destroy_qp(f->qp);
		if (f->to == dev)
			ibv_destroy_qp(f->peer);
	}
	return NULL;
}

static void destroy_all(void)
{
	static pthread_t thread[sizeof(devs) / sizeof(*devs)];
	unsigned int i;

	for (i = 0; i < n_devs; i++) {
		if (pthread_create(&thread[i], NULL, destroy_of, &devs[i]))
			die("no thread");
	}
	for (i = 0; i < n_devs; i++)
		pthread_join(thread[i], NULL);
}

static unsigned int number(const char *text, unsigned int most)
{
	unsigned long n = strtoul(text, NULL, 0);

	if (!n || n > most)
		die("%s: 1 to %u", text, most);
	return n;
}

static void options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "o:s:d:q:w:t:W:S:i:x:h")) != -1) {
		switch (c) {
		case 'o':
			opcode = !strcmp(optarg, "send")   ? IBV_WR_SEND
				 : !strcmp(optarg, "read") ? IBV_WR_RDMA_READ
							   : IBV_WR_RDMA_WRITE;
			break;
		case 's':
			size = number(optarg, 1 << 30);
			break;
		case 'd':
			depth = number(optarg, 16384);
			break;
		case 'q':
			qps = number(optarg, 65536);
			break;
		case 'w':
			warm = strtod(optarg, NULL);
			break;
		case 't':
			seconds = strtod(optarg, NULL);
			break;
		case 'W':
			watched = optarg;
			break;
		case 'S':
			series = optarg;
			break;
		case 'i':
			interval = number(optarg, 10000);
			break;
		case 'x':
			command = optarg;
			break;
		default:
			fputs(usage_text, c == 'h' ? stdout : stderr);
			exit(c == 'h' ? 0 : 2);
		}
	}
	if (argc - optind != 2 || !watched != !series) {
		fputs(usage_text, stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0);
	char *name, *save;
	pthread_t watcher;
	uint64_t began;
	struct flow *f;
	struct dev *d;

	options(argc, argv);
	for (name = strtok_r(argv[optind], ",", &save); name; name = strtok_r(NULL, ",", &save))
		add_flows(name, strdup(argv[optind + 1]));
	make_cqs();
	run_command("open");
	began = now_ns(CLOCK_MONOTONIC);
	connect_all();
	/* where it stood, if it is stopped */
	fprintf(stderr, "mroce-flows: %u queue pairs connected in %.1f s\n", n_flows,
		(now_ns(CLOCK_MONOTONIC) - began) / 1e9);
	/* a page of this program that is read from a disk meanwhile is no part of what is measured */
	if (mlockall(MCL_CURRENT))
		die("cannot lock memory: %m");
	run_command("connected");
	for (d = devs; d < devs + n_devs; d++) {
		event.data.ptr = d;
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, d->chan->fd, &event))
			die("epoll: %m");
	}
	if (watched && pthread_create(&watcher, NULL, watch, NULL))
		die("no thread");

	start_all();
	run_for(epoll, warm);
	for (f = flows; f < flows + n_flows; f++)
		f->first = f->bytes;
	measuring = true;
	began = now_ns(CLOCK_MONOTONIC);
	if (command) {
		run_for(epoll, seconds / 2);
		run_command("loaded");
	}
	run_for(epoll, seconds / (command ? 2 : 1));
	report((now_ns(CLOCK_MONOTONIC) - began) / 1e9);
	finished = true;
	if (watched)
		pthread_join(watcher, NULL);
	fflush(stdout);
	destroy_all();
	return 0;
}
