# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154,SC2153 # shared with evaluate and its other parts
# SPDX-License-Identifier: GPL-2.0
#
# Sourced by evaluate, in a guest: its networks. Hosts cut their trains into packets before these meet a rate or an impairment.
#
#   chain MTU        a -- r -- s -- b: between the routers the rate, behind them loss or reordering
#   fabric MTU PLANES NA NB    host a has NA devices, host b NB, each with a netdev in every plane; a plane is a network of its
#                    own: the netdevs of a, a bridge, a router, a bridge, the netdevs of b. What a plane shall pass is set on the
#                    bridges: its link in the middle

tool=$TOP/build/tool/mroce

# packets, not trains, leave
cut_early() { # HOST DEVICE
	ip -n "$1" link set "$2" mtu "$mtu" gso_max_segs 1 up
	on "$1" ethtool -K "$2" tso off gso off tx-udp-segmentation off tx-udp_tnl-segmentation off \
		tx-udp_tnl-csum-segmentation off >/dev/null 2>&1 || true
}
cable() { # HOST DEVICE HOST DEVICE
	ip link add "$2" netns "$1" type veth peer name "$4" netns "$3"
	cut_early "$1" "$2"
	cut_early "$3" "$4"
}
chain() {
	topology=routed mtu=$1
	for h in r s a b; do host $h; done
	cable a va r ra
	cable r rs s sr
	cable s sb b vb
	for h in r s; do on $h sysctl -qw net.ipv4.ip_forward=1; done
	address a va 10.9.0.1/24
	address r ra 10.9.0.254/24
	address r rs 10.9.2.1/24
	address s sr 10.9.2.2/24
	address s sb 10.9.1.254/24
	address b vb 10.9.1.1/24
	ip -n a route add default via 10.9.0.254
	ip -n r route add default via 10.9.2.2
	ip -n s route add default via 10.9.2.1
	ip -n b route add default via 10.9.1.254
	settle
}
netem() { # HOST DEVICE NETEM...
	tc -n "$1" qdisc replace dev "$2" root netem "${@:3}"
}
# packets_in BYTES: rounded up
packets_in() { echo $((($1 + mtu - 1) / mtu)); }
# pipe HOST DEVICE MBITS DELAY-US [QUEUE]: the rate (none: ''), then the delay; the queue has so many bytes (a megabyte), or two round trips
pipe() {
	local delayed=$((${3:-1000} * $4 / 8)) queue=${5:-$((1 << 20))}
	queue=$((delayed * 4 > queue ? delayed * 4 : queue))
	netem "$1" "$2" ${3:+rate "$3mbit"} delay "$4us" limit $(($(packets_in $((delayed + queue))) + 2))
}
inner() { # MBITS RTT-US: the link between the routers
	pipe r rs "$1" $(($2 / 2))
	pipe s sr "$1" $(($2 / 2))
}
outer() { # NETEM...: behind it, each way
	netem s sb "$@" limit 100000
	netem r ra "$@" limit 100000
}

# fabric_side HOST LETTER SIDE N: netdevs xP_I of host a (yP_I of b), the router's bridge LP (RP)
fabric_side() {
	local host=$1 letter=$2 side=$3 other=$((3 - $3)) n=$4 p i
	for ((p = 0; p < planes; p++)); do
		ip -n r link add br"$side"_$p type bridge
		# a bridge of its own has the speed of nothing, and one that floods unknown addresses has that of all
		ip -n r addr add 10.$((16 + p))."$side".254/24 dev br"$side"_$p
		for ((i = 0; i < n; i++)); do
			echo "link add $letter${p}_$i netns $host type veth peer name $letter${p}_$i netns r"
		done >"$TMPDIR/batch"
		ip -batch "$TMPDIR/batch"
		for ((i = 0; i < n; i++)); do
			echo "link set $letter${p}_$i mtu $mtu gso_max_segs 1 master br${side}_$p up"
		done >"$TMPDIR/batch"
		ip -n r -batch "$TMPDIR/batch"
		ip -n r link set br"$side"_$p mtu "$mtu" gso_max_segs 1 up
		for ((i = 0; i < n; i++)); do
			echo "link set $letter${p}_$i mtu $mtu gso_max_segs 1 up"
			echo "addr add 10.$((16 + p)).$side.$((i + 1))/32 dev $letter${p}_$i"
			echo "route add 10.$((16 + p)).$other.0/24 via 10.$((16 + p)).$side.254 dev $letter${p}_$i onlink metric $((i + 1))"
		done >"$TMPDIR/batch"
		ip -n "$host" -batch "$TMPDIR/batch"
	done
}
fabric() {
	local h
	topology=fabric mtu=$1 planes=$2 na=$3 nb=$4
	for h in r a b; do
		host $h
		# many netdevs of a host are in one network: each answers for itself
		on $h sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1 net.ipv4.conf.all.arp_ignore=1 \
			net.ipv4.conf.all.arp_announce=2
	done
	on r sysctl -qw net.ipv4.ip_forward=1
	sysctl -qw net.ipv4.neigh.default.gc_thresh1=8192 net.ipv4.neigh.default.gc_thresh2=16384 net.ipv4.neigh.default.gc_thresh3=32768
	fabric_side a x 1 "$na"
	fabric_side b y 2 "$nb"
	settle
}
# plane P RTT-US [MBITS [QUEUE]]: what plane P passes, each way
plane() {
	local side
	for side in 1 2; do
		pipe r br"$side"_"$1" "${3:-}" $(($2 / 2)) "${4:-}"
	done
}
# devices N-PLANES: a device maI on each of a's netdevs in plane 0, mbI on b's, with so many planes
devices() {
	devices_of a x "$na" "$1"
	devices_of b y "$nb" "$1"
	settle
}
devices_of() { # HOST LETTER N N-PLANES: one shell, as it takes long to enter a namespace
	local i p
	for ((i = 0; i < $3; i++)); do
		echo "rdma link add m$1$i type $TYPE netdev $2"0_$i
		for ((p = 1; p < $4; p++)); do
			echo "$tool plane add m$1$i netdev $2${p}_$i"
		done
	done >"$TMPDIR/devices"
	on "$1" bash -e "$TMPDIR/devices"
}
undevices() {
	local d
	for d in /sys/class/infiniband/m[ab]*; do
		[ ! -e "$d" ] || rdma link del "${d##*/}"
	done
}
# names LETTER N: of devices, for mroce-flows
names() {
	local i list=
	for ((i = 0; i < $2; i++)); do list+=,m$1$i; done
	echo "${list#,}"
}
