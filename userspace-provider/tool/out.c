// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Output: a list of objects with named values, a line each, or JSON for programs.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "mroce.h"

bool out_json;
static bool first_object, first_value;

void out_begin(void)
{
	first_object = true;
	if (out_json)
		printf("[");
}

void out_end(void)
{
	if (out_json)
		printf("%s]\n", first_object ? "" : "\n");
}

void out_open(void)
{
	if (out_json)
		printf("%s\n  {", first_object ? "" : ",");
	first_object = false;
	first_value = true;
}

void out_close(void)
{
	printf(out_json ? "}" : "\n");
	fflush(stdout);
}

/* what stands in front of a value */
static void name_of(const char *name)
{
	if (out_json)
		printf("%s\"%s\":", first_value ? "" : ",", name);
	else
		printf("%s%s ", first_value ? "" : " ", name);
	first_value = false;
}

/* names of devices and netdevs are the user's: JSON needs some characters escaped */
void out_string(const char *name, const char *value)
{
	name_of(name);
	if (!out_json) {
		printf("%s", value);
		return;
	}
	putchar('"');
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			printf("\\%c", *value);
		else if ((unsigned char)*value < 0x20)
			printf("\\u%04x", *value);
		else
			putchar(*value);
	}
	putchar('"');
}

void out_number(const char *name, uint64_t value, const char *unit)
{
	name_of(name);
	printf("%" PRIu64 "%s", value, out_json ? "" : unit);
}

void out_hex(const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIx64, value);
	out_string(name, text);
}

void address_text(char *text, const void *addr)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (!memcmp(addr, mapped, sizeof(mapped)))
		inet_ntop(AF_INET, (const uint8_t *)addr + sizeof(mapped), text, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, addr, text, INET6_ADDRSTRLEN);
}

void out_address(const char *name, const void *addr)
{
	char text[INET6_ADDRSTRLEN];

	address_text(text, addr);
	out_string(name, text);
}

void out_netdev(uint32_t ifindex)
{
	char name[IF_NAMESIZE];

	if (!if_indextoname(ifindex, name))
		snprintf(name, sizeof(name), "if%u", ifindex);
	out_string("netdev", name);
}

void attr_number(const struct nlattr *attr, const char *name, const char *unit)
{
	if (!attr)
		return;
	switch (mnl_attr_get_payload_len(attr)) {
	case 1:
		out_number(name, mnl_attr_get_u8(attr), unit);
		break;
	case 2:
		out_number(name, mnl_attr_get_u16(attr), unit);
		break;
	case 4:
		out_number(name, mnl_attr_get_u32(attr), unit);
		break;
	case 8:
		out_number(name, mnl_attr_get_u64(attr), unit);
		break;
	}
}

void attr_address(const struct nlattr *attr, const char *name)
{
	if (attr && mnl_attr_get_payload_len(attr) == 16)
		out_address(name, mnl_attr_get_payload(attr));
}
