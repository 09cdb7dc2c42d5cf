// SPDX-License-Identifier: GPL-2.0
/* A node: its random numbers, what it sends and who gets what it receives. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

uint64_t soft_random(struct soft *s)
{
	uint64_t z = s->rng += 0x9e3779b97f4a7c15; /* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

bool same(const struct soft_address *a, const struct soft_address *b)
{
	return !memcmp(a->gid, b->gid, sizeof(a->gid));
}

bool is_v4(const struct soft_address *a)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(a->gid, mapped, sizeof(mapped));
}

uint32_t stamp(const struct soft *s)
{
	return s->now >> MROCE_STAMP_SHIFT;
}

void base(struct mroce_wire_base *b, uint8_t type, uint8_t path, uint8_t epoch, uint32_t number,
	  uint64_t id)
{
	b->version = MROCE_WIRE_VERSION;
	b->type = type;
	b->path = path;
	b->epoch = epoch;
	b->number = htobe32(number);
	b->id = htobe64(id);
}

void transmit(struct soft *s, const struct soft_address *from, const struct soft_address *to,
	      uint16_t port, uint8_t tos, uint8_t hops, const void *bytes, size_t length)
{
	struct soft_datagram d = {
		.from = *from,
		.to = *to,
		.port = port,
		.tos = tos,
		.hops = hops ? hops : 64,
		.bytes = bytes,
		.length = length,
	};

	s->count.sent++;
	s->config.send(s->config.context, &d);
}

struct soft *soft_new(const struct soft_config *config, uint64_t now)
{
	struct soft *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->config = *config;
	s->now = now;
	s->rng = config->seed;
	do {
		s->instance = soft_random(s);
	} while (!s->instance);
	s->secret = soft_random(s);
	s->next_qpn = soft_random(s) & 0x3fffff;
	s->next_rkey = soft_random(s);
	return s;
}

void soft_free(struct soft *s)
{
	while (s->qps)
		soft_qp_drop(s->qps);
	while (s->halves)
		half_free(s->halves);
	while (s->rx_halves)
		rx_half_free(s->rx_halves);
	while (s->regions)
		soft_region_drop(s, s->regions->rkey);
	free(s);
}

const struct soft_counters *soft_counters(const struct soft *s)
{
	return &s->count;
}

static void second(struct soft *s)
{
	if (s->now - s->second < SEC)
		return;
	s->second = s->now;
	s->resets = 200;
	s->refusals = 100;
}

static const char *check(const uint8_t *p, size_t length)
{
	const char *why = base_check(p, length);

	if (why)
		return why;
	switch (((const struct mroce_wire_base *)p)->type) {
	case MROCE_T_HELLO:
	case MROCE_T_HELLO_ACK:
		return hello_check(p, length);
	case MROCE_T_OPEN:
	case MROCE_T_OPEN_REPLY:
		return open_check(p, length);
	case MROCE_T_CONTROL:
	case MROCE_T_PROBE:
		return control_check(p, length);
	case MROCE_T_VERIFY:
		return verify_check(p, length);
	case MROCE_T_UD:
		return ud_check(p, length);
	case MROCE_T_UC:
		return uc_check(p, length);
	default:
		return NULL; /* looked at where they are taken apart */
	}
}

void soft_input(struct soft *s, const struct soft_datagram *d, uint64_t now)
{
	static void (*const input[MROCE_T_MAX])(struct soft * s, const struct soft_datagram *d) = {
		[MROCE_T_HELLO] = hello_input,
		[MROCE_T_HELLO_ACK] = hello_ack_input,
		[MROCE_T_RESET] = reset_input,
		[MROCE_T_OPEN] = numbered_input,
		[MROCE_T_OPEN_REPLY] = open_reply_input,
		[MROCE_T_DATA] = numbered_input,
		[MROCE_T_ACK] = ack_input,
		[MROCE_T_CONTROL] = numbered_input,
		[MROCE_T_PROBE] = numbered_input,
		[MROCE_T_UD] = ud_input,
		[MROCE_T_VERIFY] = verify_input,
		[MROCE_T_UC] = uc_input,
	};

	s->now = now;
	s->count.received++;
	second(s);
	if (check(d->bytes, d->length)) {
		s->count.malformed++;
		return;
	}
	input[((const struct mroce_wire_base *)d->bytes)->type](s, d);
}

/* Everything that waits is looked at: a model has few of each. When it wants to be called again at the latest. */
uint64_t soft_run(struct soft *s, uint64_t now)
{
	struct half *h, *next;
	struct rx_half *r, *next_r;

	s->now = now;
	second(s);
	for (r = s->rx_halves; r; r = next_r) {
		next_r = r->next;
		rx_timers(r);
	}
	for (h = s->halves; h; h = next) {
		next = h->next;
		half_timers(h);
	}
	return now + 100 * US;
}
