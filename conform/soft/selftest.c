// SPDX-License-Identifier: GPL-2.0
/*
 * usage: soft-selftest [SEED [ROUNDS]]
 * Two nodes of the model and a network between them that loses, delays, repeats and marks packets, all in one process
 * and in time of its own: every byte of every transfer is checked. The seed is printed; the same gives the same run.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packets.h"
#include "soft.h"

enum { MEMORY = 1 << 20, DEPTH = 32, FLIGHTS = 65536, BUFFER = 20000 };

static struct transit {
	uint64_t at;
	struct soft_datagram d;
	uint8_t bytes[9000];
} * net[FLIGHTS];

static struct side {
	struct soft *node;
	struct soft_qp *qp, *ud, *uc;
	struct soft_address address;
	uint8_t *memory, *shadow; /* what the peer may use, and what ought to be there */
	uint32_t rkey, received;
	uint64_t counter;
	uint8_t buffer[DEPTH][BUFFER];
	uint64_t first_send, next_send;
} side[2];

static uint64_t now = 1000000000, rng, scenario_loss, scenario_dup, scenario_mark, jitter;
static unsigned int failures;

static uint64_t random64(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

static bool chance(uint64_t in_thousand)
{
	return random64() % 1000 < in_thousand;
}

static void expect(bool so, const char *what)
{
	if (!so) {
		failures++;
		printf("not ok - %s\n", what);
	}
}

static void enter(const struct soft_datagram *d)
{
	static unsigned int hint;
	struct transit *t = malloc(sizeof(*t));
	unsigned int i;

	if (!t || d->length > sizeof(t->bytes))
		abort();
	t->d = *d;
	memcpy(t->bytes, d->bytes, d->length);
	t->d.bytes = t->bytes;
	if ((t->d.tos & 3) == 2 && chance(scenario_mark))
		t->d.tos |= 1;
	t->at = now + 20000 + (jitter ? random64() % jitter : 0);
	for (i = 0; i < FLIGHTS; i++)
		if (!net[(hint + i) % FLIGHTS]) {
			hint += i;
			net[hint % FLIGHTS] = t;
			return;
		}
	abort();
}

static void carry(void *context, const struct soft_datagram *d)
{
	(void)context;
	if (chance(scenario_loss))
		return;
	enter(d);
	if (chance(scenario_dup))
		enter(d);
}

static void deliver(void)
{
	static struct transit *due[FLIGHTS];
	unsigned int i, j, n = 0;

	for (i = 0; i < FLIGHTS; i++)
		if (net[i] && net[i]->at <= now) {
			due[n++] = net[i];
			net[i] = NULL;
		}
	for (i = 1; i < n; i++) /* by time */
		for (j = i; j && due[j]->at < due[j - 1]->at; j--) {
			struct transit *t = due[j];

			due[j] = due[j - 1];
			due[j - 1] = t;
		}
	for (i = 0; i < n; i++) {
		struct transit *t = due[i];

		soft_input(side[!memcmp(&t->d.to, &side[1].address, sizeof(t->d.to))].node, &t->d,
			   now);
		free(t);
	}
}

static void step(void)
{
	now += 50000;
	deliver();
	soft_run(side[0].node, now);
	soft_run(side[1].node, now);
}

static void fill(uint8_t *p, size_t n)
{
	while (n--)
		*p++ = random64() >> 32;
}

static bool wait_for(struct soft_qp *qp, struct soft_completion *c)
{
	unsigned int i;

	for (i = 0; i < 2000000; i++) {
		if (soft_poll(qp, c))
			return true;
		step();
	}
	return false;
}

static void one_write(struct side *a, struct side *b)
{
	uint32_t length = random64() % 100000, at = random64() % (MEMORY - 100000);
	uint8_t *data = malloc(length + 1);
	struct soft_completion c;

	fill(data, length);
	memcpy(b->shadow + at, data, length);
	soft_post(a->qp, &(struct soft_work){.id = 1,
					     .opcode = MROCE_OP_WRITE,
					     .data = data,
					     .length = length,
					     .addr = 0x100000 + at,
					     .rkey = b->rkey});
	expect(wait_for(a->qp, &c) && c.status == SOFT_OK && c.id == 1, "a Write completes");
	expect(!memcmp(b->memory, b->shadow, MEMORY), "a Write changes its bytes and no others");
	free(data);
}

static void writes(struct side *a, struct side *b)
{
	static uint8_t data[8][5000];
	struct soft_completion c;
	unsigned int i;

	/* they overlap: the last one's bytes are what stays */
	for (i = 0; i < 8; i++) {
		fill(data[i], sizeof(data[i]));
		memcpy(b->shadow + i * 1000, data[i], sizeof(data[i]));
		soft_post(a->qp, &(struct soft_work){.id = i,
						     .opcode = MROCE_OP_WRITE,
						     .data = data[i],
						     .length = sizeof(data[i]),
						     .addr = 0x100000 + i * 1000,
						     .rkey = b->rkey});
	}
	for (i = 0; i < 8; i++)
		expect(wait_for(a->qp, &c) && c.status == SOFT_OK && c.id == i,
		       "Writes complete in order");
	expect(!memcmp(b->memory, b->shadow, MEMORY), "of Writes that overlap the last wins");
}

static void one_read(struct side *a, struct side *b)
{
	uint32_t length = random64() % 60000, at = random64() % (MEMORY - 60000);
	uint8_t *data = calloc(1, length + 1);
	struct soft_completion c;

	soft_post(a->qp, &(struct soft_work){.id = 2,
					     .opcode = MROCE_OP_READ,
					     .data = data,
					     .length = length,
					     .addr = 0x100000 + at,
					     .rkey = b->rkey});
	expect(wait_for(a->qp, &c) && c.status == SOFT_OK && c.id == 2, "a Read completes");
	expect(!memcmp(b->shadow + at, data, length), "a Read brings what was there");
	free(data);
}

static void sends(struct side *a, struct side *b)
{
	static uint8_t data[DEPTH][BUFFER];
	static uint32_t length[DEPTH];
	unsigned int i, n = 1 + random64() % DEPTH, late = random64() % (n + 1);
	struct soft_completion c;

	for (i = 0; i < n; i++) {
		if (i < late)
			soft_post_receive(b->qp, i, b->buffer[i], BUFFER);
		length[i] = random64() % BUFFER;
		fill(data[i], length[i]);
		soft_post(a->qp, &(struct soft_work){.id = i,
						     .opcode = MROCE_OP_SEND_IMM,
						     .data = data[i],
						     .length = length[i],
						     .imm = i * 7});
	}
	for (i = 0; i < 100; i++)
		step();
	for (i = late; i < n; i++) /* after they were refused */
		soft_post_receive(b->qp, i, b->buffer[i], BUFFER);
	for (i = 0; i < n; i++) {
		expect(wait_for(b->qp, &c) && c.receive && c.id == i && c.length == length[i] &&
			       c.imm == i * 7,
		       "Sends are received in order");
		expect(!memcmp(b->buffer[i], data[i], length[i]), "a Send brings its bytes");
	}
	for (i = 0; i < n; i++)
		expect(wait_for(a->qp, &c) && !c.receive && c.status == SOFT_OK && c.id == i,
		       "Sends complete in order");
}

static void atomics(struct side *a, struct side *b)
{
	uint64_t was[16], there;
	struct soft_completion c;
	unsigned int i;

	memcpy(&there, b->memory, 8);
	for (i = 0; i < 16; i++)
		soft_post(a->qp, &(struct soft_work){.id = i,
						     .opcode = MROCE_OP_FETCH_ADD,
						     .data = &was[i],
						     .length = 8,
						     .addr = 0x100000,
						     .rkey = b->rkey,
						     .compare_add = 3});
	for (i = 0; i < 16; i++)
		expect(wait_for(a->qp, &c) && c.status == SOFT_OK && was[i] == there + 3 * i,
		       "an atomic is done once, in order");
	there += 48;
	memcpy(b->shadow, &there, 8);
	expect(!memcmp(b->memory, b->shadow, MEMORY), "atomics change eight bytes");
}

static void denied(struct side *a, struct side *b)
{
	struct soft_completion c;

	soft_post(a->qp, &(struct soft_work){.id = 9,
					     .opcode = MROCE_OP_WRITE,
					     .data = "x",
					     .length = 1,
					     .addr = 0x100000 + MEMORY,
					     .rkey = b->rkey});
	expect(wait_for(a->qp, &c) && c.status == SOFT_REM_ACCESS && c.id == 9,
	       "a Write out of bounds fails");
	expect(!memcmp(b->memory, b->shadow, MEMORY), "and changes nothing");
	expect(soft_state(a->qp) == SOFT_ERROR, "its queue pair is in the error state");
}

static void begin(uint64_t seed, unsigned int paths)
{
	struct soft_connect c = {.timeout = 14, .retry = 7, .rnr_retry = 7, .rnr_timer = 12};
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct side *a = &side[i];
		struct soft_config config = {.planes = 1,
					     .mtu = i ? 1500 : 9000,
					     .paths = paths,
					     .seed = seed * 2 + i,
					     .send = carry};

		a->address = (struct soft_address){{[10] = 0xff, 0xff, 10, 9, 0, i + 1}};
		config.address[0] = a->address;
		a->node = soft_new(&config, now);
		a->memory = malloc(MEMORY);
		a->shadow = malloc(MEMORY);
		fill(a->memory, MEMORY);
		memcpy(a->shadow, a->memory, MEMORY);
		a->rkey = soft_region(a->node, a->memory, MEMORY, 0x100000,
				      SOFT_WRITE | SOFT_READ | SOFT_ATOMIC);
		a->qp = soft_qp(a->node, SOFT_RC, SOFT_WRITE | SOFT_READ | SOFT_ATOMIC);
	}
	for (i = 0; i < 2; i++) {
		c.to = side[!i].address;
		c.qpn = soft_qpn(side[!i].qp);
		c.sq_psn = i ? 0xfffffff0 : 0x123456; /* one wraps */
		c.rq_psn = i ? 0x123456 : 0xfffffff0;
		soft_ready_to_receive(side[i].qp, &c);
		soft_ready_to_send(side[i].qp);
	}
}

