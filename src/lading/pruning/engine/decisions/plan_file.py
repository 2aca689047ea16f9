"""A plan as JSON lines: a header, then one deletion per line. Pure.

A user may remove lines. An added line has no effect, because `apply` deletes only what a new plan
names too. Contents (plan_contents.py) may follow and are skipped here.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from lading.kernel import digests, references
from lading.kernel.errors import UNREADABLE, Malformed
from lading.pruning.engine.decisions import plan_contents
from lading.pruning.engine.types import Deletion, Header, PrunePlan, Source, What

Decoded = TypeVar("Decoded", Header, Deletion)
VERSION = "lading.prune/v1"
_encoder = msgspec.json.Encoder()
_header_decoder = msgspec.json.Decoder(Header)
_line_decoder = msgspec.json.Decoder(Deletion)


def lines(plan: PrunePlan) -> Iterator[bytes]:
    yield _encoder.encode(plan.header) + b"\n"
    for deletion in plan.deletions:
        yield _encoder.encode(deletion) + b"\n"


def read(content: Iterable[bytes]) -> tuple[Header, Iterator[Deletion]]:
    """Returns the header, and the deletions as an iterator."""
    iterator = iter(content)
    header = _decoded(_header_decoder, next(iterator, b""), 1)
    if header.version != VERSION:
        reason = f"expected version {VERSION}; make a new plan with this release"
        raise Malformed(what="plan file", text=header.version, reason=reason)
    return header, _deletions(iterator)


def _deletions(content: Iterator[bytes]) -> Iterator[Deletion]:
    for number, line in enumerate(content, start=2):
        if line.strip() and not line.startswith(plan_contents.BEGINNING):
            found = _decoded(_line_decoder, line, number)
            _check_names(found, number)
            yield found


def _check_names(line: Deletion, number: int) -> None:
    """An Image may have any name of Kubernetes. Some registries allow upper case."""
    if line.what is What.IMAGE:
        return
    name = line.repository.lower()
    for field, text, is_valid in (
        ("repository", line.repository, not name or references.is_repository(name)),
        ("tag", line.tag, not line.tag or references.is_tag(line.tag)),
        ("digest", line.digest, not line.digest or digests.is_digest(line.digest)),
    ):
        if not is_valid:
            reason = f"line {number}: expected a valid {field}"
            raise Malformed(what="plan file", text=text, reason=reason)


def _decoded(decoder: msgspec.json.Decoder[Decoded], line: bytes, number: int) -> Decoded:
    try:
        return decoder.decode(line)
    except UNREADABLE as error:
        shown = line[:64].decode(errors="replace").rstrip()
        reason = f"line {number} is not what `lading prune plan` writes: {error}"
        raise Malformed(what="plan file", text=shown, reason=reason) from error


def check_same(header: Header, *, registry: str, source: Source, clusters: tuple[str, ...]) -> None:
    """A plan only applies to its own registry and clusters."""
    for what, before, now in (
        ("registry", header.registry, registry),
        ("source", header.source, source),
        ("clusters", header.clusters, clusters),
    ):
        if before != now:
            reason = f"the plan is for {what} {_shown(before)}, and this run is for {_shown(now)}"
            raise Malformed(what="plan file", text=_shown(before), reason=reason)


def _shown(value: str | tuple[str, ...]) -> str:
    return str(value) if isinstance(value, str) else ", ".join(value) or "(none)"
