/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files of the mroce command share: one command a file, netlink in nl.c, output in
 * out.c.
 */
#ifndef MROCE_TOOL_H
#define MROCE_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <rdma/mroce-netlink.h>

/* ---- nl.c: errors are printed there; 0, or -1 ---- */

/* Is the module loaded? */
bool nl_there(void);
/* A request, to be completed with mnl_attr_put_*() and sent. @flags: NLM_F_DUMP or NLM_F_ACK. */
struct nlmsghdr *nl_request(uint8_t cmd, uint16_t flags);
int nl_send(struct nlmsghdr *msg, mnl_cb_t each, void *arg);
/* Is there such a device? If not that is said. */
bool nl_device(const char *device);
/* All that there is, by @each into a table or list. 0, or 1: the tool's exit status. */
int nl_show(uint8_t cmd, mnl_cb_t each, char *device);
/* Calls @each for every event until the program ends. */
int nl_listen(mnl_cb_t each, void *arg);
/* attributes of a message, by their number; @attr has MROCE_NL_A_MAX + 1 entries */
uint8_t nl_parse(const struct nlmsghdr *msg, const struct nlattr **attr);

/* ---- out.c: a list of objects, as lines of words or as JSON ---- */

extern bool out_json;

void out_begin(void);
void out_end(void);
void out_open(void);	/* an object */
void out_close(void);
void out_string(const char *name, const char *value);
void out_number(const char *name, uint64_t value, const char *unit);
void out_hex(const char *name, uint64_t value);
void out_address(const char *name, const void *addr);	/* 16 bytes, IPv4 mapped */
void out_netdev(uint32_t ifindex);
/* an attribute, if there is one, of 1, 2, 4 or 8 bytes; an address of 16 */
void attr_number(const struct nlattr *attr, const char *name, const char *unit);
void attr_address(const struct nlattr *attr, const char *name);
/* @text: INET6_ADDRSTRLEN bytes */
void address_text(char *text, const void *addr);

/* ---- commands: an exit status; @argv are the words behind the command's ---- */

int cmd_plane(int argc, char **argv);
int cmd_path(int argc, char **argv);
int cmd_peer(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_set(int argc, char **argv);
int cmd_monitor(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_conn(int argc, char **argv);
int cmd_stream(int argc, char **argv);
int cmd_share(int argc, char **argv);
int cmd_top(int argc, char **argv);

/* path.c: the word for a state */
const char *path_state(uint8_t state);

/* what top was told: so many @frames as text (0: live), a new one every @delay seconds; sorted by a key, or 0 */
extern struct top_options {
	unsigned int frames;
	double delay;
	char sort;
} top_options;

/* says what the command takes; 2 */
int usage(void);
/* an unsigned number, with suffix k, m or g if @suffix; false: not one, or above @max */
bool number(const char *word, uint64_t max, bool suffix, uint64_t *value);

#endif
