// SPDX-License-Identifier: GPL-2.0
/*
 * When memory is its owner's again: once its region was deregistered or invalidated, or the queue
 * pair that writes to it was destroyed or drained, not a byte of it changes. The other processor
 * is interrupted again and again until it is in the middle of a copy to that memory; there it
 * stays until the memory was taken, or so long that it must have been waited for. Process context,
 * but for the messages, which are softirqs' there, and interrupt().
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bottom_half.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "consumer.h"

#define PAGES	15		/* a message is one packet, if that is as large as IP lets it be */
#define SIZE	(PAGES * PAGE_SIZE)
#define DEPTH	8		/* messages that are under way at once */
#define PERIOD	50		/* us between interrupts */
#define HOLD	20		/* ms that one lasts in a copy */
#define OWN	0xa5

/* of the messages in turn, so that memory is of one colour unless one is being copied */
static const u8 colours[2] = { 0x5a, 0x3c };

struct regions;

/**
 * struct message - a Write or READ that is posted again when it is complete
 * @cqe: its completion
 * @post: posts it on the other processor
 * @wr: request
 * @sge: memory of whoever asks
 * @t: of these
 */
struct message {
	struct ib_cqe cqe;
	struct work_struct post;
	struct ib_rdma_wr wr;
	struct ib_sge sge;
	struct regions *t;
};

/**
 * struct regions - messages that arrive in a region, and its end
 * @c: device
 * @cq: of both queue pairs
 * @qp: the first one asks, for Writes or READs
 * @target: memory that they change: for Writes the second one's, for READs the first one's
 * @source: memory that they come from in turn, of the other one
 * @opcode: of @message
 * @message: under way
 * @posting: one is being posted
 * @stop: none is posted again
 * @timer: interrupts the other processor
 * @held: it did so in a copy
 * @release: the copy may go on
 */
struct regions {
	struct consumer *c;
	struct ib_cq *cq;
	struct ib_qp *qp[2];
	struct region target;
	struct region source[2];
	enum ib_wr_opcode opcode;
	struct message message[DEPTH];
	bool posting;
	bool stop;
	struct hrtimer timer;
	bool held;
	bool release;
};

static struct ib_qp *targets_qp(const struct regions *t)
{
	return t->qp[t->opcode == IB_WR_RDMA_WRITE];
}

/* ---- ends ---- */

static int deregister(struct regions *t)
{
	return region_dereg(&t->target);
}

static int invalidate(struct regions *t)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED,
		.wr_cqe = &t->c->send.cqe,
		.ex.invalidate_rkey = t->target.mr->rkey,
	};
	int err;

	/* what the device does in softirqs of this processor is done when they are on again */
	request_init(&t->c->send);
	local_bh_disable();
	err = ib_post_send(targets_qp(t), &wr, NULL);
	local_bh_enable();
	return err ? failed("LOCAL_INV is not taken: error %d", err) :
		     await(&t->c->send, IB_WC_SUCCESS);
}

static int destroy(struct regions *t)
{
	int i = t->opcode == IB_WR_RDMA_WRITE, err;

	err = ib_destroy_qp(t->qp[i]);
	if (err)
		return failed("a queue pair is not destroyed: error %d", err);
	t->qp[i] = NULL;
	return 0;
}

static int drain(struct regions *t)
{
	ib_drain_qp(targets_qp(t));
	return 0;
}

static const struct way {
	const char *name;
	enum ib_wr_opcode opcode;
	int (*end)(struct regions *t);
} ways[] = {
	{ "Writes, deregistration", IB_WR_RDMA_WRITE, deregister },
	{ "Writes, invalidation", IB_WR_RDMA_WRITE, invalidate },
	{ "Writes, queue pair destroyed", IB_WR_RDMA_WRITE, destroy },
	{ "Writes, queue pair drained", IB_WR_RDMA_WRITE, drain },
	{ "READs, deregistration", IB_WR_RDMA_READ, deregister },
	{ "READs, queue pair destroyed", IB_WR_RDMA_READ, destroy },
	{ "READs, queue pair drained", IB_WR_RDMA_READ, drain },
};

/* ---- what is under way ---- */

