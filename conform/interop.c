// SPDX-License-Identifier: GPL-2.0
/*
 * usage: mroce-interop TARGET OWN [SECONDS [LOSS [SEED [PORT]]]]
 * The model of the protocol (soft/) as a peer of the implementation at TARGET, whose agent listens at PORT (19790): Writes,
 * READs, Sends and atomics both ways, LOSS of a thousand packets lost each way (here, in this program), every byte
 * checked. Says what was moved; fails at the first byte or status that is wrong, or after 30 s without progress.
 */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "soft/packets.h"
#include "soft/soft.h"
#include "soft/udp.h"

enum { MEMORY = 1 << 18, DEPTH = 16, BUFFER = 8192, AREA = 1 << 17, LINE = 300000 };

static struct soft *node;
static struct soft_qp *qp;
static struct udp *udp;
static uint64_t rng, due, lost, passed_on;
static unsigned int loss;
static int agent;
static char line[LINE];
static uint8_t *memory; /* that the target may use */
static uint8_t shadow[MEMORY]; /* what ought to be in the target's */

static uint64_t random64(void)
{
	uint64_t z = rng += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *format, ...)
{
	va_list a;

	va_start(a, format);
	printf("not ok - ");
	vprintf(format, a);
	printf("\n");
	exit(1);
}

static bool chance(void)
{
	if (random64() % 1000 >= loss) {
		passed_on++;
		return false;
	}
	lost++;
	return true;
}

static void carry(void *context, const struct soft_datagram *d)
{
	(void)context;
	if (!chance())
		udp_send(udp, d);
}

static void work(uint64_t wait)
{
	static uint8_t bytes[65536];
	struct soft_datagram d;
	unsigned int n;

	for (n = 0; n < 64 && udp_receive(udp, &d, bytes, sizeof(bytes), n ? 0 : wait); n++)
		if (!chance())
			soft_input(node, &d, udp_now());
	if (udp_now() >= due)
		due = soft_run(node, udp_now());
}

