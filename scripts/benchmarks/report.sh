# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # shared with bench and its other parts
# SPDX-License-Identifier: GPL-2.0
#
# Sourced by bench, in a guest: what is wanted, and the tables.

# wanted ROW SIGN NUMBER [SUBJECT [OTHER-ROW]]: of mroce's figure, or of its ratio to SUBJECT's in the same or another row
wanted() {
	local row=$1 sign=$2 number=$3 subject=${4:-} other=${5:-$1} own base=1 measured verdict=missed what
	own=${value[$row|mroce]:-}
	what=${unit_of[$row]:-}
	if [ -n "$subject" ]; then
		base=${value[$other|$subject]:-}
		what="x $subject"
		[ "$other" = "$row" ] || what+=" ($other)"
		[ "$subject" != mroce ] || what="x $other"
	fi
	# what was not measured is not judged; what has failed was missed
	[ -n "$base" ] && [ -n "${unit_of[$row]:-}" ] || return 0
	measured=$(calc "${own:-0} / $base")
	[ -n "$own" ] && awk "BEGIN { exit !($measured $sign $number) }" && verdict=reached
	echo "\"$row\",$measured,\"$what\",$sign,$number,$verdict" >>"$out/verdicts.csv"
	printf '%-42s %10s %-42s %3s %8s  %s\n' "$row" "$(shown "$measured")" "$what" "$sign" "$number" "$verdict"
}

verdicts() {
	local op one="Write 64 KiB" row
	for row in "Write 64 KiB" "Read 64 KiB" "Send 64 KiB" "Write 1 MiB" "Read 1 MiB" "Send 1 MiB" "Write 64 KiB, 16 queue pairs" \
		"Write 64 KiB, 256 queue pairs"; do
		wanted "$row" ">=" 25 rxe
		wanted "$row" ">=" 3 TCP "$([[ $row == *MiB* ]] && echo "Write 1 MiB" || echo "$one")"
		wanted "$row" ">=" 0.4 ceiling "$one"
	done
	wanted "Write 64 KiB, 256 queue pairs" ">=" 0.9 mroce "$one"
	for row in "Write 64 KiB, polled" "Write 1 MiB, polled"; do
		wanted "$row" ">=" 25 rxe "${row%, *}"
		wanted "$row" ">=" 3 TCP "${row%, *}"
		wanted "$row" ">=" 0.4 ceiling "$one"
	done
	wanted "Write 4 KiB, polled" ">=" 10 rxe "Write 4 KiB"
	for op in Write Read Send; do
		wanted "MTU 1500: $op 64 KiB" ">=" 20 rxe
		wanted "MTU 1500: $op 64 KiB" ">=" 2.5 TCP "MTU 1500: Write 64 KiB"
	done
	wanted "Write 4 KiB" ">=" 10 rxe
	for op in Write Send; do
		wanted "$op 64 B, 32 a doorbell" ">=" 400000
		wanted "$op 64 B, 32 a doorbell" ">=" 20 rxe
	done
	for row in "Write 8 B" "Send 8 B" "Read 8 B" "Fetch and add"; do
		wanted "$row: latency" "<=" 0.6 rxe
		wanted "$row: latency" "<=" 0.35 UDP "Write 8 B: latency"
	done
	wanted "Processor time a GB" "<=" 0.25 TCP
	wanted "Cut at the sender: Write 64 KiB" ">=" 0.4 ceiling
	wanted "No checksum offload: Write 64 KiB" ">=" 1 TCP
	wanted "Routed: Write 64 KiB" ">=" 0.4 ceiling
	wanted "Routed, 1% loss: Write 64 KiB" ">=" 0.95 mroce "Routed, through netem: Write 64 KiB"
	wanted "With itself: Write 64 KiB" ">=" 0.8 mroce "$one"
	for row in "Registration of 1 GiB" "Deregistration of 1 GiB" "Registration of 1,000 x 4 KiB" "Deregistration of 1,000 x 4 KiB"; do
		wanted "$row" "<=" 1 rxe
	done
	wanted "2 streams on as many paths: Write 64 KiB" ">=" 1.4 mroce "1 stream on as many paths: Write 64 KiB"
}

report() {
	local row subject cells
	sed 's/^\([a-z]*\)=/\1: /' "$out/about"
	printf '\n%-42s %-5s %10s %10s %10s %10s %10s\n' "medians of $RUNS" '' mroce rxe siw 'TCP, UDP' ceiling
	for row in "${rows[@]}"; do
		cells=()
		for subject in mroce rxe siw TCP ceiling; do
			[ "$subject" != TCP ] || [ -z "${value[$row|UDP]:-}" ] || subject=UDP
			cells+=("$([ -n "${value[$row|$subject]:-}" ] && shown "${value[$row|$subject]}" || echo -)")
		done
		printf '%-42s %-5s %10s %10s %10s %10s %10s\n' "$row" "${unit_of[$row]}" "${cells[@]}"
	done
	echo "row,measured,unit,sign,wanted,verdict" >"$out/verdicts.csv"
	printf '\n%-42s %10s %-42s %12s  %s\n' "mroce beside what is wanted" measured '' wanted verdict
	verdicts
	[ ! -s "$out/failures" ] || { printf '\nWhat failed:\n' && cat "$out/failures"; }
}
