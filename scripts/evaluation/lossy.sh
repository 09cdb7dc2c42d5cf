# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154,SC2153 # shared with evaluate and its other parts
# SPDX-License-Identifier: GPL-2.0
#
# Sourced by evaluate, in a guest: cases of a network that loses and reorders.

# limited MTU RTT-US: the chain, at 1 Gb/s or the rate that the guest can do
limited() {
	chain "$1"
	links
	inner '' 0
	outer
	free_run 1000
	inner "$rate" "$2"
}

# compare RTT-US OPTION LOSS:TARGET...: each operation without loss, and its share of that at each
compare() {
	local rtt=$1 depth=$2 type op what base
	shift 2
	for mtu in 1500 9000; do
		limited $mtu "$rtt"
		for type in ${TYPES//,/ }; do
			# the others are there to compare with: once
			[ "$type" = mroce ] || [ $mtu = 9000 ] || continue
			unlinks
			TYPE=$type
			# where instructions count, hours pass while a program is read for the first time
			if [ "$type" = tcp ]; then goodput tcp 1; else links; fi
			for op in $([ "$type" = tcp ] && echo tcp || echo write send read); do
				outer
				several "$op" "no loss" -d "$depth"
				base=$(value mbits)
				verdict "$op" "no loss; of the link's payload" "$(calc "100 * $base / $rate / $share")" % ">=" 90
				for what; do
					outer loss "${what%:*}%"
					several "$op" "loss ${what%:*}%" -d "$depth"
					verdict "$op" "loss ${what%:*}%" "$(calc "$base ? 100 * $(value mbits) / $base : 0")" % ">=" "${what#*:}"
				done
			done
		done
		TYPE=mroce
		leave
	done
}
# several OPERATION WHAT [OPTION...]: the median run becomes the last
several() {
	local run best
	for ((run = 1; run <= RUNS; run++)); do
		mark
		goodput "$1" "$(seconds_of "$TYPE")" "${@:3}"
		row "$2" "$1" $run
		cp "$TMPDIR/flows" "$TMPDIR/flows.$run"
	done
	best=$(for ((run = 1; run <= RUNS; run++)); do
		echo "$(awk '$1 == "mbits" { v = $2 } END { print v + 0 }' "$TMPDIR/flows.$run") $run"
	done | sort -g | awk '{ run[NR] = $2 } END { print run[int((NR + 1) / 2)] }')
	cp "$TMPDIR/flows.$best" "$TMPDIR/flows"
}
seconds_of() { [ "$1" = mroce ] && echo "$SECS" || calc "$SECS < 3 ? $SECS : 3"; }

case_loss() { compare 100 32 0.1:99 1:97 5:92 10:85; }
case_far() { compare 10000 128 1:95; }

case_latency() {
	local depth base
	for mtu in 1500 9000; do
		limited $mtu 100
		for depth in 1 16; do
			outer
			mark
			flows -o write -s 8192 -d $depth -w 1 -t "$SECS" a0 b0
			row "depth $depth" write 1
			base=$(value p50)
			verdict write "depth $depth: no loss, median" "$(calc "$base / 1000")" ms
			outer loss 1%
			mark
			flows -o write -s 8192 -d $depth -w 1 -t "$SECS" a0 b0
			row "depth $depth, loss 1%" write 1
			verdict write "depth $depth: loss 1%, p99 above that" "$(calc "$(value p99) ? ($(value p99) - $base) / 1000 : 1e6")" ms "<=" 1.2
		done
		leave
	done
}

case_reorder() {
	local base sent
	for mtu in 1500 9000; do
		limited $mtu 100
		outer delay 1ms
		mark
		goodput write "$SECS"
		row "delay 1ms" write 1
		base=$(value mbits)
		verdict write "1 ms for all; of the link's payload" "$(calc "100 * $base / $rate / $share")" % ">=" 90
		outer delay 1ms reorder 25%
		mark
		goodput write $((SECS < 6 ? SECS : 30))
		row "delay 1ms reorder 25%" write 1
		verdict write "25% come early" "$(calc "$base ? 100 * $(value mbits) / $base : 0")" % ">=" 95
		sent=${since[tx_packets]}
		verdict write "25% come early: sent again" "$(calc "$sent ? 100 * ${since[tx_resent]} / $sent : 100")" % "<=" 1
		leave
	done
}
