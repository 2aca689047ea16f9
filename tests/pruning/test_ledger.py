"""What confirmed runs remember: ages begin once, and begin again when a tag moves."""

from dataclasses import replace

import pytest

from lading.kernel.errors import Malformed
from lading.pruning.engine import ledger
from lading.pruning.engine.types import Source
from tests.pruning.builders import NOW, ago, digest, image, registry_world, tag


def test_an_age_begins_once_and_again_when_the_tag_moves() -> None:
    moved = tag("moved", "2", minutes=None)
    world = registry_world([image("1"), image("2")], a=[tag("same", "1", minutes=60), moved])
    found = ledger.updated(ledger.EMPTY, world, NOW, references=4)
    assert found.references == 4
    assert found.of("a") == {"same": (digest("1"), ago(60)), "moved": (digest("2"), NOW)}
    assert found.of("b") == {}


@pytest.mark.parametrize(
    ("source", "only", "remembered"),
    [
        pytest.param(Source.REGISTRY, (), set(), id="what a whole registry has no more"),
        pytest.param(Source.REGISTRY, ("a",), {"b"}, id="what was read of some repositories"),
        pytest.param(Source.STORAGE, (), {"a", "b"}, id="nothing where the storage has dates"),
    ],
)
def test_it_forgets(source: Source, only: tuple[str, ...], remembered: set[str]) -> None:
    world = registry_world([image("1")], a=[tag("t", "1")], b=[tag("t", "1")])
    full = ledger.updated(ledger.EMPTY, world, NOW, references=7)
    found = full.unread(source, only=only)
    assert (found.references, set(found.first_seen)) == (7, remembered)


def test_a_source_with_dates_of_its_own_begins_no_age() -> None:
    world = replace(registry_world([image("1")], a=[tag("t", "1")]), source=Source.STORAGE)
    assert ledger.updated(ledger.EMPTY, world, NOW, references=1).first_seen == {}


def test_it_survives_its_file() -> None:
    world = registry_world([image("1")], a=[tag("t", "1")])
    kept = ledger.updated(ledger.EMPTY, world, NOW, references=1)
    assert ledger.decode(ledger.encode(kept)) == kept
    assert ledger.decode(None) == ledger.EMPTY


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"garbage", b'{"version": "other"}'),
        *(b'{"firstSeen": 3}', b'{"firstSeen": {"a": 3}}'),
        b'{"firstSeen": {"a": {"v1": ["sha256:0", "2026-11-01T00:00:00"]}}}',
    ],
)
def test_a_file_that_cannot_be_read_is_an_error(content: bytes) -> None:
    with pytest.raises(Malformed, match="prune ledger"):
        ledger.decode(content).of("a")
