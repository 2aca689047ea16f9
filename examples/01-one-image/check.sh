#!/bin/sh
# The image is pinned on every node.
set -eu
cd "$(dirname "$0")"
. ../functions.sh

manifests set.yaml | lading apply -f -
lading pin wait one-image --timeout 120s
checked "every node reports the set as pinned"

lading image ls -r "unix://$NODES/node-1/runtime.sock" | grep "first/app-1 .*true"
checked "the runtime of node-1 pins it"

lading delete pis one-image
