#!/bin/sh
# Every node holds the image.
set -eu
cd "$(dirname "$0")"
. ../functions.sh

manifests image.yaml | lading apply -f -
until_shown "share-manager *deployed *3/3" lading prepull status
checked "all three nodes hold the image"

lading image ls -r "unix://$NODES/node-3/runtime.sock" | grep "first/app-1 "
checked "the runtime of node-3 has it"

lading delete images.longhorn.io share-manager
