"""The images service of containerd, as far as clients use it to pin images by labels, and to
name them.

An update without a target, which crashes containerd, is refused.
"""

from collections.abc import Mapping, Sequence

from google.protobuf.empty_pb2 import Empty
from grpclib.const import Status

from lading.embedded.cri.core import LABEL_BYTES_MAX, EmbeddedRuntime
from lading.embedded.cri.records import StoredImage
from lading.wire import containerd_images_pb2 as pb2
from lading.wire.handlers import Metadata

NAMESPACE_KEY = "containerd-namespace"
NAMESPACE = "k8s.io"
_LABELS = "labels"
_TARGET = "target"


class Refused(Exception):
    def __init__(self, code: Status, message: str) -> None:
        super().__init__(message)
        self.status = (code, message)


class ContainerdImages:
    def __init__(self, runtime: EmbeddedRuntime) -> None:
        self._runtime = runtime

    async def list(
        self, request: pb2.ListImagesRequest, metadata: Metadata
    ) -> pb2.ListImagesResponse:
        if request.filters:
            raise Refused(Status.UNIMPLEMENTED, "filters are not supported")
        names = self._names(metadata)
        return pb2.ListImagesResponse(
            images=[_message(name, image, labels) for name, (image, labels) in names.items()]
        )

    async def get(self, request: pb2.GetImageRequest, metadata: Metadata) -> pb2.GetImageResponse:
        image, labels = self._named(request.name, metadata)
        return pb2.GetImageResponse(image=_message(request.name, image, labels))

    async def update(
        self, request: pb2.UpdateImageRequest, metadata: Metadata
    ) -> pb2.UpdateImageResponse:
        if not request.image.HasField("target"):
            raise Refused(Status.INVALID_ARGUMENT, "image.target is required")
        image, before = self._named(request.image.name, metadata)
        paths = [path for path in request.update_mask.paths or [_LABELS] if path != _TARGET]
        labels = _updated(before, request.image.labels, paths)
        _require_short(labels)
        if _TARGET in request.update_mask.paths:
            image = self._name(request.image)
        self._runtime.set_labels(request.image.name, labels)
        return pb2.UpdateImageResponse(image=_message(request.image.name, image, labels))

    async def create(
        self, request: pb2.CreateImageRequest, metadata: Metadata
    ) -> pb2.CreateImageResponse:
        name, labels = request.image.name, dict(request.image.labels)
        if name in self._names(metadata):
            raise Refused(Status.ALREADY_EXISTS, f"image {name!r}: already exists")
        _require_short(labels)
        image = self._name(request.image)
        self._runtime.set_labels(name, labels)
        return pb2.CreateImageResponse(image=_message(name, image, labels))

    async def delete(self, request: pb2.DeleteImageRequest, metadata: Metadata) -> Empty:
        self._named(request.name, metadata)
        self._runtime.remove_name(request.name)
        return Empty()

    def _name(self, image: pb2.Image) -> StoredImage:
        found = self._runtime.give_name(image.name, image.target.digest)
        if found is None:
            raise Refused(Status.NOT_FOUND, f"content {image.target.digest}: not found")
        return found

    def _named(self, name: str, metadata: Metadata) -> tuple[StoredImage, dict[str, str]]:
        names = self._names(metadata)
        if name not in names:
            raise Refused(Status.NOT_FOUND, f"image {name!r}: not found")
        return names[name]

    def _names(self, metadata: Metadata) -> dict[str, tuple[StoredImage, dict[str, str]]]:
        if NAMESPACE_KEY not in metadata:
            message = "namespace is required: send the metadata containerd-namespace"
            raise Refused(Status.FAILED_PRECONDITION, message)
        return self._runtime.labelled_names() if metadata[NAMESPACE_KEY] == NAMESPACE else {}


def _updated(
    before: Mapping[str, str], sent: Mapping[str, str], paths: Sequence[str]
) -> dict[str, str]:
    """The labels after an update of these paths; an empty value removes a label."""
    after = dict(before)
    for path in paths:
        field, _, key = path.partition(".")
        if field != _LABELS:
            message = f"only labels can be updated, not {path}"
            raise Refused(Status.INVALID_ARGUMENT, message)
        if key:
            after[key] = sent.get(key, "")
        else:
            after = dict(sent)
    return {key: value for key, value in after.items() if value}


def _require_short(labels: Mapping[str, str]) -> None:
    for key, value in labels.items():
        if len(f"{key}{value}".encode()) > LABEL_BYTES_MAX:
            message = f"label {key!r} and its value are longer than {LABEL_BYTES_MAX} bytes"
            raise Refused(Status.INVALID_ARGUMENT, message)


def _message(name: str, image: StoredImage, labels: Mapping[str, str]) -> pb2.Image:
    target = pb2.Descriptor(
        media_type=image.media_type, digest=str(image.manifest), size=image.manifest_bytes
    )
    return pb2.Image(name=name, labels=labels, target=target)
