# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154,SC2153 # shared with evaluate and its other parts
# SPDX-License-Identifier: GPL-2.0
#
# Sourced by evaluate, in a guest: cases of several planes.

# fabric_limit PLANES MBITS: what each of them gets, if the guest carries that
fabric_limit() {
	local p
	devices "$1"
	for ((p = 0; p < $1; p++)); do plane $p 0; done
	free_run "$2" "$1"
}

case_planes() {
	local n p base=0
	for mtu in 1500 9000; do
		fabric $mtu 8 1 1
		fabric_limit 8 200
		for ((p = 0; p < 8; p++)); do plane $p 100 "$rate"; done
		for n in 1 2 4 8; do
			undevices
			devices $n
			mark
			goodput write "$SECS"
			row "$n planes" write 1
			if [ $n = 1 ]; then
				base=$(value mbits)
				verdict write "1 plane of $rate Mb/s; of its payload" "$(calc "100 * $base / $rate / $share")" % ">=" 92
			else
				verdict write "$n planes; of one" "$(calc "$base ? $(value mbits) / $base : 0")" x ">=" "$(calc "0.97 * $n")"
			fi
		done
		undevices
		leave
	done
}

case_unequal() {
	local rtt
	for mtu in 1500 9000; do
		fabric $mtu 2 1 1
		fabric_limit 2 250
		for rtt in 100 5000; do
			plane 0 $rtt $((rate * 8 / 5))
			plane 1 $rtt $((rate * 2 / 5))
			undevices
			devices 2
			mark
			goodput write "$SECS"
			row "unequal, $rtt us" write 1
			verdict write "$((rate * 8 / 5)) + $((rate * 2 / 5)) Mb/s, $(calc "$rtt / 1000") ms: of their payload" \
				"$(calc "100 * $(value mbits) / ($rate * 2) / $share")" % ">=" 95
		done
		undevices
		leave
	done
}

# Every device of a has a connection to every one of b. Where planes are slower than 200 Mb/s there are fewer than 64, so that a
# connection has as much: what it has, in packets a round trip, is what is hard about many
case_mesh() {
	local n p four=0 eight=0 width=16 seconds=$SECS traffic flows_limit=300
	if [ "$SECS" -ge 6 ]; then
		seconds=60 width=64
		[ -z "$RATE" ] || width=$(calc "int(64 * sqrt($RATE / 1600))")
		width=$((width > 64 ? 64 : width))
	fi
	fabric 1500 8 "$width" "$width"
	traffic=(-o write -s 8192 -d 16 -w 10 "$(names a "$width")" "$(names b "$width")")
	echo "# mesh: $((16 * width)) netdevs of hosts after $SECONDS s"
	devices 8
	echo "# mesh: $((2 * width)) devices after $SECONDS s"
	for ((p = 0; p < 8; p++)); do plane $p 0; done
	free_run 200 8 -t 5 "${traffic[@]}"
	# where the planes are slower the queue is as long as it is at 200 Mb/s
	for ((p = 0; p < 8; p++)); do plane $p 100 "$rate" $((rate * (1 << 20) / 200)); done
	echo "# mesh: connected and measured after $SECONDS s"
	for n in 8 4; do
		[ $n = 8 ] || { undevices && devices $n; }
		mark
		flows -t "$seconds" "${traffic[@]}"
		row "$width x $width, $n planes" write 1
		verdict write "$width x $width, $n planes of $rate Mb/s; of their payload" "$(calc "100 * $(value mbits) / $rate / $n / $share")" %
		verdict write "$width x $width, $n planes: without progress" "$(value idle)" "queue pairs" "<=" 0
		verdict write "$width x $width, $n planes: Jain's index" "$(value jain)" "" ">=" 0.95
		[ $n = 8 ] && eight=$(value mbits) || four=$(value mbits)
	done
	verdict write "$width x $width: 8 planes, of four" "$(calc "$four ? $eight / $four : 0")" x ">=" 1.9
	undevices
	leave
}

