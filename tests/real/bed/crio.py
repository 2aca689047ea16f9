"""A real CRI-O in a sandbox, with plain-HTTP registries allowed. Containers are run by runc.

In the sandbox it is where its packages put it, and so are its sockets, images and state.
"""

import contextlib
import json
import pathlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import tomli_w

from tests.real.bed import containerd, network, registry, runtime, sandbox
from tests.real.setup import binaries

VERSION = "1.36"
ENDPOINT = "unix:///run/crio/crio.sock"
ROOT = pathlib.Path("/var/lib/containers/storage")
CONFIGURATION = pathlib.Path("/etc/crio")
REGISTRIES = pathlib.Path("/etc/containers")
CONTROLLERS = pathlib.Path("/proc/cgroups")


@contextlib.contextmanager
def crio(
    *, registries: Sequence[registry.Registry], root: pathlib.Path | None = None
) -> Iterator[runtime.Runtime]:
    """The first registry also holds the pause image. A root elsewhere may be a small disk."""
    with sandbox.sandbox() as place:
        yield start(place, registries=registries, root=root)


def start(
    place: sandbox.Sandbox,
    *,
    registries: Sequence[registry.Registry],
    root: pathlib.Path | None = None,
) -> runtime.Runtime:
    pause_image = containerd.push_pause_image(registries[0])
    configuration = place.make_host_folder(CONFIGURATION)
    config = _config(network.configure(place), pause_image)
    (configuration / "crio.conf").write_text(tomli_w.dumps({"crio": config}))
    _allow_plain_http(place.make_host_folder(REGISTRIES), registries)
    _hide_controllers_without_a_hierarchy(place)
    return _launch(place, place.make_root(ROOT, root))


def _launch(place: sandbox.Sandbox, root: pathlib.Path) -> runtime.Runtime:
    drop_ins = place.make_host_folder(CONFIGURATION / "crio.conf.d")
    process = place.start("crio", [binaries.built("cri-o", "crio")])
    running = runtime.Runtime(
        kind="cri-o",
        version=VERSION,
        endpoint_inside=ENDPOINT,
        host_root=place.host_root,
        root=root,
        conf_dir=drop_ins,
        pid=process.pid,
        sandbox_folder=place.folder,
    )
    process.wait_until(running.answers, what=f"{running.endpoint} answered")
    return running


def _allow_plain_http(folder: pathlib.Path, registries: Sequence[registry.Registry]) -> None:
    entries = [{"location": each.host, "insecure": True} for each in registries]
    (folder / "registries.conf").write_text(tomli_w.dumps({"registry": entries}))
    trust = {"default": [{"type": "insecureAcceptAnything"}]}
    (folder / "policy.json").write_text(json.dumps(trust))


def _hide_controllers_without_a_hierarchy(place: sandbox.Sandbox) -> None:
    """CRI-O sets limits wherever the kernel has a controller; not every machine has mounted all."""
    controllers = place.folder / CONTROLLERS.name
    # Name, hierarchy, number of groups, enabled.
    controllers.write_text(
        re.sub(r"^(\S+\t0\t\d+)\t1$", r"\1\t0", CONTROLLERS.read_text(), flags=re.MULTILINE)
    )
    place.run("mount", "--bind", controllers, CONTROLLERS)


def _config(network_folder: pathlib.Path, pause_image: str) -> dict[str, Any]:
    return {
        "storage_driver": "overlay",
        "api": {"stream_address": "127.0.0.1", "stream_port": "0"},
        "image": {"pause_image": pause_image, "pause_command": "/bin/sleep 1000000"},
        "network": {
            "network_dir": str(network_folder),
            "plugin_dirs": [str(network.plugin_folder())],
        },
        "nri": {"enable_nri": False},
        "runtime": _runtime_config(),
    }


def _runtime_config() -> dict[str, Any]:
    runc = {
        "runtime_path": str(binaries.unpacked("runc", "usr/sbin/runc")),
        "monitor_path": str(binaries.unpacked("conmon", "usr/bin/conmon")),
        "monitor_cgroup": "pod",
    }
    return {
        "apparmor_profile": "unconfined",
        "cgroup_manager": "cgroupfs",
        "conmon_cgroup": "pod",
        "default_runtime": "runc",
        # It would write to the host's packet filter.
        "disable_hostport_mapping": True,
        "pinns_path": str(binaries.built("cri-o", "pinns")),
        "runtimes": {"runc": runc},
    }
