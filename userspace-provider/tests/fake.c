// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The functions of libibverbs that the provider calls, and what the module would
 * answer; the driver of the tests. Rings live in one memory file, which stands for
 * the device's command file.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <infiniband/cmd_ioctl.h>

#include "fake.h"

struct fake_module fake;
const struct verbs_context_ops *ops;
atomic_int checks;

static const struct verbs_device_ops *driver;
static int command_file = -1;
static off_t file_end;

void fake_reset(void)
{
	fake = (struct fake_module){
		.abi = MROCE_ABI_VERSION,
		.entries = 8,
		.cq_entries = 16,
		.stride = 576,
		.cap = {
			.max_send_wr = 8,
			.max_recv_wr = 8,
			.max_send_sge = 4,
			.max_recv_sge = 4,
			.max_inline_data = 512,
		},
	};
}

struct ibv_context *fake_open(void)
{
	static struct ibv_device device;
	struct verbs_context *vctx;

	command_file = memfd_create("mroce", MFD_CLOEXEC);
	file_end = 0;
	vctx = driver->alloc_context(&device, command_file, NULL);
	return vctx ? &vctx->context : NULL;
}

void fake_close(struct ibv_context *context)
{
	ops->free_context(context);
	close(command_file);
}

void fake_forget_rings(void)
{
	struct fake_ring *rings[] = { &fake.cq, &fake.sq, &fake.rq };
	size_t i;

	for (i = 0; i < 3; i++) {
		if (rings[i]->ring)
			munmap(rings[i]->ring, rings[i]->info.length);
		rings[i]->ring = NULL;
	}
}

static void make_ring(struct fake_ring *ring, uint32_t entries,
		      uint32_t stride)
{
	uint32_t length = MROCE_RING_HEADER + entries * stride;

	length = (length + 4095) & ~4095u;
	ring->info = (struct mroce_ring_info){
		.offset = file_end,
		.length = length,
		.entries = entries,
		.stride = stride,
	};
	file_end += length;
	CHECK(!ftruncate(command_file, file_end));
	ring->ring = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED,
			  command_file, ring->info.offset);
	CHECK(ring->ring != MAP_FAILED);
	ring->ring->producer = fake.first_index;
	ring->ring->consumer = fake.first_index;
	if (fake.bad_ring)
		ring->info.entries--;
}

bool fake_complete(struct fake_ring *cq, uint64_t wr_id, uint32_t qpn)
{
	uint32_t prod = cq->ring->producer;

	if (prod - mroce_load(&cq->ring->consumer) == cq->info.entries)
		return false;
	*(struct mroce_cqe *)fake_slot(cq, prod) = (struct mroce_cqe){
		.wr_id = wr_id,
		.opcode = IBV_WC_RECV,
		.flags = MROCE_CQE_IMM,
		.byte_len = (uint32_t)wr_id,
		.imm = ~(uint32_t)wr_id,
		.qpn = qpn,
		.timestamp = wr_id + 1,
	};
	mroce_store(&cq->ring->producer, prod + 1);
	return true;
}

bool fake_consume(struct fake_ring *ring, uint64_t *wr_id)
{
	uint32_t cons = ring->ring->consumer;

	if (cons == mroce_load(&ring->ring->producer))
		return false;
	*wr_id = *(uint64_t *)fake_slot(ring, cons);
	mroce_store(&ring->ring->consumer, cons + 1);
	return true;
}

/* --- libibverbs --- */

void verbs_register_driver(const struct verbs_device_ops *device_ops)
{
	driver = device_ops;
}

void *_verbs_init_and_alloc_context(struct ibv_device *device, int cmd_fd,
				    size_t alloc_size,
				    struct verbs_context *context_offset,
				    uint32_t driver_id)
{
	uint8_t *context = calloc(1, alloc_size);
	struct verbs_context *vctx =
		(struct verbs_context *)(context + (uintptr_t)context_offset);

	CHECK(driver_id == MROCE_DRIVER_ID);
	vctx->context.cmd_fd = cmd_fd;
	vctx->context.device = device;
	return context;
}

void verbs_uninit_context(struct verbs_context *context)
{
}

void verbs_set_ops(struct verbs_context *vctx,
		   const struct verbs_context_ops *context_ops)
{
	ops = context_ops;
}

