# Wait until each FILE or FILE:own in "$@" holds an address; an :own address counts only once it is on an interface here.
# Files nccl-ib-hca and ucx-net-devices hold device names.
# POSIX sh; runs no other program than sleep. Exit status 75: the time is up, or file wait-ends says why no address will come.
set -f
dir=${FABRIC_INJECTOR_DIR:-/etc/fabric-injector} net=${FABRIC_INJECTOR_PROC_NET:-/proc/net}
limit=${FABRIC_INJECTOR_TIMEOUT:-1800} ticks=0 told=''
trap 'exit 143' TERM INT
now() {
  if { read -r up rest < /proc/uptime; } 2>/dev/null; then seconds=${up%%.*}; else seconds=$((ticks / 5)); fi
}
pause() {
  if sleep 0.2 2>/dev/null; then ticks=$((ticks + 1)); else sleep 1; ticks=$((ticks + 5)); fi
}
# pad GROUPS: append each group of an IPv6 address to $hex with four digits.
pad() {
  old=$IFS; IFS=:
  for group in $1; do
    case ${#group} in 1) group=000$group ;; 2) group=00$group ;; 3) group=0$group ;; esac
    hex=$hex$group; groups=$((groups + 1))
  done
  IFS=$old
}
# expand ADDRESS: put the 32 digits by which /proc/net/if_inet6 writes an IPv6 address into $hex.
expand() {
  hex=''; groups=0
  case $1 in
    *::*)
      pad "${1%%::*}"; front=$hex; hex=''; pad "${1#*::}"
      while [ "$groups" -lt 8 ]; do front=${front}0000; groups=$((groups + 1)); done
      hex=$front$hex ;;
    *) pad "$1" ;;
  esac
}
unreadable() {
  [ -n "$told" ] || echo "fabric-injector-wait: cannot read $net/$1: not checked that the address is on an interface here" >&2
  told=1
}
is_here() {
  case $1 in
    *:*)
      [ -r "$net/if_inet6" ] || { unreadable if_inet6; return 0; }
      expand "$1"
      while read -r have rest; do [ "$have" = "$hex" ] && return 0; done < "$net/if_inet6"
      return 1 ;;
  esac
  [ -r "$net/fib_trie" ] || { unreadable fib_trie; return 0; }
  seen=''
  while read -r mark word rest; do
    if [ "$mark" = '|--' ]; then seen=$word
    elif [ "$seen" = "$1" ] && [ "$mark $word ${rest%% *}" = '/32 host LOCAL' ]; then return 0
    fi
  done < "$net/fib_trie"
  return 1
}
# lacks FILE[:own]...: succeed while one of them is missing, and say in $lack and $why which.
lacks() {
  for need in "$@"; do
    lack=${need%%:*}; address=''
    { read -r address < "$dir/$lack"; } 2>/dev/null
    if [ -z "$address" ]; then why='was not published'; return 0; fi
    case $need in *:own) is_here "$address" || { why="is $address, which is on no interface of this pod,"; return 0; } ;; esac
  done
  return 1
}
now; start=$seconds
echo "fabric-injector-wait: job ${FABRIC_INJECTOR_JOB:-unknown}: waiting for $*"
# leave TEXT: as the last words, which the pod's status shows.
leave() {
  { echo "$1" > "${FABRIC_INJECTOR_TERMINATION_LOG:-/dev/termination-log}"; } 2>/dev/null || :
}
give_up() {
  echo "fabric-injector: $1" >&2
  leave "fabric-injector: $1"
  exit 75
}
hold_back() {
  while lacks "$@"; do
    cause=''
    { read -r cause < "$dir/wait-ends"; } 2>/dev/null
    [ -z "$cause" ] || give_up "$cause"
    now
    if [ $((seconds - start)) -ge "$limit" ]; then
      case $lack in master-*) whose="its rank-0 pod ${FABRIC_INJECTOR_RANK_ZERO:-}" ;; *) whose='this pod' ;; esac
      text="$lack of job ${FABRIC_INJECTOR_JOB:-unknown} $why after $limit s. Look at the Events of $whose"
      give_up "$text, at that pod's network-status annotation, and at the fabric-injector controller."
    fi
    pause
  done
}
# The kubelet shows a new annotation in the volume before it starts containers by it: a sync that took the pod from before waits for the
# next look at the containers, a second at most where the node is at ease. If we ended ahead of that look, it would start the next
# container with an empty variable.
while :; do
  hold_back "$@"
  enough=$((ticks + 5 * ${FABRIC_INJECTOR_SETTLE:-2}))
  while [ "$ticks" -lt "$enough" ]; do pause; done
  lacks "$@" || break
done
address=''
{ read -r address < "$dir/master-addr"; } 2>/dev/null
leave "$address"
