#!/bin/sh
# Nodes of the pool have its set and those of workers; other nodes only the latter.
set -eu
cd "$(dirname "$0")"
. ../functions.sh

lading apply -f node.yaml
manifests pool.yaml | lading apply -f -
manifests workers.yaml | lading apply -f -
lading pin wait infra-only for-workers --timeout 120s
until_shown "node-2 .*Pinned *1/1" lading pin status infra-only
never_shown "node-1" lading pin status infra-only
checked "only node-2 has the set of the role infra"

until_shown "node-1 .*Pinned *1/1" lading pin status for-workers
until_shown "node-2 .*Pinned *1/1" lading pin status for-workers
checked "both have the set of the workers"

lading delete pis infra-only for-workers
lading delete mcp infra
