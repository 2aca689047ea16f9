"""Finds the texts in a Kubernetes object that name images: all that `oc` reads, and more. Pure.

A field of an unexpected type has no mention. A malformed text is returned as it is, because `names`
decides about it.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from lading.pruning.engine.references import custom_paths
from lading.pruning.engine.references.custom_paths import CustomPath
from lading.pruning.engine.types import Form, Mention

Document = Mapping[str, Any]
_FINISHED = {"Succeeded", "Failed"}
_TEMPLATE = ("spec", "template", "spec")
_POD_SPECS: Mapping[str, tuple[str, ...]] = {
    "Pod": ("spec",),
    "ReplicationController": _TEMPLATE,
    "ReplicaSet": _TEMPLATE,
    "Deployment": _TEMPLATE,
    "DaemonSet": _TEMPLATE,
    "StatefulSet": _TEMPLATE,
    "DeploymentConfig": _TEMPLATE,
    "Job": _TEMPLATE,
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    "PodTemplate": ("template", "spec"),
    "ControllerRevision": ("data", "spec", "template", "spec"),
}
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_STATUSES = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_STRATEGIES = ("sourceStrategy", "dockerStrategy", "customStrategy")


def mentions(
    document: Document,
    *,
    kind: str,
    cutoff: datetime | None,
    custom: tuple[CustomPath, ...] = (),
    group: str = "",
) -> Iterator[Mention]:
    """The mentions in an object. A finished pod older than the cutoff has none."""
    where = described(document, kind)
    if kind == "Pod" and _is_over(document, cutoff):
        return
    path = _POD_SPECS.get(kind)
    if path is not None:
        yield from _in_pod_spec(_at(document, *path), where)
    reader = _READERS.get((group, kind)) or _READERS.get(("", kind))
    if reader is not None:
        yield from reader(document, where)
    declared = [one for one in custom if (one.group, one.kind) == (group, kind)]
    found = [mention for one in declared for mention in one.mentions(document, where)]
    yield from found
    known = {mention.text for mention in found}
    for text in custom_paths.texts(document) if declared else ():
        if text not in known and ("/" in text or "sha" in text):  # such as a parameter
            yield Mention(text, where, Form.POSSIBLE)


def described(document: Document, kind: str) -> str:
    namespace = _text(document, "metadata", "namespace")
    name = _text(document, "metadata", "name")
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def instant(text: str) -> datetime | None:
    """A timestamp of the Kubernetes API; None if malformed."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _is_over(pod: Document, cutoff: datetime | None) -> bool:
    """Unknown phases protect, and so do pods of unknown age."""
    if cutoff is None or _text(pod, "status", "phase") not in _FINISHED:
        return False
    created = instant(_text(pod, "metadata", "creationTimestamp"))
    return created is not None and created <= cutoff


def _in_pod_spec(spec: Any, where: str) -> Iterator[Mention]:
    for group in _CONTAINERS:
        for container in _items(spec, group):
            yield from _in_container(container, where)
    for volume in _items(spec, "volumes"):
        yield from _mention(_text(volume, "image", "reference"), where)


def _in_container(container: Any, where: str) -> Iterator[Mention]:
    yield from _mention(_text(container, "image"), where)
    texts = [*_items(container, "command"), *_items(container, "args")]
    texts += [_text(variable, "value") for variable in _items(container, "env")]
    for text in texts:
        if isinstance(text, str) and ("/" in text or "sha" in text):
            yield Mention(text, where, Form.POSSIBLE)


def _in_pod_status(pod: Document, where: str) -> Iterator[Mention]:
    for group in _STATUSES:
        for status in _items(_at(pod, "status"), group):
            if image_id := _text(status, "imageID"):
                yield Mention(image_id, where, Form.IMAGE_ID)
            if volumes := _items(status, "volumeMounts"):
                texts = (_text(volume, "imageRef", "reference") for volume in volumes)
                yield from (Mention(text, where, Form.IMAGE_ID) for text in texts if text)


