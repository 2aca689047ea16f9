#!/bin/sh
# All of it together, and the doctor has nothing to say.
set -eu
cd "$(dirname "$0")"
. ../functions.sh

manifests everything.yaml | lading validate -f -
manifests everything.yaml | lading apply --force-conflicts -f -
lading pin wait one-image --timeout 120s
until_shown "share-manager *deployed *3/3" lading prepull status
checked "sets and images are on the nodes"

lading doctor
checked "no check of the doctor failed"

lading delete pis one-image infra-only
lading delete mcp infra
lading delete images.longhorn.io share-manager
