"""The Secret with the stub of new machines: the source, or a managed copy of it. Pure.

The source is never written. The copy has the data of the source, with a translated stub. It has
none of the source's labels, annotations and owners, by which others would prune or rotate it.
"""

import base64
import binascii
from collections.abc import Mapping
from datetime import datetime

import msgspec

from lading.api.core import Secret
from lading.api.definitions import OWNER, OWNER_LABEL
from lading.boot_images.ignition import stub as stub_rules
from lading.boot_images.ignition.findings import Unreadable
from lading.boot_images.ignition.stub import Stub
from lading.boot_images.machine_specs import MachineSpec
from lading.boot_images.platforms.types import Api
from lading.boot_images.types import STUB_SUFFIX, ObservedMachineSets, UnreadSecret, WriteStub
from lading.boot_images.verdicts import NotUpdated, Why
from lading.kernel.objects import Key

SOURCE_ANNOTATION = "lading.dev/copy-of"
BUNDLE_KEY = "ca-bundle.crt"
SECRET_NAME_CHARACTERS_MAX = 253


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The Secret to name in the machine set, and the write that comes first."""

    secret: str
    write: WriteStub | None = None
    warnings: tuple[str, ...] = ()


def source_of(name: str) -> str:
    """The source of a copy; any other Secret is its own source."""
    return name.removesuffix(STUB_SUFFIX)


def wanted(namespace: str, secret: str) -> frozenset[Key]:
    """The Secrets to read: the named one, its source if it is a copy, and its own copy."""
    names = {secret, source_of(secret), secret + STUB_SUFFIX}
    return frozenset(Key(namespace, one) for one in names)


def _source_and_copy(
    namespace: str, secret: str, found: Mapping[Key, Secret | UnreadSecret]
) -> tuple[Key, Key]:
    """A name like that of a copy may be of another owner; a copy works without its source."""
    named, source = Key(namespace, secret), Key(namespace, source_of(secret))
    present, before = found.get(named), found.get(source)
    if named == source or (isinstance(present, Secret) and not is_ours(present)):
        return named, Key(namespace, secret + STUB_SUFFIX)
    is_gone = before is None or (isinstance(before, UnreadSecret) and before.is_missing)
    return (named if is_gone and isinstance(present, Secret) else source), named


class Stubs:
    """The stubs of one plan. Each is translated once, even if many machine sets share it."""

    def __init__(self, observed: ObservedMachineSets, now: datetime) -> None:
        self._observed = observed
        self._now = now
        self._prepared: dict[tuple[Key, str], Stub | NotUpdated] = {}

    def choose(self, spec: MachineSpec, namespace: str) -> Choice | NotUpdated:
        observed = self._observed
        if not spec.secret:
            if observed.api is Api.CLUSTER:
                return Choice(secret="")  # the bootstrap provider makes a stub for each machine
            return NotUpdated(Why.STUB_MISSING, "the machine spec names no user data Secret")
        source_key, copy_key = _source_and_copy(namespace, spec.secret, observed.secrets)
        source = _read(observed.secrets.get(source_key), source_key)
        if isinstance(source, NotUpdated):
            return source
        data = _decoded(source, spec.user_data_key)
        if data is None:
            message = f"Secret {source_key} has no readable key {spec.user_data_key}"
            return NotUpdated(Why.STUB_UNREADABLE, message)
        stub = self._prepare(data, source_key, spec.user_data_key)
        if isinstance(stub, NotUpdated):
            return stub
        warnings = tuple(f"Secret {source_key}: {one}" for one in (*stub.losses, *stub.notes))
        if source_key == copy_key:
            warnings += (f"Secret {source_of(spec.secret)} is gone; its copy is used as it is",)
        final = data if stub.data is None else stub.data
        # Cluster API's providers compress user data or store it elsewhere.
        limit = spec.platform.user_data_bytes_max if observed.api is Api.MACHINE else None
        if limit is not None and len(final) > limit:
            message = f"the stub has {len(final)} bytes; {spec.platform.name} accepts {limit}"
            return NotUpdated(Why.STUB_TOO_LARGE, message)
        is_copied = spec.secret == copy_key.name and copy_key != source_key
        if stub.data is None and not is_copied:
            return Choice(secret=spec.secret, warnings=warnings)
        encoded = base64.b64encode(final).decode()
        write = _write(
            observed.secrets.get(copy_key),
            key=copy_key,
            source=source,
            data={**source.data, spec.user_data_key: encoded},
            because=stub.because or "the source changed",
        )
        if isinstance(write, NotUpdated):
            return write
        return Choice(secret=copy_key.name, write=write, warnings=warnings)

    def _prepare(self, data: bytes, key: Key, user_data_key: str) -> Stub | NotUpdated:
        known = self._prepared.get((key, user_data_key))
        if known is None:
            authority = self._observed.authority
            text = authority.data.get(BUNDLE_KEY) if authority is not None else None
            bundle = text.encode() if text else None
            try:
                known = stub_rules.prepare(data, bundle=bundle, now=self._now)
            except Unreadable as error:
                known = NotUpdated(Why.STUB_UNREADABLE, f"Secret {key}: {error}")
            self._prepared[key, user_data_key] = known
        return known


def _read(found: Secret | UnreadSecret | None, key: Key) -> Secret | NotUpdated:
    match found:
        case Secret():
            return found
        case UnreadSecret(is_missing=True) | None:
            return NotUpdated(Why.STUB_MISSING, f"Secret {key} does not exist")
        case UnreadSecret(message=message):
            return NotUpdated(Why.FORBIDDEN, message)


def _decoded(secret: Secret, key: str) -> bytes | None:
    try:
        return base64.b64decode(secret.data[key], validate=True)
    except (KeyError, binascii.Error):
        return None


def _write(
    present: Secret | UnreadSecret | None,
    *,
    key: Key,
    source: Secret,
    data: Mapping[str, str],
    because: str,
) -> WriteStub | NotUpdated | None:
    """None if the copy is as it should be."""
    if len(key.name) > SECRET_NAME_CHARACTERS_MAX:
        message = f"the name {key.name[:60]}... is too long for a Secret"
        return NotUpdated(Why.STUB_UNREADABLE, message)
    if isinstance(present, UnreadSecret) and not present.is_missing:
        return NotUpdated(Why.FORBIDDEN, present.message)
    version = ""
    if isinstance(present, Secret):
        if not is_ours(present):
            message = f"Secret {key} was not created by Lading; rename or delete it"
            return NotUpdated(Why.STUB_NAME_TAKEN, message)
        if present.data == data:
            return None
        version = present.metadata.resource_version
    return WriteStub(
        key=key,
        source=source.key,
        data=data,
        type=source.type or "Opaque",
        resource_version=version,
        because=because,
    )


def is_ours(secret: Secret) -> bool:
    metadata = secret.metadata
    return metadata.labels.get(OWNER_LABEL) == OWNER and metadata.annotations.get(
        SOURCE_ANNOTATION
    ) == source_of(metadata.name)
