"""Writing: blobs whole, in chunks, resumed, mounted and cancelled; manifests and their checks."""

import dataclasses
import json

import pytest

from tests.conformance.registry.http import (
    OCI_INDEX,
    OCI_MANIFEST,
    OCTETS,
    Http,
    descriptor,
    digest_of,
    with_digest,
)


def chunk(begin: int, content: bytes) -> dict[str, str]:
    return {**OCTETS, "Content-Range": f"{begin}-{begin + len(content) - 1}"}


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
async def test_a_blob_is_pushed_in_one_put(http: Http, algorithm: str) -> None:
    digest = digest_of(b"whole", algorithm)
    location = await http.begin_upload()
    answer = await http("PUT", with_digest(location, digest), body=b"whole", headers=OCTETS)
    assert answer.status == 201
    assert (await http("GET", answer.headers["Location"])).body == b"whole"


async def test_an_empty_blob_can_be_pushed(http: Http) -> None:
    digest = await http.push_blob(b"")
    assert (await http("HEAD", f"blobs/{digest}")).headers["Content-Length"] == "0"


async def test_a_blob_in_one_post_is_stored_or_becomes_an_upload(http: Http) -> None:
    digest = digest_of(b"single")
    path = f"blobs/uploads/?digest={digest}"
    answer = await http("POST", path, body=b"single", headers=OCTETS)
    assert answer.status in (201, 202)
    if answer.status == 201:
        assert (await http("GET", f"blobs/{digest}")).body == b"single"


async def test_chunks_in_order_make_a_blob(http: Http) -> None:
    location = await http.begin_upload()
    answer = await http("PATCH", location, body=b"first,", headers=chunk(0, b"first,"))
    assert (answer.status, answer.headers["Range"]) == (202, "0-5")
    location = answer.headers["Location"]
    answer = await http("PATCH", location, body=b"second", headers=chunk(6, b"second"))
    assert (answer.status, answer.headers["Range"]) == (202, "0-11")
    digest = digest_of(b"first,second")
    answer = await http("PUT", with_digest(answer.headers["Location"], digest))
    assert answer.status == 201
    assert (await http("GET", f"blobs/{digest}")).body == b"first,second"


async def test_the_last_chunk_may_come_with_the_put(http: Http) -> None:
    location = await http.begin_upload()
    answer = await http("PATCH", location, body=b"first,", headers=chunk(0, b"first,"))
    closing = with_digest(answer.headers["Location"], digest_of(b"first,last"))
    answer = await http("PUT", closing, body=b"last", headers=chunk(6, b"last"))
    assert answer.status == 201


async def test_a_stream_without_ranges_is_appended(http: Http) -> None:
    location = await http.begin_upload()
    answer = await http("PATCH", location, body=b"streamed", headers=OCTETS)
    closing = with_digest(answer.headers["Location"], digest_of(b"streamed"))
    assert (await http("PUT", closing)).status == 201


async def test_a_chunk_out_of_order_is_refused_and_the_upload_goes_on(http: Http) -> None:
    location = await http.begin_upload()
    answer = await http("PATCH", location, body=b"first,", headers=chunk(0, b"first,"))
    location = answer.headers["Location"]
    answer = await http("PATCH", location, body=b"late", headers=chunk(10, b"late"))
    assert answer.status == 416
    status = await http("GET", location)
    assert (status.status, status.headers["Range"]) == (204, "0-5")
    closing = with_digest(status.headers["Location"], digest_of(b"first,last"))
    assert (await http("PUT", closing, body=b"last", headers=chunk(6, b"last"))).status == 201


async def test_a_first_chunk_that_does_not_begin_at_zero_is_refused(http: Http) -> None:
    location = await http.begin_upload()
    answer = await http("PATCH", location, body=b"later", headers=chunk(5, b"later"))
    assert answer.status == 416


async def test_a_cancelled_upload_is_gone(http: Http) -> None:
    location = await http.begin_upload()
    assert (await http("DELETE", location)).status == 204
    assert (await http("GET", location)).status == 404


async def test_content_that_does_not_match_its_digest_is_refused_and_not_kept(http: Http) -> None:
    digest = digest_of(b"expected")
    location = await http.begin_upload()
    answer = await http("PUT", with_digest(location, digest), body=b"different", headers=OCTETS)
    assert (answer.status, answer.error_codes) == (400, ["DIGEST_INVALID"])
    assert (await http("GET", f"blobs/{digest}")).status == 404