void __verbs_log(struct verbs_context *ctx, uint32_t level, const char *fmt,
		 ...)
{
}

int ibv_cmd_get_context(struct verbs_context *context,
			struct ibv_get_context *cmd, size_t cmd_size,
#ifdef MROCE_GET_CONTEXT_FD_ARR
			struct ibv_fd_arr *fd_arr,
#endif
			struct ib_uverbs_get_context_resp *resp,
			size_t resp_size)
{
	const struct umroce_get_context *req =
		container_of(cmd, struct umroce_get_context, ibv_cmd);
	struct umroce_get_context_resp *answer =
		container_of(resp, struct umroce_get_context_resp, ibv_resp);

	CHECK(cmd_size == sizeof(*req));
	if (req->abi_min > fake.abi || req->abi_max < fake.abi)
		return EOPNOTSUPP;
	answer->abi = fake.abi;
	answer->caps = fake.caps;
	return 0;
}

int execute_ioctl(struct ibv_context *context, struct ibv_command_buffer *cmd)
{
	if (cmd->hdr.object_id == UVERBS_OBJECT_QP) {
		uint32_t flags = cmd->hdr.attrs[1].data;

		CHECK(cmd->hdr.method_id == MROCE_METHOD_QP_DOORBELL);
		if (flags & MROCE_DOORBELL_SQ)
			fake.sq_doorbells++;
		if (flags & MROCE_DOORBELL_RQ)
			fake.rq_doorbells++;
	} else if (cmd->hdr.object_id == UVERBS_OBJECT_SRQ) {
		CHECK(cmd->hdr.method_id == MROCE_METHOD_SRQ_DOORBELL);
		fake.srq_doorbells++;
	} else {
		return EPROTONOSUPPORT;
	}
	return fake.doorbell_err;
}

int ibv_cmd_create_cq(struct ibv_context *context, int cqe,
		      struct ibv_comp_channel *channel, int comp_vector,
		      struct ibv_cq *cq, struct ibv_create_cq *cmd,
		      size_t cmd_size, struct ib_uverbs_create_cq_resp *resp,
		      size_t resp_size)
{
	make_ring(&fake.cq, fake.cq_entries, sizeof(struct mroce_cqe));
	container_of(resp, struct umroce_create_cq_resp, ibv_resp)->cq =
		fake.cq.info;
	cq->context = context;
	cq->cqe = fake.cq_entries;
	fake.live++;
	return 0;
}

/* as the module does: move what was not polled, to where the indices say */
int ibv_cmd_resize_cq(struct ibv_cq *cq, int cqe, struct ibv_resize_cq *cmd,
		      size_t cmd_size, struct ib_uverbs_resize_cq_resp *resp,
		      size_t resp_size)
{
	struct fake_ring old = fake.cq;
	uint32_t i;

	if (fake.resize_err)
		return fake.resize_err;

	make_ring(&fake.cq, cqe, sizeof(struct mroce_cqe));
	for (i = old.ring->consumer; i != old.ring->producer; i++)
		memcpy(fake_slot(&fake.cq, fake.cq.ring->producer++),
		       fake_slot(&old, i), sizeof(struct mroce_cqe));
	container_of(resp, struct umroce_resize_cq_resp, ibv_resp)->cq =
		fake.cq.info;
	cq->cqe = cqe;
	return 0;
}

int ibv_cmd_create_qp_ex(struct ibv_context *context, struct verbs_qp *qp,
			 struct ibv_qp_init_attr_ex *attr,
			 struct ibv_create_qp *cmd, size_t cmd_size,
			 struct ib_uverbs_create_qp_resp *resp,
			 size_t resp_size)
{
	static uint32_t qpn = 16;
	struct umroce_create_qp_resp *drv =
		container_of(resp, struct umroce_create_qp_resp, ibv_resp);

	/* as the library does */
	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS)
		return EINVAL;

	make_ring(&fake.sq, fake.entries, fake.stride);
	drv->sq = fake.sq.info;
	if (!attr->srq) {
		make_ring(&fake.rq, fake.entries, 128);
		drv->rq = fake.rq.info;
	}
	attr->cap = fake.cap;
	qp->qp.context = context;
	qp->qp.pd = attr->pd;
	qp->qp.send_cq = attr->send_cq;
	qp->qp.recv_cq = attr->recv_cq;
	qp->qp.srq = attr->srq;
	qp->qp.qp_type = attr->qp_type;
	qp->qp.qp_num = qpn++;
	qp->qp.state = IBV_QPS_RESET;
	qp->comp_mask = 0;
	fake.live++;
	return 0;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	struct verbs_qp *vqp = container_of(qp, struct verbs_qp, qp);

	return vqp->comp_mask & VERBS_QP_EX ? &vqp->qp_ex : NULL;
}

