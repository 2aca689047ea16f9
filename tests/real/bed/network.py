"""The pod network of a sandbox: one point-to-point device per pod, which ends with the pod."""

import json
import pathlib

from tests.real.bed import addresses, sandbox
from tests.real.setup import binaries


def plugin_folder() -> pathlib.Path:
    return binaries.unpacked("containernetworking-plugins", "usr/lib/cni")


def configure(place: sandbox.Sandbox) -> pathlib.Path:
    """The folder with the network's description, as runtimes read it."""
    folder = place.make_folder("cni")
    subnet = addresses.subnet(place.folder)
    address_management = {
        "type": "host-local",
        "subnet": f"{subnet}.{addresses.PODS}",
        # To the addresses of the sandbox, and no further.
        "routes": [{"dst": f"{subnet}.{addresses.ALL}", "gw": f"{subnet}.{addresses.GATEWAY}"}],
        "dataDir": str(folder / "addresses"),
    }
    description = {
        "cniVersion": "1.0.0",
        "name": place.folder.name,
        "plugins": [{"type": "ptp", "ipam": address_management}],
    }
    (folder / "10-lading.conflist").write_text(json.dumps(description))
    return folder
