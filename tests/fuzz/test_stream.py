"""Any golden ConfigMap names boot images, or is refused."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from lading.boot_images import stream
from tests.boot_images import streams
from tests.fuzz import harness, inputs

RELEASES = inputs.TEXTS | st.just(streams.VERSION)
STREAMS = inputs.mangled(inputs.documents(streams.STREAM).map(inputs.as_json))
NAMED = inputs.mangled(inputs.documents({"rhel-10": streams.STREAM}).map(inputs.as_json))


def wide() -> bytes:
    regions = {f"r{number}": {"image": "ami-1"} for number in range(25_000)}
    return inputs.as_json({"architectures": {"x86_64": {"images": {"aws": {"regions": regions}}}}})


@given(default=STREAMS, named=NAMED, release=RELEASES)
@example(default=wide(), named=b"{}", release=streams.VERSION)
@example(default=b'{"a":' * 100_000, named=b"{}", release=streams.VERSION)
@example(default=b"{}", named=b'{"a":"\\ud800"}', release=streams.VERSION)
def test_any_stream_is_read_or_refused(default: bytes, named: bytes, release: str) -> None:
    data = {
        "stream": default.decode(errors="replace"),
        "streams": named.decode(errors="replace"),
        "releaseVersion": release,
        "MCOReleaseImageVersion": release,
    }
    harness.check(lambda: _read(data), refusals=(stream.Broken,))


def _read(data: dict[str, Any]) -> None:
    golden = stream.golden(data)
    assert all(one.startswith("sha256:") for one in golden.digests())
    for one in (golden.default, *golden.named.values()):
        for name in ("x86_64", *one.keys("architectures")):
            for text in (*one.images(name), *one.releases(name)):
                assert text.isascii()
                assert text.isprintable()
