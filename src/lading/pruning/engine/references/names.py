"""Turns texts into references: a registry and its mirrors have many names. Pure.

A digest counts under any name. A tag counts under a name of this registry. Under another host it
may be an image of this registry behind a mirror or a cache, if the paths end alike. An unreadable
text protects every repository that it may name.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec
import re2

from lading.kernel import references
from lading.kernel.errors import Malformed
from lading.kernel.references import DOCKER_HUB, DOCKER_HUB_NAMES, Reference
from lading.pruning.engine.types import Form, Mention, References

_DIGEST = re.compile(r"\b(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})\b")
# docker and docker-pullable are what dockershim and cri-dockerd put before an imageID.
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://")
_TAG_DEFAULT = "latest"
_PLACEHOLDER = re.compile(r"\{\{.*?\}\}|\$\{.*?\}|\$\(.*?\)", re.DOTALL)
"""Of Argo and Helm, of Crossplane and shells, and of Tekton and Kubernetes."""
_TEMPLATE_CHARACTERS_MAX = 1000


class RegistryNames(msgspec.Struct, frozen=True, kw_only=True):
    """All names by which clients pull from the registry."""

    hosts: frozenset[str]
    prefixes: Mapping[str, tuple[str, ...]] = {}
    """`quay.io/team` -> `mirror/team`: a name elsewhere, and the paths here that serve it."""

    def repositories_of(self, reference: Reference) -> tuple[str, ...]:
        """The repositories of this registry that the name may mean; none for an unknown host.

        Every matching mirror counts, not only the longest: clusters and nodes have different
        mirrors, and a runtime tries the next mirror if one does not have the image.
        """
        host = normal_host(reference.registry or DOCKER_HUB)
        path = normal_path(host, reference.repository)
        if host in self.hosts:
            return (path,)
        whole = f"{host}/{path}"
        return tuple(
            f"{own}{whole.removeprefix(prefix)}".strip("/")
            for prefix, owns in self.prefixes.items()
            if whole == prefix or whole.startswith(f"{prefix}/")
            for own in owns
        )

    def without_host(self, text: str) -> str:
        """The text as a path of this registry, if it begins with one of its names."""
        host, slash, path = text.partition("/")
        return path if slash and normal_host(host) in self.hosts else text


def normal_host(host: str) -> str:
    """Host names ignore case, and Docker Hub has several names."""
    host = host.lower()
    host = host.removesuffix(":443")
    return DOCKER_HUB if host in DOCKER_HUB_NAMES else host


def normal_path(host: str, path: str) -> str:
    return references.docker_hub_path(path) if host == DOCKER_HUB else path


def gather(mentions: Iterable[Mention], names: RegistryNames) -> References:
    """The references of all mentions, each with the objects that have it."""
    collected = _Collected(names)
    for mention in mentions:
        collected.add(mention)
    return collected.references()


class _Collected:
    """The maps of `References` while they are built."""

    def __init__(self, names: RegistryNames) -> None:
        self._names = names
        self._tags: dict[tuple[str, str], dict[str, None]] = {}
        self._possible: dict[tuple[str, str], dict[str, None]] = {}
        self._images: dict[tuple[str, str], dict[str, None]] = {}
        self._digests: dict[str, dict[str, None]] = {}
        self._unknown: dict[Mention, None] = {}
        self._hosts: dict[str, int] = {}
        self._ours = 0

    def references(self) -> References:
        return References(
            tags=_frozen(self._tags),
            possible_tags=_frozen(self._possible),
            images=_frozen(self._images),
            digests={digest: tuple(where) for digest, where in self._digests.items()},
            unknown=tuple(self._unknown),
            hosts=self._hosts,
            of_this_registry=self._ours,
        )

    def add(self, mention: Mention) -> None:
        if not mention.text.strip():
            return
        match mention.form:
            case Form.STREAM_TAG:
                self._add_stream_tag(mention)
            case Form.STREAM_IMAGE:
                self._add_stream_image(mention)
            case Form.IMAGE_ID:
                self._add_image_id(mention)
            case Form.POSSIBLE:
                self._add_possible(mention)
            case Form.IMAGE:
                self._add_image(mention)

    def _add_image(self, mention: Mention) -> None:
        try:
            reference = references.parse(mention.text)
        except Malformed:
            self._add_unreadable(mention)
            return
        self._add_reference(reference, mention)

    def _add_unreadable(self, mention: Mention) -> None:
        """Keeps the text, and also counts what it names without surrounding blanks."""
        self._unknown[mention] = None
        for digest in _DIGEST.findall(mention.text):
            self._use_digest("", digest, mention)
        trimmed = mention.text.strip()
        if trimmed != mention.text:
            self._add_image(Mention(trimmed, mention.found_in))

    def _add_image_id(self, mention: Mention) -> None:
        text = _SCHEME.sub("", mention.text)
        if _DIGEST.fullmatch(text):
            self._use_digest("", text, mention)
        elif text != mention.text or "@" in text:
            self._add_image(Mention(text, mention.found_in))
        else:
            for digest in _DIGEST.findall(text):
                self._use_digest("", digest, mention)

    def _add_possible(self, mention: Mention) -> None:
        """Free text: its digests count, and words that begin with a name of this registry."""
        for digest in _DIGEST.findall(mention.text):
            self._use_digest("", digest, mention)
        starts = sorted({*self._names.hosts, *self._names.prefixes})
        for start in starts:
            word = rf"(?:{_PLACEHOLDER.pattern}|[^\s'\"`,;<>()|=&?])+"
            pattern = rf"(?<![\w.-]){re.escape(start)}/{word}"
            for found in re.findall(pattern, mention.text):
                self._add_image(Mention(found.rstrip(".:/"), mention.found_in))

    def _add_stream_tag(self, mention: Mention) -> None:
        """`namespace/name:tag`, as the extraction writes it."""
        repository, colon, tag = mention.text.rpartition(":")
        if not colon or not tag or not repository.partition("/")[2] or "@" in mention.text:
            self._unknown[mention] = None
            return
        self._ours += 1
        self._tags.setdefault((repository, tag), {})[mention.found_in] = None

    def _add_stream_image(self, mention: Mention) -> None:
        repository, at, digest = mention.text.rpartition("@")
        if not at or not digest or not repository.partition("/")[2] or ":" in repository:
            self._unknown[mention] = None
            return
        self._ours += 1
        if _DIGEST.fullmatch(digest):
            self._use_digest(repository, digest, mention)
        else:  # a shortened digest is legal there, and names what it is the beginning of
            self._unknown[Mention(repository, mention.found_in)] = None

    def _add_reference(self, reference: Reference, mention: Mention) -> None:
        host = normal_host(reference.registry or DOCKER_HUB)
        self._hosts[host] = self._hosts.get(host, 0) + 1
        ours = self._names.repositories_of(reference)
        self._ours += bool(ours)
        uses = self._tags if ours else self._possible
        for path in ours or (normal_path(host, reference.repository),):
            if reference.digest is not None:
                self._use_digest(path, str(reference.digest), mention)
            else:
                tag = reference.tag or _TAG_DEFAULT
                uses.setdefault((path, tag), {})[mention.found_in] = None

    def _use_digest(self, path: str, digest: str, mention: Mention) -> None:
        self._images.setdefault((path, digest), {})[mention.found_in] = None
        self._digests.setdefault(digest, {})[mention.found_in] = None


def user_of(uses: References, *, repository: str, tag: str, digest: str) -> str:
    """An object that uses or may use this tag or digest; empty if none."""
    if users := uses.digests.get(digest):
        return users[0]
    if users := uses.tags.get((repository, tag)):
        return users[0]
    for (path, other), users in uses.possible_tags.items():
        if other == tag and paths_end_alike(path, repository):
            return users[0]
    for mention in uses.unknown:
        if repository and may_name(mention.text, repository):
            return mention.found_in
    return ""


def may_name(text: str, repository: str) -> bool:
    """Whether an unreadable text may name this repository: it contains its name, or a placeholder.

    A placeholder may stand for anything: `{{image}}` may name every repository, and
    `host/team/${app}:v1` every repository of `team`.
    """
    if repository in text:
        return True
    template = _template(text.strip())
    return template is not None and any(
        template.fullmatch(one) for one in (repository, f"host/{repository}")
    )


@lru_cache(maxsize=4096)
def _template(text: str) -> Any:
    """RE2 matches in linear time. None for a text without a placeholder."""
    if _PLACEHOLDER.search(text) is None:
        return None
    if len(text) > _TEMPLATE_CHARACTERS_MAX:
        return re2.compile(".*")
    first, *others = _PLACEHOLDER.split(_SCHEME.sub("", text))
    host, slash, path = first.partition("/")
    parts = [path if slash and ("." in host or ":" in host or host == "localhost") else first]
    for part in others:
        if ":" in parts[-1] or "@" in parts[-1]:
            break  # the rest is a tag or a digest
        parts.append(part)
    parts[-1] = re.split("[:@]", parts[-1])[0]
    return re2.compile(".*".join(map(re2.escape, parts)))


def _frozen(
    uses: dict[tuple[str, str], dict[str, None]],
) -> dict[tuple[str, str], tuple[str, ...]]:
    return {key: tuple(where) for key, where in uses.items()}


def paths_end_alike(one: str, other: str) -> bool:
    """Whether the paths are equal, or one ends with the other."""
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")
