"""What sweeps remember, read back."""

from datetime import UTC, datetime

import pytest

from lading.kernel.errors import Malformed
from lading.pruning.sweep import state as states
from lading.pruning.sweep.state import EMPTY
from lading.pruning.sweep.types import Link, LinkKind

NOW = datetime(2026, 11, 1, tzinfo=UTC)
LATER = datetime(2026, 11, 2, tzinfo=UTC)
DIGEST = f"sha256:{'ab' * 32}"
LINKS = (
    Link("a", LinkKind.LAYER, DIGEST),
    Link("b", LinkKind.MANIFEST, DIGEST),
    Link("c", LinkKind.LAYER, f"sha512:{'cd' * 64}", DIGEST),
)


def test_links_are_remembered_by_what_they_name() -> None:
    found = states.decode(states.encode(states.with_condemned(EMPTY, [DIGEST], LINKS, NOW)))
    assert set(found.condemned[DIGEST].links(DIGEST)) == set(LINKS)
    assert found.condemned[DIGEST].since == NOW


def test_what_is_condemned_anew_waits_anew_and_keeps_its_former_links() -> None:
    first = states.with_condemned(EMPTY, [DIGEST], LINKS[:1], NOW)
    second = states.with_condemned(first, [DIGEST], LINKS[1:2], LATER)
    assert second.condemned[DIGEST].since == LATER
    assert set(second.condemned[DIGEST].links(DIGEST)) == set(LINKS[:2])
    assert states.without(second, [DIGEST]).condemned == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no JSON", "starts again"),
        (b'{"version": "other/v2"}', "another release"),
        (b'{"condemned": {"sha256:1": {"since": "2026-11-01T00:00:00"}}}', "starts again"),
        (b'{"condemned": {"../..": {"since": "2026-11-01T00:00:00Z"}}}', "expected a digest"),
        (
            b'{"condemned": {"sha256:%s": {"since": "2026-11-01T00:00:00Z", "layers": ["../.."]}}}'
            % (b"ab" * 32),
            r"expected the name of a repository - at `\$.condemned\[...\].layers\[0\]`",
        ),
    ],
)
def test_a_state_that_cannot_be_read_is_an_error(content: bytes, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        states.decode(content)
    assert states.decode(None) == EMPTY
