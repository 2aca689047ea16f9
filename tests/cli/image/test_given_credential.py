"""The credential that a person gives with a pull."""

import pytest

from tests.cli.image.builders import guarded
from tests.cli.image.conftest import Run
from tests.runtime_images.conftest import Stand


@pytest.mark.parametrize(
    ("arguments", "typed"),
    [
        (("--creds", "carol:right"), ""),
        (("--auth", "Y2Fyb2w6cmlnaHQ="), ""),
        (("--creds", "-"), "carol:right\n"),
    ],
)
async def test_pull_shows_the_registry_what_is_given_with_it(
    run: Run, stand: Stand, arguments: tuple[str, ...], typed: str
) -> None:
    async with guarded(stand) as app:
        pulled = await run("pull", str(app), *arguments, typed=typed)
    assert pulled.code == 0, pulled.errors
    assert len(await stand.runtime.images()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--creds", "a:secret", "--auth", "c2VjcmV0OmI="), "use either --creds or --auth"),
        (("--creds", ":secret"), "--creds: expected USER[:PASSWORD]"),
        (("--auth", "no secret"), "--auth: expected USER[:PASSWORD] in base64"),
    ],
)
async def test_a_credential_that_cannot_be_read_is_a_usage_error_that_does_not_show_it(
    run: Run, arguments: tuple[str, ...], message: str
) -> None:
    refused = await run("pull", "app", *arguments)
    assert refused.code == 2
    assert message in refused.errors
    assert "secret" not in refused.errors
