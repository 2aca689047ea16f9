"""A real CRI-O in a sandbox, with plain-HTTP registries allowed. Containers are run by runc."""

import contextlib
import json
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

import tomli_w

from tests.real.bed import containerd, network, registry, runtime, sandbox
from tests.real.setup import binaries

VERSION = "1.36"


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
    folder = place.make_folder("crio")
    pause_image = containerd.push_pause_image(registries[0])
    root = root or folder / "root"
    config_file = folder / "crio.conf"
    config = _config(folder, root, network.configure(place), pause_image)
    config_file.write_text(tomli_w.dumps({"crio": config}))
    _allow_plain_http(folder, registries)
    return _launch(place, folder, root, config_file)


def _launch(
    place: sandbox.Sandbox, folder: pathlib.Path, root: pathlib.Path, config_file: pathlib.Path
) -> runtime.Runtime:
    drop_ins = place.make_folder("crio/conf.d")
    process = place.start(
        "crio",
        [
            binaries.built("cri-o", "crio"),
            f"--config={config_file}",
            f"--config-dir={drop_ins}",
        ],
        # Registries are read from the user's folder, and no option of CRI-O names another one.
        HOME=str(folder),
    )
    running = runtime.Runtime(
        kind="cri-o",
        version=VERSION,
        endpoint=f"unix://{folder / containerd.SOCKET_NAME}",
        root=root,
        conf_dir=drop_ins,
        pid=process.pid,
        containerd_address=None,
        sandbox_folder=place.folder,
    )
    process.wait_until(running.answers, what=f"{running.endpoint} answered")
    return running


def _allow_plain_http(folder: pathlib.Path, registries: Sequence[registry.Registry]) -> None:
    user_folder = folder / ".config" / "containers"
    user_folder.mkdir(parents=True)
    entries = [{"location": each.host, "insecure": True} for each in registries]
    (user_folder / "registries.conf").write_text(tomli_w.dumps({"registry": entries}))


def _config(
    folder: pathlib.Path, root: pathlib.Path, network_folder: pathlib.Path, pause_image: str
) -> dict[str, Any]:
    policy_file = folder / "policy.json"
    policy_file.write_text(json.dumps({"default": [{"type": "insecureAcceptAnything"}]}))
    return {
        "root": str(root),
        "runroot": str(folder / "runroot"),
        "storage_driver": "overlay",
        "log_dir": str(folder / "logs"),
        "version_file": str(folder / "version"),
        "clean_shutdown_file": str(folder / "clean.shutdown"),
        "api": {
            "listen": str(folder / containerd.SOCKET_NAME),
            "stream_address": "127.0.0.1",
            "stream_port": "0",
        },
        "image": {
            "pause_image": pause_image,
            "pause_command": "/bin/sleep 1000000",
            "signature_policy": str(policy_file),
        },
        "network": {
            "network_dir": str(network_folder),
            "plugin_dirs": [str(network.plugin_folder())],
        },
        "nri": {"enable_nri": False},
        "runtime": _runtime_config(folder),
    }


def _runtime_config(folder: pathlib.Path) -> dict[str, Any]:
    runc = {
        "runtime_path": str(binaries.unpacked("runc", "usr/sbin/runc")),
        "runtime_root": str(folder / "runc"),
        "monitor_path": str(binaries.unpacked("conmon", "usr/bin/conmon")),
        "monitor_cgroup": "pod",
    }
    return {
        "apparmor_profile": "unconfined",
        "cgroup_manager": "cgroupfs",
        "conmon_cgroup": "pod",
        "container_attach_socket_dir": str(folder / "attach"),
        "container_exits_dir": str(folder / "exits"),
        "default_runtime": "runc",
        # It would write to the host's packet filter.
        "disable_hostport_mapping": True,
        "namespaces_dir": str(folder / "namespaces"),
        "pinns_path": str(binaries.built("cri-o", "pinns")),
        "runtimes": {"runc": runc},
    }
