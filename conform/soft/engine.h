/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the model share. The names are those of Documentation/protocol.rst. */
#ifndef SOFT_ENGINE_H
#define SOFT_ENGINE_H

#include "packets.h"
#include "soft.h"

#define US 1000ULL
#define MS (1000 * US)
#define SEC (1000 * MS)
#define NEVER (~0ULL)

enum {
	MAX_PATHS = 64, FLIGHT = 4096, WINDOW = 4096, LOG_WINDOW = 12, MESSAGES = 1024, LOG_MESSAGES = 10,
	LEAST_PAYLOAD = 1024, PROBE_BYTES = 1264, ACK_DATAGRAM = 1232, PACKET_COST = 120, FIRST_WINDOW = 65536,
	MAX_HALVES = 1024, HALVES_WITHOUT_COOKIE = 64, TOMBSTONES = 64,
};

struct region {
	struct region *next;
	uint8_t *memory;
	uint64_t at, length;
	uint32_t rkey;
	unsigned int access;
};

/* ---- sending */

enum packet_state { UNSENT, FLYING, LOST, REFUSED, DONE };

/* a message as its sender has it */
struct message {
	struct message *next;
	struct space *space;
	struct soft_work work;
	uint8_t *data, *packet;	/* own copy of what travels; enum packet_state of each packet */
	uint8_t *losses, *last_path;
	uint32_t msn, rsn, first, packets, psize, length;
	uint32_t low;		/* packets before it are DONE */
	uint32_t unsent;	/* the first that was never sent */
	unsigned int references;
	bool cut, ordered, answered, closed, owned;
	uint8_t failed;		/* enum mroce_nack that ends it */
};

struct space {			/* of a stream, at its sender */
	struct soft_qp *qp;
	struct message *head, **tail;
	uint32_t next_spn, next_msn, next_rsn;
	uint32_t window, messages;
	uint32_t peer_stream;
	uint32_t credit;
	bool no_credit, response;
	unsigned int lost;	/* packets in state LOST or REFUSED */
	/* a refusal: nothing from here on until then ([R1]) */
	uint8_t paused;
	uint32_t paused_spn, paused_low;
	uint64_t paused_until, resumed_at;
	unsigned int pause_doublings, rnr_episodes;
};

enum flight_state { FREE, IN_FLIGHT, GONE, ANSWERED, KEPT_BACK };

struct flight {			/* one transmission */
	uint32_t number;
	uint8_t type, state, op;
	bool by_gap, asked;
	struct message *message;
	uint32_t index, bytes, stream, value;
	struct soft_qp *qp;
	uint64_t at;
};

enum path_state { PROBING, ACTIVE, SUSPECT, FAILED };

struct path {
	struct half *half;
	uint8_t index, epoch, plane;
	enum path_state state;
	uint16_t port;
	uint32_t next, oldest;	/* numbers */
	struct flight *flight;	/* FLIGHT of them, by number */
	uint64_t window, in_flight;	/* bytes */
	bool start_up;
	uint64_t srtt, rttvar, base, last_ack, progress;
	uint32_t highest;	/* that an ACK reported */
	unsigned int timeouts, rounds;
	uint64_t timed_out, failed_at, probe_at, threshold_at;
	unsigned int unanswered;
	uint32_t threshold, newest_by_gap;	/* reordering ([A7]) */
	uint32_t packets, ce;	/* as the last ACK has them */
	uint64_t round_at, round_bytes, grown_at;
	uint32_t round_lost, round_acked, round_ce;
	uint32_t since_round;
};

enum half_state { IDLE, HELLO, OPEN, DEAD };

struct pair {			/* of a plane */
	struct soft_address own, peer;
	bool usable, verified;
	uint64_t nonce, echo, at, wait;
};

struct half {			/* that sends */
	struct half *next;
	struct soft *soft;
	enum half_state state;
	struct soft_address own, peer;
	uint64_t id, peer_id, peer_instance, nonce;
	uint32_t number, serial;
	uint8_t cookie[16];
	bool cookied, restart;
	uint64_t hello_at, hello_wait, hello_since, unused_at;
	unsigned int paths, payload, users;
	struct path path[MAX_PATHS];
	unsigned int turn;
	struct pair pair[MROCE_MAX_PLANES];
	unsigned int pairs;
	uint64_t share, share_until, send_at, share_halved;
	uint64_t allowance;
	uint8_t tos, hops;
	struct control {
		struct control *next;
		uint8_t op;
		uint32_t stream, value;
	} *control;
};

/* ---- receiving */

struct receive {
	struct receive *next;
	uint64_t id;
	uint8_t *data;
	uint32_t length, rsn;
};

struct arrival {		/* a message as its receiver has it */
	bool used;
	uint8_t opcode, flags;
	uint32_t first, packets, placed, length, rsn, rkey, imm;
	uint64_t addr;
	uint16_t psize;
	uint8_t operands[ATOMIC_BYTES];
	uint32_t bytes;
	bool has_imm, replaced;
	struct message *request;
};

struct held {
	struct held *next;
	uint32_t spn;
	struct data data;
	uint8_t payload[];
};

enum number_state { NOTHING, PLACED, HELD };

struct receiver {		/* of a space */
	uint32_t base, cursor, cursor_spn;
	uint8_t number[WINDOW];
	struct arrival message[MESSAGES];
	struct held *held;
	uint8_t refusing;	/* enum mroce_nack; from refused_msn on */
	uint32_t refused_msn, refused_rsn, refused_base;
	bool fatal;
};

struct rx_path {
	bool seen;
	uint8_t epoch;
	uint16_t port;
	uint8_t tos;
	uint32_t highest, packets, ce, stamp, unacknowledged;
	uint64_t bytes, bits[4], stamp_at, ack_at;
	bool marked, duplicate;
	struct mroce_wire_record record[MROCE_MAX_RECORDS];
	unsigned int records;
	struct soft_address own, peer;
};

