"""Image references by the OCI distribution grammar: `[host[:port]/]path[:tag][@digest]`.

A missing registry stays missing, so that no host is ever contacted by a silent guess; `qualified`
is the one place that fills in Docker Hub, for text that a person or the kubelet wrote.
"""

import re
from typing import Annotated

import msgspec

from lading.kernel import digests
from lading.kernel.digests import Digest
from lading.kernel.errors import Malformed
from lading.kernel.values import replace

REFERENCE_CHARACTERS_MAX = 4096
# Registries and runtimes refuse a longer name, host included.
NAME_CHARACTERS_MAX = 255
DOCKER_HUB = "docker.io"
DOCKER_HUB_INDEX = "index.docker.io"
"""The older name; runtimes list images under the other one."""
DOCKER_HUB_API = "registry-1.docker.io"
"""Where its registry answers; no image is named so."""
DOCKER_HUB_NAMES = frozenset({DOCKER_HUB, DOCKER_HUB_INDEX, DOCKER_HUB_API})
DOCKER_HUB_NAMESPACE = "library"
"""Where it keeps names of one component."""

_HOST_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = re.compile(
    rf"(?:{_HOST_LABEL}(?:\.{_HOST_LABEL})*|\[[0-9a-fA-F:.]+\])(?::(?P<port>[0-9]{{1,5}}))?"
)
_PATH_COMPONENT = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
RepositoryName = Annotated[
    str,
    msgspec.Meta(
        pattern=r"\A(?#the name of a repository)"
        rf"{_PATH_COMPONENT.pattern}(?:/{_PATH_COMPONENT.pattern})*\Z"
    ),
]
"""What decoding accepts as the name of a repository: the same as `is_repository`."""
TagName = Annotated[str, msgspec.Meta(pattern=rf"\A(?#the name of a tag){_TAG.pattern}\Z")]
PORT_MAX = 65535


class Reference(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A parsed reference; `registry` is None when the text named none."""

    registry: str | None
    repository: str
    tag: str | None = None
    digest: Digest | None = None

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.name}{tag}{digest}"

    @property
    def name(self) -> str:
        """The repository with its registry, without tag and digest."""
        return f"{self.registry}/{self.repository}" if self.registry else self.repository

    @property
    def in_runtimes(self) -> "Reference":
        """The name under which every runtime lists the image, however Docker Hub was written."""
        if self.registry not in (DOCKER_HUB, DOCKER_HUB_INDEX):
            return self
        return replace(self, registry=DOCKER_HUB, repository=docker_hub_path(self.repository))

    def with_default_tag(self, tag: str = "latest") -> "Reference":
        return self if self.tag or self.digest else replace(self, tag=tag)

    def at(self, digest: Digest) -> "Reference":
        """The same repository pinned to a digest; a tag would only be decoration there."""
        return replace(self, tag=None, digest=digest)


def docker_hub_path(repository: str) -> str:
    return repository if "/" in repository else f"{DOCKER_HUB_NAMESPACE}/{repository}"


def name_in_runtimes(text: str) -> str:
    """The name under which runtimes list the image; text that is no reference stays as it is."""
    try:
        return str(parse(text).in_runtimes)
    except Malformed:
        return text


def qualified(text: str) -> Reference:
    """A reference as the kubelet reads it: `busybox` is `docker.io/library/busybox:latest`."""
    parsed = parse(text)
    return replace(parsed, registry=parsed.registry or DOCKER_HUB).in_runtimes.with_default_tag()


def parse(text: str) -> Reference:
    if len(text) > REFERENCE_CHARACTERS_MAX:
        raise _malformed(text, f"it is longer than {REFERENCE_CHARACTERS_MAX} characters")
    name, at, digest_text = text.partition("@")
    digest = _parse_digest(text, digest_text) if at else None
    name, tag = _split_tag(text, name)
    registry, repository = _split_registry(text, name)
    _check_repository(text, repository)
    if len(name) > NAME_CHARACTERS_MAX:
        raise _malformed(text, f"the name is longer than {NAME_CHARACTERS_MAX} characters")
    return Reference(registry=registry, repository=repository, tag=tag, digest=digest)


def _parse_digest(text: str, digest_text: str) -> Digest:
    try:
        return digests.parse(digest_text)
    except Malformed as error:
        raise _malformed(text, f"the digest after '@' is wrong: {error.reason}") from error


def _split_tag(text: str, name: str) -> tuple[str, str | None]:
    head, colon, tail = name.rpartition(":")
    if not colon or "/" in tail or tail.endswith("]"):
        return name, None
    if "/" not in head and _looks_like_host(head, tail):
        raise _malformed(text, "a registry is not enough: expected '/' and a repository after it")
    if not _TAG.fullmatch(tail):
        reason = (
            "the tag must be 1-128 letters, digits, '_', '.', '-' and not begin with '.' or '-'"
        )
        raise _malformed(text, reason)
    return head, tail


def _looks_like_host(head: str, tail: str) -> bool:
    return tail.isdigit() and (head.startswith("[") or head == "localhost" or "." in head)


def _split_registry(text: str, name: str) -> tuple[str | None, str]:
    first, slash, rest = name.partition("/")
    if not slash or not _is_registry(first):
        return None, name
    match = _HOST.fullmatch(first)
    if match is None:
        raise _malformed(text, f"{first!r} is not a registry host with an optional port")
    port = match.group("port")
    if port is not None and not 0 < int(port) <= PORT_MAX:
        raise _malformed(text, f"the port of {first!r} must be between 1 and {PORT_MAX}")
    return first, rest


def _is_registry(component: str) -> bool:
    """The first component is a host exactly when it could not be a plain path component."""
    return (
        "." in component
        or ":" in component
        or component == "localhost"
        or component.lower() != component
    )


def is_manifest_of(text: str, image: str) -> bool:
    """Whether the text is `repository@digest`, and the repository is that of the image."""
    try:
        manifest = parse(text)
        return manifest.digest is not None and manifest == parse(image).at(manifest.digest)
    except Malformed:
        return False


def is_repository(text: str) -> bool:
    return all(map(_PATH_COMPONENT.fullmatch, text.split("/")))


def is_tag(text: str) -> bool:
    return _TAG.fullmatch(text) is not None


def _check_repository(text: str, repository: str) -> None:
    if not repository:
        raise _malformed(text, "the repository is empty")
    for component in repository.split("/"):
        if not _PATH_COMPONENT.fullmatch(component):
            reason = (
                f"the path component {component!r} must be lower-case letters and digits,"
                " separated by '.', '_', '__' or '-'"
            )
            raise _malformed(text, reason)


def _malformed(text: str, reason: str) -> Malformed:
    return Malformed(what="image reference", text=text, reason=reason)
