"""`lading image ls`: lines, columns and forms."""

import json
import re

import yaml

from tests.cli.image.builders import golden
from tests.cli.image.conftest import Run
from tests.runtime_images.conftest import Stand


async def test_ls_shows_a_line_for_each_tag_and_runtime_class(run: Run, tag: str) -> None:
    assert (await run("ls")).output == golden("""
        IMAGE                      TAG   IMAGE ID        SIZE       PINNED   RUNTIME CLASS
        registry.local/team/app   1     33eac18b1ca64   98.9 KiB   false    <default>
        registry.local/team/app   1     455a1a2efccc6   1.91 MiB   false    handler:arm
    """)


async def test_wide_has_the_digest_and_whole_ids(run: Run, stand: Stand, tag: str) -> None:
    (digest,) = {image.repo_digests[0].partition("@")[2] for image in await stand.runtime.images()}
    (image_id,) = (await run("ls", "-o", "name", "--runtime", "handler:arm")).output.split()
    assert image_id.startswith("sha256:455a1a2efccc6")
    shown = await run("ls", "-o", "wide", "--runtime", "handler:arm")
    headers, cells = (re.split(r" {3,}", line) for line in shown.output.splitlines())
    assert dict(zip(headers, cells, strict=True)) == {
        "IMAGE": "registry.local/team/app",
        "TAG": "1",
        "IMAGE ID": image_id,
        "SIZE": "1.91 MiB",
        "PINNED": "false",
        "RUNTIME CLASS": "handler:arm",
        "DIGEST": digest,
    }


async def test_ls_filters_by_repository_and_by_tag(run: Run, tag: str) -> None:
    repository = tag.rpartition(":")[0]
    for asked, count in ((repository, 2), (tag, 2), (f"{repository}:2", 0)):
        assert len((await run("ls", "-o", "name", asked)).output.splitlines()) == count


async def test_json_and_yaml_say_the_same_in_crictls_words(run: Run, tag: str) -> None:
    document = json.loads((await run("ls", "-o", "json")).output)
    default, arm = document["images"]
    assert 100_000 < int(default["size"]) < 102_000
    assert isinstance(default["size"], str), "64-bit numbers are text in protobuf's JSON"
    assert "spec" not in default
    assert arm["spec"]["runtimeHandler"] == "arm"
    assert yaml.safe_load((await run("ls", "-o", "yaml")).output) == document
