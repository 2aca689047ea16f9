"""Which Secret new machines should get their stub from, and what it must hold. Pure.

The source is never written. A managed copy follows it: the same data but for the stub itself, and
none of the source's labels, annotations or owners, which would let others prune or rotate it.
"""

import base64
import binascii
from collections.abc import Mapping
from datetime import datetime

import msgspec

from lading.api.core import ConfigMap, Secret
from lading.api.definitions import OWNER, OWNER_LABEL
from lading.boot_images.ignition import stub as stub_rules
from lading.boot_images.ignition.findings import Unreadable
from lading.boot_images.ignition.stub import Stub
from lading.boot_images.machine_specs import MachineSpec
from lading.boot_images.platforms.types import Api
from lading.boot_images.types import STUB_SUFFIX, ObservedMachineSets, UnreadSecret, WriteStub
from lading.boot_images.verdicts import Failed, Skipped, Why
from lading.kernel.objects import Key

SOURCE_ANNOTATION = "lading.dev/copy-of"
BUNDLE_KEY = "ca-bundle.crt"
SECRET_NAME_CHARACTERS_MAX = 253


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The Secret to name in the machine set, and the write that must come first."""

    secret: str
    write: WriteStub | None = None
    warnings: tuple[str, ...] = ()


def source_of(name: str) -> str:
    """The Secret that a copy follows; any other Secret is its own source."""
    return name.removesuffix(STUB_SUFFIX)


def wanted(namespace: str, secret: str) -> tuple[Key, Key]:
    """The source and the managed copy, of which both are read."""
    source = source_of(secret)
    return Key(namespace, source), Key(namespace, source + STUB_SUFFIX)


class Stubs:
    """The stubs of one pass: each is translated once, however many machine sets share it."""

    def __init__(self, observed: ObservedMachineSets, now: datetime) -> None:
        self._observed = observed
        self._now = now
        self._prepared: dict[tuple[Key, str], Stub | Failed] = {}

    def choose(self, spec: MachineSpec, namespace: str) -> Choice:
        """Raises Failed where the stub cannot be read or translated, Skipped where it may not."""
        observed = self._observed
        if not spec.secret:
            if observed.api is Api.CLUSTER:
                return Choice(secret="")  # the bootstrap provider makes a stub for each machine
            raise Failed(Why.STUB_MISSING, "the machine spec names no user data Secret")
        source_key, copy_key = wanted(namespace, spec.secret)
        source = _read(observed.secrets.get(source_key), source_key)
        data = _decoded(source, spec.user_data_key, source_key)
        stub = self._prepare(data, source_key, spec.user_data_key)
        warnings = tuple(f"Secret {source_key}: {one}" for one in (*stub.losses, *stub.notes))
        final = data if stub.data is None else stub.data
        _check_size(spec, observed.api, final)
        is_copied = spec.secret == copy_key.name and copy_key != source_key
        if stub.data is None and not is_copied:
            return Choice(secret=spec.secret, warnings=warnings)
        _check_name(copy_key)
        encoded = base64.b64encode(final).decode()
        write = _write(
            observed.secrets.get(copy_key),
            key=copy_key,
            source=source,
            data={**source.data, spec.user_data_key: encoded},
            because=stub.because or "the source changed",
        )
        return Choice(secret=copy_key.name, write=write, warnings=warnings)

    def _prepare(self, data: bytes, key: Key, user_data_key: str) -> Stub:
        known = self._prepared.get((key, user_data_key))
        if known is None:
            bundle = _bundle(self._observed.authority)
            try:
                known = stub_rules.prepare(data, bundle=bundle, now=self._now)
            except Unreadable as error:
                known = Failed(Why.STUB_UNREADABLE, f"Secret {key}: {error}")
            self._prepared[key, user_data_key] = known
        if isinstance(known, Failed):
            raise known
        return known


def _bundle(authority: ConfigMap | None) -> bytes | None:
    text = authority.data.get(BUNDLE_KEY) if authority is not None else None
    return text.encode() if text else None


def _read(found: Secret | UnreadSecret | None, key: Key) -> Secret:
    match found:
        case Secret():
            return found
        case UnreadSecret(is_missing=True) | None:
            raise Failed(Why.STUB_MISSING, f"Secret {key} does not exist")
        case UnreadSecret(message=message):
            raise Skipped(Why.FORBIDDEN, message)


def _decoded(secret: Secret, key: str, name: Key) -> bytes:
    try:
        return base64.b64decode(secret.data[key], validate=True)
    except (KeyError, binascii.Error):
        raise Failed(Why.STUB_UNREADABLE, f"Secret {name} has no readable key {key}") from None


def _check_size(spec: MachineSpec, api: Api, data: bytes) -> None:
    """No machine boots with more. Cluster API's providers compress it or store it elsewhere."""
    limit = spec.platform.user_data_bytes_max if api is Api.MACHINE else None
    if limit is not None and len(data) > limit:
        raise Failed(
            Why.STUB_TOO_LARGE,
            f"the stub has {len(data)} bytes; {spec.platform.name} accepts {limit}",
        )


def _check_name(key: Key) -> None:
    if len(key.name) > SECRET_NAME_CHARACTERS_MAX:
        raise Failed(Why.STUB_UNREADABLE, f"the name {key.name[:60]}... is too long for a Secret")


def _write(
    present: Secret | UnreadSecret | None,
    *,
    key: Key,
    source: Secret,
    data: Mapping[str, str],
    because: str,
) -> WriteStub | None:
    """None when the copy is there as it should be."""
    if isinstance(present, UnreadSecret) and not present.is_missing:
        raise Skipped(Why.FORBIDDEN, present.message)
    version = ""
    if isinstance(present, Secret):
        if not is_ours(present):
            message = f"Secret {key} was not created by Lading; rename or delete it"
            raise Skipped(Why.STUB_NAME_TAKEN, message)
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
