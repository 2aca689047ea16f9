"""The pod network of a sandbox: one point-to-point device per pod, which ends with the pod."""

import json
import pathlib

from tests.real.bed import sandbox
from tests.real.setup import binaries

POD_SUBNET = "10.98.0.0/16"


def plugin_folder() -> pathlib.Path:
    return binaries.unpacked("containernetworking-plugins", "usr/lib/cni")


def configure(place: sandbox.Sandbox) -> pathlib.Path:
    """The folder with the network's description, as runtimes read it."""
    folder = place.make_folder("cni")
    addresses = {"type": "host-local", "subnet": POD_SUBNET, "dataDir": str(folder / "addresses")}
    description = {
        "cniVersion": "1.0.0",
        "name": place.folder.name,
        "plugins": [{"type": "ptp", "ipam": addresses}],
    }
    (folder / "10-lading.conflist").write_text(json.dumps(description))
    return folder
