# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154,SC2153 # shared with evaluate and its other parts
# SPDX-License-Identifier: GPL-2.0
#
# Sourced by evaluate, in a guest: cases of one bottleneck, with and without marks. It is the port between the routers; the delay is
# behind them, so that nothing but the bottleneck queues.

bottleneck() { # MTU: what the guest carries
	chain "$1"
	links
	free_run 1000
}
delayed() { outer delay "$(($1 / 2))us"; }
# bucket MBITS US: what that rate passes in this time, three packets at least: one that does not fit is never passed. In front of a
# queue half a millisecond makes up for timers that come late; while there is a queue it is empty.
bucket() {
	local bytes=$(($1 * $2 / 8))
	echo $((bytes > 3 * mtu ? bytes : 3 * mtu))
}
# backlog: mean bytes in the port's queue, 20 times a second
sample_backlog() {
	while sleep 0.05; do
		tc -n r -s qdisc show dev rs | awk '/^qdisc/ { inner = $2 } /backlog/ { b[inner] = $2 }
			END { v = b["red"] != "" ? b["red"] : b["netem"]; sub(/b$/, "", v); k = sub(/K$/, "", v); print v * (k ? 1024 : 1) }'
	done >"$TMPDIR/backlog"
}
# dropped: packets, by all queues of the port (a queue in another reports its own)
dropped() { tc -n r -s qdisc show dev rs | sed -n 's/.*dropped \([0-9]*\).*/\1/p' | sort -n | tail -n 1; }
passed() { tc -n r -s qdisc show dev rs | awk '/Sent/ { print $4; exit }'; }
# of what was sampled, without the warming up
tail_mean() { awk '{ v[NR] = $1 } END { for (i = int(NR / 3) + 1; i <= NR; i++) { s += v[i]; n++ } if (n) printf "%.6g", s / n }' "$1"; }

case_ecn() {
	local threshold paths rtt pid name drops
	for mtu in 1500 9000; do
		bottleneck $mtu
		for rtt in 100 10000; do
			threshold=$((rate * rtt / 8 / 5 + 2 * mtu))
			for paths in 1 16; do
				unlinks
				links
				on a "$tool" set a0 paths $paths && on b "$tool" set b0 paths $paths
				delayed $rtt
				tc -n r qdisc del dev rs root 2>/dev/null || true
				tc -n r qdisc add dev rs root handle 1: tbf rate "${rate}mbit" burst "$(bucket "$rate" 500)" limit 8m
				# with this burst, RED's mean is the queue itself, almost
				tc -n r qdisc add dev rs parent 1:1 handle 2: red limit 8m min $threshold max $((threshold + 1000)) \
					avpkt 1000 burst $((threshold / 1000 + 1)) probability 1 bandwidth "${rate}mbit" ecn
				name="$paths $([ $paths = 1 ] && echo path || echo paths), $(calc "$rtt / 1000") ms"
				sample_backlog &
				pid=$!
				mark
				goodput write "$SECS"
				{ kill $pid && wait $pid; } 2>/dev/null || true
				row "$name" write 1
				drops=$(dropped)
				verdict write "$name: of the link's payload" "$(calc "100 * $(value mbits) / $rate / $share")" % ">=" 95
				verdict write "$name: mean queue, of $threshold bytes" "$(calc "$(tail_mean "$TMPDIR/backlog") / $threshold")" x "<=" 2
				verdict write "$name: drops" "$drops" packets "<=" 0
			done
		done
		leave
	done
}

case_noecn() {
	local rtt most pid before
	for mtu in 1500 9000; do
		bottleneck $mtu
		for rtt in 100 10000; do
			delayed $rtt
			most=$(calc "($rtt + ($rtt > 1000 ? $rtt : 1000) * 1.5) / 1000")
			netem r rs rate "${rate}mbit" limit $((64000000 / mtu))
			mark
			on a ping -q -i 0.02 -w $((SECS + 2)) "$(addr b)" >"$TMPDIR/ping" &
			pid=$!
			goodput write "$SECS"
			wait $pid || true
			row "deep queue, $rtt us" write 1
			verdict write "deep, $(calc "$rtt / 1000") ms: of the link's payload" "$(calc "100 * $(value mbits) / $rate / $share")" % ">=" 90
			verdict write "deep, $(calc "$rtt / 1000") ms: round trip of a ping, mean" \
				"$(awk -F/ '/^rtt/ { print $5; n++ } END { if (!n) print 1e6 }' "$TMPDIR/ping")" ms "<=" "$most"
		done
		delayed 100
		# and the packet that is being sent
		netem r rs rate "${rate}mbit" limit $(($(packets_in $((rate * 100 / 8))) + 1))
		mark
		goodput write "$SECS"
		row "queue of 100 us" write 1
		verdict write "queue of 100 us: of the link's payload" "$(calc "100 * $(value mbits) / $rate / $share")" % ">=" 90
		# a token bucket of 5 ms, behind which one packet waits
		tc -n r qdisc del dev rs root
		tc -n r qdisc add dev rs root handle 1: tbf rate "$((rate / 2))mbit" burst "$(bucket $((rate / 2)) 5000)" limit $((mtu + 18))
		before=$(passed)
		mark
		goodput write "$SECS"
		row "policer" write 1
		verdict write "policer of half: of what it passes" "$(calc "100 * $(value mbits) / ($rate / 2) / $share")" % ">=" 90
		verdict write "policer of half: loss" "$(calc "100 * $(dropped) / ($(passed) - $before + $(dropped) + 1)")" % "<=" 15
		leave
	done
}

# 16 servers of one reader: all that they send meets at its port. A netdev of PCI says how fast that is; of these netdevs the reader
# knows it when it is told, and else delay is the only sign.
case_incast() {
	local known again
	for mtu in 1500 9000; do
		fabric $mtu 1 1 16
		devices 1
		free_run 1000
		plane 0 100 "$rate"
		for known in "speed unknown" "speed known"; do
			[ "$known" = "speed unknown" ] || on a "$tool" set ma0 capacity "$rate"
			flows -o read -w 1 -t 1 -d 16 ma0 "$(names b 16)"
			mark
			flows -o read -t "$SECS" -d 16 ma0 "$(names b 16)"
			row "16 servers, $known" read 1
			verdict read "$known: of the link's payload" "$(calc "100 * $(value mbits) / $rate / $share")" % ">=" 90
			verdict read "$known: Jain's index" "$(value jain)" "" ">=" 0.95
			again=$((since[tx_resent] > since[tx_lost] ? since[tx_resent] - since[tx_lost] : 0))
			verdict read "$known: sent again after a probe timeout" $again packets "<=" 0
			verdict read "$known: the same, of all packets" "$(calc "100 * $again / (${since[tx_packets]} + 1)")" %
		done
		undevices
		leave
	done
}
