// SPDX-License-Identifier: GPL-2.0
/*
 * mroce-limits DEVICE GID-INDEX TEST: one limit that the device advertises. At the limit what
 * is asked for works, and is used; one above is refused, at once and with the errno that a
 * program can understand. mroce-limits --list prints the tests. Exit status 0 if all is as it
 * should be; else it says what is not.
 */
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "harness.h"

/* ---- requests ---- */

static void test_qp_wr(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = dev.max_qp_wr, .max_recv_wr = dev.max_qp_wr,
				  .max_send_sge = 1, .max_recv_sge = 1 };
	unsigned int i, want = dev.max_qp_wr;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct pair p = connected(&cap, NULL, 2 * want, 1);
	struct ibv_qp_cap more = { .max_send_wr = want + 1, .max_send_sge = 1 };

	if (cap.max_send_wr < want || cap.max_recv_wr < want)
		die("queues of %u and %u, not %u", cap.max_send_wr, cap.max_recv_wr, want);
	for (i = 0; i < cap.max_recv_wr; i++)
		must(post_recv(p.qp[1], NULL, NULL, 0), "a receive that there is room for");
	refused(post_recv(p.qp[1], NULL, NULL, 0), ENOMEM);
	for (i = 0; i < want; i++)
		must(post_send(p.qp[0], &wr), "a send that there is room for");
	completes(p.cq, 2 * want, IBV_WC_SUCCESS);
	disconnect(&p);

	p.cq = made(ibv_create_cq(ctx, 1, NULL, NULL, 0), "ibv_create_cq");
	refused_pointer(create_qp(p.cq, NULL, &more), EINVAL);
	more = (struct ibv_qp_cap){ .max_recv_wr = want + 1, .max_recv_sge = 1 };
	refused_pointer(create_qp(p.cq, NULL, &more), EINVAL);
	must(ibv_destroy_cq(p.cq), "ibv_destroy_cq");
}

/* A full send queue takes no more; full it stays, as the receives come late. */
static void test_sq_full(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = 64, .max_recv_wr = 256, .max_send_sge = 1,
				  .max_recv_sge = 1 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct pair p = connected(&cap, NULL, 1024, 1);
	unsigned int i, n = cap.max_send_wr;

	for (i = 0; i < n; i++)
		must(post_send(p.qp[0], &wr), "a send that there is room for");
	refused(post_send(p.qp[0], &wr), ENOMEM);
	for (i = 0; i < n; i++)
		must(post_recv(p.qp[1], NULL, NULL, 0), "a receive");
	completes(p.cq, 2 * n, IBV_WC_SUCCESS);
	disconnect(&p);
}

static void spread(struct ibv_sge *sge, int n, size_t at)
{
	int i;

	for (i = 0; i < n; i++)
		sge[i] = (struct ibv_sge){ (uintptr_t)memory + at + i * 100, 100, mr->lkey };
}

static void test_sge(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = 4, .max_recv_wr = 4,
				  .max_send_sge = dev.max_sge, .max_recv_sge = dev.max_sge };
	struct ibv_qp_cap more = { .max_send_wr = 4, .max_send_sge = dev.max_sge + 1 };
	struct pair p = connected(&cap, NULL, 16, 4);
	int n = dev.max_sge;
	struct ibv_sge from[n + 1], to[n + 1];
	struct ibv_send_wr wr = { .sg_list = from, .num_sge = n };

	spread(from, n + 1, 0);
	spread(to, n + 1, MEMORY / 2);
	fill(n * 100);
	must(post_recv(p.qp[1], NULL, to, n), "a receive of max_sge pieces");
	wr.opcode = IBV_WR_SEND;
	must(post_send(p.qp[0], &wr), "a Send of max_sge pieces");
	completes(p.cq, 2, IBV_WC_SUCCESS);
	arrived(n * 100, "Send");

	fill(n * 100);
	wr.opcode = IBV_WR_RDMA_WRITE;
	must(post_send(p.qp[0], &wr), "a Write of max_sge pieces");
	completes(p.cq, 1, IBV_WC_SUCCESS);
	arrived(n * 100, "Write");

	fill(n * 100);
	wr.opcode = IBV_WR_RDMA_READ;
	wr.num_sge = dev.max_sge_rd;
	must(post_send(p.qp[0], &wr), "a Read of max_sge_rd pieces");
	completes(p.cq, 1, IBV_WC_SUCCESS);
	arrived(dev.max_sge_rd * 100, "Read");

	wr.num_sge = cap.max_send_sge + 1;
	refused(post_send(p.qp[0], &wr), EINVAL);
	refused(post_recv(p.qp[1], NULL, to, cap.max_recv_sge + 1), EINVAL);
	refused_pointer(create_qp(p.cq, NULL, &more), EINVAL);
	more = (struct ibv_qp_cap){ .max_recv_wr = 4, .max_recv_sge = dev.max_sge + 1 };
	refused_pointer(create_qp(p.cq, NULL, &more), EINVAL);
	disconnect(&p);
}

