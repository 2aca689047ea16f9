"""The annotation in which kube-apiserver counts the templates of a DaemonSet.

It is deprecated, and still written to every one: clients that compare annotations expect it.
"""

from lading.servers.kube.schema.nodes import Document

ANNOTATION = "deprecated.daemonset.template.generation"


def begun(daemon_set: Document) -> Document:
    return _with_count(daemon_set, "1")


def carried(old: Document, new: Document) -> Document:
    """What was counted stays, whatever the client sent."""
    return _with_count(new, _count(old))


def counted(old: Document, new: Document) -> Document:
    if new["spec"].get("template") == old["spec"].get("template"):
        return new
    return _with_count(new, str(int(_count(old)) + 1))


def _count(daemon_set: Document) -> str:
    return str((daemon_set["metadata"].get("annotations") or {}).get(ANNOTATION, "1"))


def _with_count(daemon_set: Document, count: str) -> Document:
    metadata = daemon_set["metadata"]
    annotations = {**(metadata.get("annotations") or {}), ANNOTATION: count}
    return {**daemon_set, "metadata": {**metadata, "annotations": annotations}}
