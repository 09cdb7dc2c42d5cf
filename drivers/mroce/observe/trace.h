/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints: /sys/kernel/tracing/events/mroce. Each is a point where something is lost
 * or changes state, none is on the path of every packet. Any context.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mroce

#if !defined(MROCE_OBSERVE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define MROCE_OBSERVE_TRACE_H

#include <linux/tracepoint.h>

#include "../transport/reason.h"

#ifndef MROCE_TRACE_REASONS
#define MROCE_TRACE_REASON_PAIR(sym, name, text) { MROCE_REASON_##sym, name },
#define MROCE_TRACE_REASONS	MROCE_REASONS(MROCE_TRACE_REASON_PAIR) { -1, NULL }
#endif

#ifndef MROCE_TRACE_PATH_STATES
#define MROCE_TRACE_PATH_STATES \
	{ 0, "probing" }, { 1, "active" }, { 2, "suspect" }, { 3, "failed" }
#endif

/* a packet was dropped, refused, or a stream failed: @device "-" before one is known */
TRACE_EVENT(mroce_drop,
	TP_PROTO(const char *device, int reason),
	TP_ARGS(device, reason),
	TP_STRUCT__entry(
		__array(char, device, 32)
		__field(int, reason)
	),
	TP_fast_assign(
		strscpy(__entry->device, device, sizeof(__entry->device));
		__entry->reason = reason;
	),
	TP_printk("device=%s reason=%s", __entry->device,
		  __print_symbolic(__entry->reason, MROCE_TRACE_REASONS))
);

/* a device was added or removed, or its port changed; @what says which */
TRACE_EVENT(mroce_device,
	TP_PROTO(const char *device, const char *netdev, const char *what),
	TP_ARGS(device, netdev, what),
	TP_STRUCT__entry(
		__array(char, device, 32)
		__array(char, netdev, 16)
		__array(char, what, 16)
	),
	TP_fast_assign(
		strscpy(__entry->device, device, sizeof(__entry->device));
		strscpy(__entry->netdev, netdev, sizeof(__entry->netdev));
		strscpy(__entry->what, what, sizeof(__entry->what));
	),
	TP_printk("device=%s netdev=%s %s", __entry->device, __entry->netdev, __entry->what)
);

/* a path of the sending half with this id is in another state (enum mroce_path_state) */
TRACE_EVENT(mroce_path,
	TP_PROTO(const char *device, u64 half, u8 path, u8 plane, u8 from, u8 to),
	TP_ARGS(device, half, path, plane, from, to),
	TP_STRUCT__entry(
		__array(char, device, 32)
		__field(u64, half)
		__field(u8, path)
		__field(u8, plane)
		__field(u8, from)
		__field(u8, to)
	),
	TP_fast_assign(
		strscpy(__entry->device, device, sizeof(__entry->device));
		__entry->half = half;
		__entry->path = path;
		__entry->plane = plane;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("device=%s half=%llx path=%u plane=%u %s -> %s", __entry->device,
		  __entry->half, __entry->path, __entry->plane,
		  __print_symbolic(__entry->from, MROCE_TRACE_PATH_STATES),
		  __print_symbolic(__entry->to, MROCE_TRACE_PATH_STATES))
);

#endif

/* found through the -I of the module's include/, which every build of it has */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH ../drivers/mroce/observe
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