/* no attribute names the limit: it is what a queue pair that asks for 512 has */
static void test_inline(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2,
				  .max_recv_sge = 1, .max_inline_data = 512 };
	struct ibv_qp_cap more = { .max_send_wr = 4, .max_inline_data = 513 };
	struct pair p = connected(&cap, NULL, 16, 1);
	struct ibv_sge sge[2] = { { (uintptr_t)memory, 500, 0 },
				  { (uintptr_t)memory + 500, 12, 0 } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = sge, .num_sge = 2,
				  .send_flags = IBV_SEND_INLINE };

	if (cap.max_inline_data != 512)
		die("max_inline_data is %u", cap.max_inline_data);
	fill(513);
	must(post_send(p.qp[0], &wr), "512 bytes inline");
	completes(p.cq, 1, IBV_WC_SUCCESS);
	arrived(512, "inline");
	sge[1].length++;
	refused(post_send(p.qp[0], &wr), EINVAL);
	refused_pointer(create_qp(p.cq, NULL, &more), EINVAL);
	disconnect(&p);
}

static void test_rd_atomic(void)
{
	unsigned int i, n = dev.max_qp_rd_atom, m = dev.max_qp_init_rd_atom;
	struct ibv_qp_cap cap = { .max_send_wr = 4 * n, .max_recv_wr = 1, .max_send_sge = 1,
				  .max_recv_sge = 1 };
	struct pair p = connected(&cap, NULL, 8 * n, n < m ? n : m);
	struct ibv_sge sge = { (uintptr_t)memory, 64, mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ, .sg_list = &sge, .num_sge = 1 };

	fill(64);
	for (i = 0; i < 4 * n; i++)
		must(post_send(p.qp[0], &wr), "a Read");
	completes(p.cq, 4 * n, IBV_WC_SUCCESS);
	arrived(64, "Read");

	must(modify(p.qp[0], IBV_QPS_RESET), "to RESET");
	must(to_init(p.qp[0], 1, 0), "to INIT");
	refused(to_rtr(p.qp[0], p.qp[1], n + 1), EINVAL);
	must(to_rtr(p.qp[0], p.qp[1], n), "to RTR, after a refusal");
	refused(to_rts(p.qp[0], m + 1), EINVAL);
	must(to_rts(p.qp[0], m), "to RTS, after a refusal");
	disconnect(&p);
}

