# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Sourced by the tests of this folder and of ../programs, in a guest. Hosts are network namespaces: a and b, and r, a
# router between them. The device under test is of type $TYPE (MROCE_TYPE: mroce; rxe and siw are for
# developing tests) and is called a0 on host a and b0 on host b.
#
#   pair [MTU]            a and b joined by one veth link (MTU 9000)
#   routed [MTU [TX]]     joined through r: hosts cut their trains into wire packets before they leave. TX on: checksums are
#                         left to the last device; off: everybody computes and checks them
#   solo                  host a alone, which talks to itself
#   looped [MTU]          for the kernel's users of devices, who live in the first namespace only: a and b are the guest itself, whose
#                         netdevs are joined through r, a bridge; what a sends to b goes out by one and comes in by the other
#   impair NETEM...       on both of the router's ports, afresh each time; say limit in every call
#   links / unlinks       device on each host, and away again
#   addr HOST [6]         its IPv4 (IPv6) address;  gid HOST [6]: the index of that address in its GID table
#   on HOST COMMAND...    run on a host; the host . is the guest itself
#   check NAME COMMAND... a test: ok if COMMAND succeeds; refuse: if it fails, in its own words and not by a signal or time-out
#   skip NAME             a test that cannot be made here, and why
#   exchange NAME S C     a test: server S on host $server, and once it listens, client C on host $client; both must succeed
#   counter HOST NAME     of the device on HOST
#   listens PORT PID      at host b, by program PID: waits for it
#   eventually S C...     command C succeeds within S seconds or so: it is tried ten times a second
#   while_loaded F C...   what function F does to the network happens while C, a transfer by mroce-load, is busy, and ends it
#   empty DEVICE...       succeeds once no program's object is left on the devices
#   clean NAME            a test: the kernel log has nothing to complain of since the last call
#   unleaked NAME         a test, in kernels with kmemleak: nothing that the module allocated is unreachable
#   brief                 is this the emulated guest, and nobody asked for everything (FULL=1)? Tests repeat less there: what depends
#                         on the kernel is tried, and what does not is the other guests' business
#   once GUEST            is this the guest in which "make test" sees what this file tests? It says nothing of the kernel, and is seen
#                         in one of the two; FULL=1, its name as an argument and other guests have all

TYPE=${MROCE_TYPE:-mroce}
LIMIT=${LIMIT:-120} # seconds for one command
passed=0 failed=0 skipped=0
hosts='' server=b client=a topology=''
log=$TMPDIR/log
export TYPE hosts server client topology log

brief() { [ -z "${FULL:-}" ] && [ "$MROCE_GUEST" = deb12 ]; }
once() {
	[ "${FULL:-}${named:-}" ] || [ "$MROCE_GUEST" = "$1" ] || [[ ! $MROCE_GUEST =~ ^(deb12|uml-kasan)$ ]] && return
	echo "# says nothing of the kernel: seen in $1"
	return 1
}
enter() { [[ " $hosts " != *" $1 "* ]] || echo "ip netns exec $1"; }
on() {
	local host=$1
	shift
	$(enter "$host") "$@"
}

ok() { passed=$((passed + 1)) && echo "ok - $*"; }
skip() { skipped=$((skipped + 1)) && echo "skip - $*"; }
not_ok() {
	failed=$((failed + 1))
	echo "not ok - $*"
	tail -n "${TAIL:-15}" "$log" | sed 's/^/    | /'
}

# functions of this file too: they and their variables are exported
attempt() { timeout -k 5 "$LIMIT" bash -c '"$@"' attempt "$@" >"$log" 2>&1; }
check() {
	local name=$1
	shift
	attempt "$@" && ok "$name" || not_ok "$name"
}
refuse() {
	local name=$1 status=0
	shift
	attempt "$@" || status=$?
	{ [ "$status" -gt 0 ] && [ "$status" -lt 124 ]; } || [ "$status" -eq 255 ] && ok "$name" || not_ok "$name (status $status)"
}

eventually() {
	local i seconds=$1
	shift
	for i in $(seq "${seconds}0"); do
		"$@" && return
		sleep 0.1
	done
	return 1
}

