"""What the server adds to and asks of single built-in kinds, beyond their schemas."""

from typing import Any

from lading.servers.kube.resources import Resource
from lading.servers.kube.schema.causes import Cause

Document = dict[str, Any]


def begun(resource: Resource, document: Document) -> Document:
    return document


def changed(resource: Resource, old: Document, new: Document) -> Document:
    return new


def problems(resource: Resource, document: Document, old: Document | None) -> list[Cause]:
    return []
