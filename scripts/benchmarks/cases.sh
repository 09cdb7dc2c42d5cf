# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # shared with bench and its other parts
# SPDX-License-Identifier: GPL-2.0
#
# Sourced by bench, in a guest: what is measured, and how long that takes.

QUICK=${QUICK:-}
LIMIT=${LIMIT:-60}
# before 7 rxe and siw are in the first namespace only
types=(mroce rxe siw)
[ "$(uname -r | cut -d. -f1)" -ge 7 ] || types=(mroce)
few=$((RUNS < 3 ? RUNS : 3)) # where runs are long, and of whom nothing is wanted

# each TYPES COMMAND...: once for each of these types of device, with devices, as far as there are any here; RUNS and TYPE tell
# the command
each() {
	local all=$RUNS
	for TYPE in $1; do
		[[ " ${types[*]} " == *" $TYPE "* ]] || continue
		RUNS=$([ "$TYPE" = mroce ] && echo "$all" || echo "$few")
		links
		"${@:2}"
		unlinks
	done
	RUNS=$all TYPE=mroce
}

# ---- between two hosts

# depth QPS: messages in flight of each, so that all of them have their turn within a second, rxe's too, and that what all
# complete fits into one completion queue of rxe's
depth() { echo $((1024 / $1 < 128 ? 1024 / $1 : 128)); }
pair_of_type() {
	local op size
	for size in 65536 1048576; do
		for op in write read send; do
			take "${op^} $(named $size)" MB/s "$TYPE" bandwidth ib_${op}_bw -s $size
		done
	done
	take "Write 64 KiB, 16 queue pairs" MB/s "$TYPE" bandwidth ib_write_bw -s 65536 -q 16 -t "$(depth 16)"
	# connecting them takes rxe much longer than the run. Of siw so many are not asked for
	[ "$TYPE" = siw ] ||
		RUNS=$([ "$TYPE" = rxe ] && echo 1 || echo "$RUNS") SECS=2 \
			take "Write 64 KiB, 256 queue pairs" MB/s "$TYPE" bandwidth ib_write_bw -s 65536 -q 256 -t "$(depth 256)"
	take "Write 4 KiB" MB/s "$TYPE" bandwidth ib_write_bw -s 4096
	for op in write send; do
		take "${op^} 64 B, 32 a doorbell" 1/s "$TYPE" messages ib_${op}_bw -s 64 -l 32
	done
}
# the kernel looks at the send queues: posting is no system call
polled_of_type() {
	local size
	export MROCE_POLL=1000
	for size in 4096 65536 1048576; do
		take "Write $(named $size), polled" MB/s "$TYPE" bandwidth ib_write_bw -s $size
	done
	take "Write 64 B, 32 a doorbell, polled" 1/s "$TYPE" messages ib_write_bw -s 64 -l 32
	unset MROCE_POLL
}
case_pair() {
	pair 9000
	each "mroce rxe siw" pair_of_type
	each mroce polled_of_type
	take "Write 64 KiB" MB/s TCP tcp -l 64K
	take "Write 1 MiB" MB/s TCP tcp -l 1M
	take "Write 64 KiB" MB/s ceiling ceiling 500 15 4096
	leave
}

small_of_type() {
	local op
	for op in write read send; do
		take "MTU 1500: ${op^} 64 KiB" MB/s "$TYPE" bandwidth ib_${op}_bw -s 65536
	done
}
case_small() {
	pair 1500
	each "mroce rxe siw" small_of_type
	take "MTU 1500: Write 64 KiB" MB/s TCP tcp -l 64K
	take "MTU 1500: Write 64 KiB" MB/s ceiling ceiling 500 60 1024
	leave
}

