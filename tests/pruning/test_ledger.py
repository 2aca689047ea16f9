"""What confirmed runs remember: ages begin once, and begin again when a tag moves."""

import pytest

from lading.kernel.errors import Malformed
from lading.kernel.values import replace
from lading.pruning.engine import ledger
from lading.pruning.engine.ledger import Ledger
from lading.pruning.engine.types import Deletion, Repository, Source, What
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


def going(repository: str, name: str) -> Deletion:
    return Deletion(what=What.MANIFEST, repository=repository, digest=digest(name))


def test_what_a_run_is_about_to_delete_is_remembered_until_it_is_deleted() -> None:
    world = registry_world([image("1")], a=[tag("t", "1")])
    earlier = Ledger(unfinished={"unread": (digest("0"),)})
    lines = [
        Deletion(what=What.TAG, repository="a", tag="t", digest=digest("1")),
        going("a", "1"),
        going("a", "2"),
    ]
    found = ledger.updated(earlier, world, NOW, references=1, going=lines)
    alone = ledger.updated(ledger.EMPTY, world, NOW, references=1, going=lines[:1])
    assert alone.unfinished == {}, "its manifest stays"
    both = tuple(sorted([digest("1"), digest("2")]))
    assert found.unfinished == {"unread": (digest("0"),), "a": both}
    assert ledger.decode(ledger.encode(found)) == found
    upper = Ledger(unfinished={"Team/App": (digest("0"),)})
    assert ledger.decode(ledger.encode(upper)) == upper
    assert ledger.finished(found, lines[:1]) == found, "the tag is gone, its manifest is not"
    assert ledger.finished(found, lines[:2]).unfinished["a"] == (digest("2"),)
    assert ledger.finished(found, lines).unfinished == {"unread": (digest("0"),)}
    assert ledger.finished(found, lines).first_seen == found.first_seen


@pytest.mark.parametrize(
    ("source", "only", "left"),
    [
        pytest.param(Source.REGISTRY, (), set(), id="where all is read"),
        pytest.param(Source.REGISTRY, ("a",), {"b"}, id="where one repository is read"),
        pytest.param(Source.STORAGE, (), {"a", "b"}, id="where the storage is read"),
    ],
)
def test_what_was_left_stays_remembered_where_it_was_not_looked_for(
    source: Source, only: tuple[str, ...], left: set[str]
) -> None:
    full = Ledger(unfinished={"a": (digest("1"),), "b": (digest("1"),)})
    unread = full.unread(source, only=only)
    world = replace(registry_world([], a=[]), source=source)
    assert set(ledger.updated(unread, world, NOW, references=1).unfinished) == left


def test_what_was_left_and_is_still_there_stays_remembered() -> None:
    repository = Repository(name="a", manifests=(digest("1"),), left_over=(digest("1"),))
    world = replace(registry_world([image("1")]), repositories={"a": repository})
    found = ledger.updated(ledger.EMPTY, world, NOW, references=1)
    assert found.unfinished == {"a": (digest("1"),)}


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
        b'{"unfinished": {"a": ["../garbage"]}}',
        b'{"unfinished": {"a/../b": []}}',
        b'{"firstSeen": {"../../b": {}}}',
        b'{"firstSeen": {"a": {"../v1": ["sha256:%s", "2026-11-01T00:00:00Z"]}}}' % (b"ab" * 32),
        b'{"firstSeen": {"a": {"v1": ["sha256:../..", "2026-11-01T00:00:00Z"]}}}',
        b"[" * 1_000_000,
    ],
)
def test_a_file_that_cannot_be_read_is_an_error(content: bytes) -> None:
    with pytest.raises(Malformed, match="prune ledger"):
        ledger.decode(content).of("a")
