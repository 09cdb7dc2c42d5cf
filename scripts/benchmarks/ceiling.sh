# shellcheck shell=bash
# shellcheck disable=SC2154 # of ../e2e/lib.sh
# SPDX-License-Identifier: GPL-2.0
#
# Sourced by bench and cost, in a guest with mroce_ceiling: what hosts a and b could do without a protocol.

# ceiling MILLISECONDS PACKETS BYTES: trains of so many packets of so much payload, MB/s. How many such a time takes, a
# short run says.
ceiling() {
	local trains=1000 i ns=0 bytes=0 parameters=/sys/module/mroce_ceiling/parameters
	on b bash -c "echo 1 >$parameters/listen" 2>"$log" || return
	for i in 1 2; do
		on a bash -c "echo $(addr b) $trains $2 $3 >$parameters/send" 2>>"$log" || break
		read -r ns bytes <$parameters/result
		trains=$((trains * $1 * 1000000 / ns + 1))
	done
	on b bash -c "echo 0 >$parameters/listen"
	[ "$i" = 2 ] && [ "$bytes" -gt 0 ] && awk "BEGIN { print $bytes * 1000 / $ns }"
}
