// SPDX-License-Identifier: GPL-2.0
/*
 * When a device calls a CQ's handler: never while one of that CQ runs, never in the call chain of
 * a method of its own, never after the CQ was destroyed. The handler runs in a context of the
 * device's, what it counts is atomic; the tests run in process context.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bottom_half.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/preempt.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "consumer.h"

#define PAIRS	4	/* of each thread */
#define BUSY	50	/* us that a handler takes */

/**
 * struct watch - a CQ, and what was seen of its handler
 * @cq: completion queue
 * @caller: who calls methods of the device, and must not find himself in the handler
 * @idle: the handler neither polls nor asks for more
 * @lingers: it stays until @released
 * @released: see @lingers
 * @destroyed: there is no CQ any more
 * @inside: that run now
 * @calls: of the handler
 * @overlaps: that came while one was running
 * @chained: that came in a call of @caller
 * @late: that came, or ran, when @destroyed
 */
struct watch {
	struct ib_cq *cq;
	struct task_struct *caller;
	bool idle;
	bool lingers;
	bool released;
	bool destroyed;
	atomic_t inside;
	atomic_t calls;
	atomic_t overlaps;
	atomic_t chained;
	atomic_t late;
};

static void linger(const struct watch *w)
{
	int i;

	/* the queue pairs are destroyed before the CQ is; for that it waits, but not for ever */
	for (i = 0; i < 100 && !READ_ONCE(w->released); i++)
		mdelay(1);
	mdelay(2);
}

static void handler(struct ib_cq *cq, void *context)
{
	struct watch *w = context;
	struct ib_wc wc;

	if (atomic_inc_return(&w->inside) > 1)
		atomic_inc(&w->overlaps);
	if (current == READ_ONCE(w->caller) && !in_serving_softirq())
		atomic_inc(&w->chained);
	atomic_inc(&w->calls);
	if (!READ_ONCE(w->idle)) {
		do {
			while (ib_poll_cq(cq, 1, &wc) > 0)
				wc.wr_cqe->done(cq, &wc);
		} while (ib_req_notify_cq(cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0);
	}
	/* armed again: what completes from here on must wait with its call */
	udelay(BUSY);
	if (READ_ONCE(w->lingers))
		linger(w);
	if (READ_ONCE(w->destroyed))
		atomic_inc(&w->late);
	atomic_dec(&w->inside);
}

static struct watch *watch_create(struct consumer *c, bool idle)
{
	struct ib_cq_init_attr attr = { .cqe = 4 * PAIRS * CONSUMER_DEPTH };
	struct watch *w = kzalloc(sizeof(*w), GFP_KERNEL);

	if (!w)
		return NULL;
	w->idle = idle;
	w->cq = ib_create_cq(c->dev, handler, NULL, w, &attr);
	if (IS_ERR(w->cq)) {
		failed("no completion queue: error %ld", PTR_ERR(w->cq));
		kfree(w);
		return NULL;
	}
	ib_req_notify_cq(w->cq, IB_CQ_NEXT_COMP);
	return w;
}

/* What was seen, as an error if it must not be; and the CQ is gone. */
static int watch_end(struct watch *w, int err)
{
	if (w->cq)
		ib_destroy_cq(w->cq);
	if (!err && !atomic_read(&w->calls))
		err = failed("no handler was called");
	if (!err && atomic_read(&w->overlaps))
		err = failed("of %d handlers %d were called while one was running",
			     atomic_read(&w->calls), atomic_read(&w->overlaps));
	if (!err && atomic_read(&w->chained))
		err = failed("of %d handlers %d were called in the caller's own call",
			     atomic_read(&w->calls), atomic_read(&w->chained));
	kfree(w);
	return err;
}

/* the smallest request there is */
static int post_write(struct ib_qp *qp, struct request *r)
{
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED,
			.wr_cqe = &r->cqe,
		},
	};

	request_init(r);
	return ib_post_send(qp, &wr.wr, NULL);
}

