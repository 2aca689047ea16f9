"""The golden ConfigMap is read at whatever levels it has, and hostile text is refused."""

import json

import pytest

from lading.boot_images import stream
from lading.boot_images.stream import Broken, Stream
from tests.boot_images import streams


def test_a_value_is_found_by_its_path() -> None:
    found = stream.golden(streams.data()).default
    assert found.text("architectures", "x86_64", "images", "gcp", "project") == "rhcos-cloud"
    assert found.releases("x86_64") == {streams.RELEASE}


@pytest.mark.parametrize(
    "value",
    [
        {}, [], None, "text", 7, {"architectures": None}, {"architectures": []},
        {"architectures": {"x86_64": None}}, {"architectures": {"x86_64": {"images": "no"}}},
        {"architectures": {"x86_64": {"images": {"gcp": {"project": 7}}}}},
        {"architectures": {"x86_64": {"images": {"gcp": {"project": "a b"}}}}},
        {"architectures": {"x86_64": {"images": {"gcp": {"project": "a" * 600}}}}},
    ],
)  # fmt: skip
def test_every_level_is_optional(value: object) -> None:
    found = Stream(value=value)
    assert found.text("architectures", "x86_64", "images", "gcp", "project") == ""
    assert found.releases("x86_64") == frozenset()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"releaseVersion": "4.1"}, "stream is missing"),
        ({"stream": "{}"}, "releaseVersion is missing or malformed"),
        (streams.data(releaseVersion="two words"), "releaseVersion is missing or malformed"),
        (streams.data(stream="{"), "stream is not JSON"),
        (streams.data(stream="[" * 100_000), "stream is not JSON"),
        (streams.data(stream="[]"), "stream is not a JSON object"),
        (streams.data(streams="7"), "streams is not a JSON object"),
        (streams.data(stream=" " * 1_048_577), "stream is longer than 1048576 characters"),
    ],
)
def test_what_cannot_be_used_is_named(data: dict[str, str], message: str) -> None:
    with pytest.raises(Broken, match=message):
        stream.golden(data)


def test_a_configmap_without_streams_holds_the_default_one() -> None:
    golden = stream.golden(streams.data())
    assert golden.chosen("rhel-9") == golden.default
    assert golden.chosen("rhel-10") is None


def test_an_edit_changes_the_digest_of_its_own_architecture_and_stream() -> None:
    before, again = stream.golden(streams.data()), stream.golden(streams.data())
    changed = streams.stream()
    changed["architectures"]["aarch64"]["images"] = {}
    after = stream.golden(streams.data(stream=json.dumps(changed)))
    assert before.digests() == again.digests()
    assert before.default.digest("x86_64") == after.default.digest("x86_64")
    assert len(before.digests() - after.digests()) == len(after.digests() - before.digests()) == 1
    named = stream.golden(streams.data(streams=json.dumps({"rhel-10": changed})))
    assert named.digests() == before.digests() | after.digests()
