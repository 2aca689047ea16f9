"""Reading: the version check, manifests and blobs, whole and in part, and what is not there."""

import dataclasses
import json

from tests.conformance.registry.http import OCI_MANIFEST, Http, digest_of

ABSENT = "sha256:" + "0" * 64


async def test_the_root_says_that_this_is_a_registry(http: Http) -> None:
    answer = await http("GET", "/v2/")
    assert answer.status == 200


async def test_a_manifest_comes_back_byte_for_byte_by_tag_and_by_digest(http: Http) -> None:
    document = await http.image("exact")
    body = json.dumps(document, indent=3).encode()
    await http("PUT", "manifests/v1", body=body, headers={"Content-Type": OCI_MANIFEST})
    for wanted in ("v1", digest_of(body)):
        answer = await http("GET", f"manifests/{wanted}", headers={"Accept": OCI_MANIFEST})
        assert (answer.status, answer.body) == (200, body)
        assert answer.headers["Content-Type"] == OCI_MANIFEST
        assert answer.headers["Docker-Content-Digest"] == digest_of(body)


async def test_a_head_of_a_manifest_tells_digest_and_size_without_a_body(http: Http) -> None:
    digest = await http.push_image("v1")
    whole = await http("GET", "manifests/v1", headers={"Accept": OCI_MANIFEST})
    answer = await http("HEAD", "manifests/v1", headers={"Accept": OCI_MANIFEST})
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["Docker-Content-Digest"] == digest
    assert int(answer.headers["Content-Length"]) == len(whole.body)


async def test_a_blob_comes_back_with_its_digest(http: Http) -> None:
    digest = await http.push_blob(b"some content")
    answer = await http("GET", f"blobs/{digest}")
    assert (answer.status, answer.body) == (200, b"some content")
    assert answer.headers["Docker-Content-Digest"] == digest


async def test_a_head_of_a_blob_tells_its_size(http: Http) -> None:
    digest = await http.push_blob(b"twelve bytes")
    answer = await http("HEAD", f"blobs/{digest}")
    assert (answer.status, answer.headers["Content-Length"]) == (200, "12")


async def test_a_range_of_a_blob_is_answered_with_that_part(http: Http) -> None:
    digest = await http.push_blob(b"0123456789")
    answer = await http("GET", f"blobs/{digest}", headers={"Range": "bytes=3-5"})
    assert (answer.status, answer.body) == (206, b"345")
    assert answer.headers["Content-Range"] == "bytes 3-5/10"


async def test_a_range_without_an_end_goes_to_the_end(http: Http) -> None:
    digest = await http.push_blob(b"0123456789")
    answer = await http("GET", f"blobs/{digest}", headers={"Range": "bytes=7-"})
    assert (answer.status, answer.body) == (206, b"789")


async def test_a_range_after_the_end_is_refused(http: Http) -> None:
    digest = await http.push_blob(b"0123456789")
    answer = await http("GET", f"blobs/{digest}", headers={"Range": "bytes=10-"})
    assert answer.status == 416


async def test_an_unknown_tag_and_an_unknown_digest_are_not_found(http: Http) -> None:
    await http.push_image("v1")
    for wanted in ("v2", ABSENT):
        answer = await http("GET", f"manifests/{wanted}", headers={"Accept": OCI_MANIFEST})
        assert (answer.status, answer.error_codes) == (404, ["MANIFEST_UNKNOWN"])


async def test_what_no_tag_can_be_called_is_not_found(http: Http) -> None:
    await http.push_image("v1")
    for method in ("GET", "HEAD", "DELETE"):
        assert (await http(method, "manifests/.not-a-tag")).status == 404


async def test_an_unknown_blob_is_not_found(http: Http) -> None:
    answer = await http("GET", f"blobs/{ABSENT}")
    assert (answer.status, answer.error_codes) == (404, ["BLOB_UNKNOWN"])


async def test_a_repository_does_not_serve_the_blobs_of_another(http: Http) -> None:
    digest = await http.push_blob(b"belongs to one repository")
    other = dataclasses.replace(http, repository=f"{http.repository}-other")
    assert (await other("GET", f"blobs/{digest}")).status == 404


async def test_a_malformed_digest_is_refused_or_not_found(http: Http) -> None:
    for wanted in ("sha256:totallywrong", "md5:d41d8cd98f00b204e9800998ecf8427e"):
        assert (await http("GET", f"blobs/{wanted}")).status in (400, 404)