static int poll_once(struct ib_cq *cq)
{
	struct ib_wc wc;
	int n = ib_poll_cq(cq, 1, &wc);

	if (n > 0)
		wc.wr_cqe->done(cq, &wc);
	return n;
}

/* ---- one at a time ---- */

/**
 * struct poster - a thread that has its queue pairs complete again and again
 * @c: device
 * @w: their CQ
 * @qp: queue pairs
 * @request: one each
 * @err: what came of it
 * @ended: nothing comes any more
 */
struct poster {
	struct consumer *c;
	struct watch *w;
	struct ib_qp *qp[PAIRS][2];
	struct request request[PAIRS];
	int err;
	struct completion ended;
};

static int post_again_and_again(void *data)
{
	struct poster *p = data;
	unsigned int round;
	int err = 0, i;

	for (round = 0; round < 2 * p->c->rounds && !err; round++) {
		for (i = 0; i < PAIRS && !err; i++)
			if (post_write(p->qp[i][0], p->request + i))
				err = failed("a Write is not taken");
		for (i = 0; i < PAIRS && !err; i++)
			err = await(p->request + i, IB_WC_SUCCESS);
	}
	p->err = err;
	complete(&p->ended);
	return 0;
}

static int poster_create(struct consumer *c, struct watch *w, struct poster *p)
{
	int err = 0, i;

	p->c = c;
	p->w = w;
	init_completion(&p->ended);
	for (i = 0; i < PAIRS && !err; i++)
		err = create_pair(c, w->cq, w->cq, p->qp[i]);
	return err;
}

static void poster_destroy(struct poster *p)
{
	int i;

	for (i = 0; i < PAIRS; i++)
		destroy_pair(p->qp[i]);
}

static int post_on_both(struct consumer *c, struct poster *p)
{
	struct task_struct *task[2];
	int err = 0, i;

	for (i = 0; i < 2; i++) {
		task[i] = kthread_create_on_cpu(post_again_and_again, p + i, c->cpu[i],
						"poster/%u");
		if (IS_ERR(task[i])) {
			err = PTR_ERR(task[i]);
			break;
		}
		get_task_struct(task[i]);
		wake_up_process(task[i]);
	}
	while (i--) {
		wait_for_completion(&p[i].ended);
		/* out of this module too, not only at its end */
		kthread_stop(task[i]);
		put_task_struct(task[i]);
		err = err ?: p[i].err;
	}
	return err;
}

int consumer_handlers(struct consumer *c)
{
	struct watch *w = watch_create(c, false);
	struct poster *p = kcalloc(2, sizeof(*p), GFP_KERNEL);
	int err = w && p ? 0 : -ENOMEM;

	err = err ?: poster_create(c, w, p);
	err = err ?: poster_create(c, w, p + 1);
	err = err ?: post_on_both(c, p);
	if (!err)
		pr_info("%d handlers\n", atomic_read(&w->calls));
	if (p) {
		poster_destroy(p);
		poster_destroy(p + 1);
	}
	if (w)
		err = watch_end(w, err);
	kfree(p);
	return err;
}

/* ---- in nobody's call ---- */

/**
 * struct calls - two queue pairs of one CQ, and whoever calls the device's methods
 * @c: device
 * @w: CQ, a new one for each round
 * @qp: queue pairs, connected
 * @send: request of the first
 * @recv: receive request of the first
 */
struct calls {
	struct consumer *c;
	struct watch *w;
	struct ib_qp *qp[2];
	struct request send;
	struct request recv;
};