# the table has what is typical; the rest of the last run is for the plot
one_latency() { # NAME TOOL OPTION...
	local typical p99 p999
	read -r typical p99 p999 <<<"$(latency "${@:2}")" || true
	[ -n "$p999" ] || return
	printf '%s\n' "$p99 $p999" >"$log.tail"
	echo "$typical"
}
latency_of_type() {
	local row op
	for op in write send read atomic; do
		# iWARP has none
		[ "$TYPE $op" != "siw atomic" ] || continue
		row=$([ $op = atomic ] && echo "Fetch and add" || echo "${op^} 8 B")
		rm -f "$log.tail"
		if [ $op = atomic ]; then
			take "$row: latency" us "$TYPE" one_latency "$row" ib_atomic_lat
		else
			take "$row: latency" us "$TYPE" one_latency "$row" ib_${op}_lat -s 8
		fi
		[ -e "$log.tail" ] || continue
		point "latency of ${row}" "$TYPE" 50 "${value["$row: latency|$TYPE"]}"
		read -r p99 p999 <"$log.tail"
		point "latency of ${row}" "$TYPE" 99 "$p99"
		point "latency of ${row}" "$TYPE" 99.9 "$p999"
	done
}
case_latency() {
	pair 9000
	each "mroce rxe siw" latency_of_type
	take "Write 8 B: latency" us UDP udp_latency
	leave
}

processor_of_type() { RUNS=$few take "Processor time a GB" s "$TYPE" processor_flows; }
case_processor() {
	pair 9000
	each "mroce rxe" processor_of_type
	RUNS=$few take "Processor time a GB" s TCP processor_tcp
	leave
}

# ---- curves: one run each

named() { # BYTES
	if (($1 >= 1 << 20)); then
		echo "$(($1 >> 20)) MiB"
	elif (($1 >= 1024)); then
		echo "$(($1 >> 10)) KiB"
	else
		echo "$1 B"
	fi
}
sizes() { [ "$QUICK" ] && echo 64 4096 65536 1048576 || echo 64 512 4096 32768 65536 262144 1048576 8388608; }
sizes_of_type() {
	local size
	for size in $(sizes); do
		point sizes "$TYPE" "$size" "$(bandwidth ib_write_bw -s "$size")"
	done
}
case_sizes() {
	local size
	pair 9000
	each "mroce rxe siw" sizes_of_type
	for size in $(sizes); do
		point sizes TCP "$size" "$(tcp -l "$size")"
	done
	leave
}

counts() { [ "$QUICK" ] && echo 1 16 || echo 1 4 16 64 256; }
queues_of_type() {
	local n
	for n in $(counts); do
		# see case_pair
		[ "$TYPE" != siw ] || ((n < 64)) || continue
		point queues "$TYPE" "$n" "$(bandwidth ib_write_bw -s 65536 -q "$n" -t "$(depth "$n")")"
	done
}
case_queues() {
	local n
	pair 9000
	each "mroce rxe siw" queues_of_type
	for n in $(counts); do
		# more it refuses
		((n > 128)) || point queues TCP "$n" "$(tcp -l 64K -P "$n")"
	done
	leave
}

# ---- other networks

case_cut() {
	local h
	pair 9000
	links
	for h in a b; do
		on $h ethtool -K v$h tx-udp_tnl-segmentation off tx-udp_tnl-csum-segmentation off >"$log"
	done
	take "Cut at the sender: Write 64 KiB" MB/s mroce bandwidth ib_write_bw -s 65536
	take "Cut at the sender: Write 64 KiB" MB/s ceiling ceiling 500 7 8192
	for h in a b; do on $h ethtool -K v$h tx off >"$log"; done
	take "No checksum offload: Write 64 KiB" MB/s mroce bandwidth ib_write_bw -s 65536
	take "No checksum offload: Write 64 KiB" MB/s TCP tcp -l 64K
	take "No checksum offload: Write 64 KiB" MB/s ceiling ceiling 500 7 8192
	unlinks
	each rxe take "No checksum offload: Write 64 KiB" MB/s rxe bandwidth ib_write_bw -s 65536
	leave
}

