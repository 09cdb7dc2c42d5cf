/* SPDX-License-Identifier: GPL-2.0 */
/* UDP sockets that tell and take what a node needs: source port, TOS, hop limit. IPv4 and IPv6. */
#ifndef SOFT_UDP_H
#define SOFT_UDP_H

#include <sys/socket.h>

#include "soft.h"

int address_parse(const char *text, struct soft_address *a);
const char *address_text(const struct soft_address *a, char *text, size_t size);

struct udp;

/* One service socket for each address; others, to send from, as they are needed. NULL and errno */
struct udp *udp_open(const struct soft_address *address, unsigned int n, uint16_t port);
void udp_close(struct udp *u);
int udp_send(struct udp *u, const struct soft_datagram *d);
/* the next datagram that came, or 0; waits so many ns for it. Its bytes are in @buffer */
int udp_receive(struct udp *u, struct soft_datagram *d, void *buffer, size_t size, uint64_t wait);
/* also wakes for this descriptor */
void udp_watch(struct udp *u, int fd);
uint64_t udp_now(void);

#endif
