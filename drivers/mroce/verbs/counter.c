// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of queue pairs (rdma statistic qp): those of the device that are a queue pair's doing,
 * apart for each set of queue pairs that the administrator binds to a counter. From the driver the
 * core wants a port's counters without what is bound, and adds that itself, so it is summed up
 * here, too.
 *
 * Binding and reading in process context, under the core's mutex of the counter; counting in
 * any, under RCU.
 */
#include "objects.h"
#include "qp.h"

void mroce_qp_count_bound(struct mroce_qp *qp, unsigned int counter, u64 n)
{
	struct mroce_counters __percpu *stats;

	rcu_read_lock();
	stats = READ_ONCE(qp->stats);
	if (stats) {
		this_cpu_add(stats->v[counter], n);
		this_cpu_add(qp->dev->bound->v[counter], n);
	}
	rcu_read_unlock();
}

u64 mroce_counter_unbound(struct mroce_dev *dev, unsigned int counter)
{
	u64 bound = mroce_counters_sum(dev->bound, counter);
	u64 all = mroce_counter_sum(dev, counter);

	/* some are counted for the queue pair first */
	return all > bound ? all - bound : 0;
}

struct rdma_hw_stats *mroce_counter_alloc_stats(struct rdma_counter *counter)
{
	return mroce_alloc_hw_port_stats(counter->device, counter->port);
}

/* What the counter has, made for its first queue pair; of the core's own it has but an id. */
static struct mroce_counters __percpu *stats_of(struct mroce_dev *dev, struct rdma_counter *counter)
{
	struct mroce_counters __percpu *stats;
	int err;

	if (counter->id)
		return (__force struct mroce_counters __percpu *)xa_load(&dev->counter_xa,
									 counter->id);
	stats = alloc_percpu(struct mroce_counters);
	if (!stats)
		return NULL;
	err = xa_alloc(&dev->counter_xa, &counter->id, (__force void *)stats,
		       XA_LIMIT(1, U32_MAX), GFP_KERNEL);
	if (!err)
		return stats;
	free_percpu(stats);
	return NULL;
}

int mroce_counter_dealloc(struct rdma_counter *counter)
{
	struct mroce_dev *dev = to_mdev(counter->device);
	struct mroce_counters __percpu *stats;

	if (!counter->id)
		return 0;
	stats = (__force struct mroce_counters __percpu *)xa_erase(&dev->counter_xa, counter->id);
	/* none of its queue pairs counts any more */
	synchronize_rcu();
	free_percpu(stats);
	return 0;
}

int mroce_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ib MROCE_COUNTER_PORT)
{
	struct mroce_ib_qp *core = container_of(ib, struct mroce_ib_qp, ib);
	struct mroce_counters __percpu *stats;
	bool first = !counter->id;
	int err = 0;

	stats = stats_of(to_mdev(ib->device), counter);
	if (!stats)
		return -ENOMEM;
	mutex_lock(&core->mutex);
	if (core->qp) {
		WRITE_ONCE(core->qp->stats, stats);
		ib->counter = counter;
	} else {
		err = -EINVAL;
	}
	mutex_unlock(&core->mutex);
	/* the core forgets one that it could not bind its first queue pair to */
	if (err && first)
		mroce_counter_dealloc(counter);
	return err;
}

int mroce_counter_unbind_qp(struct ib_qp *ib MROCE_COUNTER_PORT)
{
	struct mroce_ib_qp *core = container_of(ib, struct mroce_ib_qp, ib);

	mutex_lock(&core->mutex);
	if (core->qp)
		WRITE_ONCE(core->qp->stats, NULL);
	ib->counter = NULL;
	mutex_unlock(&core->mutex);
	return 0;
}

int mroce_counter_update_stats(struct rdma_counter *counter)
{
	struct mroce_counters __percpu *stats = stats_of(to_mdev(counter->device), counter);
	int i;

	if (!stats)
		return -ENOMEM;
	for (i = 0; i < counter->stats->num_counters; i++)
		counter->stats->value[i] = mroce_counters_sum(stats, i + 1);
	return 0;
}
