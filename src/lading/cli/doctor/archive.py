"""The archive for a report of a bug: what was found, versions, and Lading's own objects.

No Secrets, ConfigMaps, environment variables or annotations; what looks like a password or a
token is replaced. Names of images, registries and nodes stay: without them a report says little.
"""

import io
import platform
import tarfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import lading
from lading import files
from lading.adapters.kube import discovery
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.connection import ConfigurationError
from lading.api.core import NODES, Node
from lading.cli import objects, output
from lading.cli.connection import Target
from lading.cli.doctor import findings
from lading.cli.doctor.findings import CheckFinding
from lading.cli.output import Format
from lading.observability import redaction
from lading.ports import kube
from lading.wiring.clock import system_clock
from lading.wiring.features import DEFINITIONS

FOLDER = "lading-doctor"


async def content(target: Target, found: Sequence[CheckFinding]) -> dict[str, str]:
    """Text by file name."""
    versions = {
        "lading": lading.__version__,
        "python": platform.python_version(),
        "machine": platform.platform(),
        "time": system_clock().now().isoformat(),
    }
    files_by_name = {
        "findings.yaml": output.document(redacted(findings.documents(found)), Format.YAML),
        "versions.yaml": output.document(versions, Format.YAML),
    }
    try:
        async with target.open() as client:
            files_by_name |= await _of_cluster(client)
    except (ConfigurationError, kube.KubeError):
        pass  # the findings say why there is no cluster
    return files_by_name


async def _of_cluster(client: KubeClient) -> dict[str, str]:
    """What is not installed or may not be read is left out, and nothing else."""
    catalogue = await discovery.discover(client)
    shown: dict[str, str] = {}
    for definition in DEFINITIONS:  # also those of another owner
        with suppress(kube.NotFound, kube.Forbidden):
            resource = catalogue.named(definition.name)
            items = [redacted(without_annotations(one)) async for one in client.each(resource)]
            if items:
                shown[f"{resource.plural}.yaml"] = output.document(items, Format.YAML)
    with suppress(kube.Forbidden):
        nodes = [redacted(_node(one)) async for one in client.each(NODES)]
        shown["nodes.yaml"] = output.document(nodes, Format.YAML)
    return shown


def _node(one: Node) -> dict[str, Any]:
    return {
        "name": one.metadata.name,
        "labels": dict(one.metadata.labels),
        "kubelet": one.status.node_info.kubelet_version,
        "platform": one.status.node_info.architecture,
    }


def without_annotations(content: Mapping[str, Any]) -> dict[str, Any]:
    """kubectl keeps whole objects in them, and others what they like."""
    shown = objects.readable(dict(content))
    metadata = {key: value for key, value in shown["metadata"].items() if key != "annotations"}
    return {**shown, "metadata": metadata}


def redacted(value: Any) -> Any:
    return redaction.bounded_value(value)


def write(path: Path, files_by_name: Mapping[str, str]) -> None:
    """Only its owner can read it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in files_by_name.items():
            data = text.encode()
            entry = tarfile.TarInfo(f"{FOLDER}/{name}")
            entry.size, entry.mode = len(data), 0o600
            archive.addfile(entry, io.BytesIO(data))
    files.write_atomically(path, buffer.getvalue(), mode=0o600)