static const char *ask(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *ask(const char *format, ...)
{
	size_t have = 0;
	va_list a;
	ssize_t n;

	va_start(a, format);
	n = vsnprintf(line, sizeof(line) - 1, format, a);
	va_end(a);
	line[n++] = '\n';
	if (write(agent, line, n) != n)
		die("the agent is gone");
	do {
		work(0);
		n = recv(agent, line + have, sizeof(line) - 1 - have, MSG_DONTWAIT);
		if (!n || (n < 0 && errno != EAGAIN))
			die("the agent is gone");
		have += n > 0 ? n : 0;
		line[have] = 0;
		if (n < 0)
			work(100000);
	} while (!have || line[have - 1] != '\n');
	if (strncmp(line, "ok", 2))
		die("the agent says %s", line);
	return line + 2;
}

static struct soft_completion mine(const char *what)
{
	uint64_t end = udp_now() + 30000000000ULL;
	struct soft_completion c;

	while (!soft_poll(qp, &c)) {
		if (udp_now() > end)
			die("%s: no completion within 30 s", what);
		work(200000);
	}
	if (c.status)
		die("%s ends with status %u", what, c.status);
	return c;
}

static void its(unsigned int target_qp, const char *what, unsigned int *length)
{
	uint64_t end = udp_now() + 30000000000ULL, id;
	unsigned int status, opcode, receive;
	const char *answer;

	do {
		if (udp_now() > end)
			die("%s: no completion at the target within 30 s", what);
		answer = ask("poll %u", target_qp);
	} while (sscanf(answer, "%" SCNu64 " %u %u %u %u", &id, &status, &opcode, &receive,
			length) != 5);
	if (status)
		die("%s ends at the target with status %u", what, status);
}

static void fill(uint8_t *p, size_t n)
{
	while (n--)
		*p++ = random64() >> 40;
}

static void compare(const uint8_t *got, const uint8_t *want, uint32_t n, const char *what)
{
	uint32_t i;

	for (i = 0; i < n && got[i] == want[i]; i++)
		;
	if (i < n)
		die("%s: byte %u of %u is %02x, not %02x", what, i, n, got[i], want[i]);
}

static uint8_t from_hex(const char *h)
{
	unsigned int byte = 0;

	sscanf(h, "%2x", &byte);
	return byte;
}

static void peek(unsigned int mr, unsigned int offset, uint8_t *to, unsigned int n)
{
	const char *hex = ask("peek %u %u %u", mr, offset, n) + 1;
	unsigned int i;

	for (i = 0; i < n; i++)
		to[i] = from_hex(hex + 2 * i);
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 3 ? strtoull(argv[3], NULL, 0) : 10,
		 seed = argc > 5 ? strtoull(argv[5], NULL, 0) : 1;
	struct soft_config config = {
		.planes = 1, .mtu = 1500, .paths = 8, .seed = seed, .send = carry};
	struct soft_connect c = {.timeout = 16, .retry = 7, .rnr_retry = 7, .rnr_timer = 12};
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *a;
	unsigned int target_qp = 0, mr = 0, i, length;
	static uint8_t bytes[AREA], got[AREA];
	uint64_t addr = 0, end, counter = 0, moved = 0, rounds = 0;
	uint32_t qpn = 0, rkey = 0, own_rkey;

	if (argc < 3 || address_parse(argv[1], &c.to) ||
	    address_parse(argv[2], &config.address[0])) {
		fprintf(stderr, "usage: mroce-interop TARGET OWN [SECONDS [LOSS [SEED [PORT]]]]\n");
		return 2;
	}
	loss = argc > 4 ? atoi(argv[4]) : 10;
	rng = seed;
	printf("# seed %" PRIu64 ", %u of 1000 packets lost each way\n", seed, loss);
	udp = udp_open(config.address, 1, MROCE_PORT);
	node = udp ? soft_new(&config, udp_now()) : NULL;
	if (!node || getaddrinfo(argv[1], argc > 6 ? argv[6] : "19790", &hints, &a))
		die("cannot begin: %s", strerror(errno));
	/* an agent that was only just started may not listen yet */
	for (i = 0; i < 100; i++) {
		agent = socket(a->ai_family, SOCK_STREAM, 0);
		if (!connect(agent, a->ai_addr, a->ai_addrlen))
			break;
		close(agent);
		usleep(100000);
	}
	if (i == 100)
		die("no agent at %s", argv[1]);
	freeaddrinfo(a);
	memory = calloc(1, MEMORY);
	own_rkey =
		soft_region(node, memory, MEMORY, 0x10000000, SOFT_WRITE | SOFT_READ | SOFT_ATOMIC);
	qp = soft_qp(node, SOFT_RC, SOFT_WRITE | SOFT_READ | SOFT_ATOMIC);
	sscanf(ask("mr %u f", MEMORY), "%u %" SCNx64 " %x", &mr, &addr, &rkey);
	sscanf(ask("qp rc f 64 64 -1"), "%u %u", &target_qp, &qpn);
	c.qpn = qpn;
	c.sq_psn = random64() & 0xffffff;
	c.rq_psn = random64() & 0xffffff;
	ask("rtr %u %s %u %u 12 16 5", target_qp, argv[2], soft_qpn(qp), c.sq_psn);
	ask("rts %u %u 16 7 7 16", target_qp, c.rq_psn);
	soft_ready_to_receive(qp, &c);
	soft_ready_to_send(qp);

	end = udp_now() + seconds * 1000000000;
	while (udp_now() < end) {
		uint32_t n = 1 + random64() % 60000, at = 8 + random64() % (AREA - n - 8);
		struct soft_completion done;

		/* several Writes, the last of which counts where they overlap */
		for (i = 0; i < 4; i++) {
			fill(bytes + i * 4096, 4096);
			memcpy(shadow + 65536 + i * 1000, bytes + i * 4096, 4096);
			soft_post(qp, &(struct soft_work){.id = i,
							  .opcode = MROCE_OP_WRITE,
							  .data = bytes + i * 4096,
							  .length = 4096,
							  .addr = addr + 65536 + i * 1000,
							  .rkey = rkey});
		}
		for (i = 0; i < 4; i++)
			mine("a Write");
		fill(bytes, n);
		memcpy(shadow + at, bytes, n);
		soft_post(qp, &(struct soft_work){.id = 5,
						  .opcode = MROCE_OP_WRITE,
						  .data = bytes,
						  .length = n,
						  .addr = addr + at,
						  .rkey = rkey});
		soft_post(qp, &(struct soft_work){.id = 6,
						  .opcode = MROCE_OP_READ,
						  .data = got,
						  .length = AREA - 8,
						  .addr = addr + 8,
						  .rkey = rkey});
		soft_post(qp, &(struct soft_work){.id = 7,
						  .opcode = MROCE_OP_FETCH_ADD,
						  .data = bytes,
						  .length = 8,
						  .addr = addr,
						  .rkey = rkey,
						  .compare_add = 1});
		mine("a Write");
		mine("a READ");
		mine("an atomic");
		compare(got, shadow + 8, AREA - 8, "what a READ brought");
		memcpy(got, bytes, 8);
		if (memcmp(bytes, &counter, 8))
			die("an atomic found %" PRIu64 ", %" PRIu64 " were carried out",
			    *(uint64_t *)(void *)got, counter);
		counter++;
		/* Sends to it */
		length = random64() % BUFFER;
		fill(bytes, length);
		if (rounds & 1) /* half of them before there is a buffer */
			ask("receive %u -1 1 %u %u %u", target_qp, mr, AREA, BUFFER);
		soft_post(qp, &(struct soft_work){.id = 8,
						  .opcode = MROCE_OP_SEND,
						  .data = bytes,
						  .length = length});
		if (!(rounds & 1))
			ask("receive %u -1 1 %u %u %u", target_qp, mr, AREA, BUFFER);
		mine("a Send");
		its(target_qp, "a receive", &i);
		if (i != length)
			die("%u bytes were received at the target, %u were sent", i, length);
		peek(mr, AREA, got, length);
		compare(got, bytes, length, "what the target received");
		/* and what it does: a Write, a READ and a Send */
		n = 1 + random64() % 30000;
		ask("send %u 1 3 %u 8 %u 10000000 %x 0 0 0 1", target_qp, mr, n, own_rkey);
		its(target_qp, "the target's Write", &i);
		compare(memory, shadow + 8, n, "what the target wrote");
		fill(memory, n);
		ask("send %u 2 5 %u %u %u 10000000 %x 0 0 0 1", target_qp, mr, AREA + BUFFER, n,
		    own_rkey);
		its(target_qp, "the target's READ", &i);
		peek(mr, AREA + BUFFER, got, n);
		compare(got, memory, n, "what the target read");
		soft_post_receive(qp, 3, memory + AREA, BUFFER);
		n = random64() % BUFFER;
		ask("send %u 3 0 %u 8 %u 0 0 0 0 0 1", target_qp, mr, n);
		done = mine("a receive");
		if (done.length != n)
			die("%u bytes were received, the target sent %u", done.length, n);
		compare(memory + AREA, shadow + 8, n, "what the target sent");
		its(target_qp, "the target's Send", &i);
		moved += AREA + 4 * 4096 + 3 * n;
		rounds++;
	}
	printf("ok - %" PRIu64 " rounds, %" PRIu64 " MB, every byte as it ought to be; %" PRIu64
	       " packets lost, %" PRIu64 " passed\n",
	       rounds, moved >> 20, lost, passed_on);
	soft_free(node);
	free(memory);
	udp_close(udp);
	close(agent);
	return rounds ? 0 : 1;
}
