/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Operations of the Verbs objects, as device.c's table takes them. Each is implemented
 * in the file of its object; contexts and results are ib_verbs.h's.
 */
#ifndef MROCE_VERBS_OBJECTS_H
#define MROCE_VERBS_OBJECTS_H

#include "verbs.h"

/**
 * struct mroce_ucontext - a program that has the device open
 * @abi: version that was agreed
 */
struct mroce_ucontext {
	struct ib_ucontext ib;
	u32 abi;
};

/* ucontext.c */
int mroce_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata);
void mroce_dealloc_ucontext(struct ib_ucontext *ib);
int mroce_mmap(struct ib_ucontext *ib, struct vm_area_struct *vma);
struct ib_ucontext *mroce_udata_ucontext(struct ib_udata *udata);
/* An answer to the provider; -EINVAL if it has no room for it, -EFAULT. */
int mroce_respond(struct ib_udata *udata, void *resp, size_t len);

/* ring.c */
void mroce_mmap_free(struct rdma_user_mmap_entry *entry);
int mroce_kring_mmap(struct rdma_user_mmap_entry *entry, struct vm_area_struct *vma);

/* pd.c */
int mroce_alloc_pd(struct ib_pd *ib, struct ib_udata *udata);
int mroce_dealloc_pd(struct ib_pd *ib, struct ib_udata *udata);

/* xrc.c */
int mroce_alloc_xrcd(struct ib_xrcd *ib, struct ib_udata *udata);
int mroce_dealloc_xrcd(struct ib_xrcd *ib, struct ib_udata *udata);

/* mr.c */
struct ib_mr *mroce_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *mroce_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
				MROCE_DMAH_ARG struct ib_udata *udata);
struct ib_mr *mroce_rereg_user_mr(struct ib_mr *ib, int flags, u64 start, u64 length, u64 iova,
				  int access, struct ib_pd *pd, struct ib_udata *udata);
/* dmabuf.c, as the kernel's headers want it */
struct ib_mr *mroce_reg_dmabuf_udata(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				     int access, MROCE_DMAH_ARG struct ib_udata *udata);
struct ib_mr *mroce_reg_dmabuf_attrs(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				     int access, MROCE_DMAH_ARG struct uverbs_attr_bundle *attrs);
/* mr.c */
int mroce_dereg_mr(struct ib_mr *ib, struct ib_udata *udata);
struct ib_mr *mroce_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_sg);
int mroce_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int nents, unsigned int *offset);

/* mw.c */
int mroce_alloc_mw(struct ib_mw *ib, struct ib_udata *udata);
int mroce_dealloc_mw(struct ib_mw *ib);

/* cq.c */
int mroce_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr, struct ib_udata *udata);
int mroce_create_cq_attrs(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
			  struct uverbs_attr_bundle *attrs);
int mroce_destroy_cq(struct ib_cq *ib, struct ib_udata *udata);
int mroce_modify_cq(struct ib_cq *ib, u16 count, u16 period);
int mroce_resize_cq(struct ib_cq *ib, mroce_cqe_count cqe, struct ib_udata *udata);
int mroce_poll_cq(struct ib_cq *ib, int num, struct ib_wc *wc);
int mroce_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags);

/* srq.c */
extern const struct uapi_definition mroce_srq_uapi[];
int mroce_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *init, struct ib_udata *udata);
int mroce_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		     struct ib_udata *udata);
int mroce_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr);
int mroce_destroy_srq(struct ib_srq *ib, struct ib_udata *udata);
int mroce_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad);

/* tune.c */
extern const struct uapi_definition mroce_tune_uapi[];

/* counter.c */
struct rdma_hw_stats *mroce_counter_alloc_stats(struct rdma_counter *counter);
int mroce_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ib MROCE_COUNTER_PORT);
int mroce_counter_unbind_qp(struct ib_qp *ib MROCE_COUNTER_PORT);
int mroce_counter_update_stats(struct rdma_counter *counter);
int mroce_counter_dealloc(struct rdma_counter *counter);
/* what the device counted but for queue pairs that are bound to a counter */
u64 mroce_counter_unbound(struct mroce_dev *dev, unsigned int counter);

/* device.c */
struct rdma_hw_stats *mroce_alloc_hw_port_stats(struct ib_device *ib, u32 port);

/* mad.c */
int mroce_process_mad(struct ib_device *ib, int flags, u32 port, const struct ib_wc *wc,
		      const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		      size_t *out_size, u16 *out_pkey_index);

/* ah.c */
int mroce_create_ah(struct ib_ah *ib, struct rdma_ah_init_attr *init, struct ib_udata *udata);
int mroce_destroy_ah(struct ib_ah *ib, u32 flags);
int mroce_query_ah(struct ib_ah *ib, struct rdma_ah_attr *attr);

#endif
