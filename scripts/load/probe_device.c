// SPDX-License-Identifier: GPL-2.0
/*
 * Things that mroce-probe tries: what a device says of itself and of its port, and the Verbs that
 * ask for it.
 */
#include <inttypes.h>
#include <unistd.h>

#include "probe.h"

/* where a value is, and of how many bytes */
#define AT(type, f)	(offsetof(type, f) << 8 | sizeof(((type *)0)->f))

static uint64_t value_at(const void *base, uint64_t at)
{
	const uint8_t *p = (const uint8_t *)base + (at >> 8);

	switch (at & 0xff) {
	case 1:
		return *p;
	case 2:
		return *(const uint16_t *)p;
	case 4:
		return *(const uint32_t *)p;
	}
	return *(const uint64_t *)p;
}

static void __attribute__((noreturn)) tell(uint64_t value)
{
	if (!value)
		no_because("0");
	/* masks, rather than numbers */
	yes(value >> 48 ? "%#" PRIx64 : "%" PRIu64, value);
}

static struct ibv_device_attr_ex query_ex(void)
{
	struct ibv_device_attr_ex attr = {};

	must(error_of(ibv_query_device_ex(ctx, NULL, &attr)), "ibv_query_device_ex");
	return attr;
}

static void attribute(uint64_t at)
{
	struct ibv_device_attr_ex attr = query_ex();

	tell(value_at(&attr, at));
}

#define BASIC(f)	TRY_WITH(#f, attribute, AT(struct ibv_device_attr_ex, orig_attr.f))
#define EXTENDED(f)	TRY_WITH(#f, attribute, AT(struct ibv_device_attr_ex, f))

static const struct item device_attributes_items[] = {
	BASIC(max_mr_size), BASIC(page_size_cap), BASIC(max_qp), BASIC(max_qp_wr), BASIC(max_sge),
	BASIC(max_sge_rd), BASIC(max_cq), BASIC(max_cqe), BASIC(max_mr), BASIC(max_pd),
	BASIC(max_qp_rd_atom), BASIC(max_res_rd_atom), BASIC(max_qp_init_rd_atom),
	BASIC(atomic_cap), BASIC(max_mw), BASIC(max_raw_ethy_qp),
	BASIC(max_mcast_grp), BASIC(max_mcast_qp_attach), BASIC(max_total_mcast_qp_attach),
	BASIC(max_ah), BASIC(max_srq), BASIC(max_srq_wr), BASIC(max_srq_sge), BASIC(max_pkeys),
	BASIC(local_ca_ack_delay), BASIC(phys_port_cnt),
	EXTENDED(odp_caps.general_caps), EXTENDED(odp_caps.per_transport_caps.rc_odp_caps),
	EXTENDED(odp_caps.per_transport_caps.uc_odp_caps),
	EXTENDED(odp_caps.per_transport_caps.ud_odp_caps), EXTENDED(xrc_odp_caps),
	EXTENDED(completion_timestamp_mask), EXTENDED(hca_core_clock), EXTENDED(tso_caps.max_tso),
	EXTENDED(rss_caps.max_rwq_indirection_tables), EXTENDED(max_wq_type_rq),
	EXTENDED(packet_pacing_caps.qp_rate_limit_max), EXTENDED(raw_packet_caps),
	EXTENDED(tm_caps.max_num_tags), EXTENDED(cq_mod_caps.max_cq_count),
	EXTENDED(cq_mod_caps.max_cq_period), EXTENDED(max_dm_size),
	EXTENDED(pci_atomic_caps.fetch_add), EXTENDED(pci_atomic_caps.swap),
	EXTENDED(pci_atomic_caps.compare_swap),
};

GROUP(device_attributes, "ibv_query_device_ex");

static void capability(uint64_t flag)
{
	if (!(query_ex().device_cap_flags_ex & flag))
		no_because("not set");
}

