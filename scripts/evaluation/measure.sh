# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154,SC2153 # shared with evaluate and its other parts
# SPDX-License-Identifier: GPL-2.0
#
# Sourced by evaluate, in a guest: one run, and what is written about it.

calc() { awk "BEGIN { printf \"%.6g\", $1 }"; }
exact() { awk "BEGIN { printf \"%.6f\", $1 }"; } # also of the time of day
true_that() { awk "BEGIN { exit !($1) }"; }
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# flows ARGUMENT...: of mroce-flows, on host b (whose netdevs it may watch). What it printed is there for value. If it fails, that
# is said, and its values are 0.
flows() {
	# its own words end a run that gets nowhere. Where instructions count, hours pass in an idle guest while its disk is read
	if ! timeout $((${flows_limit:-SECS * 4 + 120} * patience)) ip netns exec b "$TOP/build/load/mroce-flows" "$@" >"$TMPDIR/flows" 2>"$log"; then
		failed_runs=$((failed_runs + 1))
		echo "    failed: mroce-flows ${*:1:8}... ($TYPE): $(tail -n 1 "$log")" | tee -a "$out/$case.errors"
		: >"$TMPDIR/flows"
	fi
}
failed_runs=0
finish_case() { [ $failed_runs = 0 ]; }
# value NAME: of the last flows
value() { awk -v name="$1" '$1 == name { v = $2 } END { print v + 0 }' "$TMPDIR/flows"; }
# between a and b, whatever they are called here
pair_of() { [ "$topology" = fabric ] && echo "ma0 mb0" || echo "a0 b0"; }
# goodput OPERATION SECONDS [OPTION...]
goodput() {
	local a b
	if [ "$1" = tcp ]; then
		LIMIT=$((LIMIT * patience)) exchange TCP "iperf3 -s -1" "iperf3 -c $(addr b) -O 2 -t $2 -f m" >"$log.verdict"
		grep -q '^ok' "$log.verdict" && awk '/receiver/ { print "mbits", $(NF - 2); exit }' "$log" >"$TMPDIR/flows" ||
			: >"$TMPDIR/flows"
		return
	fi
	read -r a b <<<"$(pair_of)"
	flows -o "$1" -t "$2" -d 32 "${@:3}" "$a" "$b"
}

# what explains a figure, of all devices: data packets sent, taken as lost, sent again, and of these needlessly, probe timeouts
explain=(tx_packets tx_lost tx_resent tx_spurious tx_probe_timeout rx_ce)
counted() {
	local c
	for c in "${explain[@]}"; do
		if [ "$TYPE" = mroce ]; then
			sum_of "$c"
		else
			echo 0
		fi
		echo
	done
}
# since the last mark
mark() { read -rd '' -a counted_before <<<"$(counted)" || true; }
declare -A since
row() { # WHAT OPERATION RUN: a line about the last flows
	local i now line
	line="$mtu,\"$1\",$TYPE,$2,$3,$(value mbits),$(value p50),$(value p99),$(value max),$(value jain),$(value idle)"
	read -rd '' -a now <<<"$(counted)" || true
	for i in "${!explain[@]}"; do
		since[${explain[i]}]=$((now[i] - counted_before[i]))
		line+=,${since[${explain[i]}]}
	done
	[ -e "$out/$case.runs.csv" ] ||
		(IFS=, && echo "mtu,what,transport,operation,run,mbits,p50_us,p99_us,max_us,jain,idle,${explain[*]}") >"$out/$case.runs.csv"
	echo "$line" >>"$out/$case.runs.csv"
}
# verdict OPERATION WHAT MEASURED UNIT [>=|<= TARGET]: about the last flows; what has failed has reached nothing
verdict() {
	local verdict=- target=${6:--} sign=${5:-} measured=$3
	# the others are there to compare with
	[ "$TYPE" = mroce ] || [ -s "$TMPDIR/flows" ] || return 0
	[ "$TYPE" = mroce ] || sign='' target=-
	[ -s "$TMPDIR/flows" ] && [[ $measured =~ ^-?[0-9.]+(e[-+]?[0-9]+)?$ ]] || measured=
	[ "$target" = - ] || { [ "$measured" ] && true_that "$measured $sign $target" && verdict=reached || verdict=missed; }
	measured=${measured:-0}
	[ -e "$out/$case.verdicts.csv" ] ||
		echo "case,mtu,transport,operation,what,mbits,measured,unit,sign,target,verdict" >"$out/$case.verdicts.csv"
	echo "$case,$mtu,$TYPE,$1,\"$2\",$(value mbits),$measured,$4,$sign,$target,$verdict" >>"$out/$case.verdicts.csv"
	printf '%-8s %-4s %-5s %-6s %-38s %8.1f Mb/s %10.3f %-10s %14s %s\n' "$case" "$mtu" "$TYPE" "$1" "$2" "$(value mbits)" \
		"$measured" "$4" "${sign:+$sign $target}" "$verdict"
}
# free_run MBITS [N [ARGUMENT...]]: rate becomes what N links each may have: three quarters of what the guest carries without a limit
# (of mroce-flows with these arguments; without any of 64 KiB Writes), at most MBITS. And what of it is payload: share
free_run() {
	local n=${2:-1} before bytes carried
	bytes=$(sent_bytes) before=$(sum_of tx_bytes)
	goodput write 2 -w 1
	share=$(calc "($(sum_of tx_bytes) - $before) / ($(sent_bytes) - $bytes + 1)")
	[ -z "$RATE" ] || { rate=$((RATE / n)) && return; }
	[ $# -le 2 ] || flows "${@:3}"
	carried=$(value mbits)
	rate=$(calc "int($carried * 3 / 5 / $n)")
	rate=$((rate < $1 ? rate : $1))
	[ "$rate" -gt 0 ] || die "the guest carries nothing: $carried Mb/s"
	echo "# $case, MTU $mtu: the guest carries ${carried%.*} Mb/s here: $rate Mb/s${2:+ each}; $(calc "100 * $share")% of it payload"
}
sum_of() { cat /sys/class/infiniband/*/ports/1/hw_counters/"$1" | awk '{ sum += $1 } END { printf "%.0f", sum }'; }
sent_bytes() { # by the netdevs of host a
	on a bash -c 'cat /sys/class/net/[vx]*/statistics/tx_bytes' | awk '{ sum += $1 } END { printf "%.0f", sum }'
}
device_counter() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"; }
