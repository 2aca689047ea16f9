#!/bin/sh
# Only node-1 has the set.
set -eu
cd "$(dirname "$0")"
. ../functions.sh

lading apply -f node.yaml
manifests set.yaml | lading apply -f -
lading pin wait some-nodes --timeout 120s
until_shown "node-1 .*Pinned *3/3" lading pin status some-nodes
checked "node-1 pins all three images"

never_shown "node-2" lading pin status some-nodes
checked "node-2 is not in zone a and does not have the set"

lading delete pis some-nodes
