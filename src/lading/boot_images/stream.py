"""The golden ConfigMap: the boot images of the release. Pure.

Releases differ and a ConfigMap can be edited, so every level of a stream may be missing or wrong.
A value is used only if it has the form of an image of its platform.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from lading.kernel.errors import UNREADABLE

NAME = "coreos-bootimages"
STREAM_LABEL = "machineconfiguration.openshift.io/osstream"
DEFAULT_STREAM = "rhel-9"  # what a ConfigMap without `streams` holds, by the name of its label
STREAM_CHARACTERS_MAX = 1_048_576  # the largest ConfigMap that Kubernetes stores
VALUE_CHARACTERS_MAX = 512
MARKETPLACE_KEYS = ("publisher", "offer", "sku", "version")
_VALUE = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._:/@%+?=&~-]{{0,{VALUE_CHARACTERS_MAX - 1}}}")


class Broken(Exception):
    """The golden ConfigMap cannot be used; the message names the key and the cause."""


class Stream(msgspec.Struct, frozen=True, kw_only=True):
    """One stream of the ConfigMap, as it was read."""

    value: Any

    def at(self, *path: str) -> Any:
        """The value at this path; None if a level is missing or is not an object."""
        found = self.value
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        return found

    def text(self, *path: str) -> str:
        """A value in the form of a name or a URL; empty if there is none."""
        found = self.at(*path)
        return found if isinstance(found, str) and _VALUE.fullmatch(found) else ""

    def keys(self, *path: str) -> tuple[str, ...]:
        found = self.at(*path)
        return tuple(found) if isinstance(found, dict) else ()

    def digest(self, architecture: str) -> str:
        """Of all that the stream has for this architecture."""
        found = msgspec.json.encode(self.at("architectures", architecture), order="sorted")
        return "sha256:" + hashlib.sha256(found).hexdigest()

    def releases(self, architecture: str) -> frozenset[str]:
        """Every release that the stream names for this architecture."""
        root = ("architectures", architecture)
        artifacts = (*root, "artifacts")
        found = {self.text(*artifacts, one, "release") for one in self.keys(*artifacts)}
        return frozenset({*found, self.text(*root, "images", "gcp", "release")} - {""})

    def images(self, architecture: str) -> frozenset[str]:
        """Every boot image for this architecture, as its platform shows it in one line."""
        images = ("architectures", architecture, "images")
        project, name = self.text(*images, "gcp", "project"), self.text(*images, "gcp", "name")
        found = {f"projects/{project}/global/images/{name}"} if project and name else set()
        regions = (*images, "aws", "regions")
        found |= {self.text(*regions, one, "image") for one in self.keys(*regions)}
        return frozenset((found | self._marketplace(architecture)) - {""})

    def _marketplace(self, architecture: str) -> set[str]:
        root = ("architectures", architecture, "rhel-coreos-extensions", "marketplace", "azure")
        return {
            ":".join(self.text(*root, variant, generation, key) for key in MARKETPLACE_KEYS)
            for variant in self.keys(*root)
            for generation in ("hyperVGen1", "hyperVGen2")
            if self.text(*root, variant, generation, "version")
        }


class Golden(msgspec.Struct, frozen=True, kw_only=True):
    release_version: str
    operator_version: str = ""
    """`MCOReleaseImageVersion`, which OpenShift's operator adds."""
    default: Stream
    named: Mapping[str, Stream]

    def digests(self) -> frozenset[str]:
        """One for each part: a part is one architecture of one stream."""
        streams = (self.default, *self.named.values())
        return frozenset(each.digest(one) for each in streams for one in each.keys("architectures"))

    def chosen(self, label: str | None) -> Stream | None:
        """The stream that the label of a machine set names; None if there is none."""
        if label is None or (label == DEFAULT_STREAM and not self.named):
            return self.default
        return self.named.get(label)


def golden(data: Mapping[str, str]) -> Golden:
    """Raises Broken."""
    release = data.get("releaseVersion", "").strip()
    if not _VALUE.fullmatch(release):
        raise Broken("releaseVersion is missing or malformed")
    default = _parsed(data, "stream")
    named = _parsed(data, "streams") if "streams" in data else {}
    return Golden(
        release_version=release,
        operator_version=data.get("MCOReleaseImageVersion", "").strip(),
        default=Stream(value=default),
        named={name: Stream(value=value) for name, value in named.items()},
    )


def _parsed(data: Mapping[str, str], key: str) -> dict[str, Any]:
    text = data.get(key)
    if text is None:
        raise Broken(f"{key} is missing")
    if len(text) > STREAM_CHARACTERS_MAX:
        raise Broken(f"{key} is longer than {STREAM_CHARACTERS_MAX} characters")
    try:
        value = msgspec.json.decode(text)
    except UNREADABLE:
        raise Broken(f"{key} is not JSON") from None
    if not isinstance(value, dict):
        raise Broken(f"{key} is not a JSON object")
    return value
