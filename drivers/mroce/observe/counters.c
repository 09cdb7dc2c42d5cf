// SPDX-License-Identifier: GPL-2.0
/*
 * Counting, and the names of what is counted. A counter is a 64-bit word a processor,
 * added to without a lock; a sum is right to within what is being added meanwhile.
 * Any context.
 */
#include "../mroce.h"
#include "trace.h"

#define X(sym, name, text) name,

const char *const mroce_reason_names[MROCE_REASON_MAX] = {
	MROCE_REASONS(X)
};

/* in the order of enum mroce_counter: reasons first */
const char *const mroce_counter_names[MROCE_CNT_MAX] = {
	MROCE_REASONS(X)
	MROCE_COUNTERS(X)
};

#undef X

void mroce_drop(struct mroce_dev *dev, enum mroce_reason reason)
{
	if (dev)
		this_cpu_inc(dev->counters->v[reason]);
	trace_mroce_drop(dev ? dev_name(&dev->ib.dev) : "-", reason);
}

u64 mroce_counters_sum(const struct mroce_counters __percpu *counters, unsigned int index)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(counters, cpu)->v[index]);
	return sum;
}

u64 mroce_counter_sum(struct mroce_dev *dev, unsigned int index)
{
	return mroce_counters_sum(dev->counters, index);
}
