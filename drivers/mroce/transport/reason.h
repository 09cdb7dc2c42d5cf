/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why something was dropped, refused or failed: one list from which the enum, the
 * names in tracepoints and netlink, and the counters are made. The enum's value is
 * also a completion's vendor_err.
 */
#ifndef MROCE_TRANSPORT_REASON_H
#define MROCE_TRANSPORT_REASON_H

/* X(symbol, "counter_name", "what happened") */
#define MROCE_REASONS(X) \
	X(NONE,			"none",			"no reason") \
	/* packets dropped before anything was touched */ \
	X(RX_SHORT,		"rx_short",		"packet shorter than its header") \
	X(RX_MALFORMED,		"rx_malformed", \
	  "field out of range or lengths that disagree") \
	X(RX_VERSION,		"rx_version",		"wire version not spoken here") \
	X(RX_TYPE,		"rx_type",		"unknown packet type or opcode") \
	X(RX_ID,		"rx_unknown_id",	"connection id not known") \
	X(RX_ADDRESS,		"rx_address", \
	  "source or destination is not the connection's, or no device has it") \
	X(RX_PATH,		"rx_path",		"path index or epoch not in use") \
	X(RX_STREAM,		"rx_unknown_stream", \
	  "stream id not known on this connection") \
	X(RX_NUMBER,		"rx_number", \
	  "ACK or record about a number never sent") \
	X(RX_QPN,		"rx_qpn", \
	  "datagram to a queue pair that is not there or not ready") \
	X(RX_QKEY,		"rx_qkey",		"datagram with a wrong Q_Key") \
	X(RX_NOMEM,		"rx_nomem",		"no memory for a packet's state") \
	X(RX_STATE,		"rx_state",		"connection or device is closing") \
	X(RX_GSO,		"rx_gso", \
	  "forged or unusable segmentation offload") \
	X(RX_GAP,		"rx_gap", \
	  "packet of a UC message of which earlier ones are missing") \
	/* packets not taken, with the sender told */ \
	X(RX_DUPLICATE,		"rx_duplicate",		"stream number already placed") \
	X(RX_CLAIMED,		"rx_claimed", \
	  "stream number is being copied by another packet") \
	X(NAK_RNR,		"nak_rnr",		"no receive buffer") \
	X(NAK_HOLD,		"nak_hold",		"hold limit reached") \
	X(NAK_WINDOW,		"nak_window",		"beyond the stream or message window") \
	X(NAK_READS,		"nak_reads",		"beyond the read and atomic resources") \
	X(NAK_NOT_READY,	"nak_not_ready",	"queue pair not in RTR") \
	X(NAK_MEMORY,		"nak_memory",		"receiver short of memory") \
	X(NAK_FAULT,		"nak_fault",		"page not present") \
	X(NAK_ACCESS,		"nak_access", \
	  "key, range, right or domain does not fit") \
	X(NAK_LENGTH,		"nak_length", \
	  "longer than the receive buffer, or malformed") \
	X(NAK_GONE,		"nak_gone",		"stream is closed") \
	X(NAK_OPERATION,	"nak_operation",	"receiver failed to carry it out") \
	/* failures of a work request, or of all toward a peer or queue pair (two) */ \
	X(ERR_RETRY,		"err_retry", \
	  "no progress within timeout and retry_cnt") \
	X(ERR_RNR_RETRY,	"err_rnr_retry",	"rnr_retry used up") \
	X(ERR_PEER_RESET,	"err_peer_reset", \
	  "connections that ended as the peer had restarted, whatever was under way") \
	X(ERR_REFUSED,		"err_refused", \
	  "connections and streams that the peer refused, whatever was under way") \
	X(ERR_LOCAL_KEY,	"err_local_key", \
	  "local key, range or right does not fit") \
	X(ERR_LOCAL_LENGTH,	"err_local_length", \
	  "message length against its buffers or the limit") \
	X(ERR_LOCAL_OP,		"err_local_op", \
	  "request not allowed in this state or on this queue pair") \
	X(ERR_FLUSHED,		"err_flushed",		"queue pair in the error state") \
	X(ERR_CQ,		"err_cq",		"completion queue overran") \
	/* local transmission */ \
	X(TX_LOCAL_DROP,	"tx_local_drop", \
	  "queueing discipline or driver below dropped it") \
	X(TX_NOMEM,		"tx_nomem",		"no memory for an skb") \
	X(TX_NO_ROUTE,		"tx_no_route",		"no route or neighbour")

enum mroce_reason {
#define X(sym, name, text) MROCE_REASON_##sym,
	MROCE_REASONS(X)
#undef X
	MROCE_REASON_MAX
};

#endif
