"""Any request to the embedded registry gets a proper answer, and nothing is written outside it."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lading.embedded.registry import server
from lading.embedded.registry.usage import StoreLimits
from lading.kernel.digests import Digest
from tests.fuzz import harness, inputs

ANSWER_SECONDS_MAX = 20.0
MEBIBYTE = 1024 * 1024
CONTENT = b"content of a blob"
DIGEST = str(Digest.of(CONTENT))
NAMES = ["app", "team/app", "_uploads", "..", ".", "a/../../b", "%2e%2e%2f%2e%2e", "a" * 300, "%00"]
DIGESTS = [DIGEST, f"sha512:{'0' * 128}", "sha256:..", "sha256:", "md5:0", "%2e%2e", "v1", "-"]
SESSIONS = ["0" * 32, "00000000-0000-0000-0000-000000000000", "..", "%2e%2e%2fdata", ""]
MANIFEST = {
    "schemaVersion": 2,
    "mediaType": "application/vnd.oci.image.manifest.v1+json",
    "config": {"mediaType": "a/b", "digest": DIGEST, "size": 17},
    "layers": [{"mediaType": "a/b", "digest": DIGEST, "size": 17}],
    "subject": {"mediaType": "a/b", "digest": DIGEST, "size": 17},
    "annotations": {"a": "b"},
}
HEADERS = {
    "Range": ["bytes=0-1", "bytes=5-1", "bytes=-1", "bytes=-0", "bytes=0-0,2-3", "bytes=9" * 99],
    "Content-Range": ["0-3", "bytes 0-3/4", "3-0", "9" * 19 + "-" + "9" * 19, "-", "0-"],
    "Content-Type": [
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.oci.image.index.v1+json",
        "text/plain",
        ";",
    ],
    "If-None-Match": [f'"{DIGEST}"', "*", '"'],
    "Authorization": ["Basic !!!", "Bearer x", "Basic " + "QQ==" * 999],
    "Host": ["127.0.0.1", "evil.example", "[::1", ""],
    "Origin": ["null", "http://127.0.0.1", "http://[", ""],
}


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A registry in a thread, with one blob, in a folder that nothing may be written beside."""
    root = tmp_path_factory.mktemp("fuzz")
    listening, stop = threading.Event(), asyncio.Event()
    found: list[int] = []

    async def serve() -> None:
        limits = StoreLimits(blob_bytes_max=MEBIBYTE, store_bytes_max=64 * MEBIBYTE)
        async with server.serve(root / "registry", limits=limits) as url:
            found.append(int(url.rpartition(":")[2]))
            listening.set()
            await stop.wait()

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert listening.wait(ANSWER_SECONDS_MAX)
    path = f"/v2/app/blobs/uploads/?digest={DIGEST}"
    assert status_of(found[0], request("POST", path, {}, CONTENT)) == 201
    try:
        yield found[0]
        assert [one.name for one in root.iterdir()] == ["registry"]
        outside = [one for one in Path(root).rglob("*") if one.is_symlink()]
        assert outside == []
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(ANSWER_SECONDS_MAX)
        loop.close()


def request(method: str, path: str, headers: dict[str, str], body: bytes) -> bytes:
    lines = {
        "Host": "127.0.0.1",
        "Content-Length": str(len(body)),
        "Connection": "close",
        **headers,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def status_of(port: int, sent: bytes) -> int:
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS_MAX) as connection:
        with contextlib.suppress(ConnectionError):  # refused before the whole body was sent
            connection.sendall(sent)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while piece := connection.recv(65536):
                answer += piece
    return int(answer.split(b" ", 2)[1])


@st.composite
def paths(draw: st.DrawFn) -> str:
    name, digest = draw(st.sampled_from(NAMES)), draw(st.sampled_from(DIGESTS))
    session = draw(st.sampled_from(SESSIONS))
    path = draw(
        st.sampled_from(
            [
                "/v2/",
                "/v2/_catalog",
                f"/v2/{name}/tags/list",
                f"/v2/{name}/manifests/{digest}",
                f"/v2/{name}/blobs/{digest}",
                f"/v2/{name}/referrers/{digest}",
                f"/v2/{name}/blobs/uploads/",
                f"/v2/{name}/blobs/uploads/{session}",
                "/token",
            ]
        )
    )
    query = draw(
        st.sampled_from(
            [
                "",
                f"?digest={digest}",
                f"?mount={digest}&from={name}",
                "?n=-1",
                "?n=" + "9" * 30,
                "?n=2&last=%ff%00",
                "?artifactType=%00",
                "?tag=" + name,
            ]
        )
    )
    return path + query


BODIES = st.binary(max_size=50) | inputs.mangled(inputs.documents(MANIFEST).map(inputs.as_json))


@given(
    method=st.sampled_from(["GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS"]),
    path=paths(),
    headers=st.fixed_dictionaries(
        {}, optional={name: st.sampled_from(values) for name, values in HEADERS.items()}
    ),
    body=BODIES,
)
@example(method="GET", path=f"/v2/app/blobs/{DIGEST}", headers={"Range": "bytes=99-"}, body=b"")
@example(method="PUT", path="/v2/app/manifests/v1", headers={}, body=b"[" * 50_000)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_request_is_answered(
    port: int, method: str, path: str, headers: dict[str, str], body: bytes
) -> None:
    def ask() -> None:
        status = status_of(port, request(method, path, headers, body))
        assert status < 500 or status == 507, status

    harness.check(ask, refusals=())


@given(sent=inputs.mangled(st.just(request("GET", f"/v2/app/blobs/{DIGEST}", {}, b""))))
def test_any_bytes_are_answered(port: int, sent: bytes) -> None:
    def ask() -> None:
        with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS_MAX) as client:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                first = client.recv(65536)
                assert not first or int(first.split(b" ", 2)[1]) < 500

    harness.check(ask, refusals=())
