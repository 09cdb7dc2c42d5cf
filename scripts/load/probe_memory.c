// SPDX-License-Identifier: GPL-2.0
/*
 * Things that mroce-probe tries: domains, regions of every kind and right, memory windows.
 */
#include <fcntl.h>
#include <unistd.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "probe.h"

#define BYTES	512
#define ALL	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static struct ibv_mr *region(void *at, size_t length, unsigned int access)
{
	return made(ibv_reg_mr(pd, at, length, access), "ibv_reg_mr");
}

/* ---- what a key lets through ---- */

static void act(struct pair *p, enum ibv_wr_opcode opcode, uint64_t addr, uint32_t key,
		enum ibv_wc_status status)
{
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		atomic_by(p, addr, key, status);
	else
		access_by(p, 0, opcode, addr, BYTES, key, status);
}

void reaches(struct pair *p, void *at, uint64_t addr, uint32_t key)
{
	time_t end = time(NULL) + patience;
	size_t i;

	fill(BYTES);
	for (i = 0; i < BYTES; i++)
		((uint8_t *)at)[i] = ~memory[i];
	act(p, IBV_WR_RDMA_WRITE, addr, key, IBV_WC_SUCCESS);
	/* on iWARP a Write is complete once it is sent */
	while (memcmp(memory, at, BYTES))
		if (!iwarp() || time(NULL) > end)
			die("a Write has not arrived");
}

/* nobody is told of what is refused on UC, and on iWARP a request may be complete before it is */
static bool told(const struct pair *p)
{
	return !iwarp() && p->qp[0]->qp_type != IBV_QPT_UC;
}

static void denied_to(struct pair *p, enum ibv_wr_opcode opcode, void *at, uint64_t addr, uint32_t key,
		      enum ibv_wc_status status)
{
	bool atomic = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct ibv_sge sge = { (uintptr_t)memory, atomic ? 8 : BYTES, mr->lkey };
	struct ibv_send_wr wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	uint8_t near[BYTES], far[BYTES];
	struct ibv_wc wc;

	if (atomic) {
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.rkey = key;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = addr;
		wr.wr.rdma.rkey = key;
	}
	fill(BYTES);
	memset(at, 0x55, BYTES);
	memcpy(near, memory, BYTES);
	memcpy(far, at, BYTES);
	must(error_of(ibv_post_send(p->qp[0], &wr, &bad)), "ibv_post_send");
	wc = next_completion(p->cq);
	if (!told(p))
		usleep(300000);
	if (memcmp(near, memory, BYTES) || memcmp(far, at, BYTES))
		die("what is not allowed was done");
	if (told(p) && wc.status != status)
		die("what is not allowed completes with %s, not %s", ibv_wc_status_str(wc.status),
		    ibv_wc_status_str(status));
}

void denied(struct pair *p, void *at, uint64_t addr, uint32_t key, enum ibv_wc_status status)
{
	denied_to(p, IBV_WR_RDMA_WRITE, at, addr, key, status);
}

/* ---- domains and regions ---- */

static void alloc_pd(void)
{
	must(ibv_dealloc_pd(made(ibv_alloc_pd(ctx), "ibv_alloc_pd")), "ibv_dealloc_pd");
}

static void alloc_td(void)
{
	struct ibv_td_init_attr attr = {};

	must(error_of(ibv_dealloc_td(made(ibv_alloc_td(ctx, &attr), "ibv_alloc_td"))),
	     "ibv_dealloc_td");
}

static void parent_domain(uint64_t with_thread)
{
	struct ibv_parent_domain_init_attr attr = { .pd = pd };
	struct ibv_td_init_attr td = {};
	struct pair p;

	if (with_thread)
		attr.td = made(ibv_alloc_td(ctx, &td), "ibv_alloc_td");
	pd = made(ibv_alloc_parent_domain(ctx, &attr), "ibv_alloc_parent_domain");
	p = pair_of(IBV_QPT_RC);
	reaches(&p, FAR, (uintptr_t)FAR, mr->rkey);
}

static void reg_mr(void)
{
	struct pair p = pair_of(IBV_QPT_RC);

	reaches(&p, FAR, (uintptr_t)FAR, region(FAR, BYTES, ALL)->rkey);
}

static void reg_mr_iova(void)
{
	const uint64_t iova = 0x123456789000 | ((uintptr_t)FAR & 0xfff);
	struct pair p = pair_of(IBV_QPT_RC);
	struct ibv_mr *r = made(ibv_reg_mr_iova(pd, FAR, BYTES, iova, ALL), "ibv_reg_mr_iova");

	reaches(&p, FAR, iova, r->rkey);
}

