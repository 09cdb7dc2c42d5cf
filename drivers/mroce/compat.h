/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between the kernels that this module is built for (6.1 to 7.3),
 * and nothing else: the code above reads like code for one kernel. One section a
 * subsystem. A form is chosen by the type of what the headers declare wherever that
 * is possible, since stable trees carry backports; by version only where it is not.
 */
#ifndef MROCE_COMPAT_H
#define MROCE_COMPAT_H

#include <linux/version.h>

/*
 * What is written whole before it is read need not be zeroed first, where kernels are built with
 * -ftrivial-auto-var-init=zero: for large structures on the stack of every packet. Newer kernels
 * have the name.
 */
#ifndef __uninitialized
#if __has_attribute(__uninitialized__)
#define __uninitialized __attribute__((__uninitialized__))
#else
#define __uninitialized
#endif
#endif

/* ---- net ---------------------------------------------------------------- */

#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/ipv6.h>
#include <net/udp_tunnel.h>

/*
 * setup_udp_tunnel_sock() and udp_tunnel_sock_release() take a struct socket, since 7.x a
 * struct sock. The untaken branch of either choice is not evaluated, but must have a type.
 */
#define mroce_takes_sk(fn, ...) \
	__builtin_types_compatible_p(typeof(&(fn)), void (*)(__VA_ARGS__))

#define mroce_setup_tunnel_sock(_net, _sock, _cfg) \
	setup_udp_tunnel_sock(_net, \
		__builtin_choose_expr(mroce_takes_sk(setup_udp_tunnel_sock, struct net *, \
						     struct sock *, \
						     struct udp_tunnel_sock_cfg *), \
				      (_sock)->sk, (_sock)), _cfg)

#define mroce_release_tunnel_sock(_sock) \
	udp_tunnel_sock_release( \
		__builtin_choose_expr(mroce_takes_sk(udp_tunnel_sock_release, struct sock *), \
				      (_sock)->sk, (_sock)))

/*
 * encap_err_rcv() was given the offset of the quoted UDP header before it was given what
 * the error says. Both are found in the skb on every kernel, which leaves the signature.
 */
#define MROCE_ENCAP_ERR_RCV(name, handler)							\
static __maybe_unused void name##_offset(struct sock *sk, struct sk_buff *skb,			\
					 unsigned int udp_offset)				\
{												\
	handler(sk, skb);									\
}												\
static __maybe_unused void name##_payload(struct sock *sk, struct sk_buff *skb, int err,	\
					  __be16 port, u32 info, u8 *payload)			\
{												\
	handler(sk, skb);									\
}

