# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # shared with bench and its other parts
# SPDX-License-Identifier: GPL-2.0
#
# Sourced by bench, in a guest: one run of one program, and what is written about it. A figure is of a row, which is what
# is done, and of a subject, which is who does it: a type of device, TCP, UDP or ceiling.

SECS=1
calc() { awk "BEGIN { printf \"%.6g\", $1 }"; }

# ---- runs; each prints a number, or nothing if it failed

# perftest TOOL OPTION...: what its table says. siw has no connections but rdma_cm's.
perftest() {
	local of_b of_a
	if [ "$TYPE" = siw ]; then
		of_b=-R of_a=-R
	else
		of_b="-x $(gid "$server")" of_a="-x $(gid "$client")"
	fi
	# not in one file: remarks would be in the middle of the table
	exchange "$*" "$1 -d ${server}0 $of_b -F ${*:2}" "$1 -d ${client}0 $of_a -F ${*:2} $(addr "$server") 2>$log.remarks" \
		>"$log.verdict"
	grep -q '^ok' "$log.verdict" && awk '/^ *[0-9]+ +[0-9]+ / { print; exit }' "$log"
}
# Without margins all of the time counts. What perftest says of averages needs a clock that it understands: messages do.
bandwidth() { perftest "$@" -D $SECS -f 0 | awk '{ print $1 * $2 / '$SECS' / 1e6 }'; } # MB/s
messages() { perftest "$@" -D $SECS -f 0 | awk '{ print $2 / '$SECS' }'; }
# latency TOOL OPTION...: typical, 99% and 99.9%, us
latency() { perftest "$@" -n 5000 | awk '$5 ~ /^[0-9.]+$/ { print $5, $8, $9 }'; }

# tcp OPTION...: MB/s. Of several streams the sum comes last. Whatever unit it is told, iperf3 takes a larger one for much.
tcp() {
	exchange TCP "iperf3 -s -1" "iperf3 -c $(addr b) -t $((SECS + 1)) -f m $*" >"$log.verdict"
	grep -q '^ok' "$log.verdict" && awk '/receiver/ { rate = $(NF - 2); unit = $(NF - 1) }
		END {
			bits["bits/sec"] = 1e-6; bits["Kbits/sec"] = 1e-3; bits["Mbits/sec"] = 1; bits["Gbits/sec"] = 1e3
			if (rate && unit in bits) print rate * bits[unit] / 8
		}' "$log"
}
# of a request and its response, as perftest's, half of it: us
udp_latency() {
	local pid
	on b qperf >"$log.server" 2>&1 &
	pid=$!
	until on b ss -Htln | grep -q :19765 || ! kill -0 $pid; do sleep 0.1; done
	timeout 20 "$(type -P ip)" netns exec a qperf -t $SECS -uu "$(addr b)" udp_lat >"$log" 2>&1
	on a qperf "$(addr b)" quit >"$log.quit" 2>&1
	wait $pid
	awk '$1 == "latency" { us["ns"] = 0.001; us["us"] = 1; us["ms"] = 1000; print $3 * us[$4] }' "$log"
}

# flows SECONDS OPTION...: MB/s that mroce-flows reaches
flows() {
	timeout 30 ip netns exec b "$TOP/build/load/mroce-flows" -t "$@" a0 b0 >"$log.flows" 2>"$log"
	awk '$1 == "mbits" { print $2 / 8 }' "$log.flows"
}
# 10 ms of all processors, idle ones left out
busy() { awk '$1 == "cpu" { print $2 + $3 + $4 + $7 + $8 }' /proc/stat; }
# seconds of processors a GB of 64 KiB Writes, whose program sleeps while it waits
processor_flows() {
	local before rate
	before=$(busy)
	rate=$(flows 4 -w 0 -d 32)
	[ -n "$rate" ] && calc "($(busy) - $before) / 100 / ($rate * 4 / 1000)"
}
processor_tcp() {
	local before rate
	before=$(busy)
	rate=$(SECS=3 tcp -l 64K)
	[ -n "$rate" ] && calc "($(busy) - $before) / 100 / ($rate * 4 / 1000)"
}

