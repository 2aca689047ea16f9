"""Running one container in a pod of its own, straight on a runtime, without Kubernetes."""

import json
import pathlib
from collections.abc import Mapping

from tests.real.bed import runtime

OWN_PROCESSES = {"security_context": {"namespace_options": {"pid": 1}}}
"""Each container sees only its own processes, as under a kubelet; CRI-O then needs no pause."""


def run(engine: runtime.Runtime, *, name: str, image: str) -> str:
    """Pull, create and start; returns the container's id."""
    pod = {
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "log_directory": str(engine.sandbox_folder),
        "linux": {"cgroup_parent": f"/{engine.sandbox_folder.name}", **OWN_PROCESSES},
    }
    container = {
        "metadata": {"name": name},
        "image": {"image": image},
        "log_path": f"{name}.log",
        "linux": OWN_PROCESSES,
    }
    container_file = _write(engine.sandbox_folder / f"{name}-container.json", container)
    pod_file = _write(engine.sandbox_folder / f"{name}-pod.json", pod)
    return engine.crictl("run", container_file, pod_file).strip()


def _write(path: pathlib.Path, description: Mapping[str, object]) -> str:
    path.write_text(json.dumps(description))
    return str(path)
