// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mroce show and mroce set: devices and their attributes.
 */
#include <stdio.h>
#include <string.h>

#include "mroce.h"

/* @size: of the attribute, bytes; @suffix: k, m and g are understood */
static const struct {
	const char *name, *unit;
	int type;
	unsigned int size;
	uint64_t max;
	bool suffix;
} attributes[] = {
	{ "paths", "", MROCE_NL_A_NPATHS, 1, 64, false },
	{ "burst", "", MROCE_NL_A_BURST, 4, 61440, true },
	{ "held-limit", "", MROCE_NL_A_HELD_LIMIT, 8, UINT64_MAX, true },
	{ "capacity", "Mb/s", MROCE_NL_A_CAPACITY, 4, UINT32_MAX, false },
};

#define ATTRIBUTES (sizeof(attributes) / sizeof(attributes[0]))

static int one(const struct nlmsghdr *msg, void *arg)
{
	const struct nlattr *a[MROCE_NL_A_MAX + 1], *attr;
	const char *only = arg;
	uint64_t value;
	size_t i;

	nl_parse(msg, a);
	if (!a[MROCE_NL_A_DEV] ||
	    (only && strcmp(mnl_attr_get_str(a[MROCE_NL_A_DEV]), only)))
		return MNL_CB_OK;
	out_open();
	out_string("device", mnl_attr_get_str(a[MROCE_NL_A_DEV]));
	if (a[MROCE_NL_A_INSTANCE])
		out_hex("instance", mnl_attr_get_u64(a[MROCE_NL_A_INSTANCE]));
	for (i = 0; i < ATTRIBUTES; i++) {
		attr = a[attributes[i].type];
		if (!attr || mnl_attr_get_payload_len(attr) != attributes[i].size)
			continue;
		value = attributes[i].size == 1 ? mnl_attr_get_u8(attr) :
			attributes[i].size == 4 ? mnl_attr_get_u32(attr) : mnl_attr_get_u64(attr);
		out_number(attributes[i].name, value, attributes[i].unit);
	}
	if (a[MROCE_NL_A_HELD])
		out_number("held", mnl_attr_get_u64(a[MROCE_NL_A_HELD]), "");
	out_close();
	return MNL_CB_OK;
}

int cmd_show(int argc, char **argv)
{
	if (argc > 1)
		return usage();
	return nl_show(MROCE_NL_DEV_GET, one, argc ? argv[0] : NULL);
}

/* false: no such attribute, or no such value */
static bool put(struct nlmsghdr *msg, const char *name, const char *word)
{
	uint64_t value;
	size_t i;

	for (i = 0; i < ATTRIBUTES; i++)
		if (!strcmp(attributes[i].name, name))
			break;
	if (i == ATTRIBUTES) {
		fprintf(stderr, "mroce: no attribute is called %s\n", name);
		return false;
	}
	if (!number(word, attributes[i].max, attributes[i].suffix, &value)) {
		fprintf(stderr, "mroce: %s cannot be %s\n", name, word);
		return false;
	}
	if (attributes[i].size == 1)
		mnl_attr_put_u8(msg, attributes[i].type, value);
	else if (attributes[i].size == 4)
		mnl_attr_put_u32(msg, attributes[i].type, value);
	else
		mnl_attr_put_u64(msg, attributes[i].type, value);
	return true;
}

int cmd_set(int argc, char **argv)
{
	struct nlmsghdr *msg;
	int i;

	if (argc < 3 || argc % 2 == 0)
		return usage();
	msg = nl_request(MROCE_NL_DEV_SET, NLM_F_ACK);
	if (!msg)
		return 1;
	mnl_attr_put_strz(msg, MROCE_NL_A_DEV, argv[0]);
	for (i = 1; i < argc; i += 2)
		if (!put(msg, argv[i], argv[i + 1]))
			return 1;
	return nl_send(msg, NULL, NULL) ? 1 : 0;
}
