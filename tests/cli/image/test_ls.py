"""`lading image ls`: lines, columns, filters and forms."""

import json
import re

import pytest
import yaml

from tests.cli.image.builders import golden
from tests.cli.image.conftest import Run
from tests.runtime_images.conftest import Stand


async def test_ls_shows_a_line_for_each_tag_and_runtime_class(run: Run, tag: str) -> None:
    assert (await run("ls")).output == golden("""
        IMAGE                      TAG   IMAGE ID        SIZE       RUNTIME CLASS
        registry.local/team/app   1     33eac18b1ca64   98.9 KiB   <default>
        registry.local/team/app   1     455a1a2efccc6   1.91 MiB   handler:arm
    """)


async def test_ls_shows_digests_pins_and_whole_ids_when_asked(
    run: Run, stand: Stand, tag: str
) -> None:
    (digest,) = {image.repo_digests[0].partition("@")[2] for image in await stand.runtime.images()}
    shown = await run("ls", "--digests", "--pinned", "--runtime", "handler:arm")
    headers, cells = (re.split(r" {3,}", line) for line in shown.output.splitlines())
    assert dict(zip(headers, cells, strict=True)) == {
        "IMAGE": "registry.local/team/app",
        "TAG": "1",
        "DIGEST": digest.removeprefix("sha256:")[:13],
        "IMAGE ID": "455a1a2efccc6",
        "SIZE": "1.91 MiB",
        "PINNED": "false",
        "RUNTIME CLASS": "handler:arm",
    }
    whole = await run("ls", "-q", "--runtime", "handler:arm")
    assert whole.output.startswith("sha256:455a1a2efccc6")
    assert whole.output.strip() in (await run("ls", "--no-trunc")).output


async def test_ls_filters_by_repository_and_by_tag(run: Run, tag: str) -> None:
    repository = tag.rpartition(":")[0]
    for asked, count in ((repository, 2), (tag, 2), (f"{repository}:2", 0)):
        assert len((await run("ls", "-q", asked)).output.splitlines()) == count


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        (("dangling=true",), 0),
        (("dangling=false",), 2),
        (("reference=/team/a.p/",), 2),
        (("reference=^team",), 0),
        (("dangling=false", "reference=sha256:"), 2),
    ],
)
async def test_ls_takes_crictls_filters(
    run: Run, tag: str, wanted: tuple[str, ...], count: int
) -> None:
    options = [word for one in wanted for word in ("--filter", one)]
    assert len((await run("ls", "-q", *options)).output.splitlines()) == count


async def test_json_and_yaml_say_the_same_in_crictls_words(run: Run, tag: str) -> None:
    document = json.loads((await run("ls", "-o", "json")).output)
    default, arm = document["images"]
    assert 100_000 < int(default["size"]) < 102_000
    assert isinstance(default["size"], str), "64-bit numbers are text in protobuf's JSON"
    assert "spec" not in default
    assert arm["spec"]["runtimeHandler"] == "arm"
    assert yaml.safe_load((await run("ls", "-o", "yaml")).output) == document