struct tombstone {
	uint32_t stream, base;
	uint64_t until;
};

struct rx_half {
	struct rx_half *next;
	struct soft *soft;
	struct soft_address own, peer;
	uint64_t id, peer_id, peer_instance;
	uint32_t number, serial;
	unsigned int paths, payload, streams;
	bool heard;
	uint64_t heard_at;
	struct rx_path path[MAX_PATHS];
	struct tombstone tombstone[TOMBSTONES];
	unsigned int tombstones;
	struct pair pair[MROCE_MAX_PLANES];
	unsigned int pairs;
	uint64_t backlog, backlog_at, rate_at, rate_bytes;
};

struct soft_qp {
	struct soft_qp *next;
	struct soft *soft;
	enum soft_type type;
	enum soft_state state;
	unsigned int access;
	uint32_t qpn, stream, qkey;
	struct soft_connect connect;
	struct half *half;
	struct rx_half *rx_half;	/* by which requests come */
	uint32_t opener;		/* the stream id that the peer's OPEN gave */
	bool opened, accepted;
	uint32_t attempt;
	uint64_t open_at, open_wait, progress, deadline;
	bool awaited;
	struct space requests, responses;
	struct receiver rx_requests, rx_responses;
	struct receive *receive, **receive_tail;
	uint32_t posted, taken;
	unsigned int reads, reading, answering;
	struct done {
		struct done *next;
		struct soft_completion c;
	} *done, **done_tail;
	/* UC */
	uint32_t psn, expected;
	struct receive *uc_buffer;
	bool uc_open;
	uint32_t uc_first;
};

struct soft {
	struct soft_config config;
	struct soft_counters count;
	uint64_t now, rng, instance, secret;
	uint32_t next_qpn, next_half, next_rkey;
	struct half *halves;
	struct rx_half *rx_halves;
	struct soft_qp *qps;
	struct region *regions;
	unsigned int resets, refusals;	/* left of this second */
	uint64_t second;
};

/* node.c */
uint64_t soft_random(struct soft *s);
bool same(const struct soft_address *a, const struct soft_address *b);
bool is_v4(const struct soft_address *a);
void transmit(struct soft *s, const struct soft_address *from, const struct soft_address *to, uint16_t port, uint8_t tos,
	      uint8_t hops, const void *bytes, size_t length);
void base(struct mroce_wire_base *b, uint8_t type, uint8_t path, uint8_t epoch, uint32_t number, uint64_t id);
uint32_t stamp(const struct soft *s);

/* hello.c */
struct half *half_toward(struct soft *s, const struct soft_address *peer);
void half_free(struct half *h);
void half_dead(struct half *h);
void half_timers(struct half *h);
void hello_input(struct soft *s, const struct soft_datagram *d);
void hello_ack_input(struct soft *s, const struct soft_datagram *d);
void reset_input(struct soft *s, const struct soft_datagram *d);
void reset_answer(struct soft *s, const struct soft_datagram *d);
void verify_input(struct soft *s, const struct soft_datagram *d);
void rx_half_free(struct rx_half *h);
struct rx_half *rx_half_find(struct soft *s, const struct soft_datagram *d, uint64_t id);

/* path.c */
void flights_drop(struct path *p);
void path_start(struct path *p, bool fresh);
void path_timers(struct path *p);
struct flight *path_send(struct path *p, uint8_t type, void *packet, size_t length, uint32_t bytes);
void ack_input(struct soft *s, const struct soft_datagram *d);
void packet_again(struct half *h, struct flight *f, uint8_t state);
struct path *path_for(struct half *h, int preferred);
void probe(struct path *p, unsigned int padding);

/* tx.c */
struct message *message_new(struct space *sp, const struct soft_work *w, const void *data, uint32_t length);
void message_put(struct message *m);
void space_start(struct space *sp, struct soft_qp *qp, bool response, uint32_t spn);
void space_end(struct space *sp);
void space_refused(struct space *sp, struct flight *f, uint8_t reason, uint8_t timer, uint32_t msn);
void space_resume(struct space *sp);
void half_pump(struct half *h);
void control_later(struct half *h, uint8_t op, uint32_t stream, uint32_t value);
void open_send(struct soft_qp *qp);
void open_reply_input(struct soft *s, const struct soft_datagram *d);
void complete(struct soft_qp *qp);
void space_released(struct space *sp, uint32_t below);
void qp_timers(struct soft_qp *qp);

/* rx.c */
void numbered_input(struct soft *s, const struct soft_datagram *d);
void rx_timers(struct rx_half *h);
void credit_news(struct soft_qp *qp);

/* stream.c */
enum landed { TAKEN, DUPLICATE, DROPPED, NACKED };
enum landed stream_input(struct soft_qp *qp, const struct data *d, uint8_t *reason, uint8_t *timer);
void receiver_start(struct receiver *r, uint32_t spn);
void receiver_end(struct receiver *r);

/* qp.c */
struct soft_qp *qp_find(struct soft *s, uint32_t qpn);
void qp_fail(struct soft_qp *qp, enum soft_status status);
void qp_done(struct soft_qp *qp, const struct soft_completion *c);
struct region *region_find(struct soft *s, uint32_t rkey, uint64_t addr, uint64_t length, unsigned int access);
uint32_t credit_of(const struct soft_qp *qp);

/* dgram.c */
void ud_input(struct soft *s, const struct soft_datagram *d);
void uc_input(struct soft *s, const struct soft_datagram *d);
void ud_send(struct soft_qp *qp, const struct soft_work *w);
void uc_send(struct soft_qp *qp, const struct soft_work *w);

#endif