static void reg_mr_read_only(void)
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_sge sge = { (uintptr_t)page, BYTES, region(page, 4096, 0)->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };
	struct pair p = pair_of(IBV_QPT_RC);

	must(error_of(post_send(p.qp[0], &wr)), "ibv_post_send");
	completes(p.cq, 1, IBV_WC_SUCCESS);
}

static void rereg_mr(uint64_t flag)
{
	struct pair p = pair_of(IBV_QPT_RC), other = pair_of(IBV_QPT_RC);
	struct ibv_pd *foreign = made(ibv_alloc_pd(ctx), "ibv_alloc_pd");
	uint8_t *old = memory + MEMORY * 3 / 4;
	struct ibv_mr *r = region(old, BYTES, flag == IBV_REREG_MR_CHANGE_TRANSLATION ? ALL :
				  IBV_ACCESS_LOCAL_WRITE);
	int ret;

	/* away from what lets the Write through, and then to it, or the other way round */
	switch (flag) {
	case IBV_REREG_MR_CHANGE_TRANSLATION:
		ret = ibv_rereg_mr(r, flag, pd, FAR, BYTES, 0);
		break;
	case IBV_REREG_MR_CHANGE_ACCESS:
		ret = ibv_rereg_mr(r, flag, pd, NULL, 0, ALL);
		break;
	default:
		r = made(ibv_reg_mr(foreign, old, BYTES, ALL), "ibv_reg_mr");
		ret = ibv_rereg_mr(r, flag, pd, NULL, 0, 0);
	}
	if (ret)
		no(errno, "ibv_rereg_mr");
	if (flag == IBV_REREG_MR_CHANGE_TRANSLATION) {
		reaches(&p, FAR, (uintptr_t)FAR, r->rkey);
		denied(&other, old, (uintptr_t)old, r->rkey, IBV_WC_REM_ACCESS_ERR);
		return;
	}
	reaches(&p, old, (uintptr_t)old, r->rkey);
	ret = flag == IBV_REREG_MR_CHANGE_PD ? ibv_rereg_mr(r, flag, foreign, NULL, 0, 0) :
	      ibv_rereg_mr(r, flag, pd, NULL, 0, IBV_ACCESS_LOCAL_WRITE);
	if (ret)
		no(errno, "ibv_rereg_mr, back");
	denied(&other, old, (uintptr_t)old, r->rkey, IBV_WC_REM_ACCESS_ERR);
}

static void reg_dmabuf_mr(void)
{
	int udmabuf = open("/dev/udmabuf", O_RDWR), fd = memfd_create("probe", MFD_ALLOW_SEALING);
	struct udmabuf_create c = { .memfd = fd, .size = MEMORY };
	struct ibv_mr *r;
	struct pair p;
	uint8_t *at;
	int buf;

	must(ftruncate(fd, MEMORY) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) ? errno : 0, "memfd");
	if (udmabuf < 0) {
		/* who knows none of them does not look at it */
		if (!ibv_reg_dmabuf_mr(pd, 0, MEMORY, 0, fd, ALL) && errno == EOPNOTSUPP)
			no(errno, "ibv_reg_dmabuf_mr");
		untried("this kernel has no udmabuf");
	}
	buf = ioctl(udmabuf, UDMABUF_CREATE, &c);
	must(buf < 0 ? errno : 0, "UDMABUF_CREATE");
	at = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	r = made(ibv_reg_dmabuf_mr(pd, 0, MEMORY, 0, buf, ALL), "ibv_reg_dmabuf_mr");
	p = pair_of(IBV_QPT_RC);
	reaches(&p, at + 4096, 4096, r->rkey);
}

/* pages that nobody has touched */
static struct ibv_mr *on_demand(uint8_t **at)
{
	*at = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return ibv_reg_mr(pd, *at, MEMORY, ALL | IBV_ACCESS_ON_DEMAND);
}

static void advise_mr(uint64_t advice)
{
	uint8_t *at;
	struct ibv_mr *r = on_demand(&at);
	struct ibv_sge sge = { (uintptr_t)at, MEMORY, 0 };

	if (r)
		sge.lkey = r->lkey;
	else
		sge = (struct ibv_sge){ (uintptr_t)memory, MEMORY, mr->lkey };
	must(error_of(ibv_advise_mr(pd, advice, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1)), "ibv_advise_mr");
}

static void implicit(void)
{
	struct ibv_mr *r = region(NULL, SIZE_MAX, ALL | IBV_ACCESS_ON_DEMAND);
	struct pair p = pair_of(IBV_QPT_RC);

	reaches(&p, FAR, (uintptr_t)FAR, r->rkey);
}

