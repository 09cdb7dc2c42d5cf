# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Sourced after ../e2e/lib.sh by the tests of this folder: programs and kernel modules of others, as they are.
#
#   needs NAME MODULE...  loads modules of the kernel; where it has none, says skip and fails. NAME is what is skipped
#   carried BYTES C...    succeeds if command C does, and both devices together sent at least BYTES meanwhile
#   lost                  succeeds if packets were lost, and sent again
#   again SECONDS C...    command C until it succeeds
#   reload                the module goes, with its links, and comes back without them
#   no_queue_pairs        succeeds if nobody has any left
#   ram_disk              makes /dev/ram0, for a target, which is set up in configfs
#   verified FILE [FIO..] FILE (a disk, too) is written and read back by fio, every block compared by its checksum
# Of a kernel user of devices, whose host is on a0 and target on b0. Function connect connects them, file prints what to write to:
#   data NAME             it connects, and carries data over a clean link and a bad one
#   gone NAME             the host's link is deleted in the middle: errors; then the module; then it works again
#   reconnects NAME       the target's link is deleted and comes back: it waits, and everything is carried out

device_bytes() { [ "$TYPE" != mroce ] || echo $(($(counter a tx_bytes) + $(counter b tx_bytes))); }
carried() {
	local bytes=$1 before
	shift
	before=$(device_bytes)
	"$@" || return
	[ "$TYPE" = mroce ] || return 0
	[ $(($(device_bytes) - before)) -ge "$bytes" ] || ! echo "the devices sent $(($(device_bytes) - before)) bytes, not $bytes"
}
lost() {
	[ "$TYPE" = mroce ] || return 0
	[ $(($(counter a tx_lost) + $(counter b tx_lost))) -gt 0 ] &&
		[ $(($(counter a tx_resent) + $(counter b tx_resent))) -gt 0 ]
}
reload() { unlinks && unload && load; }
needs() {
	local name=$1 module
	shift
	for module; do
		modprobe "$module" 2>/dev/null || ! skip "$name: this kernel ($(uname -r)) has no module $module" || return
	done
}
no_queue_pairs() { ! rdma resource show qp | grep -v 'type GSI'; }
again() {
	local i
	for ((i = $1 * 2; i > 0; i--)); do
		! "${@:2}" || return 0
		sleep 0.5
	done
	return 1
}

# ---- storage

megabytes=24
payload=$((2 * (2 + megabytes) << 20)) # both ways
ram_disk() {
	[ -b /dev/ram0 ] || modprobe brd rd_nr=1 rd_size=65536
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
}
# in random order: small blocks, which travel inside of requests where a protocol can do that, and such of many pages
verified() {
	local file=${1:?nothing to write to}
	shift
	fio --direct=1 --verify_state_save=0 --ioengine=libaio --iodepth=8 --rw=randwrite --verify=crc32c --verify_fatal=1 --filename="$file" "$@" \
		--name=small --bs=4k --size=2m --name=large --offset=4m --bs=256k --size="${megabytes}m"
}
# verified, over and over, while the function DURING has tests of its own; then the status of fio is in $status
busy_while() { # DURING FIO...
	local pid i
	verified "$(file)" "${@:2}" >"$log.busy" 2>&1 &
	pid=$!
	flowing || not_ok "$1: there is traffic"
	kill -0 $pid 2>/dev/null || not_ok "$1: fio is busy"
	$1
	status=hangs
	for i in $(seq 900); do
		kill -0 $pid 2>/dev/null || { status=0 && wait $pid || status=$?; break; }
		sleep 0.1
	done
	cp "$log.busy" "$log"
	[ $status != hangs ] || kill -9 $pid
}
link_goes() { LIMIT=30 check "$name: the link of $1 goes at once, in the middle of it" rdma link del "${1}0"; }
host_goes() { link_goes a; }
target_blinks() {
	link_goes b
	sleep 2
	check "$name: the target's link comes back" rdma link add b0 type "$TYPE" netdev vb
}

data() {
	local name=$1 LIMIT=300
	check "$name: connects" connect
	file >/dev/null || return
	check "$name: data, over a clean link" carried $payload verified "$(file)"
	impair loss 1% limit 100000
	check "$name: data, at 1% loss" carried $payload verified "$(file)"
	check "$name: packets were lost and sent again" lost
	impair limit 100000
}
gone() {
	local name=$1 status LIMIT=300
	file >/dev/null || return
	busy_while host_goes --loops=1000
	case $status in
	0 | hangs) not_ok "$name: the program whose disk is gone ends with an error ($status)" ;;
	*) ok "$name: the program whose disk is gone ends with an error" ;;
	esac
	clean "$name: the host's link goes"
	check "$name: the module goes and comes back" reload
	links
	check "$name: connects to the new link" again 30 connect
	check "$name: data, over the new link" carried $payload verified "$(file)"
}
reconnects() {
	local name=$1 status
	file >/dev/null || return
	busy_while target_blinks --loops=5
	[ $status = 0 ] && ok "$name: and everything is written and read" ||
		not_ok "$name: and everything is written and read ($status)"
	clean "$name: the target's link goes and comes back"
}

export megabytes payload
export -f device_bytes carried lost again reload verified no_queue_pairs