#define MROCE_ENCAP_ERR_RCV_FN(name) \
	__builtin_choose_expr(__builtin_types_compatible_p(udp_tunnel_encap_err_rcv_t, \
							   typeof(&name##_offset)), \
			      name##_offset, name##_payload)

/* IPv4 has had a limit of its own since IPv6 may exceed 64 KiB (BIG TCP for IPv4, 6.3) */
static inline unsigned int mroce_gso_max_size(const struct net_device *dev, bool v4)
{
#ifdef MROCE_HAVE_GSO_IPV4_MAX_SIZE
	if (v4)
		return READ_ONCE(dev->gso_ipv4_max_size);
#endif
	return READ_ONCE(dev->gso_max_size);
}

/* payload in a device's memory cannot be copied by a processor (6.12) */
#ifdef MROCE_HAVE_FRAGS_READABLE
#define mroce_skb_readable(skb)	skb_frags_readable(skb)
#else
#define mroce_skb_readable(skb)	true
#endif

/* ---- time --------------------------------------------------------------- */

#include <linux/hrtimer.h>

static inline void mroce_hrtimer_setup(struct hrtimer *timer,
				       enum hrtimer_restart (*function)(struct hrtimer *),
				       clockid_t clock, enum hrtimer_mode mode)
{
#ifdef MROCE_HAVE_HRTIMER_SETUP
	hrtimer_setup(timer, function, clock, mode);
#else
	hrtimer_init(timer, clock, mode);
	timer->function = function;
#endif
}

/* ---- memory ---- */

#include <linux/mm.h>

#ifndef MROCE_HAVE_VM_FLAGS_SET
#define vm_flags_set(vma, flags)	((vma)->vm_flags |= (flags))
#endif

/* ---- Verbs: what include/rdma/ib_verbs.h calls it here; MROCE_HAVE_* are from compat.mk ---- */

#ifdef MROCE_HAVE_RESIZE_USER_CQ
#define mroce_op_resize_cq	resize_user_cq
typedef unsigned int mroce_cqe_count;
#else
#define mroce_op_resize_cq	resize_cq
typedef int mroce_cqe_count;
#endif

/* reg_user_mr's DMA handle, which this device refuses */
#ifdef MROCE_HAVE_MR_DMAH
#define MROCE_DMAH_ARG		struct ib_dmah *dmah,
#define mroce_dmah_refused()	(!!dmah)
#else
#define MROCE_DMAH_ARG
#define mroce_dmah_refused()	false
#endif

/* FLUSH and ATOMIC_WRITE (6.2): where they are not, nobody has a right to flush */
#ifdef MROCE_HAVE_PLACEMENT
#define MROCE_PERSISTENT_CAP	\
	(IS_ENABLED(CONFIG_ARCH_HAS_PMEM_API) ? IB_DEVICE_FLUSH_PERSISTENT : 0)
#define MROCE_PLACEMENT_CAPS	(IB_DEVICE_FLUSH_GLOBAL | IB_DEVICE_ATOMIC_WRITE | \
				 MROCE_PERSISTENT_CAP)
#else
#define MROCE_PLACEMENT_CAPS	0
#define IB_ACCESS_FLUSH_GLOBAL		0
#define IB_ACCESS_FLUSH_PERSISTENT	0
#define IB_WC_FLUSH			8
#define IB_WC_ATOMIC_WRITE		9
#endif
#define mroce_has_placement()	(!!MROCE_PLACEMENT_CAPS)

/* since a counter may be of a driver's own kind, its operations are told the port as well */
#ifdef MROCE_HAVE_COUNTER_INIT
#define MROCE_COUNTER_PORT	, u32 port
#define MROCE_COUNTER_OPS(init, type, member) \
	.counter_init = init, INIT_RDMA_OBJ_SIZE(rdma_counter, type, member),
#else
#define MROCE_COUNTER_PORT
#define MROCE_COUNTER_OPS(init, type, member)
#endif

/*
 * reg_user_mr_dmabuf takes the ib_udata, or the bundle that it lies in: both forms are compiled,
 * one is chosen
 */
#define mroce_op_reg_dmabuf(udata_form, attrs_form)						\
	__builtin_choose_expr(__builtin_types_compatible_p(					\
		typeof(((struct ib_device_ops *)0)->reg_user_mr_dmabuf),			\
		typeof(&(attrs_form))), attrs_form, udata_form)

/* one takes the buffer's lock by itself; it was called so before the other had the name */
#ifdef MROCE_HAVE_VMAP_UNLOCKED
#define mroce_dma_buf_vmap	dma_buf_vmap_unlocked
#define mroce_dma_buf_vunmap	dma_buf_vunmap_unlocked
#else
#define mroce_dma_buf_vmap	dma_buf_vmap
#define mroce_dma_buf_vunmap	dma_buf_vunmap
#endif

#ifdef MROCE_HAVE_INVALIDATE_MAPPINGS
#define mroce_op_buffer_moved	invalidate_mappings
#else
#define mroce_op_buffer_moved	move_notify
#endif

#ifdef MROCE_HAVE_UMEM_GET_VA
#define mroce_umem_get		ib_umem_get_va
#else
#define mroce_umem_get		ib_umem_get
#endif

#ifndef SKB_HEAD_ALIGN		/* 6.3, and what took it over */
#define SKB_HEAD_ALIGN(size) \
	(SKB_DATA_ALIGN(size) + SKB_DATA_ALIGN(sizeof(struct skb_shared_info)))
#endif

#ifndef struct_size_t		/* 6.5, and what took it over: not every stable 6.1 has it */
#define struct_size_t(type, member, count)	struct_size((type *)NULL, member, count)
#endif

#ifndef MROCE_HAVE_MARK_NAME
#define ib_mark_name_assigned_by_user(ib)	do { } while (0)
#endif

/* in exclusive mode the device is born in its netdev's namespace, where the core can do that */
#ifdef ib_alloc_device_with_net
#define mroce_ib_alloc_device(type, member, net)	ib_alloc_device_with_net(type, member, net)
#else
#define mroce_ib_alloc_device(type, member, net)	ib_alloc_device(type, member)
#endif

/*
 * create_cq takes the ib_udata, or the bundle that it lies in. A trial by type, for the
 * argument is on a line of its own: both forms are compiled, one is chosen.
 */
#define mroce_op_create_cq(udata_form, attrs_form)						\
	__builtin_choose_expr(__builtin_types_compatible_p(					\
		typeof(((struct ib_device_ops *)0)->create_cq),					\
		int (*)(struct ib_cq *, const struct ib_cq_init_attr *,				\
			struct uverbs_attr_bundle *)), attrs_form, udata_form)

#endif