/* Each with a CQ and queue pairs of its own; with @idle its handler polls nothing. */
static int rounds_of(struct consumer *c, bool idle, int (*round)(struct calls *t))
{
	struct calls *t = kzalloc(sizeof(*t), GFP_KERNEL);
	unsigned int i;
	int err = 0;

	if (!t)
		return -ENOMEM;
	t->c = c;
	for (i = 0; i < c->rounds / 5 + 1 && !err; i++) {
		t->w = watch_create(c, idle);
		if (!t->w) {
			err = -ENOMEM;
			break;
		}
		err = create_pair(c, t->w->cq, t->w->cq, t->qp);
		err = err ?: round(t);
		destroy_pair(t->qp);
		err = watch_end(t->w, err);
	}
	kfree(t);
	return err;
}

/* The handler was told of a completion, and leaves it where it is. */
static int completed(struct calls *t)
{
	int i;

	if (post_write(t->qp[0], &t->send))
		return failed("a Write is not taken");
	for (i = 0; i < 3000; i++) {
		if (atomic_read(&t->w->calls))
			return 0;
		usleep_range(50, 10000);
	}
	return failed("no handler is called");
}

/* With bottom halves off nothing but the calls themselves could run a handler here. */
static int arm_and_poll(struct calls *t)
{
	int missed, got;

	local_bh_disable();
	missed = ib_req_notify_cq(t->w->cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS);
	got = poll_once(t->w->cq);
	local_bh_enable();
	if (missed <= 0 || got != 1)
		return failed("of a completion that waits req_notify says %d, poll %d", missed,
			      got);
	return await(&t->send, IB_WC_SUCCESS);
}

static int post_and_poll(struct calls *t, enum ib_wc_status want)
{
	struct ib_recv_wr wr = { .wr_cqe = &t->recv.cqe };
	int err;

	request_init(&t->recv);
	local_bh_disable();
	err = post_write(t->qp[0], &t->send) ?: ib_post_recv(t->qp[0], &wr, NULL);
	udelay(BUSY);
	ib_req_notify_cq(t->w->cq, IB_CQ_NEXT_COMP);
	poll_once(t->w->cq);
	local_bh_enable();
	return err ? failed("a request is not taken: error %d", err) : await(&t->send, want);
}

static int call(struct calls *t)
{
	struct ib_qp_attr error = { .qp_state = IB_QPS_ERR };
	int err;

	WRITE_ONCE(t->w->caller, current);
	err = completed(t);
	err = err ?: arm_and_poll(t);
	WRITE_ONCE(t->w->idle, false);
	err = err ?: post_and_poll(t, IB_WC_SUCCESS);
	if (!err && ib_modify_qp(t->qp[0], &error, IB_QP_STATE))
		err = failed("a queue pair does not go into the error state");
	err = err ?: await(&t->recv, IB_WC_WR_FLUSH_ERR);
	err = err ?: post_and_poll(t, IB_WC_WR_FLUSH_ERR);
	return err ?: await(&t->recv, IB_WC_WR_FLUSH_ERR);
}

int consumer_call_chain(struct consumer *c)
{
	return rounds_of(c, true, call);
}

/* ---- none after the end ---- */

static long post_there(void *data)
{
	struct calls *t = data;

	return post_write(t->qp[0], &t->send);
}

static int destroy_under_it(struct calls *t)
{
	struct watch *w = t->w;
	int err = 0, i;

	WRITE_ONCE(w->lingers, true);
	if (work_on_cpu(t->c->cpu[1], post_there, t))
		err = failed("a Write is not taken");
	for (i = 0; i < 3000 && !err && !atomic_read(&w->calls); i++)
		usleep_range(50, 10000);
	destroy_pair(t->qp);
	WRITE_ONCE(w->released, true);
	ib_destroy_cq(w->cq);
	w->cq = NULL;
	WRITE_ONCE(w->destroyed, true);
	if (!err && atomic_read(&w->inside))
		err = failed("a handler runs when its completion queue is destroyed");
	/* who is late may come late */
	usleep_range(4000, 5000);
	if (!err && atomic_read(&w->late))
		err = failed("a handler runs after its completion queue was destroyed");
	return err;
}

int consumer_destruction(struct consumer *c)
{
	return rounds_of(c, false, destroy_under_it);
}