/* A region that repeats 32 MiB: the longest message needs the addresses, not the memory. */
static void test_max_msg(void)
{
	const size_t piece = 32 << 20, size = port.max_msg_sz;
	struct ibv_qp_cap cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2,
				  .max_recv_sge = 1 };
	struct pair p = connected(&cap, NULL, 16, 4);
	int fd = memfd_create("limits", 0);
	struct ibv_sge sge[2];
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct ibv_mr *big;
	uint8_t *at;
	size_t off;

	if (fd < 0 || ftruncate(fd, piece))
		die("memfd: %s", strerror(errno));
	at = mmap(NULL, size + piece, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	for (off = 0; off < size + piece; off += piece)
		if (mmap(at + off, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
		    MAP_FAILED)
			die("mmap: %s", strerror(errno));
	memset(at, 1, piece);
	big = made(ibv_reg_mr(pd, at, size + piece, RIGHTS), "ibv_reg_mr");
	wr.wr.rdma.remote_addr = (uintptr_t)at;
	wr.wr.rdma.rkey = big->rkey;

	sge[0] = (struct ibv_sge){ (uintptr_t)at, size, big->lkey };
	sge[1] = (struct ibv_sge){ (uintptr_t)at, 1, big->lkey };
	wr.opcode = IBV_WR_RDMA_WRITE;
	must(ibv_post_send(p.qp[0], &wr, &bad), "the longest Write");
	completes(p.cq, 1, IBV_WC_SUCCESS);
	/* a longer one ends as a request that cannot be, and with it the queue pair */
	wr.num_sge = 2;
	must(ibv_post_send(p.qp[0], &wr, &bad), "a longer Write");
	completes(p.cq, 1, IBV_WC_LOC_LEN_ERR);
	wr.opcode = IBV_WR_RDMA_READ;
	must(ibv_post_send(p.qp[1], &wr, &bad), "a longer Read");
	completes(p.cq, 1, IBV_WC_LOC_LEN_ERR);
	disconnect(&p);
	must(ibv_dereg_mr(big), "ibv_dereg_mr");
	munmap(at, size + piece);
	close(fd);
}

/* ---- queues ---- */

static void test_cqe(void)
{
	struct ibv_cq *cq = made(ibv_create_cq(ctx, dev.max_cqe, NULL, NULL, 0), "ibv_create_cq");

	if (cq->cqe < dev.max_cqe)
		die("%d entries, not %d", cq->cqe, dev.max_cqe);
	must(ibv_destroy_cq(cq), "ibv_destroy_cq");
	refused_pointer(ibv_create_cq(ctx, dev.max_cqe + 1, NULL, NULL, 0), EINVAL);
	cq = made(ibv_create_cq(ctx, 1, NULL, NULL, 0), "ibv_create_cq");
	refused(ibv_resize_cq(cq, dev.max_cqe + 1), EINVAL);
	must(ibv_resize_cq(cq, dev.max_cqe), "ibv_resize_cq to max_cqe");
	if (cq->cqe < dev.max_cqe)
		die("%d entries after resizing, not %d", cq->cqe, dev.max_cqe);
	must(ibv_destroy_cq(cq), "ibv_destroy_cq");
}

static struct ibv_srq *create_srq(uint32_t wr, uint32_t sge, uint32_t limit)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = wr, .max_sge = sge, .srq_limit = limit },
	};

	return ibv_create_srq(pd, &init);
}

static void test_srq(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = 4, .max_recv_wr = 4,
				  .max_send_sge = dev.max_srq_sge, .max_recv_sge = 1 };
	struct ibv_srq *srq = made(create_srq(dev.max_srq_wr, dev.max_srq_sge, 0), "ibv_create_srq");
	int i, n = dev.max_srq_sge;
	struct ibv_sge from[n + 1], to[n + 1];
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = from, .num_sge = n };
	struct ibv_srq_attr attr;
	struct pair p;

	spread(from, n, 0);
	spread(to, n + 1, MEMORY / 2);
	fill(n * 100);
	must(ibv_query_srq(srq, &attr), "ibv_query_srq");
	if (attr.max_wr < (unsigned int)dev.max_srq_wr || attr.max_sge < (unsigned int)n)
		die("an SRQ of %u and %u", attr.max_wr, attr.max_sge);
	for (i = 0; i < (int)attr.max_wr; i++)
		must(post_recv(NULL, srq, to, n), "a receive that there is room for");
	refused(post_recv(NULL, srq, to, n), ENOMEM);
	refused(post_recv(NULL, srq, to, attr.max_sge + 1), ENOMEM);
	p = connected(&cap, srq, 16, 1);
	must(post_send(p.qp[0], &wr), "a Send");
	completes(p.cq, 2, IBV_WC_SUCCESS);
	arrived(n * 100, "Send");
	refused(post_recv(NULL, srq, to, attr.max_sge + 1), EINVAL);

	attr.srq_limit = attr.max_wr + 1;
	refused(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	attr.srq_limit = attr.max_wr;
	must(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), "srq_limit at max_wr");
	disconnect(&p);
	must(ibv_destroy_srq(srq), "ibv_destroy_srq");
	refused_pointer(create_srq(dev.max_srq_wr + 1, 1, 0), EINVAL);
	refused_pointer(create_srq(1, dev.max_srq_sge + 1, 0), EINVAL);
	refused_pointer(create_srq(4, 1, 5), EINVAL);
}

