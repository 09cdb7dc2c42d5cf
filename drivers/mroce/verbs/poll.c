// SPDX-License-Identifier: GPL-2.0
/*
 * Submission without a system call: a thread looks at the send ring of its queue pair, so that a
 * request is its own doorbell. While it looks, the ring says so (MROCE_RING_POLLED) and the
 * program rings none; when nothing came for as long as the program chose, it says that it does not
 * and sleeps until the next doorbell. Everything that the doorbell would have done is done by the
 * thread, on its processor: also what is received in consequence, where the network is local.
 *
 * A thread is the program's load: it has its niceness and its control groups, and there are never
 * more of them on a device than processors.
 */
#include <linux/cgroup.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>

#include "qp.h"

/* of the ring nobody else writes the flags */
static void say(struct mroce_qp *qp, u32 flags)
{
	WRITE_ONCE(qp->sq.ring.head->flags, flags);
	/*
	 * pairs with the program's between its store of the producer and its last look at the flag:
	 * either it sees that we sleep, or we see what it posted
	 */
	smp_mb();
}

static u32 producer(const struct mroce_qp *qp)
{
	/* pairs with the program's store of a request that it has filled */
	return smp_load_acquire(&qp->sq.ring.head->producer);
}

static int poll(void *arg)
{
	struct mroce_qp *qp = arg;
	u32 seen = producer(qp) - 1, now;
	u64 until = 0;

	say(qp, MROCE_RING_POLLED);
	while (!kthread_should_stop()) {
		now = producer(qp);
		if (now != seen) {
			seen = now;
			mroce_qp_run(qp, MROCE_DOORBELL_SQ);
			until = ktime_get_ns() + READ_ONCE(qp->poll_ns);
		} else if (ktime_get_ns() < until) {
			cpu_relax();
			cond_resched_tasks_rcu_qs();
		} else {
			say(qp, 0);
			wait_event_idle(qp->poll_wait,
					producer(qp) != seen || kthread_should_stop());
			say(qp, MROCE_RING_POLLED);
			until = ktime_get_ns() + READ_ONCE(qp->poll_ns);
		}
	}
	say(qp, 0);
	if (producer(qp) != seen)
		mroce_qp_run(qp, MROCE_DOORBELL_SQ);
	return 0;
}

static int start(struct mroce_qp *qp)
{
	struct task_struct *task;
	int err;

	if (!atomic_add_unless(&qp->dev->pollers, 1, num_online_cpus()))
		return -EBUSY;
	task = kthread_create(poll, qp, "mroce/%s/%u", dev_name(&qp->dev->ib.dev), qp->ib->qp_num);
	if (IS_ERR(task)) {
		err = PTR_ERR(task);
		goto forget;
	}
	set_user_nice(task, task_nice(current));
	err = cgroup_attach_task_all(current, task);
	if (err) {
		kthread_stop(task);
		goto forget;
	}
	WRITE_ONCE(qp->poller, task);
	wake_up_process(task);
	return 0;

forget:
	atomic_dec(&qp->dev->pollers);
	return err;
}

static void stop(struct mroce_qp *qp)
{
	struct task_struct *task = qp->poller;

	WRITE_ONCE(qp->poller, NULL);
	kthread_stop(task);
	atomic_dec(&qp->dev->pollers);
}

int mroce_qp_poll(struct mroce_qp *qp, u32 us)
{
	int err = 0;

	lockdep_assert_held(mroce_qp_mutex(qp));
	if (!qp->user || !qp->sq.entries)
		return -EOPNOTSUPP;
	WRITE_ONCE(qp->poll_ns, us * NSEC_PER_USEC);
	if (us && !qp->poller)
		err = start(qp);
	else if (!us && qp->poller)
		stop(qp);
	return err;
}

void mroce_qp_poll_end(struct mroce_qp *qp)
{
	lockdep_assert_held(mroce_qp_mutex(qp));
	if (qp->poller)
		stop(qp);
}

void mroce_qp_poll_wake(struct mroce_qp *qp)
{
	if (READ_ONCE(qp->poller) && wq_has_sleeper(&qp->poll_wait))
		wake_up(&qp->poll_wait);
}
