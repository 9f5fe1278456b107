#!/bin/sh
# Everything that make's targets need beside Python packages, in one place.
#
#   sh tests/setup.sh TARGET...             look at it all; make does so before anything else. What is missing is installed as root on
#                                           Debian or Ubuntu, unless SETUP=no; else all of it is named, with one command that installs it
#   sh tests/setup.sh --missing TARGET...   print the Debian packages that are missing, one a line
#   sh tests/setup.sh --list TARGET...      print the Debian packages, here or not, one a line
#
# It may run before Python is there, and calls no program but those that it looks for.
set -eu
case $0 in */*) cd "${0%/*}/.." ;; *) cd .. ;; esac

core="core check coverage mutation"
node="test-node node operators dra broken"
image="test-image test-node node release-dry-run"
go="apiserver peer bench release-dry-run $node"

requirements() {
  need_python 3.11
  need_go tests/cluster/tools/kubernetes/go.mod "$go"
  need_root "test-image $node"

  # Debian package, what shows that it is there, targets that need it, what for. The second is the name of a program, a path, or a
  # Python statement that succeeds; alternatives stand between |.
  need "$debian_python-venv" '.venv/bin/pip|import ensurepip' every 'make the virtual environment'
  need dash dash "$core $node" 'run the wait script as pods of Debian images do'
  need bash bash "$core $node" 'run the wait script as pods with bash do'
  need busybox busybox "$core $node" 'run the wait script as pods of Alpine images do'
  need chromium 'chromium|chromium-browser|google-chrome' "test-page page-images" \
    'open the page (Ubuntu has it as a snap only: install google-chrome there)'
  need fonts-liberation '/usr/share/fonts/*' "test-page page-images" 'give the page letters'
  need libatomic1 '/usr/lib/*/libatomic.so.1|/usr/lib64/libatomic.so.1|/usr/lib/libatomic.so.1' "test-page page-images" "run playwright's Node.js"
  need ca-certificates '/etc/ssl/certs/ca-certificates.crt|/etc/pki/tls/certs/ca-bundle.crt|/etc/ssl/cert.pem' "$go" \
    'download Go modules'
  need buildah buildah "$image" 'build the image'
  need mmdebstrap mmdebstrap "$image" 'make what the image is built on'
  need runc runc "test-image $node" 'run containers'
  need containerd containerd "test-node node operators broken" 'run pods'
  need containernetworking-plugins '/usr/lib/cni/macvlan' "$node" 'give pods networks'
  need iproute2 ip "$node" "make the node's networks"
  need nftables nft "$node" "route the node's Services"
  need mount mount "$node" "make the node's file systems"
  need util-linux unshare "$node" "make the node's namespaces"
  need libc-bin ldd "$node" 'make images of the programs that are here'
  need git git "operators broken image release-dry-run" 'name the commit'
  need etcd-server etcd operators "run torch's etcd rendezvous, whose API newer servers lack"
  need shellcheck shellcheck apiserver "judge the project's own scripts and those of its workflows"
  need gcc gcc "operators dra" 'compile stand-ins for CUDA'
  need libc6-dev '/usr/include/stdlib.h' "operators dra" 'compile'
}

say() { printf '%s\n' "$*" >&2; }

# Tell whether one of the wanted targets is among those given.
wanted() {
  [ "$1" = every ] && return 0
  for target in $targets; do
    case " $1 " in *" $target "*) return 0 ;; esac
  done
  return 1
}

need() {
  wanted "$3" || return 0
  if [ "$mode" = --list ]; then
    printf '%s\n' "$1"
  elif ! is_here "$2"; then
    packages="$packages $1"
    lines="$lines$(printf '\n  %-28s %s' "$1" "to $4")"
  fi
}