static void end(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		soft_free(side[i].node);
		free(side[i].memory);
		free(side[i].shadow);
	}
	for (i = 0; i < FLIGHTS; i++) {
		free(net[i]);
		net[i] = NULL;
	}
}

static void scenario(const char *name, uint64_t seed, unsigned int rounds, uint64_t loss,
		     uint64_t dup, uint64_t mark, uint64_t late)
{
	unsigned int i, before = failures;

	rng = seed * 0x9e3779b97f4a7c15 + 1;
	scenario_loss = loss;
	scenario_dup = dup;
	scenario_mark = mark;
	jitter = late;
	begin(seed, 4);
	for (i = 0; i < rounds && failures == before; i++) {
		struct side *a = &side[i & 1], *b = &side[!(i & 1)];

		one_write(a, b);
		writes(a, b);
		one_read(a, b);
		sends(a, b);
		atomics(a, b);
	}
	denied(&side[0], &side[1]);
	if (failures == before)
		printf("ok - %s: %" PRIu64 " packets, %" PRIu64 " lost, %" PRIu64
		       " sent again, %" PRIu64 " time-outs\n",
		       name, soft_counters(side[0].node)->sent, soft_counters(side[0].node)->lost,
		       soft_counters(side[0].node)->resent, soft_counters(side[0].node)->timeouts);
	else
		printf("not ok - %s (seed %" PRIu64 ")\n", name, seed);
	expect(!loss || soft_counters(side[0].node)->resent, "what was lost was sent again");
	end();
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	unsigned int rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 20;

	printf("# seed %" PRIu64 "\n", seed);
	scenario("a quiet network", seed, rounds, 0, 0, 0, 0);
	scenario("loss of 1 in 100", seed, rounds, 10, 0, 0, 0);
	scenario("loss of 1 in 10", seed, rounds, 100, 0, 0, 0);
	scenario("duplicates, and reordering", seed, rounds, 0, 50, 0, 200000);
	scenario("marks", seed, rounds, 0, 0, 200, 0);
	scenario("all of it", seed, rounds, 50, 20, 50, 300000);
	printf("%s\n", failures ? "failed" : "passed");
	return failures ? 1 : 0;
}
