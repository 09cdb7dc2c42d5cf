/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Objects of the mroce provider and what its files share.
 *
 * Lock order: CQ, then the context's list of queue pairs. The locks of a send or
 * receive ring are taken alone and never held over a system call, but while the
 * ring of an SRQ is replaced; a CQ's is held over one only in resize_cq.
 */
#ifndef MROCE_PROVIDER_H
#define MROCE_PROVIDER_H

#include <pthread.h>

#include <infiniband/driver.h>
#include <ccan/container_of.h>
#include <ccan/list.h>

#include <rdma/mroce-abi.h>
#include <kernel-abi/mroce-abi.h>

#include "ring.h"

DECLARE_DRV_CMD(umroce_get_context, IB_USER_VERBS_CMD_GET_CONTEXT,
		mroce_alloc_ucontext_req, mroce_alloc_ucontext_resp);
DECLARE_DRV_CMD(umroce_alloc_pd, IB_USER_VERBS_CMD_ALLOC_PD,
		empty, mroce_alloc_pd_resp);
DECLARE_DRV_CMD(umroce_create_ah, IB_USER_VERBS_CMD_CREATE_AH,
		empty, mroce_create_ah_resp);
DECLARE_DRV_CMD(umroce_create_cq, IB_USER_VERBS_CMD_CREATE_CQ,
		empty, mroce_create_cq_resp);
DECLARE_DRV_CMD(umroce_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ,
		empty, mroce_resize_cq_resp);
DECLARE_DRV_CMD(umroce_create_srq, IB_USER_VERBS_CMD_CREATE_SRQ,
		empty, mroce_create_srq_resp);
DECLARE_DRV_CMD(umroce_create_srq_ex, IB_USER_VERBS_CMD_CREATE_XSRQ,
		empty, mroce_create_srq_resp);
DECLARE_DRV_CMD(umroce_create_qp, IB_USER_VERBS_CMD_CREATE_QP,
		empty, mroce_create_qp_resp);

static_assert(sizeof(struct mroce_ring) == MROCE_RING_HEADER, "ring header");
static_assert(sizeof(struct mroce_sq_wqe) == 48, "send slot header");
static_assert(sizeof(struct mroce_rq_wqe) == 16, "receive slot header");
static_assert(sizeof(struct mroce_cqe) == 64, "completion");
static_assert(sizeof(struct mroce_sge) == sizeof(struct ibv_sge) &&
	      offsetof(struct mroce_sge, lkey) == offsetof(struct ibv_sge, lkey),
	      "an SGE list is copied as a whole");

struct mroce_device {
	struct verbs_device vdev;
};

struct mroce_context {
	struct verbs_context vctx;
	pthread_mutex_t qp_mutex;	/* protects qps */
	struct list_head qps;
	uint64_t caps;			/* MROCE_CAP_* of the module */
};

/* a lock that objects of a single-threaded domain go without */
struct mroce_lock {
	pthread_spinlock_t spin;
	bool unused;
};

struct mroce_td {
	struct ibv_td td;
	atomic_int refs;
};

/* a protection domain, or (if @parent) a parent domain around one */
struct mroce_pd {
	struct ibv_pd pd;
	struct mroce_pd *parent;
	struct mroce_td *td;
	atomic_int refs;
};

struct mroce_ah {
	struct ibv_ah ah;
	uint32_t num;
};

struct mroce_cq {
	struct verbs_cq vcq;
	struct mroce_lock lock;
	struct mroce_map map;
	uint32_t cons;
	uint32_t prod;		/* last value seen */
	bool lost;		/* resized by the module, but not mapped */
	const struct mroce_cqe *cur;	/* between start_poll and end_poll */
	struct mroce_cqe flush;		/* a completion made here */
};

struct mroce_srq {
	struct verbs_srq vsrq;
	struct mroce_lock lock;
	struct mroce_queue rq;
};

struct mroce_qp {
	struct verbs_qp vqp;
	struct list_node entry;
	struct mroce_lock sq_lock;
	struct mroce_lock rq_lock;
	struct mroce_queue sq;
	struct mroce_queue rq;
	bool signal_all;
	/* between wr_start and wr_complete */
	struct mroce_sq_wqe *wqe;
	int wr_err;
};

static inline struct mroce_device *to_mdev(struct ibv_device *device)
{
	return container_of(device, struct mroce_device, vdev.device);
}

static inline struct mroce_context *to_mctx(struct ibv_context *context)
{
	return container_of(context, struct mroce_context, vctx.context);
}

static inline struct mroce_pd *to_mpd(struct ibv_pd *pd)
{
	return container_of(pd, struct mroce_pd, pd);
}

static inline struct mroce_td *to_mtd(struct ibv_td *td)
{
	return container_of(td, struct mroce_td, td);
}