static void null_mr(void)
{
	struct ibv_mr *r = made(ibv_alloc_null_mr(pd), "ibv_alloc_null_mr");
	struct ibv_sge sge = { (uintptr_t)memory, BYTES, r->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ, .sg_list = &sge, .num_sge = 1 };
	struct pair p = pair_of(IBV_QPT_RC);

	fill(BYTES);
	must(error_of(post_send(p.qp[0], &wr)), "ibv_post_send");
	completes(p.cq, 1, IBV_WC_SUCCESS);
	if (memory[0] == FAR[0])
		die("what was read was put to memory");
}

static void alloc_dm(uint64_t registered)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_dm *dm = made(ibv_alloc_dm(ctx, &attr), "ibv_alloc_dm");
	uint8_t back[BYTES];

	must(error_of(ibv_memcpy_to_dm(dm, 0, memory, BYTES)), "ibv_memcpy_to_dm");
	must(error_of(ibv_memcpy_from_dm(back, dm, 0, BYTES)), "ibv_memcpy_from_dm");
	if (memcmp(memory, back, BYTES))
		die("other bytes came back");
	if (registered)
		made(ibv_reg_dm_mr(pd, dm, 0, 4096, ALL | IBV_ACCESS_ZERO_BASED), "ibv_reg_dm_mr");
}

static const struct item memory_verbs_items[] = {
	TRY("ibv_alloc_pd", alloc_pd), TRY("ibv_alloc_td", alloc_td),
	TRY_WITH("ibv_alloc_parent_domain", parent_domain, false),
	TRY_WITH("ibv_alloc_parent_domain, with a thread domain", parent_domain, true),
	TRY("ibv_reg_mr", reg_mr), TRY("ibv_reg_mr_iova", reg_mr_iova),
	TRY("ibv_reg_mr, of read-only memory", reg_mr_read_only),
	TRY_WITH("ibv_rereg_mr, TRANSLATION", rereg_mr, IBV_REREG_MR_CHANGE_TRANSLATION),
	TRY_WITH("ibv_rereg_mr, PD", rereg_mr, IBV_REREG_MR_CHANGE_PD),
	TRY_WITH("ibv_rereg_mr, ACCESS", rereg_mr, IBV_REREG_MR_CHANGE_ACCESS),
	TRY("ibv_reg_dmabuf_mr", reg_dmabuf_mr),
	TRY_WITH("ibv_advise_mr, PREFETCH", advise_mr, IBV_ADVISE_MR_ADVICE_PREFETCH),
	TRY_WITH("ibv_advise_mr, PREFETCH_WRITE", advise_mr, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE),
	TRY("ibv_reg_mr, of all memory on demand", implicit), TRY("ibv_alloc_null_mr", null_mr),
	TRY_WITH("ibv_alloc_dm", alloc_dm, false), TRY_WITH("ibv_reg_dm_mr", alloc_dm, true),
};

GROUP(memory_verbs, "domains and regions");

/* ---- rights ---- */

static void local_write(void)
{
	struct ibv_sge sge = { (uintptr_t)memory, BYTES, region(memory, BYTES, 0)->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ, .sg_list = &sge, .num_sge = 1 };
	struct pair p = pair_of(IBV_QPT_RC);
	uint8_t before[BYTES];

	fill(BYTES);
	memcpy(before, memory, BYTES);
	if (!error_of(post_send(p.qp[0], &wr)) && next_completion(p.cq).status == IBV_WC_SUCCESS)
		die("a Read into a region without it succeeds");
	if (memcmp(before, memory, BYTES))
		die("a Read has changed a region without it");
}

/* with it, and without it */
static void right(uint64_t flag)
{
	const enum ibv_wr_opcode opcode = flag == IBV_ACCESS_REMOTE_WRITE ? IBV_WR_RDMA_WRITE :
					  flag == IBV_ACCESS_REMOTE_READ ? IBV_WR_RDMA_READ :
					  IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct pair p = pair_of(IBV_QPT_RC), other = pair_of(IBV_QPT_RC);

	act(&p, opcode, (uintptr_t)FAR, region(FAR, BYTES, IBV_ACCESS_LOCAL_WRITE | flag)->rkey,
	    IBV_WC_SUCCESS);
	denied_to(&other, opcode, FAR, (uintptr_t)FAR, region(FAR, BYTES, RIGHTS & ~flag)->rkey,
		  IBV_WC_REM_ACCESS_ERR);
}

static void registers(uint64_t flag)
{
	struct ibv_mr *r = region(FAR, MEMORY / 2, ALL | flag);
	struct pair p = pair_of(IBV_QPT_RC);

	reaches(&p, FAR, (uintptr_t)FAR, r->rkey);
}

static void mw_bind(void)
{
	if (!ibv_alloc_mw(pd, IBV_MW_TYPE_1) && !ibv_alloc_mw(pd, IBV_MW_TYPE_2))
		no(errno, "ibv_alloc_mw");
	registers(IBV_ACCESS_MW_BIND);
}

