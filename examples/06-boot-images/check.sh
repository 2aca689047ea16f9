#!/bin/sh
# The machine set waits for the release, and is not changed against its manager.
set -eu
cd "$(dirname "$0")"
. ../functions.sh

image() {
  lading get machinesets.machine.openshift.io worker-a -n openshift-machine-api -o yaml
}
lading apply -f machines.yaml -f configuration.yaml
until_shown "worker-a.*Waiting" lading bootimage status
image | grep "rhcos-45-82-202008010929-0-gcp-x86-64"
checked "the machine set waits until a node runs the release"

lading apply -f node.yaml
until_shown "worker-a.*FieldManagedByOther" lading bootimage status
image | grep "rhcos-45-82-202008010929-0-gcp-x86-64"
checked "Lading does not change a machine set that another manager applies"

lading delete -f machines.yaml -f configuration.yaml || true # their namespace takes some with it