/* On the other processor only, with bottom halves off. */
static void post(struct message *m)
{
	struct regions *t = m->t;

	WRITE_ONCE(t->posting, true);
	if (!READ_ONCE(t->stop))
		ib_post_send(t->qp[0], &m->wr.wr, NULL);
	WRITE_ONCE(t->posting, false);
}

static void post_work(struct work_struct *work)
{
	local_bh_disable();
	post(container_of(work, struct message, post));
	local_bh_enable();
}

/* Softirq. Who posts sends, and on a device that talks to itself receives. */
static void again(struct ib_cq *cq, struct ib_wc *wc)
{
	struct message *m = container_of(wc->wr_cqe, struct message, cqe);

	if (wc->status != IB_WC_SUCCESS)
		return;
	if (smp_processor_id() == m->t->c->cpu[1])
		post(m);
	else
		schedule_work_on(m->t->c->cpu[1], &m->post);
}

static void build(struct regions *t, int i)
{
	bool write = t->opcode == IB_WR_RDMA_WRITE;
	const struct ib_mr *source = t->source[i & 1].mr, *target = t->target.mr;
	const struct ib_mr *local = write ? source : target;
	const struct ib_mr *remote = write ? target : source;
	struct message *m = t->message + i;

	m->t = t;
	m->cqe.done = again;
	m->sge = (struct ib_sge){ .addr = local->iova, .length = SIZE, .lkey = local->lkey };
	m->wr = (struct ib_rdma_wr){
		.wr = {
			.wr_cqe = &m->cqe,
			.opcode = t->opcode,
			.send_flags = IB_SEND_SIGNALED,
			.sg_list = &m->sge,
			.num_sge = 1,
		},
		.remote_addr = remote->iova,
		.rkey = remote->rkey,
	};
}

static bool in_a_copy(const struct regions *t)
{
	return READ_ONCE(t->target.va[0]) != READ_ONCE(t->target.va[SIZE - 1]);
}

static enum hrtimer_restart interrupt(struct hrtimer *timer)
{
	struct regions *t = container_of(timer, struct regions, timer);
	int i;

	if (READ_ONCE(t->stop))
		return HRTIMER_NORESTART;
	/* now and then it is not this processor that copies */
	if (!in_a_copy(t) || READ_ONCE(t->posting)) {
		hrtimer_forward_now(timer, ns_to_ktime(PERIOD * NSEC_PER_USEC));
		return HRTIMER_RESTART;
	}
	WRITE_ONCE(t->stop, true);
	/* pairs with hold_other(): the queue pair may be destroyed from here on */
	smp_store_release(&t->held, true);
	for (i = 0; i < 200 * HOLD && !READ_ONCE(t->release); i++)
		udelay(5);
	return HRTIMER_NORESTART;
}

static void start_timer(void *data)
{
	struct regions *t = data;

	hrtimer_start(&t->timer, ns_to_ktime(PERIOD * NSEC_PER_USEC), HRTIMER_MODE_REL_PINNED_HARD);
}

static int start(struct regions *t)
{
	int i;

	t->stop = false;
	t->held = false;
	t->release = false;
	for (i = 0; i < DEPTH; i++) {
		build(t, i);
		schedule_work_on(t->c->cpu[1], &t->message[i].post);
	}
	return smp_call_function_single(t->c->cpu[1], start_timer, t, true);
}

/* True: the other processor is in a copy, and posts nothing from here on. */
static bool hold_other(struct regions *t)
{
	unsigned long end = jiffies + 10 * HZ;
	bool held;

	/* pairs with interrupt() */
	while (!(held = smp_load_acquire(&t->held)) && time_before(jiffies, end))
		usleep_range(20, 50);
	return held;
}

static void release_other(struct regions *t)
{
	WRITE_ONCE(t->release, true);
	hrtimer_cancel(&t->timer);
}

/* None is under way then, or referred to. */
static void finish(struct regions *t)
{
	int i;

	WRITE_ONCE(t->stop, true);
	release_other(t);
	for (i = 0; i < DEPTH; i++)
		cancel_work_sync(&t->message[i].post);
	if (t->qp[0])
		ib_drain_qp(t->qp[0]);
}

/* From the end: a copy, which goes the other way, is met and not followed. */
static void take(struct regions *t)
{
	int i;

	for (i = PAGES - 1; i >= 0; i--)
		memset(t->target.va + i * PAGE_SIZE, OWN, PAGE_SIZE);
}

