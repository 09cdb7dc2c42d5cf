// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of mroce-verbs: regions of DMA buffers, of a module that exports them for tests.
 */
#include <fcntl.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "../consumer/exporter.h"
#include "verbs.h"

#define SIZE	(512 << 10)

static int export_of(enum export_kind kind)
{
	struct export_buffer what = { .kind = kind, .size = SIZE };
	int fd = open("/dev/mroce_exporter", O_RDWR), buf;

	if (fd < 0)
		die("/dev/mroce_exporter: %s", strerror(errno));
	buf = ioctl(fd, EXPORT_BUFFER, &what);
	if (buf < 0)
		die("EXPORT_BUFFER: %s", strerror(errno));
	close(fd);
	return buf;
}

static void holds(const char *what, int want)
{
	char path[100];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "/sys/module/mroce_exporter/parameters/%s", what);
	f = made(fopen(path, "r"), path);
	if (fscanf(f, "%d", &n) != 1)
		die("%s: no number", path);
	fclose(f);
	if (n != want)
		die("the exporter counts %d %s, should be %d", n, what, want);
}

static void one(struct pair *p, enum ibv_wr_opcode opcode, uint64_t from, uint32_t lkey, uint64_t to,
		uint32_t rkey, uint32_t length, enum ibv_wc_status status)
{
	struct ibv_sge sge = { from, length, lkey };
	struct ibv_send_wr wr = {
		.opcode = opcode, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = to, .rkey = rkey },
	}, *bad;

	must(ibv_post_send(p->qp[0], &wr, &bad), "a request");
	completes(p->cq, 1, status);
}

static void same(const uint8_t *a, const uint8_t *b, size_t length, const char *what)
{
	if (memcmp(a, b, length))
		die("%s: wrong bytes", what);
}

static void scramble(uint8_t *at, size_t length)
{
	while (length--)
		*at++ = rand();
}

/* by each operation, out of it and into it, at addresses of which none is the program's */
static void carries(enum export_kind kind)
{
	static const uint32_t lengths[] = { 1, 8, 4095, 4096, 70001, 250000 };
	const uint64_t iova = 0x7654321000, off = 2 * 4096;
	struct ibv_qp_cap cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 2,
				  .max_recv_sge = 2 };
	struct pair p = connected(&cap, NULL, 64, 4);
	int fd = export_of(kind);
	uint8_t *bytes = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint8_t *own = made(malloc(SIZE), "malloc");
	struct ibv_mr *r, *m = made(ibv_reg_mr(pd, own, SIZE, RIGHTS), "ibv_reg_mr");
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	unsigned int i;

	if (bytes == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	r = made(ibv_reg_dmabuf_mr(pd, off, SIZE - off, iova, fd, RIGHTS), "ibv_reg_dmabuf_mr");
	/* its file is not needed any more */
	close(fd);
	holds("maps", 1);
	holds("accesses", 1);
	holds("pins", kind == EXPORT_MOVING);
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint32_t n = lengths[i];

		scramble(own, n);
		one(&p, IBV_WR_RDMA_WRITE, (uintptr_t)own, m->lkey, iova + 5, r->rkey, n,
		    IBV_WC_SUCCESS);
		same(own, bytes + off + 5, n, "a Write into it");
		scramble(bytes + off, n + 5);
		one(&p, IBV_WR_RDMA_READ, (uintptr_t)own, m->lkey, iova + 5, r->rkey, n,
		    IBV_WC_SUCCESS);
		same(own, bytes + off + 5, n, "a Read from it");
		scramble(bytes + off, n + 5);
		one(&p, IBV_WR_RDMA_WRITE, iova + 3, r->lkey, (uintptr_t)own, m->rkey, n,
		    IBV_WC_SUCCESS);
		same(own, bytes + off + 3, n, "a Write from it");
		scramble(own, n);
		one(&p, IBV_WR_RDMA_READ, iova + 3, r->lkey, (uintptr_t)own, m->rkey, n, IBV_WC_SUCCESS);
		same(own, bytes + off + 3, n, "a Read into it");
		/* and within itself, as a message */
		sge = (struct ibv_sge){ iova + 250001, n, r->lkey };
		must(post_recv(p.qp[1], NULL, &sge, 1), "a receive");
		sge.addr = iova;
		scramble(bytes + off, n);
		must(post_send(p.qp[0], &wr), "a send");
		completes(p.cq, 2, IBV_WC_SUCCESS);
		same(bytes + off, bytes + off + 250001, n, "a message");
	}
	*(uint64_t *)(bytes + off + 64) = 41;
	atomic_by(&p, iova + 64, r->rkey, IBV_WC_SUCCESS);
	if (*(uint64_t *)(bytes + off + 64) != 42)
		die("an atomic left %llu", (unsigned long long)*(uint64_t *)(bytes + off + 64));
	/* up to its end, and not a byte further */
	one(&p, IBV_WR_RDMA_WRITE, (uintptr_t)own, m->lkey, iova + SIZE - off - 100, r->rkey, 100,
	    IBV_WC_SUCCESS);
	one(&p, IBV_WR_RDMA_WRITE, (uintptr_t)own, m->lkey, iova + SIZE - off - 100, r->rkey, 101,
	    IBV_WC_REM_ACCESS_ERR);
	disconnect(&p);
	must(ibv_dereg_mr(r), "ibv_dereg_mr");
	must(ibv_dereg_mr(m), "ibv_dereg_mr");
	holds("maps", 0);
	holds("accesses", 0);
	holds("pins", 0);
	holds("buffers", 1);
	munmap(bytes, SIZE);
	holds("buffers", 0);
	free(own);
}

void test_dmabuf(void)
{
	int fd;

	carries(EXPORT_STATIC);
	carries(EXPORT_MOVING);

	fd = export_of(EXPORT_UNMAPPED);
	refused_pointer(ibv_reg_dmabuf_mr(pd, 0, SIZE, 0, fd, RIGHTS), EOPNOTSUPP);
	close(fd);
	fd = export_of(EXPORT_REGISTERS);
	refused_pointer(ibv_reg_dmabuf_mr(pd, 0, SIZE, 0, fd, RIGHTS), EOPNOTSUPP);
	close(fd);
	fd = export_of(EXPORT_MOVING);
	refused_pointer(ibv_reg_dmabuf_mr(pd, 0, SIZE + 1, 0, fd, RIGHTS), EINVAL);
	refused_pointer(ibv_reg_dmabuf_mr(pd, 4096, SIZE, 0, fd, RIGHTS), EINVAL);
	refused_pointer(ibv_reg_dmabuf_mr(pd, ~0ULL << 12, 8192, 0, fd, RIGHTS), EINVAL);
	refused_pointer(ibv_reg_dmabuf_mr(pd, 0, 0, 0, fd, RIGHTS), EINVAL);
	refused_pointer(ibv_reg_dmabuf_mr(pd, 0, SIZE, 0, 999, RIGHTS), EBADF);
	holds("maps", 0);
	holds("pins", 0);
	close(fd);
	holds("buffers", 0);
}
