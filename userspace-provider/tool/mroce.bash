# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Completion of mroce(8) for bash.

_mroce() {
	local word=${COMP_WORDS[COMP_CWORD]} words=() i choices=''
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -* ]] || words+=("${COMP_WORDS[i]}")
	done
	_mroce_devices() { mroce show 2>/dev/null | awk '{ print $2 }'; }
	_mroce_netdevs() { find /sys/class/net -mindepth 1 -printf '%f\n' 2>/dev/null; }
	case "${#words[@]} ${words[*]}" in
	0\ *) choices='show set plane peer path conn stream share top monitor doctor -j -h' ;;
	1\ plane) choices='show add drain del' ;;
	1\ peer) choices='show set' ;;
	1\ path | 1\ conn | 1\ stream | 1\ share) choices='show' ;;
	1\ show | 1\ set | 1\ doctor | 2\ plane\ * | 2\ peer\ * | 2\ path\ show | 2\ conn\ show | 2\ stream\ show | 2\ share\ show) choices=$(_mroce_devices) ;;
	3\ plane\ add\ * | 3\ plane\ drain\ * | 3\ plane\ del\ *) choices=netdev ;;
	4\ plane\ add\ * | 4\ plane\ drain\ * | 4\ plane\ del\ *) choices=$(_mroce_netdevs) ;;
	4\ peer\ set\ *) choices=weight ;;
	1\ top) choices="$(_mroce_devices) -b -d -s" ;;
	[2468]\ set\ *) choices='paths burst held-limit capacity' ;;
	esac
	[ "${COMP_WORDS[COMP_CWORD - 1]}" != -s ] || choices='r t m l s'
	unset -f _mroce_devices _mroce_netdevs
	mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
}
complete -F _mroce mroce