int ibv_cmd_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		      struct ibv_modify_qp *cmd, size_t cmd_size)
{
	qp->state = attr->qp_state;
	if (qp->state == IBV_QPS_RESET) {
		fake.sq.ring->consumer = fake.sq.ring->producer;
		if (!qp->srq)
			fake.rq.ring->consumer = fake.rq.ring->producer;
	}
	return 0;
}

int ibv_cmd_create_srq(struct ibv_pd *pd, struct ibv_srq *srq,
		       struct ibv_srq_init_attr *attr,
		       struct ibv_create_srq *cmd, size_t cmd_size,
		       struct ib_uverbs_create_srq_resp *resp,
		       size_t resp_size)
{
	struct umroce_create_srq_resp *drv =
		container_of(resp, struct umroce_create_srq_resp, ibv_resp);

	make_ring(&fake.srq, fake.entries, 128);
	drv->rq = fake.srq.info;
	drv->drv_payload.srqn = 7;
	attr->attr.max_wr = fake.cap.max_recv_wr;
	attr->attr.max_sge = fake.cap.max_recv_sge;
	srq->context = pd->context;
	srq->pd = pd;
	fake.live++;
	return 0;
}

int ibv_cmd_alloc_pd(struct ibv_context *context, struct ibv_pd *pd,
		     struct ibv_alloc_pd *cmd, size_t cmd_size,
		     struct ib_uverbs_alloc_pd_resp *resp, size_t resp_size)
{
	pd->context = context;
	pd->handle = 3;
	fake.live++;
	return 0;
}

int ibv_cmd_create_ah(struct ibv_pd *pd, struct ibv_ah *ah,
		      struct ibv_ah_attr *attr,
		      struct ib_uverbs_create_ah_resp *resp, size_t resp_size)
{
	container_of(resp, struct umroce_create_ah_resp, ibv_resp)->ah = 0x5a;
	fake.live++;
	return 0;
}

#define DESTROY(name, ...)                                                     \
	int ibv_cmd_##name(__VA_ARGS__)                                        \
	{                                                                      \
		fake.live--;                                                   \
		return 0;                                                      \
	}
DESTROY(destroy_cq, struct ibv_cq *cq)
DESTROY(destroy_qp, struct ibv_qp *qp)
DESTROY(destroy_srq, struct ibv_srq *srq)
DESTROY(dealloc_pd, struct ibv_pd *pd)
DESTROY(destroy_ah, struct ibv_ah *ah)

/* the tests do without these, but the table of operations names them */
#define UNUSED(name, ...)                                                      \
	int ibv_cmd_##name(__VA_ARGS__)                                        \
	{                                                                      \
		return EOPNOTSUPP;                                             \
	}
