"""Deleting: tags, manifests with their tags, and blobs."""

from tests.conformance.registry.http import OCI_MANIFEST, Http

ABSENT = "sha256:" + "0" * 64
ACCEPT = {"Accept": OCI_MANIFEST}


async def test_a_deleted_manifest_is_gone_with_all_its_tags(http: Http) -> None:
    document = await http.image("same")
    digest = await http.push_manifest(document, "v1")
    await http.push_manifest(document, "also")
    assert (await http("DELETE", f"manifests/{digest}")).status == 202
    for wanted in (digest, "v1", "also"):
        assert (await http("GET", f"manifests/{wanted}", headers=ACCEPT)).status == 404


async def test_a_deleted_tag_leaves_the_manifest_and_its_other_tags(http: Http) -> None:
    document = await http.image("same")
    digest = await http.push_manifest(document, "v1")
    await http.push_manifest(document, "also")
    assert (await http("DELETE", "manifests/v1")).status == 202
    assert (await http("GET", "manifests/v1", headers=ACCEPT)).status == 404
    for wanted in (digest, "also"):
        assert (await http("GET", f"manifests/{wanted}", headers=ACCEPT)).status == 200


async def test_a_deleted_blob_is_gone(http: Http) -> None:
    digest = await http.push_blob(b"to be deleted")
    assert (await http("DELETE", f"blobs/{digest}")).status == 202
    assert (await http("GET", f"blobs/{digest}")).status == 404


async def test_a_deleted_blob_can_be_pushed_again(http: Http) -> None:
    digest = await http.push_blob(b"comes back")
    await http("DELETE", f"blobs/{digest}")
    await http.push_blob(b"comes back")
    assert (await http("GET", f"blobs/{digest}")).body == b"comes back"


async def test_an_unknown_tag_cannot_be_deleted(http: Http) -> None:
    await http.push_image("v1")
    assert (await http("DELETE", "manifests/v2")).status == 404


async def test_an_unknown_digest_cannot_be_deleted(http: Http) -> None:
    await http.push_image("v1")
    assert (await http("DELETE", f"manifests/{ABSENT}")).status == 404
    assert (await http("DELETE", f"blobs/{ABSENT}")).status == 404
