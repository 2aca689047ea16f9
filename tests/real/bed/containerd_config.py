"""The configuration files of containerd, by the format each release line reads.

Sockets, images and state are where they are without a word in the configuration. What is switched
off needs rights or devices that a test machine may lack, and has nothing to do with images.
"""

import dataclasses
import pathlib
from typing import Any

DISABLED_PLUGINS = (
    "io.containerd.internal.v1.opt",
    "io.containerd.nri.v1.nri",
    "io.containerd.snapshotter.v1.blockfile",
    "io.containerd.snapshotter.v1.btrfs",
    "io.containerd.snapshotter.v1.devmapper",
    "io.containerd.snapshotter.v1.zfs",
    "io.containerd.tracing.processor.v1.otlp",
)
CERTS_DIR = "/etc/containerd/certs.d"
SNAPSHOTTERS = ("overlayfs", "native")
"""The handler `runc` keeps its images in the first, `runc-native` in the second."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    cni_conf_dir: pathlib.Path
    cni_bin_dir: pathlib.Path
    runc: pathlib.Path
    pause_image: str


def version_2(settings: Settings) -> dict[str, Any]:
    """containerd 1.6 and 1.7."""
    cri = _restrictions() | {
        "sandbox_image": settings.pause_image,
        "stream_server_address": "127.0.0.1",
        "cni": {
            "bin_dir": str(settings.cni_bin_dir),
            "conf_dir": str(settings.cni_conf_dir),
        },
        "containerd": {"snapshotter": SNAPSHOTTERS[0], **_runtimes(settings)},
        "registry": {"config_path": CERTS_DIR},
    }
    return _base(2) | {"plugins": {"io.containerd.grpc.v1.cri": cri}}


def version_3(settings: Settings) -> dict[str, Any]:
    """containerd 2.x."""
    images = {
        "snapshotter": SNAPSHOTTERS[0],
        "pinned_images": {"sandbox": settings.pause_image},
        "registry": {"config_path": CERTS_DIR},
        "runtime_platforms": {
            "runc-native": {"snapshotter": SNAPSHOTTERS[1]},
        },
    }
    runtime = _restrictions() | {
        "cni": {
            "bin_dirs": [str(settings.cni_bin_dir)],
            "conf_dir": str(settings.cni_conf_dir),
        },
        "containerd": _runtimes(settings),
    }
    transfer = {
        "config_path": CERTS_DIR,
        "unpack_config": [
            {"platform": "linux", "snapshotter": snapshotter} for snapshotter in SNAPSHOTTERS
        ],
    }
    return _base(3) | {
        "plugins": {
            "io.containerd.cri.v1.images": images,
            "io.containerd.cri.v1.runtime": runtime,
            "io.containerd.grpc.v1.cri": {"stream_server_address": "127.0.0.1"},
            "io.containerd.transfer.v1.local": transfer,
        }
    }


def _base(version: int) -> dict[str, Any]:
    return {"version": version, "disabled_plugins": list(DISABLED_PLUGINS)}


def _restrictions() -> dict[str, Any]:
    return {
        # Without CAP_SYS_RESOURCE the kernel refuses scores below our own.
        "restrict_oom_score_adj": True,
        "disable_apparmor": True,
        "enable_unprivileged_icmp": False,
        "enable_unprivileged_ports": False,
    }


def _runtimes(settings: Settings) -> dict[str, Any]:
    options = {"BinaryName": str(settings.runc)}
    handler = {"runtime_type": "io.containerd.runc.v2", "options": options}
    return {
        "default_runtime_name": "runc",
        "runtimes": {"runc": handler, "runc-native": handler | {"snapshotter": SNAPSHOTTERS[1]}},
    }
