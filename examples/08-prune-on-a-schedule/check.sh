#!/bin/sh
# The ImagePruner becomes a CronJob that prunes this registry.
set -eu
cd "$(dirname "$0")"
. ../functions.sh

manifests image-pruner.yaml | lading apply --force-conflicts -f -
until_shown "$REGISTRY" lading get cronjobs -A -o yaml
checked "a CronJob prunes the registry"

until_shown "cluster .*False" lading get imagepruner cluster
checked "it is not suspended"

lading validate -f cron-job.yaml
checked "the plain CronJob is valid"
