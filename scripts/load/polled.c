// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of mroce-verbs: the kernel looks at send rings, so that posting needs no system call. A
 * thread that may make none (to the device) posts; where it must, because the kernel's thread
 * sleeps, the one that may does so for it.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verbs.h"

#define ROUNDS	400
#define SLEEP	"20000" /* us */

static struct pair p;
static int post_error;

/* ioctl() fails from now on, in this thread */
static void forbid(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_ioctl, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS");
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "PR_SET_SECCOMP");
}

static void write_of(uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)memory, length, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge,
				  .num_sge = 1 };

	post_error = post_send(p.qp[0], &wr);
}

/* a Write by a thread that may not tell the module; false: it had to */
static void *silent(void *length)
{
	forbid();
	write_of((uintptr_t)length);
	return NULL;
}

static bool unheard(uint32_t length)
{
	pthread_t thread;

	must(pthread_create(&thread, NULL, silent, (void *)(uintptr_t)length), "pthread_create");
	must(pthread_join(thread, NULL), "pthread_join");
	if (post_error && post_error != ENOTTY)
		die("posting: %s", strerror(post_error));
	return !post_error;
}

/* what is in the ring is done once somebody says so */
static void after(bool heard)
{
	if (heard) {
		completes(p.cq, 1, IBV_WC_SUCCESS);
		return;
	}
	write_of(1);
	must(post_error, "a post that may tell the module");
	completes(p.cq, 2, IBV_WC_SUCCESS);
}

void test_polled(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = 16, .max_recv_wr = 1, .max_send_sge = 1,
				  .max_recv_sge = 1 };
	unsigned int i, none = 0, wait;
	bool heard;

	setenv("MROCE_POLL", SLEEP, 1);
	p = connected(&cap, NULL, 64, 1);
	unsetenv("MROCE_POLL");
	for (i = 0; i < ROUNDS; i++) {
		fill(1 + i * 37);
		heard = unheard(1 + i * 37);
		none += heard;
		after(heard);
		arrived(1 + i * 37, "polled");
	}
	printf("%u of %u posts took no call\n", none, ROUNDS);
	if (none < ROUNDS / 4)
		die("posts need calls");
	/* when nothing comes it sleeps, whatever keeps it for how long */
	for (wait = 50000; (heard = unheard(8)); wait *= 2) {
		after(true);
		if (wait > 5000000)
			die("it never sleeps");
		usleep(wait);
	}
	after(false);
	disconnect(&p);

	/* and without it each needs one */
	p = connected(&cap, NULL, 64, 1);
	if (unheard(8))
		die("a post took no call, and nobody looks");
	after(false);
	disconnect(&p);
}
