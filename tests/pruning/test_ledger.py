"""What confirmed runs remember: ages begin once, and begin again when a tag moves."""

import pytest

from lading.kernel.errors import Malformed
from lading.pruning.engine import ledger
from tests.pruning.builders import NOW, ago, digest, image, registry_world, tag


def test_an_age_begins_once_and_again_when_the_tag_moves() -> None:
    before = registry_world([image("1"), image("2")], a=[tag("same", "1"), tag("moved", "1")])
    after = registry_world([image("1"), image("2")], a=[tag("same", "1"), tag("moved", "2")])
    first = ledger.updated(ledger.EMPTY, before, ago(60), references=3)
    second = ledger.updated(first, after, NOW, references=4)
    assert second.references == 4
    assert second.first_seen == {
        "a:same": (digest("1"), ago(60)),
        "a:moved": (digest("2"), NOW),
    }


def test_what_is_gone_is_forgotten() -> None:
    full = ledger.updated(
        ledger.EMPTY, registry_world([image("1")], a=[tag("t", "1")]), NOW, references=0
    )
    assert ledger.updated(full, registry_world([]), NOW, references=0).first_seen == {}


def test_it_survives_its_file() -> None:
    world = registry_world([image("1")], a=[tag("t", "1")])
    kept = ledger.updated(ledger.EMPTY, world, NOW, references=1)
    assert ledger.decode(ledger.encode(kept)) == kept
    assert ledger.decode(None) == ledger.EMPTY


@pytest.mark.parametrize("content", [b"", b"garbage", b'{"version": "other"}', b'{"firstSeen": 3}'])
def test_a_file_that_cannot_be_read_is_an_error(content: bytes) -> None:
    with pytest.raises(Malformed, match="prune ledger"):
        ledger.decode(content)