/* ---- tables and addresses ---- */

static void test_mr_size(void)
{
	/* so much memory there is not: not the length is refused but what is not mapped */
	if (ibv_reg_mr(pd, memory, dev.max_mr_size, RIGHTS))
		die("%llu bytes were registered", (unsigned long long)dev.max_mr_size);
	if (errno != EFAULT && errno != ENOMEM)
		die("max_mr_size: %s", strerror(errno));
	refused_pointer(ibv_reg_mr(pd, memory, dev.max_mr_size + 1, RIGHTS), EINVAL);
	refused_pointer(ibv_reg_mr(pd, memory, 0, RIGHTS), EINVAL);
}

static void test_port(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = 1, .max_recv_wr = 1 };
	struct ibv_cq *cq = made(ibv_create_cq(ctx, 1, NULL, NULL, 0), "ibv_create_cq");
	struct ibv_qp *qp = made(create_qp(cq, NULL, &cap), "ibv_create_qp");
	struct ibv_ah_attr ah = self();
	struct ibv_port_attr attr;

	refused(ibv_query_port(ctx, dev.phys_port_cnt + 1, &attr), EINVAL);
	refused(to_init(qp, dev.phys_port_cnt + 1, 0), EINVAL);
	refused(to_init(qp, 0, 0), EINVAL);
	must(to_init(qp, dev.phys_port_cnt, 0), "the last port");
	ah.port_num = dev.phys_port_cnt + 1;
	refused_pointer(ibv_create_ah(pd, &ah), EINVAL);
	must(ibv_destroy_qp(qp), "ibv_destroy_qp");
	must(ibv_destroy_cq(cq), "ibv_destroy_cq");
}

static void test_pkey(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = 1, .max_recv_wr = 1 };
	struct ibv_cq *cq = made(ibv_create_cq(ctx, 1, NULL, NULL, 0), "ibv_create_cq");
	struct ibv_qp *qp = made(create_qp(cq, NULL, &cap), "ibv_create_qp");
	__be16 pkey;

	if (port.pkey_tbl_len != dev.max_pkeys)
		die("pkey_tbl_len %u, max_pkeys %u", port.pkey_tbl_len, dev.max_pkeys);
	must(ibv_query_pkey(ctx, 1, dev.max_pkeys - 1, &pkey), "the last P_Key");
	if (!ibv_query_pkey(ctx, 1, dev.max_pkeys, &pkey))
		die("there is a P_Key beyond max_pkeys");
	refused(to_init(qp, 1, dev.max_pkeys), EINVAL);
	must(to_init(qp, 1, dev.max_pkeys - 1), "the last P_Key");
	must(ibv_destroy_qp(qp), "ibv_destroy_qp");
	must(ibv_destroy_cq(cq), "ibv_destroy_cq");
}

static void test_gid(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = 1, .max_recv_wr = 1 };
	struct ibv_cq *cq = made(ibv_create_cq(ctx, 1, NULL, NULL, 0), "ibv_create_cq");
	struct ibv_qp *qp = made(create_qp(cq, NULL, &cap), "ibv_create_qp");
	uint8_t own = gid_index;
	union ibv_gid beyond;
	struct ibv_ah_attr ah;

	if (!ibv_query_gid(ctx, 1, port.gid_tbl_len, &beyond))
		die("there is a GID beyond gid_tbl_len");
	/* the index has eight bits: with 256 entries the last one, which is empty */
	gid_index = port.gid_tbl_len < 256 ? port.gid_tbl_len : 255;
	ah = self();
	refused_pointer(ibv_create_ah(pd, &ah), ENODATA);
	must(to_init(qp, 1, 0), "to INIT");
	refused(to_rtr(qp, qp, 1), ENODATA);
	gid_index = own;
	must(to_rtr(qp, qp, 1), "to RTR");
	must(ibv_destroy_qp(qp), "ibv_destroy_qp");
	must(ibv_destroy_cq(cq), "ibv_destroy_cq");
}

