#!/bin/sh
# What is pinned stays, the rest goes to the trash, and comes back.
set -eu
cd "$(dirname "$0")"
. ../functions.sh

prune() {
  lading prune "$@" --registry-url "http://$REGISTRY"
}
rules="--policy policy.yaml --keep-younger-than 0s"

manifests ../01-one-image/set.yaml | lading apply -f -
prune images $rules | grep "Deleting tag first/app-2:v1"
checked "a dry run shows what would go"

prune why first/app-1:v1 $rules | grep "keep .*PinnedImageSet one-image"
checked "first/app-1 stays, because a set pins it"

prune images $rules --confirm
prune why first/app-1:v1 $rules | grep "keep"
prune trash | grep "first/app-2"
checked "first/app-2 is in the trash"

prune restore first/app-2:v1
prune restore first/app-3:v1
prune images $rules | grep "Deleting tag first/app-2:v1"
checked "first/app-2 is in the registry again"

lading delete pis one-image