#define CAPABILITY(f)	TRY_WITH(#f, capability, IBV_DEVICE_ ## f)

static const struct item capability_flags_items[] = {
	CAPABILITY(RESIZE_MAX_WR), CAPABILITY(BAD_PKEY_CNTR), CAPABILITY(BAD_QKEY_CNTR),
	CAPABILITY(RAW_MULTI), CAPABILITY(AUTO_PATH_MIG), CAPABILITY(CHANGE_PHY_PORT),
	CAPABILITY(UD_AV_PORT_ENFORCE), CAPABILITY(CURR_QP_STATE_MOD), CAPABILITY(SHUTDOWN_PORT),
	CAPABILITY(INIT_TYPE), CAPABILITY(PORT_ACTIVE_EVENT), CAPABILITY(SYS_IMAGE_GUID),
	CAPABILITY(RC_RNR_NAK_GEN), CAPABILITY(SRQ_RESIZE), CAPABILITY(N_NOTIFY_CQ),
	CAPABILITY(MEM_WINDOW), CAPABILITY(UD_IP_CSUM), CAPABILITY(XRC),
	CAPABILITY(MEM_MGT_EXTENSIONS), CAPABILITY(MEM_WINDOW_TYPE_2A),
	CAPABILITY(MEM_WINDOW_TYPE_2B), CAPABILITY(RC_IP_CSUM), CAPABILITY(RAW_IP_CSUM),
	CAPABILITY(MANAGED_FLOW_STEERING), CAPABILITY(RAW_SCATTER_FCS),
	CAPABILITY(PCI_WRITE_END_PADDING),
	/* newer than these headers */
	TRY_WITH("FLUSH_GLOBAL", capability, 1ULL << 38), TRY_WITH("FLUSH_PERSISTENT", capability, 1ULL << 39),
	TRY_WITH("ATOMIC_WRITE", capability, 1ULL << 40),
};

GROUP(capability_flags, "device_cap_flags");

static void port_attribute(uint64_t at)
{
	tell(value_at(&port, at));
}

#define PORT(f)	TRY_WITH(#f, port_attribute, AT(struct ibv_port_attr, f))

static const struct item port_attributes_items[] = {
	PORT(state), PORT(max_mtu), PORT(active_mtu), PORT(gid_tbl_len), PORT(port_cap_flags),
	PORT(port_cap_flags2), PORT(max_msg_sz), PORT(pkey_tbl_len), PORT(max_vl_num),
	PORT(active_width), PORT(active_speed), PORT(phys_state), PORT(link_layer), PORT(flags),
};

GROUP(port_attributes, "ibv_query_port");

/* ---- Verbs of a device ---- */

static void query_gid(void)
{
	static const union ibv_gid none;

	if (!memcmp(&gid, &none, sizeof(gid)))
		die("a GID of zeroes");
}

static void query_gid_ex(void)
{
	struct ibv_gid_entry e = {};

	must(error_of(ibv_query_gid_ex(ctx, 1, gid_index, &e, 0)), "ibv_query_gid_ex");
	if (memcmp(&e.gid, &gid, sizeof(gid)))
		die("another GID than ibv_query_gid() told");
	if (!iwarp() && (e.gid_type != IBV_GID_TYPE_ROCE_V2 || !e.ndev_ifindex))
		die("type %u, netdev %u", e.gid_type, e.ndev_ifindex);
}

static void query_gid_table(void)
{
	struct ibv_gid_entry *e = calloc(port.gid_tbl_len, sizeof(*e));
	ssize_t i, n = ibv_query_gid_table(ctx, e, port.gid_tbl_len, 0);

	if (n < 0)
		no(-n, "ibv_query_gid_table");
	for (i = 0; i < n; i++)
		if (e[i].gid_index == gid_index && !memcmp(&e[i].gid, &gid, sizeof(gid)))
			return;
	die("%zd GIDs, and not the one that ibv_query_gid() told", n);
}

