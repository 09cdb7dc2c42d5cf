# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Sourced after common.sh by deb, matrix and interop: root folders of Debian suites, below the cache.
#
#   root_of SUITE [KIND]   sets root; made by mmdebstrap if need be. KIND guest (the default): with the suite's kernel and
#                          what packages and tests need; build: with what packages are built with. SUITE-backports is SUITE
#                          with the kernel of its backports
#   inside COMMAND...      in $root, with what packages' scripts look at; nothing is started
#   purged                 removes what an earlier run may have left of them; false if a package was broken
#   columns                lines of words, read and written as a table
#   installed PACKAGES     the packages, a pattern below /var/tmp/mroce of $root, are installed; without a network

# all that these need is there beforehand, so that packages are installed by dpkg alone
guest_packages=systemd,systemd-sysv,udev,kmod,iproute2,procps,ethtool,busybox-static,dkms,gcc,make,libc6-dev,pkgconf
guest_packages+=,rdma-core,ibverbs-providers,ibverbs-utils,rdmacm-utils,perftest,libibverbs-dev,librdmacm-dev
root_of() {
	local suite=$1 kind=${2:-guest} uri base include made=$CACHE/roots/$1${2:+.$2} kernel=
	root=$made
	base=${suite%-backports}
	[ "$base" = "$suite" ] || kernel=/$suite
	case $kind in
	guest) include=$guest_packages,linux-image-amd64$kernel,linux-headers-amd64$kernel ;;
	build) include=build-essential,$(sed -n '/^Build-Depends:/,/^[^ ]*:/ { s/^Build-Depends://; /^[A-Z]/d; s/-compat ([^)]*)//; s/ //g; p }' \
		"$TOP/debian/control" | tr -d '\n') ;;
	esac
	[ "$(cat "$made.packages" 2>/dev/null)" != "$include" ] || return 0
	command -v mmdebstrap >/dev/null || die "no mmdebstrap: run scripts/setup deb"
	uri=$(archive)
	note "making a root folder of $suite, to ${kind/guest/boot} (minutes)"
	rm -rf "$made.new" "$made" && mkdir -p "${made%/*}" "$TOP/build/logs"
	# proxies and the like are as this system's
	{ echo 'APT::Install-Recommends "false";' && apt-config dump | grep -E '^Acquire::(Check-|https?::)' || true; } >"$made.apt"
	mmdebstrap --variant=minbase --aptopt="$made.apt" --include="$include" "$base" "$made.new" \
		"deb $uri $base main" ${kernel:+"deb $uri $suite main"} >"$TOP/build/logs/root.${made##*/}" 2>&1 ||
		die "cannot make a root folder of $suite ($TOP/build/logs/root.${made##*/})"
	mv "$made.new" "$made" && echo "$include" >"$made.packages"
}
inside() {
	# shellcheck disable=SC2016 # for the shell inside
	unshare --mount --pid --fork --mount-proc="$root/proc" -- sh -c 'mount -t sysfs sys "$0/sys" && mount -t tmpfs tmp "$0/run" &&
		exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"' "$root" "$@"
}
installed() { inside sh -c "cd /var/tmp/mroce && dpkg -i $1"; }
# shellcheck disable=SC2016 # for the shell inside
purged() { inside sh -c 'p=$(dpkg-query -f "\${Package} " -W "mroce*" 2>/dev/null); [ -z "$p" ] || dpkg --purge $p'; }
columns() {
	awk '{ for (i = 1; i <= NF; i++) { cell[NR, i] = $i; if (length($i) > width[i]) width[i] = length($i) } n[NR] = NF }
		END { for (r = 1; r <= NR; r++) for (i = 1; i <= n[r]; i++)
			printf "%s%s", cell[r, i], i == n[r] ? "\n" : sprintf("%*s", width[i] - length(cell[r, i]) + 2, "") }'
}
