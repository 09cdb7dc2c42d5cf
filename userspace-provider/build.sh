#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# build.sh RDMA_CORE_TREE OUTDIR
#
# Build the provider inside a copy of an unpacked rdma-core source tree, which is
# left as it is. OUTDIR receives
#   libmroce-rdmav<N>.so        the plug-in; N is the tree's private ABI number
#   mroce.driver                to install in /etc/libibverbs.d
#   libibverbs.d/mroce.driver   the same, naming the plug-in in OUTDIR by its path
#   tree/, tree/build/          the copy and its build folder (kept: a second run
#                               compiles only what has changed)
# STATIC=1 builds the static libraries too, ALL=1 the whole tree.
set -euo pipefail

usage() {
	echo "usage: build.sh RDMA_CORE_TREE OUTDIR" >&2
	exit 2
}
die() {
	echo "build.sh: $*" >&2
	exit 1
}

[ $# -eq 2 ] || usage
src=$(realpath -e "$1") || die "no such folder: $1"
[ -f "$src/libibverbs/driver.h" ] || die "$src is not an rdma-core source tree"
mkdir -p "$2"
out=$(realpath "$2")
here=$(dirname "$(realpath "$0")")
abi_header=$here/../include/uapi/rdma/mroce-abi.h
tree=$out/tree

# Insert line $2 before the first line that matches $1 of file $3.
insert_before() {
	grep -q -- "$1" "$3" || die "$3 has no line to put mroce before: $1"
	sed -i "0,/$1/s//${2//\//\\/}\n&/" "$3"
}

# Enter the provider where rdma-core lists its own: the folder, the kernel header
# (published as it is, and turned into the structures that DECLARE_DRV_CMD wants),
# and the name that a statically linked program selects it by.
integrate() {
	ln -s "$here" "$tree/providers/mroce"
	ln -s "$(realpath "$abi_header")" "$tree/kernel-headers/rdma/mroce-abi.h"
	insert_before '^add_subdirectory(providers\/rxe)' \
		'add_subdirectory(providers/mroce)' "$tree/CMakeLists.txt"
	sed -i 's|^  rdma/mthca-abi.h$|  rdma/mroce-abi.h\n&|' \
		"$tree/kernel-headers/CMakeLists.txt"
	[ "$(grep -c 'rdma/mroce-abi.h' "$tree/kernel-headers/CMakeLists.txt")" -eq 2 ] ||
		die "kernel-headers/CMakeLists.txt has changed its lists"
	insert_before '^extern const struct verbs_device_ops verbs_provider_rxe;' \
		'extern const struct verbs_device_ops verbs_provider_mroce;' \
		"$tree/libibverbs/verbs.h"
}

if [ "$(cat "$tree/.mroce-source" 2>/dev/null)" != "$src $here" ]; then
	rm -rf "$tree"
	cp -a "$src" "$tree"
	rm -rf "$tree/build"
	integrate
	echo "$src $here" >"$tree/.mroce-source"
fi

mkdir -p "$tree/build"
cd "$tree/build"
# without RPATH: what is installed must not look for libraries where it was built
options=(-DNO_MAN_PAGES=1 -DNO_PYVERBS=1 -DENABLE_STATIC="${STATIC:-0}" -DCMAKE_BUILD_TYPE=RelWithDebInfo
	-DENABLE_WERROR=1 -DCMAKE_SKIP_RPATH=1)
if [ ! -f build.ninja ] || [ "$(cat .mroce-options 2>/dev/null)" != "${options[*]}" ]; then
	cmake -GNinja -Wno-dev "${options[@]}" .. >cmake.log || {
		cat cmake.log >&2
		die "cmake failed"
	}
	echo "${options[*]}" >.mroce-options
fi

abi=$(sed -n 's/^set(IBVERBS_PABI_VERSION "\([0-9]*\)")/\1/p' ../CMakeLists.txt)
[ -n "$abi" ] || die "CMakeLists.txt has no IBVERBS_PABI_VERSION"
targets=("mroce-rdmav$abi")
[ "${STATIC:-0}" = 0 ] || targets+=(make_static)
[ "${ALL:-0}" = 0 ] || targets=(all)
ninja "${targets[@]}" >ninja.log || {
	cat ninja.log >&2
	die "ninja failed"
}

plugin=libmroce-rdmav$abi.so
cmp -s "lib/$plugin" "$out/$plugin" || install -m 0644 "lib/$plugin" "$out/$plugin"
mkdir -p "$out/libibverbs.d"
echo "driver mroce" >"$out/mroce.driver"
echo "driver $out/libmroce" >"$out/libibverbs.d/mroce.driver"
echo "$out/$plugin"
