#!/bin/sh
# The image is pinned for the host and for the class.
set -eu
cd "$(dirname "$0")"
. ../functions.sh

manifests sets.yaml | lading apply -f -
lading pin wait for-the-host for-virtual-machines --timeout 120s

images() {
  lading image ls --feature-gates RuntimeClassInImageCriApi=true -r "unix://$NODES/node-1/runtime.sock"
}
images | grep "first/app-1 .*true *<default>"
checked "node-1 pins it for the host"

images | grep "first/app-1 .*true *kata"
checked "node-1 pins it for the guests of the class kata"

lading delete pis for-the-host for-virtual-machines
lading delete runtimeclass kata
