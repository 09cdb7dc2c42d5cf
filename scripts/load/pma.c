// SPDX-License-Identifier: GPL-2.0
/*
 * Test of mroce-verbs: the performance counters of a port, asked of the device at its own address by
 * management datagrams, as a manager elsewhere would.
 */
#include <dirent.h>
#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rdma/ib_user_mad.h>

#include "verbs.h"

enum { CLASS_PERFORMANCE = 4, GET = 1, SET = 2, GET_RESP = 0x81 };
enum { CLASS_PORT_INFO = 1, SAMPLES = 0x10, PORT_COUNTERS = 0x12, PORT_COUNTERS_EXT = 0x1d };

struct mad {
	uint8_t base_version, mgmt_class, class_version, method;
	uint16_t status, class_specific;
	uint64_t tid;
	uint16_t attr_id, reserved;
	uint32_t attr_mod;
	uint8_t vendor[40];
	uint8_t data[192];
};

struct packet {
	struct ib_user_mad_hdr hdr;
	struct mad mad;
};

static int fd;
static uint32_t agent;

/* /dev/infiniband/umadN of the device */
static void open_umad(void)
{
	static const char classes[] = "/sys/class/infiniband_mad";
	struct ib_user_mad_reg_req reg = {
		.qpn = 1, .mgmt_class = CLASS_PERFORMANCE, .mgmt_class_version = 1,
	};
	char file[600], name[64];
	struct dirent *e;
	DIR *dir = made(opendir(classes), classes);
	bool found = false;

	while (!found && (e = readdir(dir))) {
		FILE *f;

		snprintf(file, sizeof(file), "%s/%s/ibdev", classes, e->d_name);
		if (strncmp(e->d_name, "umad", 4) || !(f = fopen(file, "r")))
			continue;
		found = fscanf(f, "%63s", name) == 1 && !strcmp(name, ibv_get_device_name(ctx->device));
		fclose(f);
		snprintf(file, sizeof(file), "/dev/infiniband/%s", e->d_name);
	}
	closedir(dir);
	if (!found)
		die("no umad device");
	fd = open(file, O_RDWR);
	if (fd < 0)
		die("%s: %s", file, strerror(errno));
	must(ioctl(fd, IB_USER_MAD_ENABLE_PKEY) ? errno : 0, "IB_USER_MAD_ENABLE_PKEY");
	must(ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &reg) ? errno : 0, "IB_USER_MAD_REGISTER_AGENT");
	agent = reg.id;
}

/* The answer; its status must be this one. */
static struct mad ask(uint8_t method, uint16_t attr, uint8_t port_select, uint16_t status)
{
	static uint64_t tid;
	struct packet p = {
		.hdr = {
			.id = agent, .timeout_ms = 2000, .retries = 3, .qpn = htobe32(1),
			.qkey = htobe32(0x80010000), .grh_present = 1, .gid_index = gid_index,
			.hop_limit = 64,
		},
		.mad = {
			.base_version = 1, .mgmt_class = CLASS_PERFORMANCE, .class_version = 1,
			.method = method, .tid = htobe64(++tid), .attr_id = htobe16(attr),
		},
	};
	struct pollfd in = { .fd = fd, .events = POLLIN };

	memcpy(p.hdr.gid, &gid, sizeof(p.hdr.gid));
	p.mad.data[1] = port_select;
	if (write(fd, &p, sizeof(p)) != sizeof(p))
		die("a datagram: %s", strerror(errno));
	if (poll(&in, 1, 10000) != 1 || read(fd, &p, sizeof(p)) != sizeof(p) || p.hdr.status)
		die("no answer to attribute %#x: status %u", attr, p.hdr.status);
	if (p.mad.method != GET_RESP || (uint32_t)be64toh(p.mad.tid) != (uint32_t)tid ||
	    be16toh(p.mad.attr_id) != attr || be16toh(p.mad.status) != status)
		die("to attribute %#x the answer is method %#x, attribute %#x, status %#x", attr,
		    p.mad.method, be16toh(p.mad.attr_id), be16toh(p.mad.status));
	return p.mad;
}

static uint64_t field(const struct mad *m, unsigned int at, unsigned int bytes)
{
	uint64_t n = 0;

	while (bytes--)
		n = n << 8 | m->data[at++];
	return n;
}

/* What a transfer adds to a counter of @bytes at @at, which counts @unit bytes, or packets if that is 0. */
static void counts(struct pair *p, uint16_t attr, unsigned int at, unsigned int bytes, uint64_t unit)
{
	struct mad m = ask(GET, attr, 1, 0);
	uint64_t before = field(&m, at, bytes), grown;

	access_by(p, 0, IBV_WR_RDMA_WRITE, (uintptr_t)memory + MEMORY / 2, MEMORY / 2, mr->rkey,
		  IBV_WC_SUCCESS);
	m = ask(GET, attr, 1, 0);
	grown = field(&m, at, bytes) - before;
	if (grown < (unit ? MEMORY / 2 / unit : 1) || grown > (unit ? 2 * MEMORY / unit : 1000))
		die("%d bytes add %llu to byte %u of attribute %#x", MEMORY / 2,
		    (unsigned long long)grown, at, attr);
}

void test_pma(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1 };
	struct pair p = connected(&cap, NULL, 16, 4);
	unsigned int i;
	struct mad m;

	open_umad();
	m = ask(GET, CLASS_PORT_INFO, 0, 0);
	if (m.data[0] != 1 || m.data[1] != 1 || field(&m, 2, 2) != 1 << 10)
		die("of the class it says versions %u and %u, capabilities %#llx", m.data[0], m.data[1],
		    (unsigned long long)field(&m, 2, 2));
	/* data out and in, packets out and in */
	for (i = 0; i < 4; i++) {
		counts(&p, PORT_COUNTERS, 24 + 4 * i, 4, i < 2 ? 4 : 0);
		counts(&p, PORT_COUNTERS_EXT, 8 + 8 * i, 8, i < 2 ? 4 : 0);
	}
	ask(GET, PORT_COUNTERS, 2, 0x1c);
	ask(GET, SAMPLES, 1, 0x0c);
	ask(SET, PORT_COUNTERS, 1, 0x08);
	close(fd);
	disconnect(&p);
}
