// SPDX-License-Identifier: GPL-2.0
/*
 * Patterns and images. A pattern is an endless sequence of bytes made from a
 * 64-bit key; an image describes the contents of a piece of memory as sorted
 * extents without gaps, each a part of a pattern or of a constant. No locks:
 * an image belongs to one thread.
 */
#include <stdlib.h>
#include <string.h>
#include "load.h"

#define CHUNK	4096

uint64_t mix64(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

uint64_t key_of(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t k = mix64(seed + 0x9e3779b97f4a7c15ull);

	k = mix64(k ^ (a + 0x3c6ef372fe94f82bull));
	k = mix64(k ^ (b + 0xdaa66d2c7ddf743full));
	return mix64(k ^ (c + 0x78dde6e5fd29f054ull));
}

static inline uint64_t pattern_word(uint64_t key, uint64_t i)
{
	uint64_t z = key + i * 0x9e3779b97f4a7c15ull;

	z ^= z >> 32;
	z *= 0xd6e8feb86659fd93ull;
	return z ^ (z >> 29);
}

uint8_t pattern_byte(uint64_t key, uint32_t off)
{
	uint64_t w = pattern_word(key, off >> 3);

	return ((uint8_t *)&w)[off & 7];
}

/* len <= CHUNK; buf has room for CHUNK + 16; returns where the bytes start */
static const uint8_t *make(const struct ext *e, uint32_t skip, uint32_t len,
			   uint64_t *buf)
{
	uint32_t base = e->base + skip;
	uint64_t i, first = base >> 3, last = ((uint64_t)base + len + 7) >> 3;

	if (e->kind == EXT_CONST) {
		buf[0] = e->key;
		return (uint8_t *)buf + base;
	}
	for (i = first; i < last; i++)
		buf[i - first] = pattern_word(e->key, i);
	return (uint8_t *)buf + (base & 7);
}

static void *grow(void *p, size_t n)
{
	p = realloc(p, n);
	if (!p) {
		fprintf(stderr, "mroce-load: out of memory\n");
		exit(EXIT_SETUP);
	}
	return p;
}

void img_reset(struct image *im, uint32_t len, uint64_t key)
{
	if (!im->cap) {
		im->cap = 64;
		im->e = grow(im->e, im->cap * sizeof(*im->e));
	}
	im->n = 1;
	im->e[0] = (struct ext){ .len = len, .key = key };
}

void img_free(struct image *im)
{
	free(im->e);
	memset(im, 0, sizeof(*im));
}

/* the extent that holds off */
static unsigned int find(const struct image *im, uint32_t off)
{
	unsigned int lo = 0, hi = im->n;

	while (hi - lo > 1) {
		unsigned int mid = (lo + hi) / 2;

		if (im->e[mid].off <= off)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* make an extent start at off; returns its index (n if off is the end) */
static unsigned int cut(struct image *im, uint32_t off)
{
	unsigned int i = find(im, off);
	uint32_t head = off - im->e[i].off;

	if (!head)
		return i;
	if (head == im->e[i].len)
		return i + 1;
	if (im->n + 2 > im->cap) {
		im->cap *= 2;
		im->e = grow(im->e, im->cap * sizeof(*im->e));
	}
	memmove(&im->e[i + 1], &im->e[i], (im->n - i) * sizeof(*im->e));
	im->n++;
	im->e[i].len = head;
	im->e[i + 1].off += head;
	im->e[i + 1].len -= head;
	im->e[i + 1].base += head;
	return i + 1;
}

void img_put(struct image *im, uint32_t off, uint32_t len, uint64_t key,
	     uint32_t base, enum ext_kind kind)
{
	unsigned int a, b;

	if (!len)
		return;
	a = cut(im, off);
	b = cut(im, off + len);
	memmove(&im->e[a + 1], &im->e[b], (im->n - b) * sizeof(*im->e));
	im->n -= b - a - 1;
	im->e[a] = (struct ext){ off, len, base, kind, key };
}

void img_copy(struct image *dst, uint32_t doff, const struct image *src,
	      uint32_t soff, uint32_t len)
{
	unsigned int i;

	if (!len)
		return;
	for (i = find(src, soff); len; i++) {
		const struct ext *e = &src->e[i];
		uint32_t skip = soff - e->off, n = e->len - skip;

		if (n > len)
			n = len;
		img_put(dst, doff, n, e->key, e->base + skip, e->kind);
		doff += n;
		soff += n;
		len -= n;
	}
}

/* mem is where image offset 0 lies */
void img_fill(const struct image *im, void *mem, uint32_t off, uint32_t len)
{
	uint64_t buf[CHUNK / 8 + 2];
	unsigned int i;

	if (!len)
		return;
	for (i = find(im, off); len; i++) {
		const struct ext *e = &im->e[i];
		uint32_t skip = off - e->off, n = e->len - skip;

		if (n > len)
			n = len;
		len -= n;
		while (n) {
			uint32_t c = n < CHUNK ? n : CHUNK;

			memcpy((uint8_t *)mem + off, make(e, skip, c, buf), c);
			off += c;
			skip += c;
			n -= c;
		}
	}
}

static void note(struct miss *miss, uint32_t off, const uint8_t *want,
		 const uint8_t *got, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (want[i] == got[i])
			continue;
		if (!miss->count++) {
			miss->off = off + i;
			miss->want = want[i];
			miss->got = got[i];
		}
		miss->last = off + i;
	}
}

/* mem is where image offset off lies; true if all bytes are as they should */
bool img_check(const struct image *im, const void *mem, uint32_t off,
	       uint32_t len, struct miss *miss)
{
	uint64_t buf[CHUNK / 8 + 2];
	const uint8_t *p = mem;
	unsigned int i;

	memset(miss, 0, sizeof(*miss));
	if (!len)
		return true;
	for (i = find(im, off); len; i++) {
		const struct ext *e = &im->e[i];
		uint32_t skip = off - e->off, n = e->len - skip;

		if (n > len)
			n = len;
		len -= n;
		while (n) {
			uint32_t c = n < CHUNK ? n : CHUNK;
			const uint8_t *w = make(e, skip, c, buf);

			if (memcmp(p, w, c))
				note(miss, off, w, p, c);
			p += c;
			off += c;
			skip += c;
			n -= c;
		}
	}
	return !miss->count;
}

uint8_t img_byte(const struct image *im, uint32_t off)
{
	const struct ext *e = &im->e[find(im, off)];
	uint32_t at = e->base + (off - e->off);

	if (e->kind == EXT_CONST)
		return ((const uint8_t *)&e->key)[at];
	return pattern_byte(e->key, at);
}
