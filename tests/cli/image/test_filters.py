"""`--filter` of `lading image ls`."""

import pytest

from tests.cli.image.conftest import Run


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("since=app:1", "the runtime does not report when an image was pulled"),
        ("dangling=perhaps", "expected dangling=true|false or reference=REGEXP"),
        ("reference=[", "not a regular expression"),
    ],
)
async def test_a_filter_that_means_nothing_is_a_usage_error(
    run: Run, tag: str, wanted: str, message: str
) -> None:
    refused = await run("ls", "-f", wanted)
    assert refused.code == 2
    assert message in refused.errors
