/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a case is written with: it plays a peer of the device under test, packet by packet, and lets the agent at the
 * target do what an application would. What a case does not do itself, in the way of answers that any peer owes
 * (HELLO_ACK, ACK, OPEN_REPLY), is done behind it, unless it says that it is not to be.
 *
 * A case that finds something wrong calls need() and does not go on.
 */
#ifndef CONFORM_SCRIPT_H
#define CONFORM_SCRIPT_H

#include <setjmp.h>
#include <stdarg.h>

#include "soft/packets.h"
#include "soft/soft.h"
#include "soft/udp.h"

enum {
	PATHS = 8, MEMORY = 1 << 18, INBOX = 8192, OWN = 64,
	NOT_ECT = 0, ECT1 = 1, ECT0 = 2, CE = 3,
	ACCESS_ALL = 0x10f,	/* local and remote write, read, atomic, and flush to GLOBAL */
	ACCESS_PLAIN = 0xf, ACCESS_RELAXED = 0x10000f,
	QKEY = 0x11111111,
};

struct packet {			/* one that came, taken out of its datagram */
	struct packet *next;
	uint64_t at;
	struct soft_datagram d;
	unsigned int index;	/* in its datagram */
	struct data data;
	size_t length;
	uint8_t bytes[];
};

/* the target's sending half toward one of our addresses, and what we have received on it */
struct in {
	struct in *next;
	struct soft_address own, peer;
	uint64_t id, ack_id, instance, nonce;
	uint32_t half;
	unsigned int payload, paths;
	struct in_path {
		bool seen;
		uint8_t epoch;
		uint16_t port;
		uint32_t highest, packets, ce, stamp;
		uint64_t bytes, bits[4], stamp_at;
	} path[64];
};

/* a node that the case plays */
struct peer {
	struct peer *next;
	struct soft_address own, target;
	uint64_t instance;
	struct in *in;
	uint32_t next_half;
	struct out *pool;	/* a half that cases use one after the other */
};

/* our sending half toward the target */
struct out {
	struct out *next;
	struct peer *peer;
	uint64_t id, own_id, instance;	/* what packets to the target carry; what it answers with; the target's */
	uint32_t half;
	unsigned int payload, paths;
	struct {
		uint8_t epoch;
		uint16_t port;
		uint32_t number;	/* the next */
	} path[PATHS];
	unsigned int uses;
	uint64_t used_at;
};

struct stream {			/* our queue pair, and the target's */
	struct stream *next;
	struct out *out;
	struct peer *peer;
	unsigned int qp;	/* the agent's name for it */
	uint32_t target_qpn, qpn, psn, target_psn;
	uint32_t id, own;	/* stream ids: the target's, ours */
	uint32_t spn, msn, rsn, floor, rspn;	/* next of our requests; lowest response not here */
	uint32_t credit;
	unsigned int reads, log_packets, log_messages;
	unsigned int mr;
	uint64_t addr;
	uint32_t rkey;
	/* what the target is told */
	uint32_t grant;
	bool opened;		/* the target's OPEN was accepted */
};

struct message {		/* of ours, cut */
	struct stream *s;
	uint8_t op, flags;
	uint32_t first, packets, msn, rsn, length, psize, rkey, imm;
	uint64_t addr;
	const uint8_t *data;
};

struct completion {
	uint64_t id;
	unsigned int status, opcode, receive, length, with_imm, imm, src_qpn;
};

struct t {
	/* settings of the run */
	struct soft_address target, own[OWN];
	unsigned int owns, fresh;
	uint64_t seed, rng;
	unsigned int patience;	/* factor of every wait */
	bool verbose;
	struct udp *udp;
	int agent;
	char caps[256];
	/* what is known of the network */
	struct peer *peers;
	struct out *outs;
	struct stream *streams;
	struct packet *inbox, **inbox_tail;
	unsigned int waiting;
	/* what is done behind a case; a case may set them, each begins with the defaults */
	bool auto_hello, auto_ack, auto_open, mark;
	unsigned int drop_every;	/* of the numbered packets that come; 0: none */
	uint32_t share, allowance;
	bool (*filter)(struct t *t, struct packet *p);	/* true: it is as if it had not come */
	struct stream *withhold;	/* its requests are not acknowledged: the case does that, or does not */
	uint8_t refuse, refuse_timer;	/* or refuses them for this reason, from this message on */
	uint32_t refuse_msn;
	unsigned int refusals;
	uint8_t tos, hops;
	uint8_t ackreq;
	uint32_t dropped;
	/* verdict */
	jmp_buf out_of_case;
	char why[2048];
	bool skipped;
	long data;		/* of the case's filter */
};

