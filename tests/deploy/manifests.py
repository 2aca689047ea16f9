"""The manifests of `deploy/`, as documents: what is installed, and what an overlay changes."""

from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
OVERLAYS = ("containerd", "cri-o")
NAMESPACE, AGENT_NAMESPACE = "lading-system", "lading-agents"
KUSTOMIZATION = "kustomization.yaml"
NAMESPACES = DEPLOY / "base" / "namespace.yaml"
SHARED = DEPLOY / "chart" / "files"
"""The generated manifests, which kustomize and the chart both install."""

SETTING = DEPLOY / "optional" / "longhorn-settings" / "settings.longhorn.io.yaml"
"""The kind that Longhorn has too; only tests that turn pre-pull off apply it."""

Document = dict[str, Any]


def definitions() -> list[Document]:
    return [document for file in sorted((DEPLOY / "crds").iterdir()) for document in _read(file)]


def base() -> list[Document]:
    """In the order of the kustomization, which is one in which they can be created."""
    return resources(DEPLOY / "base")


def resources(folder: Path) -> list[Document]:
    """Those of a kustomization, without its patches."""
    (listed,) = _read(folder / KUSTOMIZATION)
    paths = [folder / name for name in listed["resources"]]
    return [one for path in paths for one in (resources if path.is_dir() else _read)(path)]


def overlay(name: str) -> list[Document]:
    """The patches of an overlay."""
    patches = kustomization(name)["patches"]
    return [document for one in patches for document in _read(DEPLOY / name / one["path"])]


def kustomization(folder: str) -> Document:
    (document,) = _read(DEPLOY / folder / KUSTOMIZATION)
    return document


def _read(file: Path) -> list[Document]:
    return list(yaml.safe_load_all(file.read_text(encoding="utf-8")))