static void zero_based(void)
{
	struct ibv_mr *r = region(FAR, BYTES, ALL | IBV_ACCESS_ZERO_BASED);
	struct pair p = pair_of(IBV_QPT_RC);

	reaches(&p, FAR, 0, r->rkey);
}

static void access_on_demand(void)
{
	uint8_t *at;
	struct ibv_mr *r = made(on_demand(&at), "ibv_reg_mr");
	struct pair p = pair_of(IBV_QPT_RC);

	access_by(&p, 0, IBV_WR_RDMA_WRITE, (uintptr_t)at, BYTES, r->rkey, IBV_WC_SUCCESS);
	reaches(&p, at + 8192, (uintptr_t)at + 8192, r->rkey);
}

static void refuses(uint64_t access)
{
	if (ibv_reg_mr(pd, FAR, BYTES, access))
		die("accepted");
}

static const struct item access_flags_items[] = {
	TRY("LOCAL_WRITE", local_write), TRY_WITH("REMOTE_WRITE", right, IBV_ACCESS_REMOTE_WRITE),
	TRY_WITH("REMOTE_READ", right, IBV_ACCESS_REMOTE_READ),
	TRY_WITH("REMOTE_ATOMIC", right, IBV_ACCESS_REMOTE_ATOMIC), TRY("MW_BIND", mw_bind),
	TRY("ZERO_BASED", zero_based), TRY("ON_DEMAND", access_on_demand),
	TRY_WITH("HUGETLB", registers, IBV_ACCESS_HUGETLB),
	TRY_WITH("RELAXED_ORDERING", registers, IBV_ACCESS_RELAXED_ORDERING),
	/* newer than these headers */
	TRY_WITH("FLUSH_GLOBAL", registers, 1 << 8), TRY_WITH("FLUSH_PERSISTENT", registers, 1 << 9),
	TRY_WITH("an optional one that nobody knows, ignored", registers, 1 << 29),
	TRY_WITH("another that nobody knows, refused", refuses, IBV_ACCESS_LOCAL_WRITE | 1 << 15),
	TRY_WITH("REMOTE_WRITE without LOCAL_WRITE, refused", refuses, IBV_ACCESS_REMOTE_WRITE),
};

GROUP(access_flags, "access flags of regions");

/* ---- memory windows ---- */

static struct ibv_mw *window(uint64_t type)
{
	return made(ibv_alloc_mw(pd, type), "ibv_alloc_mw");
}

static void alloc_mw(uint64_t type)
{
	must(ibv_dealloc_mw(window(type)), "ibv_dealloc_mw");
}

static struct ibv_mw_bind_info binding(unsigned int access)
{
	return (struct ibv_mw_bind_info){
		.mr = region(FAR, MEMORY / 2, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND),
		.addr = (uintptr_t)FAR, .length = BYTES, .mw_access_flags = access,
	};
}

/* before it is bound, bound, and once more where its end is passed */
static void bind(uint64_t type)
{
	struct pair p, other, third;
	struct ibv_mw *mw = window(type);
	struct ibv_mw_bind_info info;
	uint32_t key;

	p = pair_of(IBV_QPT_RC);
	other = pair_of(IBV_QPT_RC);
	third = pair_of(IBV_QPT_RC);
	denied(&other, FAR, (uintptr_t)FAR, mw->rkey, IBV_WC_REM_ACCESS_ERR);
	info = binding(IBV_ACCESS_REMOTE_WRITE);
	if (type == 1) {
		bind_1(&p, mw, info, IBV_WC_SUCCESS);
		key = mw->rkey;
	} else {
		key = bind_2(&p, mw, info, IBV_WC_SUCCESS);
	}
	reaches(&p, FAR, (uintptr_t)FAR, key);
	/* a window of type 2 belongs to the queue pair that bound it */
	denied(type == 1 ? &third : &p, FAR + 8, (uintptr_t)FAR + 8, key, IBV_WC_REM_ACCESS_ERR);
}

static void window_zero_based(void)
{
	struct ibv_mw *mw = window(IBV_MW_TYPE_2);
	struct pair p = pair_of(IBV_QPT_RC);
	struct ibv_mw_bind_info info = binding(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED);

	reaches(&p, FAR, 0, bind_2(&p, mw, info, IBV_WC_SUCCESS));
}

static const struct item windows_items[] = {
	TRY_WITH("ibv_alloc_mw, type 1", alloc_mw, IBV_MW_TYPE_1),
	TRY_WITH("ibv_alloc_mw, type 2", alloc_mw, IBV_MW_TYPE_2),
	TRY_WITH("ibv_bind_mw, type 1", bind, 1), TRY_WITH("BIND_MW, type 2", bind, 2),
	TRY("BIND_MW, ZERO_BASED", window_zero_based),
};

GROUP(windows, "memory windows");
