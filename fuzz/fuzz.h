/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the fuzz targets share. A target is one program: its fuzz_one(), linked with libFuzzer
 * (libfuzzer.c, clang) or with driver.c (any compiler), which replays files and mutates them at
 * random from a seed. Both change inputs by the target's own fuzz_mutate(), which knows their
 * structure. A finding aborts.
 */
#ifndef MROCE_FUZZ_H
#define MROCE_FUZZ_H

#include "../drivers/mroce/transport/packet.h"

/* sequence of splitmix64 (Steele, Lea, Flood 2014): one seed, one run */
struct fuzz_random {
	u64 state;
};

static inline u64 fuzz_next(struct fuzz_random *r)
{
	u64 z = r->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* 0 to n - 1 */
static inline u32 fuzz_below(struct fuzz_random *r, u32 n)
{
	return n ? (u32)(((fuzz_next(r) >> 32) * n) >> 32) : 0;
}

/* The target: what one input does; how another is made of it, in place; and some to begin with. */
void fuzz_one(const u8 *data, size_t size);
size_t fuzz_mutate(u8 *data, size_t size, size_t most, struct fuzz_random *r);
/* Writes the @n-th input to begin with; 0: there are no more. */
size_t fuzz_seed(u8 *data, size_t most, u32 n);

/* Says why, and aborts. */
void fuzz_fail(const char *fmt, ...) __printf(1, 2) __attribute__((noreturn));
#define FUZZ_CHECK(c, ...)                      \
	do {                                    \
		if (!(c))                       \
			fuzz_fail(__VA_ARGS__); \
	} while (0)

/* One change of bytes that knows nothing of them; libFuzzer's, or driver.c's. */
size_t fuzz_mutate_bytes(u8 *data, size_t size, size_t most, struct fuzz_random *r);
/* A whole number of bytes, big endian, changed as a sender with ill will would. */
void fuzz_mutate_number(u8 *p, u32 bytes, u8 how, u32 value);

/*
 * One change of an input that is @header bytes and then operations of @bytes each, which @random
 * makes: of the header, an operation more, less, changed, or in another's place.
 */
size_t fuzz_mutate_ops(u8 *in, size_t size, size_t most, struct fuzz_random *r, u32 header,
		       u32 bytes, void (*random)(u8 *op, struct fuzz_random *r));

/* A field of a packet's header. */
struct fuzz_field {
	u8 at, bytes;
};

/* The fields of a packet of this type; 0 of an unknown one. */
u32 fuzz_fields(u8 type, const struct fuzz_field **fields);
/* Bytes of a packet's header and records; 0 of an unknown type. */
u32 fuzz_header(u8 type);

#endif