/* ---- multicast ---- */

static struct ibv_qp *make_ud(struct ibv_cq *cq)
{
	struct ibv_qp_cap cap = { .max_send_wr = 1, .max_recv_wr = 1 };
	struct ibv_qp *qp;

	qp_type = IBV_QPT_UD;
	qp = made(create_qp(cq, NULL, &cap), "ibv_create_qp");
	qp_type = IBV_QPT_RC;
	return qp;
}

static union ibv_gid group_of(unsigned int n)
{
	return (union ibv_gid){ .raw = { 0xff, 0x15, [14] = n >> 8, n } };
}

static void test_groups(void)
{
	struct ibv_cq *cq = made(ibv_create_cq(ctx, 1, NULL, NULL, 0), "ibv_create_cq");
	int i, n = dev.max_mcast_grp, m = dev.max_mcast_qp_attach;
	struct ibv_qp **qp = made(calloc(m + 1, sizeof(*qp)), "calloc");
	union ibv_gid g;

	for (i = 0; i <= m; i++)
		qp[i] = make_ud(cq);
	for (i = 0; i < n; i++) {
		g = group_of(i);
		must(ibv_attach_mcast(qp[0], &g, 0), "a group");
	}
	g = group_of(n);
	refused(ibv_attach_mcast(qp[0], &g, 0), ENOMEM);
	g = group_of(0);
	for (i = 1; i < m; i++)
		must(ibv_attach_mcast(qp[i], &g, 0), "a queue pair in a group");
	refused(ibv_attach_mcast(qp[m], &g, 0), ENOMEM);
	must(ibv_detach_mcast(qp[1], &g, 0), "ibv_detach_mcast");
	must(ibv_attach_mcast(qp[m], &g, 0), "one in its place");
	g = group_of(1);
	must(ibv_detach_mcast(qp[0], &g, 0), "ibv_detach_mcast");
	g = group_of(n);
	must(ibv_attach_mcast(qp[0], &g, 0), "a group in its place");
	/* the rest is left to the kernel */
	exit(0);
}

/* ---- numbers of objects ---- */

static struct ibv_cq *one_cq;

static void *make_pd(void) { return ibv_alloc_pd(ctx); }
static int free_pd(void *o) { return ibv_dealloc_pd(o); }
static void *make_ah(void)
{
	struct ibv_ah_attr attr = self();

	return ibv_create_ah(pd, &attr);
}

static int free_ah(void *o) { return ibv_destroy_ah(o); }
static void *make_cq(void) { return ibv_create_cq(ctx, 1, NULL, NULL, 0); }
static int free_cq(void *o) { return ibv_destroy_cq(o); }
static void *make_mr(void) { return ibv_reg_mr(pd, memory, 1, RIGHTS); }
static int free_mr(void *o) { return ibv_dereg_mr(o); }
static void *make_mw(void) { return ibv_alloc_mw(pd, IBV_MW_TYPE_2); }
static int free_mw(void *o) { return ibv_dealloc_mw(o); }
static void *make_srq(void) { return create_srq(1, 1, 0); }
static int free_srq(void *o) { return ibv_destroy_srq(o); }
static void *make_qp(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = 1, .max_recv_wr = 1 };

	if (!one_cq)
		one_cq = made(ibv_create_cq(ctx, 1, NULL, NULL, 0), "ibv_create_cq");
	return create_qp(one_cq, NULL, &cap);
}

static int free_qp(void *o) { return ibv_destroy_qp(o); }

