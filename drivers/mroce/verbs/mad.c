// SPDX-License-Identifier: GPL-2.0
/*
 * Management datagrams that the device answers itself: the performance counters of its port, for
 * the core's files in sysfs (counters/) and for whoever asks by the GSI. All others go their way
 * to the agents that are registered for them. Process context, no lock held.
 */
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

#include "objects.h"

#define ANSWER	(IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY)

static u64 sum(struct mroce_dev *dev, unsigned int first, unsigned int last)
{
	u64 n = 0;

	for (; first <= last; first++)
		n += mroce_counter_sum(dev, first);
	return n;
}

/* what is narrow stops at all ones */
static __be32 upto32(u64 n)
{
	return cpu_to_be32(min_t(u64, n, U32_MAX));
}

static __be16 upto16(u64 n)
{
	return cpu_to_be16(min_t(u64, n, U16_MAX));
}

/* "Data" are counted in words of four bytes. */
static void port_counters(struct mroce_dev *dev, void *data)
{
	struct ib_pma_portcounters *c = data;

	c->port_rcv_errors = upto16(sum(dev, MROCE_REASON_RX_SHORT, MROCE_REASON_RX_TYPE));
	c->port_xmit_discards = upto16(sum(dev, MROCE_REASON_TX_LOCAL_DROP,
					   MROCE_REASON_TX_NO_ROUTE));
	c->port_xmit_data = upto32(mroce_counter_sum(dev, MROCE_CNT_TX_BYTES) / 4);
	c->port_rcv_data = upto32(mroce_counter_sum(dev, MROCE_CNT_RX_BYTES) / 4);
	c->port_xmit_packets = upto32(mroce_counter_sum(dev, MROCE_CNT_TX_PACKETS));
	c->port_rcv_packets = upto32(mroce_counter_sum(dev, MROCE_CNT_RX_PACKETS));
}

static void port_counters_ext(struct mroce_dev *dev, void *data)
{
	struct ib_pma_portcounters_ext *c = data;

	c->port_xmit_data = cpu_to_be64(mroce_counter_sum(dev, MROCE_CNT_TX_BYTES) / 4);
	c->port_rcv_data = cpu_to_be64(mroce_counter_sum(dev, MROCE_CNT_RX_BYTES) / 4);
	c->port_xmit_packets = cpu_to_be64(mroce_counter_sum(dev, MROCE_CNT_TX_PACKETS));
	c->port_rcv_packets = cpu_to_be64(mroce_counter_sum(dev, MROCE_CNT_RX_PACKETS));
}

/* The status of the answer to @in, which is in @out's data. */
static __be16 get_performance(struct mroce_dev *dev, const struct ib_pma_mad *in,
			      struct ib_pma_mad *out)
{
	/* without these, of unicast and multicast; and none begins at 0 again */
	const struct ib_class_port_info info = {
		.base_version = 1,
		.class_version = 1,
		.capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH_NOIETF,
	};

	if (in->mad_hdr.class_version != 1)
		return cpu_to_be16(IB_MGMT_MAD_STATUS_BAD_VERSION);
	if (in->mad_hdr.method != IB_MGMT_METHOD_GET)
		return cpu_to_be16(IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD);
	if (in->mad_hdr.attr_id == IB_PMA_CLASS_PORT_INFO) {
		memcpy(out->data, &info, sizeof(info));
		return 0;
	}
	/* the port select lies in the same place in both */
	if (((const struct ib_pma_portcounters *)in->data)->port_select != 1)
		return cpu_to_be16(IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE);
	((struct ib_pma_portcounters *)out->data)->port_select = 1;
	if (in->mad_hdr.attr_id == IB_PMA_PORT_COUNTERS)
		port_counters(dev, out->data);
	else if (in->mad_hdr.attr_id == IB_PMA_PORT_COUNTERS_EXT)
		port_counters_ext(dev, out->data);
	else
		return cpu_to_be16(IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB);
	return 0;
}

int mroce_process_mad(struct ib_device *ib, int flags, u32 port, const struct ib_wc *wc,
		      const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		      size_t *out_size, u16 *out_pkey_index)
{
	u8 method = in->mad_hdr.method;

	if (port != 1)
		return IB_MAD_RESULT_FAILURE;
	/* answers to what others asked are theirs */
	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    (method != IB_MGMT_METHOD_GET && method != IB_MGMT_METHOD_SET))
		return IB_MAD_RESULT_SUCCESS;

	memset(out, 0, sizeof(*out));
	out->mad_hdr = in->mad_hdr;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	out->mad_hdr.status = get_performance(to_mdev(ib), (const void *)in, (void *)out);
	return ANSWER;
}
