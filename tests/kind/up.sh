#!/bin/sh
# A kind cluster with Multus, Whereabouts, fabric-injector and a job that meets on a second network: `make kind`.
# It was checked by shellcheck and by kind's own types, and never run by the project's tests, which have no docker: `make node` was.
set -eu
cd "$(dirname "$0")/../.."
image=$1

cluster=fabric-injector
context=kind-$cluster
plugins=v1.9.1     # https://github.com/containernetworking/plugins: macvlan, which kind's nodes lack
multus=v4.3.0      # https://github.com/k8snetworkplumbingwg/multus-cni
whereabouts=v0.9.4 # https://github.com/k8snetworkplumbingwg/whereabouts
raw=https://raw.githubusercontent.com/k8snetworkplumbingwg

say() { printf '%s\n' "$*" >&2; }
kube() { kubectl --context "$context" "$@"; }

for program in docker kind kubectl curl; do
  command -v "$program" >/dev/null || { say "make kind needs $program on PATH; https://kind.sigs.k8s.io says how to get it"; exit 1; }
done
docker info >/dev/null || { say "make kind needs a docker daemon that answers"; exit 1; }

if kind get clusters | grep -qx "$cluster"; then
  say "the cluster $cluster is here already; remove it with: kind delete cluster --name $cluster"
  exit 1
fi
say "making a cluster of three nodes ..."
kind create cluster --config tests/kind/cluster.yaml --wait 120s
case $(docker version --format '{{.Server.Arch}}') in arm64) arch=arm64 ;; *) arch=amd64 ;; esac
for node in $(kind get nodes --name "$cluster"); do
  curl -fsSL "https://github.com/containernetworking/plugins/releases/download/$plugins/cni-plugins-linux-$arch-$plugins.tgz" |
    docker exec -i "$node" tar -xz -C /opt/cni/bin ./macvlan
done
say "installing Multus and Whereabouts ..."
kube apply -f "$raw/multus-cni/$multus/deployments/multus-daemonset-thick.yml"
for file in whereabouts.cni.cncf.io_ippools whereabouts.cni.cncf.io_overlappingrangeipreservations daemonset-install; do
  kube apply -f "$raw/whereabouts/$whereabouts/doc/crds/$file.yaml"
done
kube --namespace kube-system rollout status daemonset/kube-multus-ds daemonset/whereabouts --timeout 180s

say "installing fabric-injector ..."
kind load docker-image --name "$cluster" "$image"
kube apply --server-side -f manifests/base/custom-resource-definition.yaml
kube wait --for=condition=Established crd/fabricprofiles.fabric-injector.io
kube apply -f tests/kind/fabric.yaml
make --silent manifests IMAGE="${image%:*}" | kube apply --server-side -f -
kube --namespace fabric-injector rollout status deployment/fabric-injector-webhook deployment/fabric-injector-controller --timeout 180s
kube create namespace research
kube label namespace research fabric-injector.io/profile=fabric

say "running a job on it ..."
.venv/bin/fabric-injector test --context "$context" -n research --image "$image"
say "
The cluster stays: kubectl --context $context get pods -A
Remove it with:    kind delete cluster --name $cluster"