static void query_pkey(void)
{
	__be16 pkey = 0;

	must(error_of(ibv_query_pkey(ctx, 1, 0, &pkey)), "ibv_query_pkey");
	if (pkey != 0xffff)
		die("P_Key %04x", be16toh(pkey));
}

static void get_pkey_index(void)
{
	int i = ibv_get_pkey_index(ctx, 1, 0xffff);

	if (i < 0)
		no(errno, "ibv_get_pkey_index");
	if (i)
		die("index %d", i);
}

static void device_guid(void)
{
	if (!ibv_get_device_guid(ctx->device))
		no_because("0");
	if (ibv_get_device_guid(ctx->device) != dev.node_guid)
		die("another than node_guid of ibv_query_device()");
}

static void device_index(void)
{
	if (ibv_get_device_index(ctx->device) < 0)
		no_because("none");
}

static void rt_values(void)
{
	struct ibv_values_ex a = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK }, b = a;

	must(error_of(ibv_query_rt_values_ex(ctx, &a)), "ibv_query_rt_values_ex");
	if (!(a.comp_mask & IBV_VALUES_MASK_RAW_CLOCK))
		no_because("no raw clock");
	usleep(2000);
	must(error_of(ibv_query_rt_values_ex(ctx, &b)), "ibv_query_rt_values_ex");
	if (a.raw_clock.tv_sec == b.raw_clock.tv_sec && a.raw_clock.tv_nsec == b.raw_clock.tv_nsec)
		die("the clock stands still");
}

static void import_device(uint64_t what)
{
	struct ibv_context *other;
	struct ibv_pd *their_pd;

	other = made(ibv_import_device(dup(ctx->cmd_fd)), "ibv_import_device");
	if (!what)
		return;
	their_pd = made(ibv_import_pd(other, pd->handle), "ibv_import_pd");
	if (what > 1)
		made(ibv_import_mr(their_pd, mr->handle), "ibv_import_mr");
}

/* A child goes on while the parent's region is used; unless @writes, it must not touch the region. */
static void with_child(bool writes)
{
	struct pair p;
	int ready[2];
	char c;

	open_all();
	p = pair_of(IBV_QPT_RC);
	fill(4096);
	must(pipe(ready) ? errno : 0, "pipe");
	if (!fork()) {
		/* of which the end is waited for */
		close(STDOUT_FILENO);
		if (writes)
			memset(memory, 0, MEMORY);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		die("the child has not come so far");
	reaches(&p, FAR, (uintptr_t)FAR, mr->rkey);
}

static void fork_init(void)
{
	must(error_of(ibv_fork_init()), "ibv_fork_init");
	with_child(false);
	if (ibv_is_fork_initialized() == IBV_FORK_DISABLED)
		die("ibv_is_fork_initialized: disabled");
}

/* the kernel copies pinned pages for the child */
static void no_fork_init(void)
{
	if (ibv_is_fork_initialized() != IBV_FORK_UNNEEDED)
		no_because("ibv_fork_init is needed");
	with_child(true);
}

static const struct item device_verbs_items[] = {
	TRY("ibv_query_gid", query_gid), TRY("ibv_query_gid_ex", query_gid_ex),
	TRY("ibv_query_gid_table", query_gid_table), TRY("ibv_query_pkey", query_pkey),
	TRY("ibv_get_pkey_index", get_pkey_index), TRY("ibv_get_device_guid", device_guid),
	TRY("ibv_get_device_index", device_index), TRY("ibv_query_rt_values_ex", rt_values),
	TRY_WITH("ibv_import_device", import_device, 0), TRY_WITH("ibv_import_pd", import_device, 1),
	TRY_WITH("ibv_import_mr", import_device, 2),
	{ .name = "fork after ibv_fork_init", .run = fork_init, .bare = true },
	{ .name = "fork without it", .run = no_fork_init, .bare = true },
};

GROUP(device_verbs, "device");