# reached_after FROM WINDOW COLUMN MBITS: milliseconds after FROM until a window of so many milliseconds has that rate in a column of the series
# (0: the sum of all); 1e6: never
reached_after() {
	awk -F, -v from="$1" -v window="$2" -v column="$3" -v want="$4" '
		$1 >= from { n++; t[n] = $1; for (i = 2; i <= NF; i++) if (!column || i == column + 1) b[n] += $i }
		END {
			for (i = j = 1; i <= n; i++) {
				while (j < n && t[j] - t[i] < window / 1000) j++
				if (t[j] - t[i] < window / 1000) break
				if ((b[j] - b[i]) * 8 / (t[j] - t[i]) / 1e6 >= want) { printf "%.1f", (t[i] - from) * 1000; exit }
			}
			print 1000000
		}' "$TMPDIR/series"
}
mean_between() { # FROM TO: of all columns
	awk -F, -v from="$1" -v to="$2" '{ s = 0; for (i = 2; i <= NF; i++) s += $i }
		$1 >= from && !t0 { t0 = $1; b0 = s } $1 <= to { t1 = $1; b1 = s }
		END { printf "%.6g", (t1 > t0) ? (b1 - b0) * 8 / (t1 - t0) / 1e6 : 0 }' "$TMPDIR/series"
}
# all packets of plane 2 vanish, both ways; carriers stay
case_cut() {
	local p began cut healed four three pid files
	for mtu in 1500 9000; do
		fabric $mtu 4 1 1
		fabric_limit 4 200
		for p in 0 1 2 3; do plane $p 100 "$rate"; done
		undevices
		devices 4
		files=
		for p in 0 1 2 3; do files+=,/sys/class/net/y${p}_0/statistics/rx_bytes; done
		mark
		goodput write $((SECS * 2)) -W "${files#,}" -S "$TMPDIR/series" &
		pid=$!
		for ((p = 0; p < 100; p++)); do
			[ "$(device_counter mb0 rx_bytes)" -lt 1000000 ] || break
			sleep 0.1
		done
		began=$EPOCHREALTIME
		sleep 2
		tc -n r qdisc replace dev br2_2 root netem loss 100% limit 1000
		cut=$EPOCHREALTIME
		tc -n r qdisc replace dev br1_2 root netem loss 100% limit 1000
		sleep "$(calc "$SECS * 0.7")"
		plane 2 100 "$rate"
		healed=$EPOCHREALTIME
		wait $pid
		row "cut and healed" write 1
		four=$(mean_between "$(exact "$began + 1")" "$cut")
		three=$(mean_between "$(exact "$cut + 0.5")" "$healed")
		awk -F, -v cut="$cut" -v healed="$healed" 'BEGIN { print "seconds,mbits,phase" }
			{ s = 0; for (i = 2; i <= NF; i++) s += $i }
			!t0 { t0 = t = $1; b = s }
			$1 - t >= 0.02 {
				printf "%.3f,%.2f,%s\n", ($1 + t) / 2 - t0, (s - b) * 8 / ($1 - t) / 1e6, $1 < cut ? "all" : $1 < healed ? "cut" : "healed"
				t = $1
				b = s
			}' "$TMPDIR/series" >"$out/cut.series.csv"
		verdict write "four planes of $rate Mb/s" "$(calc "100 * $four / $rate / 4")" %
		verdict write "one is cut: error" "$([ "$(value mbits)" = 0 ] && echo 1 || echo 0)" "" "<=" 0
		verdict write "one is cut: rate later, of three" "$(calc "$four ? 100 * $three / $four / 0.75 : 0")" % ">=" 95
		verdict write "one is cut: 95% of three after" "$(reached_after "$cut" 50 0 "$(calc "$four * 0.75 * 0.95")")" ms "<=" 20
		verdict write "healed: its plane is in use again after" "$(reached_after "$healed" 50 3 "$(calc "$four / 4 * 0.5")")" ms "<=" 1500
		verdict write "healed: 95% of four after" "$(reached_after "$healed" 100 0 "$(calc "$four * 0.95")")" ms "<=" 1500
		undevices
		leave
	done
}
