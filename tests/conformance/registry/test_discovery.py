"""Lists: tags and repositories with their pages, and the referrers of a manifest."""

import json
from typing import Any

from tests.conformance.registry.http import OCI_INDEX, OCI_MANIFEST, Http, digest_of

ABSENT = "sha256:" + "0" * 64


async def test_tags_are_listed_in_order(http: Http) -> None:
    for tag in ("v2", "latest", "v10", "v1"):
        await http.push_image(tag)
    answer = await http("GET", "tags/list")
    assert answer.json() == {"name": http.repository, "tags": ["latest", "v1", "v10", "v2"]}


async def test_tags_come_in_pages_that_link_to_the_next(http: Http) -> None:
    document = await http.image("same")
    for number in range(5):
        await http.push_manifest(document, f"t{number}")
    seen: list[str] = []
    path = "tags/list?n=2"
    while path:
        answer = await http("GET", path)
        page = answer.json()["tags"]
        assert len(page) <= 2
        seen += page
        path = answer.headers.get("Link", "").partition(">")[0].removeprefix("<")
    assert seen == [f"t{number}" for number in range(5)]


async def test_tags_after_a_given_one_leave_it_out(http: Http) -> None:
    document = await http.image("same")
    for tag in ("a", "b", "c"):
        await http.push_manifest(document, tag)
    answer = await http("GET", "tags/list?n=5&last=a")
    assert answer.json()["tags"] == ["b", "c"]


async def test_no_tags_are_wanted_and_none_come(http: Http) -> None:
    await http.push_image("v1")
    answer = await http("GET", "tags/list?n=0")
    assert (answer.status, answer.json()["tags"]) == (200, [])
    assert "Link" not in answer.headers


async def test_a_page_size_that_is_no_number_is_refused(http: Http) -> None:
    await http.push_image("v1")
    assert (await http("GET", "tags/list?n=many")).status == 400


async def test_the_tags_of_an_unknown_repository_are_not_found(http: Http) -> None:
    answer = await http("GET", "tags/list")
    assert (answer.status, answer.error_codes) == (404, ["NAME_UNKNOWN"])


async def test_the_catalog_lists_a_repository_that_has_a_manifest(http: Http) -> None:
    await http.push_image("v1")
    seen: list[str] = []
    path = "/v2/_catalog?n=3"
    while path:
        answer = await http("GET", path)
        seen += answer.json()["repositories"]
        path = answer.headers.get("Link", "").partition(">")[0].removeprefix("<")
    assert http.repository in seen
    assert len(seen) == len(set(seen))


async def referring(http: Http, subject: dict[str, Any], tag: str, **extra: Any) -> str:
    return await http.push_image(tag, subject=subject, **extra)


async def pushed_subject(http: Http) -> dict[str, Any]:
    digest = await http.push_image("subject")
    body = (await http("GET", f"manifests/{digest}", headers={"Accept": OCI_MANIFEST})).body
    return {"mediaType": OCI_MANIFEST, "digest": digest, "size": len(body)}


async def test_referrers_are_listed_with_type_and_annotations(http: Http) -> None:
    subject = await pushed_subject(http)
    notes = {"org.example.note": "kept"}
    digest = await referring(http, subject, "sbom", artifactType="a/sbom", annotations=notes)
    answer = await http("GET", f"referrers/{subject['digest']}")
    assert (answer.status, answer.headers["Content-Type"]) == (200, OCI_INDEX)
    [found] = answer.json()["manifests"]
    assert (found["digest"], found["artifactType"], found["annotations"]) == (
        digest,
        "a/sbom",
        notes,
    )


async def test_a_push_with_a_subject_is_confirmed(http: Http) -> None:
    subject = await pushed_subject(http)
    body = json.dumps(await http.image("signature", subject=subject)).encode()
    answer = await http("PUT", "manifests/sig", body=body, headers={"Content-Type": OCI_MANIFEST})
    assert answer.headers["OCI-Subject"] == subject["digest"]


async def test_referrers_are_filtered_by_artifact_type(http: Http) -> None:
    subject = await pushed_subject(http)
    await referring(http, subject, "sbom", artifactType="a/sbom")
    signature = await referring(http, subject, "sig", artifactType="a/signature")
    answer = await http("GET", f"referrers/{subject['digest']}?artifactType=a/signature")
    assert answer.headers["OCI-Filters-Applied"] == "artifactType"
    assert [each["digest"] for each in answer.json()["manifests"]] == [signature]


async def test_a_subject_may_come_after_what_refers_to_it(http: Http) -> None:
    missing = {"mediaType": OCI_MANIFEST, "digest": digest_of(b"not yet"), "size": 7}
    digest = await referring(http, missing, "early", artifactType="a/sbom")
    answer = await http("GET", f"referrers/{missing['digest']}")
    assert [each["digest"] for each in answer.json()["manifests"]] == [digest]


async def test_a_manifest_without_referrers_has_an_empty_list(http: Http) -> None:
    await http.push_image("v1")
    answer = await http("GET", f"referrers/{ABSENT}")
    assert (answer.status, answer.json()["manifests"]) == (200, [])


async def test_a_deleted_referrer_is_no_longer_listed(http: Http) -> None:
    subject = await pushed_subject(http)
    digest = await referring(http, subject, "sbom", artifactType="a/sbom")
    assert (await http("DELETE", f"manifests/{digest}")).status == 202
    answer = await http("GET", f"referrers/{subject['digest']}")
    assert answer.json()["manifests"] == []