async def test_a_malformed_digest_closes_nothing(http: Http) -> None:
    location = await http.begin_upload()
    answer = await http("PUT", with_digest(location, "sha256:nothex"), body=b"x", headers=OCTETS)
    assert answer.status == 400


async def test_a_blob_is_mounted_from_another_repository(http: Http) -> None:
    digest = await http.push_blob(b"shared")
    other = dataclasses.replace(http, repository=f"{http.repository}-other")
    answer = await other("POST", f"blobs/uploads/?mount={digest}&from={http.repository}")
    assert answer.status == 201
    assert (await other("GET", f"blobs/{digest}")).body == b"shared"


async def test_a_mount_of_what_is_not_there_becomes_an_upload(http: Http) -> None:
    absent = digest_of(b"never pushed")
    answer = await http("POST", f"blobs/uploads/?mount={absent}&from={http.repository}-none")
    assert answer.status == 202
    assert "Location" in answer.headers


async def test_a_pushed_manifest_says_where_it_is(http: Http) -> None:
    body = json.dumps(await http.image("v1")).encode()
    headers = {"Content-Type": OCI_MANIFEST}
    answer = await http("PUT", "manifests/v1", body=body, headers=headers)
    assert (answer.status, answer.headers["Docker-Content-Digest"]) == (201, digest_of(body))
    pulled = await http("GET", answer.headers["Location"], headers={"Accept": OCI_MANIFEST})
    assert pulled.body == body


async def test_a_tag_that_moves_names_the_new_manifest_and_the_old_stays(http: Http) -> None:
    first = await http.push_image("v1")
    second = await http.push_manifest(await http.image("another"), "v1")
    answer = await http("HEAD", "manifests/v1", headers={"Accept": OCI_MANIFEST})
    assert answer.headers["Docker-Content-Digest"] == second
    assert (
        await http("HEAD", f"manifests/{first}", headers={"Accept": OCI_MANIFEST})
    ).status == 200


async def test_a_manifest_under_the_wrong_digest_is_refused(http: Http) -> None:
    body = json.dumps(await http.image("v1")).encode()
    path = f"manifests/{digest_of(b'something else')}"
    answer = await http("PUT", path, body=body, headers={"Content-Type": OCI_MANIFEST})
    assert (answer.status, answer.error_codes) == (400, ["DIGEST_INVALID"])


async def test_a_manifest_is_pushed_by_its_sha512_digest(http: Http) -> None:
    body = json.dumps(await http.image("v1")).encode()
    digest = digest_of(body, "sha512")
    headers = {"Content-Type": OCI_MANIFEST}
    answer = await http("PUT", f"manifests/{digest}", body=body, headers=headers)
    assert answer.status == 201
    pulled = await http("GET", f"manifests/{digest}", headers={"Accept": OCI_MANIFEST})
    assert (pulled.status, pulled.body) == (200, body)


async def test_a_manifest_with_missing_blobs_is_refused(http: Http) -> None:
    document = await http.image("v1")
    document["layers"].append(descriptor("application/vnd.oci.image.layer.v1.tar", b"missing"))
    body = json.dumps(document).encode()
    answer = await http("PUT", "manifests/v1", body=body, headers={"Content-Type": OCI_MANIFEST})
    assert answer.status in (400, 404)
    assert set(answer.error_codes) <= {"MANIFEST_BLOB_UNKNOWN", "BLOB_UNKNOWN"}
    assert (await http("GET", "manifests/v1")).status == 404


async def test_an_index_of_images_is_stored(http: Http) -> None:
    body = json.dumps(await http.image("amd64")).encode()
    headers = {"Content-Type": OCI_MANIFEST}
    await http("PUT", f"manifests/{digest_of(body)}", body=body, headers=headers)
    entry = descriptor(OCI_MANIFEST, body)
    entry["platform"] = {"os": "linux", "architecture": "amd64"}
    index = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [entry]}
    digest = await http.push_manifest(index, "multi")
    answer = await http("GET", "manifests/multi", headers={"Accept": OCI_INDEX})
    assert answer.headers["Docker-Content-Digest"] == digest
    assert answer.headers["Content-Type"] == OCI_INDEX


async def test_something_that_is_no_manifest_is_refused(http: Http) -> None:
    headers = {"Content-Type": OCI_MANIFEST}
    for body in (b"blablabla", b"[]", b"{}"):
        answer = await http("PUT", "manifests/v1", body=body, headers=headers)
        assert (answer.status, answer.error_codes) == (400, ["MANIFEST_INVALID"])
