#!/bin/sh
# What the programs of one node see, until SIGTERM: private.sh FOLDER ADDRESSES
#
# Writes below /var/lib, /var/log and /run stay in the folder, which is also /run/node. Nodes that
# share networks write which addresses are in use into the folder ADDRESSES.
set -e
for place in var/lib var/log run; do
  mkdir -p "$1/upper/$place" "$1/scratch/$place"
  mount -t overlay overlay -o "lowerdir=/$place,upperdir=$1/upper/$place,workdir=$1/scratch/$place" "/$place"
done
rm -rf /run/containerd /run/node /var/lib/cni
mkdir -p /run/netns "$2"
ln -s "$1" /run/node
bind() {
  mkdir -p "$1" "$2"
  mount --bind "$1" "$2"
}
bind "$1/var-lib-kubelet" /var/lib/kubelet
bind "$1/var-lib-containerd" /var/lib/containerd # no overlay: containerd makes overlays on it
bind "$2" /var/lib/cni/networks
# What a kubelet sets for the whole machine (setupKernelTunables), it writes into copies.
for name in kernel/panic kernel/panic_on_oops kernel/keys/root_maxbytes kernel/keys/root_maxkeys \
  vm/overcommit_memory vm/panic_on_oom; do
  cat "/proc/sys/$name" >"$1/${name##*/}"
  mount --bind "$1/${name##*/}" "/proc/sys/$name"
done
trap exit TERM
echo ready
sleep infinity &
wait