static inline struct mroce_ah *to_mah(struct ibv_ah *ah)
{
	return container_of(ah, struct mroce_ah, ah);
}

static inline struct mroce_cq *to_mcq(struct ibv_cq *cq)
{
	return container_of(cq, struct mroce_cq, vcq.cq);
}

static inline struct mroce_srq *to_msrq(struct ibv_srq *srq)
{
	return container_of(srq, struct mroce_srq, vsrq.srq);
}

static inline struct mroce_qp *to_mqp(struct ibv_qp *qp)
{
	return container_of(qp, struct mroce_qp, vqp.qp);
}

static inline void mroce_lock(struct mroce_lock *lock)
{
	if (!lock->unused)
		pthread_spin_lock(&lock->spin);
}

static inline void mroce_unlock(struct mroce_lock *lock)
{
	if (!lock->unused)
		pthread_spin_unlock(&lock->spin);
}

static inline void mroce_lock_init(struct mroce_lock *lock, bool unused)
{
	pthread_spin_init(&lock->spin, PTHREAD_PROCESS_PRIVATE);
	lock->unused = unused;
}

static inline void mroce_lock_destroy(struct mroce_lock *lock)
{
	pthread_spin_destroy(&lock->spin);
}

/* memory.c: protection, thread and parent domains, regions, windows, addresses */
struct ibv_pd *mroce_alloc_pd(struct ibv_context *context);
int mroce_dealloc_pd(struct ibv_pd *pd);
struct ibv_td *mroce_alloc_td(struct ibv_context *context,
			      struct ibv_td_init_attr *attr);
int mroce_dealloc_td(struct ibv_td *td);
struct ibv_pd *
mroce_alloc_parent_domain(struct ibv_context *context,
			  struct ibv_parent_domain_init_attr *attr);
bool mroce_pd_single_threaded(struct ibv_pd *pd);
struct ibv_mr *mroce_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			    uint64_t hca_va, int access);
struct ibv_mr *mroce_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				   size_t length, uint64_t iova, int fd,
				   int access);
int mroce_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		   void *addr, size_t length, int access);
int mroce_dereg_mr(struct verbs_mr *vmr);
struct ibv_mw *mroce_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int mroce_dealloc_mw(struct ibv_mw *mw);
struct ibv_ah *mroce_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int mroce_destroy_ah(struct ibv_ah *ah);

/* cq.c */
struct ibv_cq *mroce_create_cq(struct ibv_context *context, int cqe,
			       struct ibv_comp_channel *channel,
			       int comp_vector);
struct ibv_cq_ex *mroce_create_cq_ex(struct ibv_context *context,
				     struct ibv_cq_init_attr_ex *attr);
int mroce_resize_cq(struct ibv_cq *ibcq, int cqe);
int mroce_destroy_cq(struct ibv_cq *ibcq);
int mroce_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr);
int mroce_poll_cq(struct ibv_cq *ibcq, int num, struct ibv_wc *wc);
void mroce_purge_cq(struct mroce_cq *cq, uint32_t qpn);

/* qp.c */
struct ibv_qp *mroce_create_qp(struct ibv_pd *pd,
			       struct ibv_qp_init_attr *attr);
struct ibv_qp *mroce_create_qp_ex(struct ibv_context *context,
				  struct ibv_qp_init_attr_ex *attr);
/* XRC: a target that another process has created, by its number; domains */
struct ibv_qp *mroce_open_qp(struct ibv_context *context,
			     struct ibv_qp_open_attr *attr);
struct ibv_xrcd *mroce_open_xrcd(struct ibv_context *context,
				 struct ibv_xrcd_init_attr *attr);
int mroce_close_xrcd(struct ibv_xrcd *ibxrcd);
int mroce_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init_attr);
int mroce_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask);
int mroce_destroy_qp(struct ibv_qp *ibqp);
int mroce_query_qp_data_in_order(struct ibv_qp *ibqp, enum ibv_wr_opcode op,
				 uint32_t flags);
int mroce_qp_doorbell(struct mroce_qp *qp, uint32_t flags);

/* send.c */
int mroce_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr);
int mroce_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		  struct ibv_mw_bind *mw_bind);
int mroce_init_send_ops(struct mroce_qp *qp, enum ibv_qp_type type,
			uint64_t ops, uint64_t caps);

/* recv.c: receive rings of queue pairs, and shared ones */
int mroce_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr);
struct ibv_srq *mroce_create_srq(struct ibv_pd *pd,
				 struct ibv_srq_init_attr *attr);
struct ibv_srq *mroce_create_srq_ex(struct ibv_context *context,
				    struct ibv_srq_init_attr_ex *attr);
int mroce_get_srq_num(struct ibv_srq *ibsrq, uint32_t *num);
int mroce_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		     int mask);
int mroce_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr);
int mroce_destroy_srq(struct ibv_srq *ibsrq);
int mroce_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr);

#endif
