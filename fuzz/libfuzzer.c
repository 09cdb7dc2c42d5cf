// SPDX-License-Identifier: GPL-2.0
/* A target as libFuzzer calls it, by names that it has chosen. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
size_t LLVMFuzzerMutate(u8 *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t most, unsigned int seed);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	fuzz_one(data, size);
	return 0;
}

size_t fuzz_mutate_bytes(u8 *data, size_t size, size_t most, struct fuzz_random *r)
{
	(void)r;
	return LLVMFuzzerMutate(data, size, most);
}

size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t most, unsigned int seed)
{
	struct fuzz_random r = { .state = seed };

	return fuzz_mutate(data, size, most, &r);
}