# registration NAME: of what mroce-registration prints, once for all names
registration() {
	[ -s "$log.registration.$TYPE" ] || timeout 60 "$TOP/build/load/mroce-registration" a0 >"$log.registration.$TYPE" 2>"$log"
	awk -v name="$1" '$1 == name { print $2 / 1000 }' "$log.registration.$TYPE"
}

# streams N: MB/s of so many programs, each with a queue pair of its own, at once
streams() {
	local i pids=() failures=0
	for ((i = 0; i < $1; i++)); do
		timeout 20 ip netns exec b ib_write_bw -d b0 -x "$(gid b)" -F -p $((18515 + i)) -D 2 -f 0 >"$log.server.$i" 2>&1 &
		pids+=($!)
	done
	for ((i = 0; i < $1; i++)); do
		until on b ss -Htln "sport = :$((18515 + i))" | grep -q . || ! kill -0 "${pids[i]}" 2>/dev/null; do sleep 0.1; done
	done
	for ((i = 0; i < $1; i++)); do
		timeout 20 ip netns exec a ib_write_bw -d a0 -x "$(gid a)" -F -p $((18515 + i)) -D 2 -f 0 "$(addr b)" >"$log.$i" 2>&1 &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i" || failures=$((failures + 1)); done
	cat "$log".[0-9] >"$log"
	[ $failures = 0 ] && awk '/^ *65536 / { sum += $1 * $2 / 2 / 1e6 } END { if (sum) print sum }' "$log"
	rm -f "$log".[0-9]
}

# what the call that does least takes in this guest, us: each post and each doorbell is one
syscall() {
	/usr/bin/python3 -c '
import os, time
n = 20000
began = time.perf_counter()
for _ in range(n):
    os.getppid()
print(f"{(time.perf_counter() - began) / n * 1e6:.2f} us")'
}

# ---- what is written

echo "row,unit,subject,median,least,most,runs" >"$out/figures.csv"
echo "curve,subject,x,y" >"$out/curves.csv"
: >"$out/failures"
declare -A value unit_of # of "ROW|SUBJECT"; of ROW
rows=()

failure() { # SUBJECT ROW: with what the program said
	local said
	said=$(grep -hiE 'fail|error|unable|could|correlation|timed|nan' "$log" "$log.remarks" | tail -n 1 | tr -s ' \t' ' ') ||
		said=$(grep -v '^[-* ]*$' "$log" | tail -n 1) || said="it said nothing"
	echo "$1: $2: $said" | tee -a "$out/failures" | sed 's/^/    failed: /'
}
# take ROW UNIT SUBJECT COMMAND...: the median of RUNS runs. Two may fail: perftest now and then finds no clock to go by.
take() {
	local row=$1 unit=$2 subject=$3 failures=0 got values=() sorted
	shift 3
	while ((${#values[@]} < RUNS && failures < 3)); do
		: >"$log"
		: >"$log.remarks"
		got=$("$@" || true)
		if [[ $got =~ ^[0-9.]+(e[-+]?[0-9]+)?$ && $got =~ [1-9] ]]; then
			values+=("$got")
		else
			failures=$((failures + 1))
			failure "$subject" "$row"
		fi
	done
	if [ -z "${unit_of[$row]:-}" ]; then
		rows+=("$row")
		unit_of[$row]=$unit
	fi
	[ ${#values[@]} -gt 0 ] || return 0
	mapfile -t sorted < <(printf '%s\n' "${values[@]}" | sort -g)
	value[$row|$subject]=${sorted[(${#sorted[@]} - 1) / 2]}
	echo "\"$row\",$unit,$subject,${value[$row|$subject]},${sorted[0]},${sorted[-1]},${#sorted[@]}" >>"$out/figures.csv"
	printf '    %-8s %-40s %12s %s\n' "$subject" "$row" "$(shown "${value[$row|$subject]}")" "$unit"
}
shown() { awk -v v="$1" 'BEGIN { printf((v >= 100) ? "%.0f" : (v >= 10) ? "%.1f" : "%.3g", v) }'; }
# point CURVE SUBJECT X Y
point() {
	[ -n "$4" ] || return 0
	echo "$1,$2,$3,$4" >>"$out/curves.csv"
	printf '    %-8s %-40s %12s\n' "$2" "$1, $3" "$(shown "$4")"
}
