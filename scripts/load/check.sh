#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# check.sh MROCE_LOAD DEV ADDR [OPTION...]: runs every mode of mroce-load on one
# device of this host, and proves that it notices what it must notice. ADDR is
# an address of the device's netdev; further options go to every run (for
# example --no-window, which rxe needs). SECONDS_EACH (3). Exit status 0 if all is as expected.
set -u
if [ $# -lt 3 ]; then sed -n '3,6s/^# //p' "$0" >&2; exit 2; fi
load=$1 dev=$2 addr=$3; shift 3
opts=(--quiet "$@")
each=${SECONDS_EACH:-3}
bad=0 log=$(mktemp); trap 'rm -f "$log"' EXIT

# expect STATUS NAME COMMAND...: shows the output only if the status differs
expect() {
	local want=$1 name=$2 rc; shift 2
	timeout -s KILL 120 "$@" >"$log" 2>&1; rc=$?
	if [ $rc = "$want" ]; then
		echo "ok    $name"
	else
		echo "WRONG $name: status $rc, not $want: $*"; tail -25 "$log"; bad=1
	fi
}
self() { local want=$1 name=$2; shift 2; expect "$want" "$name" "$load" --self "$addr" --dev "$dev" --seconds "$each" "${opts[@]}" "$@"; }
# both ends as processes of their own
pair() {
	local want=$1 name=$2 srv; shift 2
	timeout -s KILL 120 "$load" --listen --dev "$dev" --quiet >"$log.s" 2>&1 & srv=$!
	expect "$want" "$name (client)" "$load" "$addr" --dev "$dev" --seconds "$each" "${opts[@]}" "$@"
	wait $srv; local rc=$?
	[ $rc = "$want" ] || { echo "WRONG $name (server): status $rc, not $want"; tail -25 "$log.s"; bad=1; }
	rm -f "$log.s"
}

expect 0 "self-test" "$load" --selftest --seed 1
self 0 "all, small" --seed 1 --max-size 16K
self 0 "all, 8 MiB" --seed 2
self 0 "mixed, 4 queue pairs, 2 threads" --seed 3 --max-size 256K --qps 4 --threads 2 --mode mixed
self 0 "poll on the last byte" --seed 4 --max-size 64K --mode poll --qps 1
self 0 "data, then flag" --seed 5 --max-size 64K --mode flag --qps 1
self 0 "last writer wins" --seed 6 --max-size 64K --mode last
self 0 "relaxed ordering" --seed 7 --max-size 256K --relaxed
self 0 "shared receive queue" --seed 8 --max-size 64K --srq=64 --qps 3
self 0 "events" --seed 9 --max-size 64K --events
self 0 "solicited events" --seed 10 --max-size 64K --solicited
self 0 "late receives" --seed 11 --max-size 16K --late-recv 3000
self 0 "empty pieces" --seed 12 --max-size 16K --zero-sge
self 0 "depth 4, no inline, one piece" --seed 13 --max-size 64K --depth 4 --inline 0 --sge 1
self 0 "rdma_cm" --seed 14 --max-size 64K --cm
self 0 "lag 1, lag 4" --seed 15 --max-size 16K --lag 4
pair 0 "two processes" --seed 16 --max-size 256K
pair 0 "two processes, rdma_cm" --seed 17 --max-size 64K --cm --events
for op in send send_imm write write_imm read cmp_swp fetch_add; do
	self 0 "only $op" --seed 18 --max-size 64K --ops $op --messages 500
done
for n in 1 2 5 20 77; do
	self 1 "a corrupted byte, message $n" --seed $((20 + n)) --max-size 64K --messages 400 --corrupt $n
done
for op in send write write_imm read; do
	self 1 "a corrupted byte, $op" --seed 30 --max-size 64K --messages 400 --ops $op --corrupt 7
done
self 1 "a byte too many" --seed 31 --max-size 64K --messages 400 --stray 5
pair 1 "a corrupted byte, two processes" --seed 32 --max-size 64K --corrupt 9

# a peer that hangs is a stall, a peer that dies a failure
timeout -s KILL 60 "$load" --listen --dev "$dev" --quiet >/dev/null 2>&1 & srv=$!
(sleep 2; pkill -STOP -P $srv; sleep 9; pkill -KILL -P $srv) &
expect 3 "a peer that hangs" "$load" "$addr" --dev "$dev" --seconds 30 --max-size 64K --stall 4 "${opts[@]}"
wait
timeout -s KILL 60 "$load" --listen --dev "$dev" --quiet >/dev/null 2>&1 & srv=$!
(sleep 2; pkill -KILL -P $srv) &
expect 1 "a peer that dies" "$load" "$addr" --dev "$dev" --seconds 30 --max-size 64K --stall 20 "${opts[@]}"
wait
[ $bad = 0 ] && echo "check: all as expected"
exit $bad