static int holds(const struct regions *t, u8 byte, const char *when)
{
	const u8 *at = memchr_inv(t->target.va, byte, SIZE);

	if (at)
		return failed("%s: byte %zu is 0x%02x, not 0x%02x", when,
			      (size_t)(at - t->target.va), *at, byte);
	return 0;
}

/* ---- rounds ---- */

static int prepare(struct regions *t)
{
	int err;

	memset(t->target.va, 0, SIZE);
	if (t->qp[0] && t->qp[1]) {
		err = connect_pair(t->c, t->qp);
	} else {
		destroy_pair(t->qp);
		err = create_pair(t->c, t->cq, t->cq, t->qp);
	}
	/* one that was destroyed or drained leaves its region */
	if (!err && t->target.mr)
		err = region_dereg(&t->target);
	err = err ?: region_map(t->c, &t->target);
	return err ?: region_register(t->c, targets_qp(t), &t->target,
				      IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
}

static int take_over(struct regions *t, const struct way *way)
{
	int err = way->end(t);

	take(t);
	release_other(t);
	/* what was on its way, too */
	usleep_range(1000, 2000);
	return err ?: holds(t, OWN, way->name);
}

static int interrupted(struct regions *t, const struct way *way)
{
	unsigned int round, met = 0;
	int err = 0;

	t->opcode = way->opcode;
	for (round = 0; round < t->c->rounds / 5 + 1 && !err; round++) {
		err = prepare(t);
		if (err)
			break;
		err = start(t);
		if (!err && hold_other(t)) {
			met++;
			err = take_over(t, way);
		}
		finish(t);
	}
	pr_info("%s: %u of %u came in the middle of a copy\n", way->name, met, round);
	if (!err && !met)
		err = failed("%s: none came in the middle of a copy", way->name);
	return err;
}

static int regions_create(struct consumer *c, struct regions *t)
{
	int err, i;

	t->c = c;
	mroce_hrtimer_setup(&t->timer, interrupt, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	for (i = 0; i < DEPTH; i++)
		INIT_WORK(&t->message[i].post, post_work);
	t->cq = ib_alloc_cq(c->dev, NULL, 4 * CONSUMER_DEPTH, 0, IB_POLL_SOFTIRQ);
	if (IS_ERR(t->cq))
		return failed("no completion queue: error %ld", PTR_ERR(t->cq));
	err = region_alloc(c, &t->target, PAGES);
	err = err ?: create_pair(c, t->cq, t->cq, t->qp);
	for (i = 0; i < 2 && !err; i++) {
		err = region_alloc(c, t->source + i, PAGES);
		err = err ?: region_map(c, t->source + i);
		err = err ?: region_register(c, t->qp[0], t->source + i,
					     IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ);
		if (!err)
			memset(t->source[i].va, colours[i], SIZE);
	}
	return err;
}

static void regions_destroy(struct consumer *c, struct regions *t)
{
	destroy_pair(t->qp);
	region_free(c, t->source);
	region_free(c, t->source + 1);
	region_free(c, &t->target);
	if (!IS_ERR_OR_NULL(t->cq))
		ib_free_cq(t->cq);
}

int consumer_regions(struct consumer *c)
{
	struct regions *t = kzalloc(sizeof(*t), GFP_KERNEL);
	int err, i;

	if (!t)
		return -ENOMEM;
	err = regions_create(c, t);
	for (i = 0; i < ARRAY_SIZE(ways) && !err; i++)
		err = interrupted(t, ways + i);
	regions_destroy(c, t);
	kfree(t);
	return err;
}

/* A Write that is complete has arrived: its region may go at once. */
int consumer_lasting(struct consumer *c)
{
	struct regions *t = kzalloc(sizeof(*t), GFP_KERNEL);
	unsigned int round;
	int err;

	if (!t)
		return -ENOMEM;
	err = regions_create(c, t);
	t->opcode = IB_WR_RDMA_WRITE;
	for (round = 0; round < c->rounds && !err; round++) {
		err = prepare(t);
		if (!err) {
			build(t, 0);
			err = perform(c, t->qp[0], &t->message->wr.wr, IB_WC_SUCCESS);
		}
		err = err ?: deregister(t);
		err = err ?: holds(t, colours[0], "a Write that was complete");
	}
	regions_destroy(c, t);
	kfree(t);
	return err;
}