# listens PORT PID: at host b there is a listener by now; false: PID, which was to be it, has ended
listens() {
	until on b ss -Htln "sport = :$1" | grep -q .; do
		kill -0 "$2" 2>/dev/null || return 1
		sleep 0.1
	done
}

# ---- hosts

host() {
	ip netns add "$1"
	ip -n "$1" link set lo up
	hosts+=" $1"
}
addr() {
	case $1${2:-} in
	a) echo 10.9.0.1 ;;
	a6) echo fd09::1 ;;
	b) [ "$topology" = routed ] && echo 10.9.1.1 || echo 10.9.0.2 ;;
	b6) [ "$topology" = routed ] && echo fd09:1::1 || echo fd09::2 ;;
	esac
}
address() { # HOST DEVICE ADDRESS...
	local host=$1 device=$2 a
	shift 2
	for a; do
		case $a in
		*:*) ip -n "$host" addr add "$a" dev "$device" nodad ;;
		*) ip -n "$host" addr add "$a" dev "$device" ;;
		esac
	done
}
pair() {
	topology=pair
	host a && host b
	# siw tells listeners of two namespaces apart by their netdevs' indices
	ip link add va netns a index 101 type veth peer name vb netns b index 102
	ip -n a link set va mtu "${1:-9000}" up
	ip -n b link set vb mtu "${1:-9000}" up
	address a va 10.9.0.1/24 fd09::1/64
	address b vb 10.9.0.2/24 fd09::2/64
	settle
}
solo() {
	topology=solo
	host a
	ip link add va netns a type veth peer name peer netns a
	ip -n a link set peer up
	ip -n a link set va mtu 9000 up
	address a va 10.9.0.1/24 fd09::1/64
	settle
}
# cut_before HOST NETDEV: trains are cut into wire packets before they go by it
cut_before() {
	on "$1" ip link set "$2" gso_max_segs 1
	on "$1" ethtool -K "$2" tso off gso off tx-udp-segmentation off tx-udp_tnl-segmentation off \
		tx-udp_tnl-csum-segmentation off >/dev/null 2>&1 || true
}
# wire HOST [MTU [TX]]: joins HOST to r, as routed says
wire() {
	on "$1" ip link add "v$1" type veth peer name "r$1" netns r
	on "$1" ip link set "v$1" mtu "${2:-9000}" up
	cut_before "$1" "v$1"
	ip -n r link set "r$1" mtu "${2:-9000}" gso_max_segs 1 up
	on r ethtool -K "r$1" tx off >/dev/null 2>&1 || true
	[ "${3:-on}" = on ] || on "$1" ethtool -K "v$1" tx off >/dev/null 2>&1
}
routed() {
	local h
	topology=routed
	host r && on r sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	for h in a b; do
		host $h
		wire $h "$@"
	done
	through_r
}
through_r() { # a, r and b are joined: addresses and routes
	address a va 10.9.0.1/24 fd09::1/64
	address r ra 10.9.0.254/24 fd09::ff/64
	address b vb 10.9.1.1/24 fd09:1::1/64
	address r rb 10.9.1.254/24 fd09:1::ff/64
	ip -n a route add default via 10.9.0.254
	ip -n b route add default via 10.9.1.254
	ip -n a route add default via fd09::ff
	ip -n b route add default via fd09:1::ff
	settle
}
# The table of local addresses, which would keep the packets inside, is asked after those of the netdevs are
looped() {
	local h n=0
	topology=looped
	host r && ip -n r link add name bridge mtu "${1:-9000}" type bridge && ip -n r link set bridge up
	ip rule add pref 100 lookup local && ip rule del pref 0
	for h in a b; do
		n=$((n + 1))
		wire $h "$@"
		ip -n r link set r$h master bridge
		sysctl -qw net.ipv4.conf.v$h.accept_local=1 net.ipv4.conf.v$h.rp_filter=0
		ip addr add "$(addr $h)/24" dev v$h
		ip route add 10.9.0.0/24 dev v$h src "$(addr $h)" table $n
	done
	ip rule add pref 10 iif lo to "$(addr b)" lookup 1
	ip rule add pref 10 iif lo to "$(addr a)" lookup 2
	settle
}
# link-local addresses are tentative for a while, and GIDs follow addresses by a work item
settle() { sleep 0.5; }
impair() {
	local d
	for d in ra rb; do
		tc -n r qdisc del dev $d root 2>/dev/null || true
		tc -n r qdisc add dev $d root netem "$@" || return
	done
}
leave() {
	local h
	for h in $hosts; do
		ip netns pids "$h" | xargs -r kill -9 2>/dev/null
	done
	unlinks
	for h in $hosts; do
		ip netns del "$h"
	done
	if [ "$topology" = looped ]; then
		ip rule add pref 0 lookup local
		for h in 10 10 100; do ip rule del pref $h; done
	fi
	hosts=''
	sleep 0.2
}

