/* SPDX-License-Identifier: GPL-2.0 */
/* What the attacks share: random numbers, the time that is left. */
#ifndef ATTACK_H
#define ATTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rng {
	uint64_t s;
};

static inline uint64_t rng(struct rng *r)
{
	r->s ^= r->s << 13;
	r->s ^= r->s >> 7;
	r->s ^= r->s << 17;
	return r->s;
}

static inline uint32_t below(struct rng *r, uint32_t n)
{
	return (rng(r) >> 32) * (uint64_t)n >> 32;
}

static inline bool once_in(struct rng *r, uint32_t n)
{
	return !below(r, n);
}

uint64_t now_ms(void);
bool time_left(void);
void die(const char *what);
uint64_t seed(void);

struct ibv_context;
struct ibv_context *open_device(const char *name);

int replay(int argc, char **argv);
int mutate(int argc, char **argv);
int flood(int argc, char **argv);
int forge(int argc, char **argv);
int rings(int argc, char **argv);
int peers(int argc, char **argv);
int shared(int argc, char **argv);
int race(int argc, char **argv);

#endif