def _in_build(build: Document, where: str) -> Iterator[Mention]:
    namespace = _text(build, "metadata", "namespace")
    spec = _at(build, "spec")
    for strategy in _STRATEGIES:
        yield from _object_reference(_at(spec, "strategy", strategy, "from"), namespace, where)
    for image in _items(_at(spec, "source"), "images"):
        yield from _object_reference(_at(image, "from"), namespace, where)
    yield from _object_reference(_at(spec, "output", "to"), namespace, where)
    yield from _mention(_text(build, "status", "outputDockerImageReference"), where)
    if digest := _text(build, "status", "output", "to", "imageDigest"):
        yield Mention(digest, where, Form.IMAGE_ID)
    for trigger in (
        *_items(spec, "triggers"),
        *_items(_at(build, "status"), "imageChangeTriggers"),
    ):
        change = _at(trigger, "imageChange") or trigger
        yield from _object_reference(_at(change, "from"), namespace, where)
        yield from _mention(_text(change, "lastTriggeredImageID"), where)


def _in_deployment_config(config: Document, where: str) -> Iterator[Mention]:
    namespace = _text(config, "metadata", "namespace")
    for trigger in _items(_at(config, "spec"), "triggers"):
        change = _at(trigger, "imageChangeParams")
        yield from _object_reference(_at(change, "from"), namespace, where)
        yield from _mention(_text(change, "lastTriggeredImage"), where)


def _in_image_stream(stream: Document, where: str) -> Iterator[Mention]:
    """A tag may follow a tag or an image of another stream, or of this one by its bare tag."""
    namespace, name = _text(stream, "metadata", "namespace"), _text(stream, "metadata", "name")
    for tag in _items(_at(stream, "spec"), "tags"):
        source = _at(tag, "from")
        text = _text(source, "name")
        if _text(source, "kind") == "ImageStreamTag" and text and ":" not in text:
            own = _text(source, "namespace") or namespace
            yield Mention(f"{own}/{name}:{text}", where, Form.STREAM_TAG)
        else:
            yield from _object_reference(source, namespace, where)


def _in_pinned_image_set(image_set: Document, where: str) -> Iterator[Mention]:
    for image in _items(_at(image_set, "spec"), "pinnedImages"):
        yield from _mention(_text(image, "name"), where)


def _in_prepull_image(image: Document, where: str) -> Iterator[Mention]:
    for field in ("instanceManagerImage", "imageURL", "image"):
        yield from _mention(_text(image, "spec", field), where)


def _object_reference(reference: Any, namespace: str, where: str) -> Iterator[Mention]:
    """An ObjectReference of a build: to an image, or to a tag or an image of a stream."""
    name = _text(reference, "name")
    if not name:
        return
    owner = _text(reference, "namespace") or namespace
    match _text(reference, "kind"):
        case "ImageStreamTag":
            yield Mention(f"{owner}/{name}", where, Form.STREAM_TAG)
        case "ImageStreamImage":
            yield Mention(f"{owner}/{name}", where, Form.STREAM_IMAGE)
        case _:
            yield Mention(name, where)


def _mention(text: str, where: str) -> Iterator[Mention]:
    if text:
        yield Mention(text, where)


def _at(document: Any, *path: str) -> Any:
    for step in path:
        document = document.get(step) if isinstance(document, Mapping) else None
    return document


def _text(document: Any, *path: str) -> str:
    found = _at(document, *path)
    return found if isinstance(found, str) else ""


def _items(document: Any, field: str) -> list[Any]:
    found = _at(document, field)
    return found if isinstance(found, list) else []


_READERS: Mapping[tuple[str, str], Callable[[Document, str], Iterator[Mention]]] = {
    ("", "Pod"): _in_pod_status,
    ("", "Build"): _in_build,
    ("", "BuildConfig"): _in_build,
    ("", "DeploymentConfig"): _in_deployment_config,
    ("", "ImageStream"): _in_image_stream,
    ("", "PinnedImageSet"): _in_pinned_image_set,
    ("longhorn.io", "Image"): _in_prepull_image,
}