void fail(struct t *t, const char *file, int line, const char *format, ...) __attribute__((format(printf, 4, 5), noreturn));
void skip(struct t *t, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
#define need(t, so, ...) do { if (!(so)) fail(t, __FILE__, __LINE__, __VA_ARGS__); } while (0)

uint64_t random_of(struct t *t);
uint64_t now_ms(void);
void pattern(uint8_t *p, size_t n, unsigned int seed);

/* ---- begin and end */
int script_open(struct t *t, const char *agent, const char *port);
void script_close(struct t *t);
void case_begin(struct t *t, unsigned int index);
void case_end(struct t *t);
bool offers(struct t *t, const char *what);

/* ---- the agent */
const char *ask(struct t *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* the answer may be an error: 0, or its number */
int try_ask(struct t *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void peek(struct t *t, unsigned int mr, unsigned int offset, void *to, unsigned int length);
bool poll_completion(struct t *t, struct stream *s, struct completion *c);
struct completion completion(struct t *t, struct stream *s);	/* there must be one soon */
void no_completion(struct t *t, struct stream *s);
unsigned int qp_state(struct t *t, struct stream *s);
void post_receive(struct t *t, struct stream *s, unsigned int id, unsigned int offset, unsigned int length);
void memory_is(struct t *t, struct stream *s, unsigned int offset, const void *want, unsigned int length, const char *what);

/* ---- the wire, towards the target */
void send_raw(struct t *t, const struct soft_address *from, uint16_t port, uint8_t tos, const void *bytes, size_t length);
void send_to(struct t *t, const struct soft_address *from, const struct soft_address *to, uint16_t port, uint8_t tos,
	     const void *bytes, size_t length);
uint32_t send_numbered(struct t *t, struct out *o, unsigned int path, void *bytes, size_t length);
void header(struct mroce_wire_base *b, uint8_t type, uint8_t path, uint8_t epoch, uint32_t number, uint64_t id);
void hello_make(struct t *t, struct peer *p, struct mroce_wire_hello *w, uint64_t own_id, uint32_t half);
void hello_send(struct t *t, struct peer *p, const struct mroce_wire_hello *w);
struct mroce_wire_hello *hello_ask(struct t *t, struct peer *p, struct mroce_wire_hello *w);	/* with a cookie if asked for */

struct peer *peer_main(struct t *t);
struct peer *peer_fresh(struct t *t);	/* another address, another instance */
struct out *out_new(struct t *t, struct peer *p);
/* one that cases before have used, each path in a new epoch: a host allows a peer so many halves and no more */
struct out *out_shared(struct t *t, struct peer *p);

struct attributes {
	unsigned int access, receives, mr_access, reads, timeout, retry, rnr_retry, rnr_timer, traffic_class, hops;
	uint32_t psn, target_psn;
	bool no_rts, no_open, srq, psn_given;
	unsigned int depth;
};
#define DEFAULTS .access = ACCESS_ALL, .mr_access = ACCESS_ALL, .receives = 0, .reads = 16, .timeout = 14, .retry = 7, \
	.rnr_retry = 7, .rnr_timer = 12, .hops = 64, .depth = 64
struct stream *stream_new(struct t *t, struct out *o, const struct attributes *a);
struct stream *connected(struct t *t);	/* with everything as usual, on a half of its own */
struct stream *connected_with(struct t *t, const struct attributes *a);
void open_make(struct stream *s, struct mroce_wire_open *w, uint32_t attempt);
bool stream_open(struct t *t, struct stream *s);	/* OPEN until it is accepted */

struct message message(struct stream *s, uint8_t op, const void *data, uint32_t length);
struct message write_at(struct stream *s, unsigned int offset, const void *data, uint32_t length);
struct message read_at(struct stream *s, unsigned int offset, uint32_t length);
struct message atomic_at(struct stream *s, uint8_t op, unsigned int offset, const struct mroce_wire_atomic *a);
size_t message_packet(struct t *t, const struct message *m, uint32_t index, void *bytes);
uint32_t message_send(struct t *t, const struct message *m, uint32_t index, unsigned int path);	/* one packet; its number */
uint32_t message_send_all(struct t *t, const struct message *m, unsigned int path);
uint32_t probe_send(struct t *t, struct out *o, unsigned int path);
uint32_t control_send(struct t *t, struct out *o, unsigned int path, uint8_t op, uint32_t stream, uint32_t value);

/* ---- what comes */
typedef bool (*match_fn)(const struct packet *p, const void *what);
void run(struct t *t, uint64_t ms);
struct packet *next_packet(struct t *t, uint64_t ms);
/* the next that fits, others before it are forgotten; NULL after so long */
struct packet *wait_for(struct t *t, uint8_t type, match_fn fits, const void *what, uint64_t ms);
void forget(struct t *t);

static inline const struct mroce_wire_base *base_of(const struct packet *p) { return (const void *)p->bytes; }
static inline const struct mroce_wire_ack *ack_of(const struct packet *p) { return (const void *)p->bytes; }

/* the ACK of our half that first reports this number or a later one of the path; there must be one soon */
struct packet *ack_for(struct t *t, struct out *o, unsigned int path, uint32_t number);
bool ack_bit(const struct packet *ack, uint32_t number);
const struct mroce_wire_record *ack_record(const struct packet *ack, uint8_t kind);
/* all of our numbers up to this one; NACK of this number or NULL */
const struct mroce_wire_record *nack_for(struct t *t, struct out *o, unsigned int path, uint32_t number);
/* what we sent was taken, or was not */
void taken(struct t *t, struct out *o, unsigned int path, uint32_t number, const char *what);
void not_taken(struct t *t, struct out *o, unsigned int path, uint32_t number, const char *what);
/* again and again, as a sender does after a refusal that is not fatal */
void taken_at_last(struct t *t, const struct message *m, const char *what);
void still_works(struct t *t, struct stream *s);

/* a data packet of the target toward this stream */
struct packet *data_for(struct t *t, struct stream *s, uint8_t op, uint64_t ms);
struct packet *response_for(struct t *t, struct stream *s, uint8_t op);
/* the target's half toward us */
struct in *in_of(struct t *t, struct peer *p);
void ack_in(struct t *t, struct in *in, unsigned int path, const struct mroce_wire_record *records, unsigned int n);
void in_note(struct in *in, const struct packet *p, uint64_t now, bool take);

/* what the target sends, from its buffer of its memory */
void post(struct t *t, struct stream *s, uint64_t id, uint8_t op, unsigned int offset, unsigned int length, uint64_t addr,
	  uint32_t rkey, uint32_t imm, uint64_t compare, uint64_t swap);
/* answers a request of the target's with a response of our own */
void respond(struct t *t, struct stream *s, const struct packet *request, uint8_t op, const void *data, uint32_t length,
	     uint32_t imm, uint32_t spn, uint32_t msn);

/* ---- cases */
struct test_case {
	const char *name, *clauses, *says;
	void (*run)(struct t *t, long arg);
	long arg;
	unsigned int count;	/* 0: one; else so many, with arg and what follows it, each a case of its own */
	const char *needs;	/* what the target must offer */
};

struct chapter {
	const char *name, *title;
	const struct test_case *cases;
	unsigned int n;
};
#define CHAPTER(id, text) const struct chapter chapter_##id = { #id, text, cases, sizeof(cases) / sizeof(*cases) }

struct verdict {
	char name[96];
	const struct chapter *chapter;
	const struct test_case *c;
	enum { PASSED, FAILED, SKIPPED } what;
	char *why;
	uint64_t ms;
};

/* report.c */
struct report;
void report_tap(const struct verdict *v, unsigned int n);
int report_json(const char *file, const struct t *t, const struct verdict *v, unsigned int n);
int report_html(const char *file, const char *spec, const struct t *t, const struct verdict *v, unsigned int n);

#endif