is_here() {
  rest="$1|"
  while [ -n "$rest" ]; do
    one=${rest%%|*} rest=${rest#*|}
    case $one in
      import\ *) "$python" -c "$one" >/dev/null 2>&1 && return 0 ;;
      */*) for path in $one; do [ -e "$path" ] && return 0; done ;;
      *) command -v "$one" >/dev/null && return 0 ;;
    esac
  done
  return 1
}

# What no package of the distribution's is sure to bring is an obstacle: then nothing is installed.
obstacle() { obstacles="$obstacles$(printf '\n  %-28s %s' "$1" "$2")"; }

need_python() {
  case $python in
    .venv/*) need "$debian_python" "$python" every 'run everything' ;;
    */*) [ -n "$mode" ] || is_here "$python" || obstacle "PYTHON=$python" "there is no such program; name one: make PYTHON=/path/to/python" ;;
    *) need "$debian_python" "$python" every 'run everything' ;;
  esac
  [ -z "$mode" ] && is_here "$python" || return 0
  found=$("$python" -c 'import platform; print(platform.python_version())')
  [ "$(number "$found")" -ge "$(number "$1")" ] ||
    obstacle "Python $1 or newer" "$python is $found; name a newer one: make PYTHON=/path/to/python"
}

# From 1.21 on, Go downloads the version that go.mod names, unless GOTOOLCHAIN forbids it.
need_go() {
  [ -z "$mode" ] && wanted "$2" || return 0
  while read -r word version; do [ "$word" = go ] && break; done <"$1"
  if ! command -v go >/dev/null; then
    obstacle "Go $version or newer" "there is no go on PATH; unpack it from https://go.dev/dl/ (Debian's is older)"
    return 0
  fi
  found=$(GOTOOLCHAIN=local go env GOVERSION) found=${found#go}
  [ "$(number "$found")" -ge "$(number "$version")" ] && return 0
  case $(go env GOTOOLCHAIN) in
    auto | *+auto) [ "$(number "$found")" -ge "$(number 1.21)" ] && return 0 ;;
  esac
  obstacle "Go $version or newer" "$(command -v go) is $found; https://go.dev/dl/ has it, and from 1.21 on GOTOOLCHAIN=auto downloads it"
}

need_root() {
  [ -z "$mode" ] && wanted "$1" && [ "$(id -u)" != 0 ] || return 0
  with='' without=''
  for target in $targets; do
    case " $1 " in
      *" $target "*) with="$with $target" ;;
      *) without="$without $target" ;;
    esac
  done
  obstacle root "for$with; what this user can run:${without:+ make$without}"
}

# Give a version as a number: 1.26.8 -> 1026008.
number() {
  IFS=. read -r major minor patch <<END
$1.0.0
END
  patch=${patch%%.*}
  echo $((${major%%[!0-9]*} * 1000000 + ${minor%%[!0-9]*} * 1000 + ${patch%%[!0-9]*}))
}

look() {
  packages='' lines='' obstacles=''
  python=${PYTHON:-python3} debian_python=${python##*/}
  [ ! -x .venv/bin/pip ] || python=.venv/bin/python
  requirements
}

install_packages() {
  say "These Debian packages are missing and are installed now, which may take minutes (SETUP=no forbids it):$lines"
  export DEBIAN_FRONTEND=noninteractive
  apt-get -qq update >/dev/null || say "apt-get update failed; trying with the package lists that are here"
  # shellcheck disable=SC2086 # a list of names
  apt-get -qq install -y --no-install-recommends --no-remove -o DPkg::Lock::Timeout=120 $packages >/dev/null && return 0
  say "apt-get could not install them; nothing was run. What was tried:"
  say "  apt-get install -y --no-install-recommends --no-remove$packages"
  exit 1
}

refuse() {
  say "Nothing was run. This machine lacks what these targets need: $targets$obstacles$lines"
  if [ -n "$packages" ]; then
    as_root='' && [ "$(id -u)" = 0 ] || as_root='sudo '
    is_here apt-get || say "There is no apt-get here; the names are Debian's, and your distribution's may differ. On Debian or Ubuntu:"
    is_here apt-get && say "Install the packages:"
    say "  ${as_root}apt-get update && ${as_root}apt-get install -y --no-install-recommends$packages"
  fi
  exit 1
}

mode=''
case ${1:-} in --list | --missing) mode=$1 && shift ;; esac
targets=$*
look
[ "$mode" != --missing ] || for package in $packages; do printf '%s\n' "$package"; done
[ -z "$mode" ] || exit 0
if [ -n "$packages" ] && [ -z "$obstacles" ] && [ "${SETUP:-}" != no ] && is_here apt-get && [ "$(id -u)" = 0 ]; then
  install_packages
  look
fi
[ -z "$obstacles$packages" ] || refuse