/*
 * One of the processes that share the objects among them, for each ring is mapped and a process
 * has so many mappings only. Makes @n, or as many as it gets, and tells how many; destroys them
 * when it may.
 */
static void holder(int n, void *(*make)(void), int (*unmake)(void *), int tell, int may)
{
	void **object = made(calloc(n, sizeof(*object)), "calloc");
	int i, got;
	char c;

	open_device(ibv_get_device_name(ctx->device));
	one_cq = NULL;
	for (got = 0; got < n; got++) {
		errno = 0;
		object[got] = make();
		if (!object[got])
			break;
	}
	if (got < n && errno != ENOMEM)
		die("object %d: %s", got + 1, strerror(errno));
	if (write(tell, &got, sizeof(got)) != sizeof(got) || read(may, &c, 1) != 1)
		exit(1);
	/* the second half is left to the kernel, as of a program that is killed */
	for (i = 0; i < got / 2; i++)
		must(unmake(object[i]), "to destroy one");
	exit(0);
}

/*
 * Programs get @max less what the kernel (the GSI) and the holders themselves have of the kind.
 * A place that becomes free can be had, and only that one.
 */
static void count(int max, void *(*make)(void), int (*unmake)(void *))
{
	enum { HOLDERS = 8 };
	int i, got, all = 0, status, tell[2], may[2];
	void *last = make();

	made(last, "the first one");
	if (pipe(may))
		die("pipe: %s", strerror(errno));
	fflush(stdout);
	/* one after the other: only the last meets the limit */
	for (i = 0; i < HOLDERS; i++) {
		if (pipe(tell))
			die("pipe: %s", strerror(errno));
		if (!fork())
			holder(max / HOLDERS, make, unmake, tell[1], may[0]);
		close(tell[1]);
		if (read(tell[0], &got, sizeof(got)) != sizeof(got))
			die("a process ended");
		close(tell[0]);
		if (got < max / HOLDERS && i < HOLDERS - 1)
			die("no more than %d of %d", all + got, max);
		all += got;
	}
	if (all >= max || all < max - 4 * HOLDERS)
		die("%d beside the first one, of %d", all, max);
	refused_pointer(make(), ENOMEM);
	must(unmake(last), "to destroy one");
	last = made(make(), "one in its place");
	refused_pointer(make(), ENOMEM);
	if (write(may[1], "12345678", HOLDERS) != HOLDERS)
		die("pipe: %s", strerror(errno));
	for (i = 0; i < HOLDERS; i++)
		if (wait(&status) < 0 || status)
			die("a process ended with %d", status);
	must(unmake(made(make(), "one after all are gone")), "to destroy it");
	must(unmake(last), "to destroy one");
	if (one_cq)
		must(ibv_destroy_cq(one_cq), "ibv_destroy_cq");
}

static void test_pds(void) { count(dev.max_pd, make_pd, free_pd); }
static void test_ahs(void) { count(dev.max_ah, make_ah, free_ah); }
static void test_cqs(void) { count(dev.max_cq, make_cq, free_cq); }
static void test_srqs(void) { count(dev.max_srq, make_srq, free_srq); }
static void test_qps(void) { count(dev.max_qp, make_qp, free_qp); }
static void test_mrs(void) { count(dev.max_mr, make_mr, free_mr); }
static void test_mws(void) { count(dev.max_mw, make_mw, free_mw); }

static const struct test tests[] = {
	{ "qp_wr", test_qp_wr }, { "sq_full", test_sq_full }, { "sge", test_sge },
	{ "inline", test_inline }, { "rd_atomic", test_rd_atomic }, { "max_msg", test_max_msg },
	{ "cqe", test_cqe }, { "srq", test_srq }, { "mr_size", test_mr_size },
	{ "port", test_port }, { "pkey", test_pkey }, { "gid", test_gid },
	{ "groups", test_groups },
	{ "pds", test_pds }, { "ahs", test_ahs }, { "cqs", test_cqs }, { "srqs", test_srqs },
	{ "qps", test_qps }, { "mrs", test_mrs }, { "mws", test_mws },
};

int main(int argc, char **argv)
{
	return run_test(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
