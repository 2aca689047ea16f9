"""Paths in the storage of a registry, and of the sweep's own files. Pure."""

from lading.kernel import digests
from lading.kernel.errors import Malformed
from lading.pruning.engine.inventory.observe_storage import (
    REPOSITORIES,
    ROOT,
    data_path,
    revision_link,
)
from lading.pruning.engine.inventory.storage_clock import FOLDER
from lading.pruning.sweep.types import Link, LinkKind

BLOBS = f"{ROOT}/blobs"
OWN = f"{FOLDER}/sweep"
"""Outside `docker/registry/v2`, so that no registry lists or deletes it."""
ASIDE = f"{OWN}/aside"


def layer_link(repository: str, digest: str) -> str:
    algorithm, _, encoded = digest.partition(":")
    return f"{REPOSITORIES}/{repository}/_layers/{algorithm}/{encoded}/link"


def link_path(link: Link) -> str:
    if link.kind is LinkKind.LAYER:
        return layer_link(link.repository, link.digest)
    return revision_link(link.repository, link.digest)


def tags_folder(repository: str) -> str:
    return f"{REPOSITORIES}/{repository}/_manifests/tags"


def revisions_folder(repository: str) -> str:
    return f"{REPOSITORIES}/{repository}/_manifests/revisions"


def upload_folder(path: str) -> str:
    """The folder of the upload that has this path."""
    place, mark, own = path.partition("/_uploads/")
    return f"{place}{mark}{own.partition('/')[0]}"


def aside_path(digest: str) -> str:
    """All in one folder, because on a full disk no new folder can be created."""
    return f"{ASIDE}/{digest.replace(':', '-')}"


def digest_aside(path: str) -> str:
    """Empty if no sweep put it there."""
    algorithm, _, encoded = path.removeprefix(f"{ASIDE}/").partition("-")
    return digest_of(algorithm, encoded)


def digest_of(algorithm: str, encoded: str) -> str:
    """Empty if the parts of the path are not a digest."""
    try:
        return str(digests.parse(f"{algorithm}:{encoded}"))
    except Malformed:
        return ""


__all__ = (
    "ASIDE", "BLOBS", "OWN", "REPOSITORIES", "ROOT", "aside_path", "data_path", "digest_aside",
    "digest_of", "layer_link", "link_path", "revision_link", "revisions_folder", "tags_folder",
    "upload_folder",
)  # fmt: skip
