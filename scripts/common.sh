# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Sourced by the scripts of this folder, on the host: messages, and where the
# kernels, caches and build results are.

# What was downloaded, and the User-Mode Linux builds
CACHE=${MROCE_CACHE:-${HOME:-/root}/.cache/mroce}
export MROCE_CACHE=$CACHE

TOP=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
export TOP

note() { printf '==> %s\n' "$*" >&2; }
die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}
# The comment block at the top of a script is its help
usage() {
	awk 'NR > 1 && /^#/ && !/SPDX/ { sub(/^# ?/, ""); if ($0 != "" || seen) { print; seen = 1 } next } seen { exit }' "$0"
	exit "${1:-0}"
}
need_root() { [ "$(id -u)" -eq 0 ] || die "$1 needs root"; }

# The archive that this system's own packages come from
archive() {
	{
		cat /etc/apt/sources.list.d/*.sources 2>/dev/null |
			awk '/^URIs:/ { for (i = 2; i <= NF; i++) if ($i ~ /\/debian\/?$/) { print $i; exit } }'
		# one of these may be missing
		awk '$1 == "deb" { for (i = 2; i <= NF; i++) if ($i ~ /^(http|ftp|file|copy).*\/debian\/?$/) { print $i; exit } }' \
			/etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null || true
	} | sed -n 1p
}

# Number of the private interface that plug-ins of the libibverbs in root folder $1 speak
plugin_abi() {
	local plugin
	for plugin in "${1%/}"/usr/lib/*/libibverbs/lib*-rdmav*.so; do
		[[ -e $plugin && ${plugin##*/} != libmroce-* ]] || continue
		plugin=${plugin##*-rdmav}
		echo "${plugin%.so}"
		return
	done
	return 1
}

# Newest Debian kernel under root folder $1 that can be booted
debian_kernel() {
	local release
	for release in $(printf '%s\n' "$1"/boot/vmlinuz-* | sort -rV); do
		release=${release##*/vmlinuz-}
		[ ! -e "$1/lib/modules/$release/kernel" ] || { echo "$release" && return; }
	done
	return 1
}

# Folder that a guest's module is built from, and the one it is built in (see Makefile)
guest_kdir() {
	case $1 in
	deb12) echo "/lib/modules/$(debian_kernel /)/build" ;;
	uml) echo "$CACHE/uml/fast" ;;
	uml-*) echo "$CACHE/uml/${1#uml-}" ;;
	*) return 1 ;;
	esac
}
guest_build() {
	local kdir release
	kdir=$(guest_kdir "$1") || return 1
	release=$(sed -n 's/^#define UTS_RELEASE "\(.*\)"/\1/p' "$kdir/include/generated/utsrelease.h")
	case $1 in
	uml*) echo "$TOP/build/$release-${kdir##*/}" ;;
	*) echo "$TOP/build/$release" ;;
	esac
}
