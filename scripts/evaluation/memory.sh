# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154,SC2153 # shared with evaluate and its other parts
# SPDX-License-Identifier: GPL-2.0
#
# Sourced by evaluate, in a guest: what connections and streams take of the kernel's memory.

# Objects in use of all slab caches, pages that are mapped (rings among them) and those of each processor, in bytes; and each cache
cat >"$TMPDIR/account" <<'EOT'
sleep 1
awk 'FNR == NR && NR > 2 { slab += $2 * $4; print $1, $2 * $4 >(ENVIRON["TMPDIR"] "/caches." phase) }
	FNR != NR && /^VmallocUsed|^Percpu/ { v[$1] = $2 * 1024 }
	END { printf "%d %d %d\n", slab, v["VmallocUsed:"], v["Percpu:"] }' phase="$1" /proc/slabinfo phase="$1" /proc/meminfo >"$TMPDIR/account.$1"
EOT
# largest PHASE PHASE: what has grown most, KiB
largest() {
	awk 'FNR == NR { b[$1] = $2; next } { print int(($2 - b[$1]) / 1024), $1 }' "$TMPDIR/caches.$1" "$TMPDIR/caches.$2" | sort -rn | head -n 8 |
		sed "s/^/    KiB, $1 to $2: /"
}
# grown PHASE PHASE FIELD
grown() {
	local before after
	# a run that failed has none
	read -ra before <"$TMPDIR/account.$1" && read -ra after <"$TMPDIR/account.$2" || { echo 0 && return; }
	echo $((after[$3] - before[$3]))
}

case_memory() {
	local side=$((SECS < 6 ? 8 : 16)) n few=1 many=17 idle rings more_rings mapped
	n=$((side * side))
	fabric 9000 1 $side $side
	devices 1
	plane 0 100
	echo "# memory: 2 x $side devices after $SECONDS s"
	# the first use of anything allocates what is not a connection's
	flows -w 0 -t 1 -d 1 -s 4096 ma0 mb0
	undevices
	devices 1
	flows -w 1 -t 3 -d 16 -s 8192 -q $few -x "bash $TMPDIR/account" "$(names a $side)" "$(names b $side)"
	idle=$(grown open connected 0) mapped=$(grown open connected 1)
	largest open connected
	verdict write "$n connections, of one stream: objects of both ends" "$(calc "$idle / $n / 1024")" "KiB each"
	verdict write "loaded: objects of both ends" "$(calc "$(grown open loaded 0) / $n / 1024")" "KiB each"
	verdict write "mapped pages of both ends, rings included" "$(calc "$mapped / $n / 1024")" "KiB each"
	undevices
	devices 1
	flows -w 1 -t 1 -d 16 -s 8192 -q $many -x "bash $TMPDIR/account" "$(names a $side)" "$(names b $side)"
	largest open connected
	rings=$(calc "($(grown open connected 0) - $idle) / $n / ($many - $few) / 1024")
	more_rings=$(calc "($(grown open connected 1) - $mapped) / $n / ($many - $few) / 1024")
	verdict write "a further stream of a connection, one end: objects" "$(calc "$rings / 2")" KiB "<=" 2
	verdict write "a further stream of a connection, one end: mapped pages" "$(calc "$more_rings / 2")" KiB
	verdict write "a connection without its stream, one end: both halves" "$(calc "$idle / $n / 1024 / 2 - $rings / 2")" KiB "<=" 16
	undevices
	leave
}