losses() { [ "$QUICK" ] && echo 0 1 || echo 0 0.1 1 5 10; }
lossy() { # SUBJECT COMMAND...
	local loss row y
	for loss in $(losses); do
		impair loss "$loss%" limit 100000
		# what loses costs time even where nothing is lost: so these two are compared
		case $loss in
		0) row="Routed, through netem: Write 64 KiB" ;;
		1) row="Routed, 1% loss: Write 64 KiB" ;;
		*) row='' ;;
		esac
		if [ "$row" ]; then
			take "$row" MB/s "$@"
			y=${value[$row|$1]:-0}
		else
			y=$("${@:2}" || true)
		fi
		point loss "$1" "$loss" "${y:-0}"
	done
	for loss in ra rb; do tc -n r qdisc del dev $loss root; done
}
routed_by() { # SUBJECT COMMAND...
	RUNS=$few
	take "Routed: Write 64 KiB" MB/s "$@"
	lossy "$@"
}
routed_of_type() { routed_by "$TYPE" flows 2 -w 0.5 -d 32; }
case_routed() {
	local RUNS=$RUNS
	routed 9000
	each "mroce rxe" routed_of_type
	routed_by TCP tcp -l 64K
	take "Routed: Write 64 KiB" MB/s ceiling ceiling 500 7 8192
	leave
}

self_of_type() { take "With itself: Write 64 KiB" MB/s "$TYPE" bandwidth ib_write_bw -s 65536; }
case_self() {
	solo
	server=a client=a
	each "mroce rxe" self_of_type
	server=b client=a
	leave
}

registration_of_type() {
	local RUNS=1 # the program has its own
	take "Registration of 1 GiB" ms "$TYPE" registration large
	take "Deregistration of 1 GiB" ms "$TYPE" registration large_back
	take "Registration of 1,000 x 4 KiB" ms "$TYPE" registration small
	take "Deregistration of 1,000 x 4 KiB" ms "$TYPE" registration small_back
}
case_registration() {
	pair 9000
	each "mroce rxe" registration_of_type
	leave
}

case_streams() {
	local n d
	pair 9000
	for n in 1 2; do
		links
		for d in a b; do on $d "$TOP/build/tool/mroce" set ${d}0 paths $n; done
		take "$n $([ $n = 1 ] && echo stream || echo streams) on as many paths: Write 64 KiB" MB/s mroce streams $n
		unlinks
	done
	leave
}

# ---- all of them

# seconds on an idle machine: the fixed part, and what is for each run
declare -A fixed=([pair]=60 [small]=15 [latency]=15 [processor]=20 [sizes]=65 [queues]=45 [cut]=8 [routed]=60 [self]=6 [registration]=12
	[streams]=5)
declare -A variable=([pair]=37 [small]=10 [latency]=8 [processor]=8 [sizes]=0 [queues]=0 [cut]=10 [routed]=14 [self]=2 [registration]=0
	[streams]=8)
run_cases() {
	local case left=0
	modprobe -a ib_core ib_uverbs rdma_cm rdma_ucm iw_cm udp_tunnel ip6_udp_tunnel veth sch_netem rdma_rxe siw
	use_provider
	insmod "$(guest_build "$MROCE_GUEST")/mroce.ko"
	insmod "$(guest_build "$MROCE_GUEST")/mroce_ceiling.ko"
	echo "kernel=Linux $(uname -r), $(nproc) processors (guest: $MROCE_GUEST)" >>"$out/about"
	for case; do left=$((left + fixed[$case] + RUNS * variable[$case])); done
	for case; do
		echo "==> $case; all that is left: about $((left / 60 + 1)) min"
		"case_$case"
		left=$((left - fixed[$case] - RUNS * variable[$case]))
	done
	echo "==> $SECONDS s"
	echo "seconds=$SECONDS" >>"$out/about"
}
