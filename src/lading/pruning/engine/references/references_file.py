"""The references of a cluster as a file, for a run that cannot reach the cluster. Pure."""

from datetime import datetime, timedelta

import msgspec

from lading.kernel import durations
from lading.kernel.errors import UNREADABLE, Malformed
from lading.pruning.engine.references import custom_paths
from lading.pruning.engine.references.custom_paths import READY_MADE
from lading.pruning.engine.references.observe import ClusterReferences
from lading.pruning.engine.types import Mention

CLOCKS_APART_MAX = timedelta(minutes=5)  # as much as Kerberos tolerates
VERSION = "lading.prune.references/v1"


class _File(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    version: str = VERSION
    cluster: str
    taken_at: datetime
    mentions: tuple[Mention, ...] = ()
    mirrors: tuple[tuple[str, str], ...] = ()
    served: tuple[tuple[str, str], ...] | None = None
    """(group, kind), sorted."""
    custom_paths: tuple[str, ...] = ()
    """Without the ready-made ones."""


def encode(references: ClusterReferences) -> bytes:
    return msgspec.json.encode(
        _File(
            cluster=references.cluster,
            taken_at=references.taken_at,
            mentions=references.mentions,
            mirrors=references.mirrors,
            served=None if references.served is None else tuple(sorted(references.served)),
            custom_paths=tuple(str(one) for one in references.custom if one not in READY_MADE),
        )
    )


def decode(content: bytes, *, name: str, now: datetime, age_max: timedelta) -> ClusterReferences:
    """Refuses an old file, because it lacks newer references."""
    try:
        found = msgspec.json.decode(content, type=_File)
        custom = tuple(map(custom_paths.parse, found.custom_paths))
    except UNREADABLE as error:
        reason = f"it is not what `lading prune references` writes: {error}"
        raise Malformed(what="references file", text=name, reason=reason) from error
    if found.version != VERSION:
        reason = f"expected {VERSION}, not {found.version}"
        raise Malformed(what="references file", text=name, reason=reason)
    if found.taken_at.tzinfo is None:
        reason = "takenAt has no time zone"
        raise Malformed(what="references file", text=name, reason=reason)
    age = now - found.taken_at
    if age < -CLOCKS_APART_MAX:
        reason = "it is from the future, so its age is not known; correct the clocks"
        raise Malformed(what="references file", text=name, reason=reason)
    if age > age_max:
        limit = durations.format_duration(age_max)
        reason = f"it is older than {limit}; write it again with `lading prune references`"
        raise Malformed(what="references file", text=name, reason=reason)
    return ClusterReferences(
        cluster=found.cluster,
        taken_at=found.taken_at,
        mentions=found.mentions,
        mirrors=found.mirrors,
        served=None if found.served is None else frozenset(found.served),
        custom=custom,
    )
