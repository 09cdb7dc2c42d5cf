# SPDX-License-Identifier: GPL-2.0
#
# What this kernel's headers offer, as MROCE_HAVE_*, for compat.h. A search of the
# header and not a version, for distributions carry changes back.

mroce-has = $(if $(shell grep -sE '$(2)' $(srctree)/include/$(1)),-DMROCE_HAVE_$(3))

ccflags-y += $(call mroce-has,rdma/ib_verbs.h,[*]resize_user_cq,RESIZE_USER_CQ)
ccflags-y += $(call mroce-has,rdma/ib_verbs.h,ib_mark_name_assigned_by_user,MARK_NAME)
ccflags-y += $(call mroce-has,rdma/ib_verbs.h,struct ib_dmah [*]dmah,MR_DMAH)
ccflags-y += $(call mroce-has,rdma/ib_verbs.h,IB_ACCESS_FLUSH_PERSISTENT =,PLACEMENT)
ccflags-y += $(call mroce-has,rdma/ib_verbs.h,[*]counter_init,COUNTER_INIT)
ccflags-y += $(call mroce-has,rdma/ib_umem.h,ib_umem_get_va,UMEM_GET_VA)
ccflags-y += $(call mroce-has,rdma/rdma_netlink.h,[*]dellink,DELLINK)
ccflags-y += $(call mroce-has,linux/dma-buf.h,dma_buf_vmap_unlocked,VMAP_UNLOCKED)
ccflags-y += $(call mroce-has,linux/dma-buf.h,[*]invalidate_mappings,INVALIDATE_MAPPINGS)
ccflags-y += $(call mroce-has,linux/netdevice.h,gso_ipv4_max_size;,GSO_IPV4_MAX_SIZE)
ccflags-y += $(call mroce-has,linux/hrtimer.h,void hrtimer_setup,HRTIMER_SETUP)
ccflags-y += $(call mroce-has,linux/mm.h,void vm_flags_set,VM_FLAGS_SET)
ccflags-y += $(call mroce-has,linux/skbuff.h,bool skb_frags_readable,FRAGS_READABLE)