UNUSED(dereg_mr, struct verbs_mr *vmr)
UNUSED(dealloc_mw, struct ibv_mw *mw)
UNUSED(req_notify_cq, struct ibv_cq *cq, int solicited_only)
UNUSED(attach_mcast, struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
UNUSED(detach_mcast, struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
UNUSED(advise_mr, struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
       uint32_t flags, struct ibv_sge *sg_list, uint32_t num_sge)
UNUSED(query_device_any, struct ibv_context *context,
       const struct ibv_query_device_ex_input *input,
       struct ibv_device_attr_ex *attr, size_t attr_size,
       struct ib_uverbs_ex_query_device_resp *resp, size_t *resp_size)
UNUSED(query_port, struct ibv_context *context, uint8_t port_num,
       struct ibv_port_attr *attr, struct ibv_query_port *cmd, size_t cmd_size)
UNUSED(reg_mr, struct ibv_pd *pd, void *addr, size_t length, uint64_t hca_va,
       int access, struct verbs_mr *vmr, struct ibv_reg_mr *cmd,
       size_t cmd_size, struct ib_uverbs_reg_mr_resp *resp, size_t resp_size)
UNUSED(rereg_mr, struct verbs_mr *vmr, uint32_t flags, void *addr,
       size_t length, uint64_t hca_va, int access, struct ibv_pd *pd,
       struct ibv_rereg_mr *cmd, size_t cmd_sz,
       struct ib_uverbs_rereg_mr_resp *resp, size_t resp_sz)
UNUSED(alloc_mw, struct ibv_pd *pd, enum ibv_mw_type type, struct ibv_mw *mw,
       struct ibv_alloc_mw *cmd, size_t cmd_size,
       struct ib_uverbs_alloc_mw_resp *resp, size_t resp_size)
UNUSED(query_qp, struct ibv_qp *qp, struct ibv_qp_attr *qp_attr, int attr_mask,
       struct ibv_qp_init_attr *qp_init_attr, struct ibv_query_qp *cmd,
       size_t cmd_size)
UNUSED(modify_srq, struct ibv_srq *srq, struct ibv_srq_attr *srq_attr,
       int srq_attr_mask, struct ibv_modify_srq *cmd, size_t cmd_size)
UNUSED(query_srq, struct ibv_srq *srq, struct ibv_srq_attr *srq_attr,
       struct ibv_query_srq *cmd, size_t cmd_size)
UNUSED(modify_cq, struct ibv_cq *cq, struct ibv_modify_cq_attr *attr,
       struct ibv_modify_cq *cmd, size_t cmd_size)
UNUSED(open_xrcd, struct ibv_context *context, struct verbs_xrcd *xrcd,
       int vxrcd_size, struct ibv_xrcd_init_attr *attr,
       struct ibv_open_xrcd *cmd, size_t cmd_size,
       struct ib_uverbs_open_xrcd_resp *resp, size_t resp_size)
UNUSED(close_xrcd, struct verbs_xrcd *xrcd)
UNUSED(create_srq_ex, struct ibv_context *context, struct verbs_srq *srq,
       struct ibv_srq_init_attr_ex *attr_ex, struct ibv_create_xsrq *cmd,
       size_t cmd_size, struct ib_uverbs_create_srq_resp *resp,
       size_t resp_size)
UNUSED(open_qp, struct ibv_context *context, struct verbs_qp *qp, int vqp_sz,
       struct ibv_qp_open_attr *attr, struct ibv_open_qp *cmd, size_t cmd_size,
       struct ib_uverbs_create_qp_resp *resp, size_t resp_size)

/* --- shared by the tests --- */

struct ibv_cq *make_cq(struct ibv_context *context, int cqe)
{
	struct ibv_cq *cq;

	fake.cq_entries = cqe;
	cq = ops->create_cq(context, cqe, NULL, 0);
	CHECK(cq);
	return cq;
}

struct ibv_qp *make_qp(struct ibv_pd *pd, struct ibv_cq *cq,
		       struct ibv_srq *srq, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND |
				  IBV_QP_EX_WITH_SEND_WITH_IMM,
	};
	struct ibv_qp *qp;

	if (type == IBV_QPT_RC)
		attr.send_ops_flags |= IBV_QP_EX_WITH_RDMA_READ |
				       IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				       IBV_QP_EX_WITH_BIND_MW;
	qp = ops->create_qp_ex(pd->context, &attr);
	CHECK(qp);
	return qp;
}

void make_ready(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	CHECK(!ops->modify_qp(qp, &attr, IBV_QP_STATE));
}

int main(int argc, char **argv)
{
	const struct test *lists[] = { qp_tests, cq_tests };
	const struct test *test;
	int passed = 0;
	size_t i;

	for (i = 0; i < 2; i++) {
		for (test = lists[i]; test->name; test++) {
			if (argc > 1 && strcmp(argv[1], test->name))
				continue;
			fake_reset();
			test->run();
			printf("ok %s\n", test->name);
			passed++;
		}
	}
	printf("%d checks\n%d passed, 0 failed\n", checks, passed);
	return 0;
}