# ---- the device

# The provider that make built, beside those that are installed
use_provider() {
	cp -r /etc/libibverbs.d "$TMPDIR" &&
		cp "$TOP/build/provider/libibverbs.d/mroce.driver" "$TMPDIR/libibverbs.d" &&
		mount --bind "$TMPDIR/libibverbs.d" /etc/libibverbs.d
}
links() {
	local h
	for h in a b; do
		[ "$topology$h" = solob ] || on $h rdma link add ${h}0 type "$TYPE" netdev v$h || return
	done
	settle
	for h in a b; do
		[ ! -e /sys/class/infiniband/${h}0 ] ||
			rdma resource show ${h}0 | sed 's/^[^:]*: //' >"$TMPDIR/resources.${h}0"
	done
}
unlinks() {
	local d
	for d in a0 b0; do
		[ ! -e /sys/class/infiniband/$d ] || rdma link del $d
	done
}
load() {
	if [ "$TYPE" = mroce ]; then
		insmod "$build/mroce.ko"
	else
		modprobe "${TYPE/rxe/rdma_rxe}"
	fi
}
unload() { rmmod "${TYPE/rxe/rdma_rxe}"; }
gid() { gid_index "$1"0 "$(addr "$1" "${2:-}")"; }
# Forks cost seconds in an emulated guest, and a GID table has 256 files: one grep, no interpreter
spelled() { # ADDRESS: as sysfs writes a GID
	local IFS=: words head tail n
	if [[ $1 == *.* ]]; then
		IFS=. read -ra words <<<"$1"
		printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n' "${words[@]}"
		return
	fi
	read -ra head <<<"${1%%::*}"
	read -ra tail <<<"${1##*::}"
	[[ $1 == *::* ]] || tail=()
	words=("${head[@]}")
	for ((n = ${#head[@]} + ${#tail[@]}; n < 8; n++)); do words+=(0); done
	words+=("${tail[@]}")
	for n in "${!words[@]}"; do words[n]=$(printf %04x "0x${words[n]}"); done
	echo "${words[*]}"
}
gid_index() { # DEVICE ADDRESS
	local want file ports=/sys/class/infiniband/$1/ports/1
	want=$(spelled "$2")
	# shellcheck disable=SC2013 # names without blanks
	for file in $(grep -lsx "$want" "$ports"/gids/*); do
		[ "$(<"$ports/gid_attrs/types/${file##*/}")" != "RoCE v2" ] || { echo "${file##*/}" && return; }
	done
	echo "no GID for $want" >&2
	return 1
}
counter() { cat "/sys/class/infiniband/${1}0/ports/1/hw_counters/$2"; }
# waits until host a has sent 300 kB more than when this began: what comes next happens while a program is busy, however
# long it took to start
flowing() {
	local i before
	[ "$TYPE" = mroce ] || { sleep 2 && return; }
	before=$(counter a tx_bytes)
	for i in $(seq 600); do
		[ $(($(counter a tx_bytes) - before)) -lt 300000 ] || return 0
		sleep 0.1
	done
	return 1
}
# while_loaded FUNCTION COMMAND...: FUNCTION, which may have tests of its own, runs once COMMAND, a transfer by mroce-load,
# is busy, and ends it
while_loaded() {
	local pid during=$1
	shift
	log=$log.loaded seconds=200 "$@" >"$TMPDIR/loaded" 2>&1 &
	pid=$!
	flowing && $during
	pkill -INT mroce-load
	wait $pid
	cat "$TMPDIR/loaded"
	passed=$((passed + $(grep -c '^ok - ' "$TMPDIR/loaded")))
	failed=$((failed + $(grep -c '^not ok - ' "$TMPDIR/loaded")))
}

# ---- a server and its client

listening() {
	on "$server" ss -Htln | grep -q . || rdma resource show cm_id 2>/dev/null | grep -q 'state LISTEN'
}
# Server and client, each of them one command: "NAME" "SERVER" "CLIENT". AGAIN: what a client says that came before its
# server listened, though it did everything right; it may try twice more.
exchange() {
	local name=$1 tries=3
	while ! exchange_once "$2" "$3"; do
		[ "${AGAIN:-}" ] && ((--tries)) && grep -q "$AGAIN" "$log" || { not_ok "$name (status $status)" && return; }
	done
	ok "$name"
}
exchange_once() { # SERVER CLIENT
	local i pid served=0
	status=0
	timeout -k 5 "$LIMIT" $(enter $server) bash -c "exec $1" >"$log.server" 2>&1 &
	pid=$!
	for i in $(seq 300); do
		listening && break
		kill -0 $pid 2>/dev/null || break
		sleep 0.1
	done
	# rdma_cm says LISTEN a little before it does
	sleep 0.3
	timeout -k 5 "$LIMIT" $(enter $client) bash -c "exec $2" >"$log" 2>&1 || status=$?
	if [ "$status" -ne 0 ]; then
		sleep 0.5
		kill $pid 2>/dev/null
	fi
	wait $pid || served=$?
	[ $served -eq 0 ] || [ "${SERVER_FAILS:-}" ] || status="$status, of the server $served"
	{
		echo "--- status $status; the server said:"
		cat "$log.server"
	} >>"$log"
	[ "$status" = 0 ]
}

# ---- the kernel's log

complaints='BUG|WARNING|KASAN|UBSAN|KFENCE|lockdep|possible (circular|recursive)|refcount|waiting for .* to become free|Call Trace|general protection|kernel paging|soft lockup|hung task|rcu.*stall|leaked|use-after'
clean() {
	dmesg | grep -v 'DEBUG' | grep -E "$complaints" >"$log"
	if [ -s "$log" ]; then
		dmesg | grep -E -m1 -A40 "$complaints" >"$log"
		TAIL=42 not_ok "$1: the kernel log is clean"
	else
		ok "$1: the kernel log is clean"
	fi
	dmesg -C
}

# The core and the GSI have objects of their own: links takes the count
empty() {
	local i device now
	for device; do
		for i in $(seq 50); do
			now=$(rdma resource show "$device")
			[ "${now#*: }" != "$(<"$TMPDIR/resources.$device")" ] || continue 2
			sleep 0.1
		done
		echo "left: $now; at first: $(<"$TMPDIR/resources.$device")"
		rdma resource show qp && rdma resource show cq && rdma resource show mr && rdma resource show cm_id
		return 1
	done
}

# An object counts as unreachable when two scans find no pointer to it, and is reported when it is older than five
# seconds. Others than ours are not our concern: user-mode kernels have some from booting.
kmemleak=/sys/kernel/debug/kmemleak
unleaked() {
	[ -w $kmemleak ] || return 0
	sleep 5.5
	echo scan >$kmemleak && echo scan >$kmemleak
	awk '/^unreferenced/ { show(); text = "" } { text = text $0 "\n" } END { show() }
		function show() { if (text ~ /mroce|ib_core|ib_uverbs/) printf "%s", text }' $kmemleak >"$log"
	[ ! -s "$log" ] && ok "$1: no memory is leaked" || TAIL=60 not_ok "$1: no memory is leaked"
	echo clear >$kmemleak
}

export -f eventually listens empty spelled enter on addr gid gid_index counter flowing impair settle links unlinks load unload
