"""The embedded runtime in one process: the `Cri` port, and the labels by which images are pinned.

The gRPC services translate to and from it. It runs no containers: others declare them, so that
their images count as used.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Container, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import lading
from lading.embedded.cri import pulling
from lading.embedded.cri.content import ContentStore
from lading.embedded.cri.records import Records, StoredImage
from lading.kernel import digests, manifests, references
from lading.kernel.errors import Malformed
from lading.kernel.manifests import ImageManifest
from lading.kernel.platforms import Platform, windows
from lading.kernel.references import Reference
from lading.ports import cri
from lading.ports.clock import Clock
from lading.ports.registry import Credential, Registry, RegistryError

PULLS_IN_FLIGHT_MAX = 16
PINNED_LABEL = ("io.cri-containerd.pinned", "pinned")
"""The label and value of containerd that pin an image, on any of its names."""
UID_DIGITS_MAX = 10  # a user ID has 32 bits
LABEL_BYTES_MAX = 4096  # key and value together, as in containerd
ID_CHARACTERS_MIN = 4
_USUAL_ALGORITHM = "sha256"
_HEXADECIMAL = frozenset("0123456789abcdef")


class EmbeddedRuntime:
    def __init__(
        self,
        *,
        root: Path,
        registry: Registry,
        clock: Clock,
        platform: Platform,
        guests: Mapping[str, Platform | None] | None = None,
        capacity_bytes: int | None = None,
    ) -> None:
        """`guests` has the runtime handlers; without a platform, one uses that of the host.

        The store is limited to `capacity_bytes`, or by the disk.
        """
        self._root = root
        self._registry = registry
        self._clock = clock
        self._platforms = {"": platform}
        for handler, guest in (guests or {}).items():
            self._platforms[handler] = _guest(handler, guest, host=platform)
        self._content = ContentStore(root, capacity_bytes=capacity_bytes)
        self._records = Records(root / "images.sqlite")
        self._pull_slots = asyncio.Semaphore(PULLS_IN_FLIGHT_MAX)
        self._containers: tuple[cri.Container, ...] = ()

    def close(self) -> None:
        self._records.close()

    def declare_containers(self, containers: Iterable[cri.Container]) -> None:
        """Replaces the list of containers."""
        self._containers = tuple(containers)

    async def version(self) -> cri.RuntimeVersion:
        return cri.RuntimeVersion(name="lading", version=lading.__version__, api_version="v1")

    async def status(self) -> cri.RuntimeStatus:
        handlers = tuple(cri.RuntimeHandler(name=name) for name in sorted(self._platforms))
        return cri.RuntimeStatus(ready=True, network_ready=True, handlers=handlers)

    async def images(self, only: cri.ImageSpec | None = None) -> tuple[cri.Image, ...]:
        if only is not None and only.image:
            found = self._resolve(only)
            return () if found is None else self._listed((found,))
        every = self._records.images()
        if only is not None and only.runtime_handler:
            self._platform_of(only.runtime_handler)
            every = tuple(image for image in every if image.handler == only.runtime_handler)
        return self._listed(every)

    async def image(self, spec: cri.ImageSpec) -> cri.Image | None:
        found = self._resolve(spec)
        return None if found is None else self._listed((found,))[0]

    async def inspect(self, spec: cri.ImageSpec) -> cri.Inspection | None:
        found = self._resolve(spec)
        if found is None:
            return None
        config = json.loads(self._content.read(digests.parse(found.id)))
        detail = {
            "manifestDigest": str(found.manifest),
            "runtimeHandler": found.handler,
            "guestPlatform": str(self._platform_of(found.handler)),
            "imageSpec": config,
            "layers": self._layers(found),
        }
        return cri.Inspection(image=self._listed((found,))[0], info={"info": json.dumps(detail)})

    async def pull(self, spec: cri.ImageSpec, credential: Credential | None = None) -> str:
        platform = self._platform_of(spec.runtime_handler)
        reference = _reference(spec.image)
        registry = self._registry
        if credential is not None:
            registry = registry.with_credential(credential)
        async with self._pull_slots, _translated_errors(spec.image):
            return await pulling.pull(
                reference,
                handler=spec.runtime_handler,
                platform=platform,
                registry=registry,
                content=self._content,
                records=self._records,
            )

    async def remove(self, spec: cri.ImageSpec) -> None:
        found = self._resolve(spec)
        if found is not None:
            self._records.remove(found.id, found.handler)
            self._content.sweep(self._records.blobs())

    async def filesystems(self) -> cri.Filesystems:
        stored = self._usage(self._content.used_bytes, self._content.files_count)
        return cri.Filesystems(images=(stored,), containers=(self._usage(0, 0),))

    async def containers(self) -> tuple[cri.Container, ...]:
        return self._containers

    def labelled_names(self) -> dict[str, tuple[StoredImage, dict[str, str]]]:
        """The image and the labels of every name and every ID.

        A name that several handlers use shows the image of the default handler.
        """
        labels = self._records.labels()
        names = self._records.names()
        table: dict[str, tuple[StoredImage, dict[str, str]]] = {}
        for image in sorted(self._records.images(), key=lambda image: image.handler):
            for name in (image.id, *names.get((image.id, image.handler), ())):
                table.setdefault(name, (image, labels.get(name, {})))
        return table

    def give_name(self, name: str, manifest: str) -> StoredImage | None:
        """None if no image has this manifest."""
        found = [image for image in self._records.images() if str(image.manifest) == manifest]
        if not found:
            return None
        self._records.give_name(name, found[0])
        return found[0]

    def remove_name(self, name: str) -> None:
        self._records.remove_name(name)

    def set_labels(self, name: str, labels: Mapping[str, str]) -> None:
        self._records.set_labels(name, labels)

    def _platform_of(self, handler: str) -> Platform:
        platform = self._platforms.get(handler)
        if platform is None:
            known = ", ".join(sorted(filter(None, self._platforms))) or "none but the default"
            raise cri.UnknownHandler(
                f"no runtime handler {handler!r} is configured; known: {known}"
            )
        return platform

    def _resolve(self, spec: cri.ImageSpec) -> StoredImage | None:
        self._platform_of(spec.runtime_handler)
        prefix = _id_prefix(spec.image)
        if prefix is not None:
            fitting = self._records.with_id_prefix(prefix, spec.runtime_handler)
            return fitting[0] if len(fitting) == 1 else None
        try:
            name = _reference(spec.image)
        except cri.InvalidReference:
            # No image has this name; only a pull reports what is wrong with it.
            return None
        return self._records.named(str(name), spec.runtime_handler)

    def _layers(self, image: StoredImage) -> list[dict[str, str | int]]:
        """Clients compute from the sizes how much the removal of an image frees."""
        manifest = manifests.parse(self._content.read(image.manifest), image.media_type)
        assert isinstance(manifest, ImageManifest), "a pull stores only images"
        return [
            {"digest": str(layer.digest), "size": layer.size_bytes} for layer in manifest.layers
        ]

    def _listed(self, images: Iterable[StoredImage]) -> tuple[cri.Image, ...]:
        pinned = self._records.names_labelled(*PINNED_LABEL)
        return tuple(_image(image, self._records.names_of(image), pinned) for image in images)

    def _usage(self, used_bytes: int, inodes_used: int) -> cri.FilesystemUsage:
        return cri.FilesystemUsage(
            mountpoint=str(self._root),
            used_bytes=used_bytes,
            inodes_used=inodes_used,
            measured_at_nanoseconds=int(self._clock.now().timestamp() * 1e9),
        )


def _id_prefix(text: str) -> str | None:
    """The algorithm and the start of an image ID; None if the text is no ID."""
    algorithm, colon, encoded = text.rpartition(":")
    algorithm = algorithm if colon else _USUAL_ALGORITHM
    characters_max = digests.HEX_LENGTH_BY_ALGORITHM.get(algorithm, 0)
    if ID_CHARACTERS_MIN <= len(encoded) <= characters_max and set(encoded) <= _HEXADECIMAL:
        return f"{algorithm}:{encoded}"
    return None


def _reference(text: str) -> Reference:
    """The form in which names are stored: with a digest and no tag, or with a tag.

    A name without a registry is refused: the service never guesses a host to contact.
    """
    try:
        parsed = references.parse(text)
    except Malformed as error:
        raise cri.InvalidReference(str(error), image=text) from error
    if parsed.registry is None:
        message = f"{text!r} names no registry; write it as registry/repository:tag"
        raise cri.InvalidReference(message, image=text)
    return parsed.at(parsed.digest) if parsed.digest else parsed.with_default_tag()


def _guest(handler: str, guest: Platform | None, *, host: Platform) -> Platform:
    if guest is None:
        return host
    refusal = windows.guest_refusal(host=host.os_version, guest=guest.os_version)
    if refusal is not None:
        what = f"guest platform of runtime handler {handler!r}"
        raise Malformed(what=what, text=str(guest), reason=refusal)
    return guest


@asynccontextmanager
async def _translated_errors(image: str) -> AsyncIterator[None]:
    try:
        yield
    except (cri.CriError, RegistryError, Malformed, ExceptionGroup) as error:
        raise pulling.translated(error, image) from error


def _image(image: StoredImage, names: tuple[str, ...], pinned: Container[str]) -> cri.Image:
    uid, username = _user(image.user)
    return cri.Image(
        id=image.id,
        size_bytes=image.size_bytes,
        repo_tags=tuple(name for name in names if "@" not in name),
        repo_digests=tuple(name for name in names if "@" in name),
        uid=uid,
        username=username,
        pinned=any(name in pinned for name in (image.id, *names)),
        runtime_handler=image.handler,
    )


def _user(user_and_group: str) -> tuple[int | None, str]:
    """The user ID or the name; a number of more than 32 bits is a name."""
    user = user_and_group.partition(":")[0]
    if user.isdecimal() and len(user) <= UID_DIGITS_MAX:
        return int(user), ""
    return None, user
