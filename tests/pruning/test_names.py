"""Which texts use what: names of the registry, Docker Hub, mirrors, runtime ids, free text."""

from typing import Any

import pytest

from lading.pruning.engine.references import mirrors, names
from lading.pruning.engine.types import Form, Mention, References
from tests.pruning.builders import REGISTRY, digest

ID = digest("id")
NAMES = mirrors.registry_names(
    ["registry.test", "Registry.Internal:5000", "docker.io"],
    [
        ("quay.io/team", "registry.test/mirror/team"),
        ("gcr.io", "registry.test/gcr"),
        ("ghcr.io/x", "elsewhere.test/x"),
    ],
)


def gathered(text: str, form: Form = Form.IMAGE) -> References:
    return names.gather([Mention(text, "Pod a/b", form)], NAMES)


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("registry.test/a/b:1", ("a/b", "1")),
        ("registry.test/a/b", ("a/b", "latest")),
        ("REGISTRY.test/a/b:1", ("a/b", "1")),
        ("registry.test:443/a/b:1", ("a/b", "1")),
        ("registry.internal:5000/a:1", ("a", "1")),
        ("quay.io/team/app:1", ("mirror/team/app", "1")),
        ("gcr.io/p/app:1", ("gcr/p/app", "1")),
        ("index.docker.io/library/nginx:1", ("library/nginx", "1")),
        ("nginx:1", ("library/nginx", "1")),
        ("docker.io/team/app:1", ("team/app", "1")),
    ],
)
def test_a_tag_is_used_under_every_name(text: str, used: tuple[str, str]) -> None:
    found = gathered(text)
    assert found.tags == {used: ("Pod a/b",)}
    assert found.of_this_registry == 1


@pytest.mark.parametrize(
    ("text", "possible"),
    [
        ("quay.io/teams/app:1", ("teams/app", "1")),
        ("ghcr.io/x/app:1", ("x/app", "1")),
        ("registry.test:5000/a/b:1", ("a/b", "1")),
    ],
)
def test_under_another_host_it_is_possibly_used(text: str, possible: tuple[str, str]) -> None:
    found = gathered(text)
    assert (found.tags, found.possible_tags) == ({}, {possible: ("Pod a/b",)})
    assert found.of_this_registry == 0


def test_a_short_name_of_docker_hub_goes_through_its_mirror() -> None:
    mirrored = mirrors.registry_names(["registry.test"], [("docker.io", "registry.test/hub")])
    found = names.gather([Mention("nginx:1", "Pod a/b")], mirrored)
    assert found.tags == {("hub/library/nginx", "1"): ("Pod a/b",)}
    elsewhere = names.gather([Mention("nginx:1", "Pod a/b")], mirrors.registry_names(["x.test"]))
    assert elsewhere.possible_tags == {("library/nginx", "1"): ("Pod a/b",)}


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (f"other.test/x@{ID}", Form.IMAGE),
        (f"other.test/x:tag@{ID}", Form.IMAGE),
        (f"docker-pullable://other.test/x@{ID}", Form.IMAGE_ID),
        (f"docker://{ID}", Form.IMAGE_ID),
        (ID, Form.IMAGE_ID),
        (f"  !! {ID} ", Form.IMAGE),
        (f"--image={ID}", Form.POSSIBLE),
        (f"ns/stream@{ID}", Form.STREAM_IMAGE),
    ],
)
def test_a_digest_is_used_wherever_it_is_written(text: str, form: Form) -> None:
    assert gathered(text, form).digests == {ID: ("Pod a/b",)}


def test_free_text_uses_what_begins_with_a_name_of_the_registry() -> None:
    text = "--images=registry.test/a/b:1,quay.io/team/c:2 --other=foo.test/d:3 notregistry.test/e:4"
    assert set(gathered(text, Form.POSSIBLE).tags) == {("a/b", "1"), ("mirror/team/c", "2")}
    sentence = gathered("Pull registry.test/a/b:1.", Form.POSSIBLE)
    assert (set(sentence.tags), sentence.unknown) == ({("a/b", "1")}, ())


def test_a_host_without_path_in_free_text_is_nothing() -> None:
    found = gathered("https://registry.test/ and registry.test", Form.POSSIBLE)
    assert not found.tags


@pytest.mark.parametrize("text", ["", "   "])
def test_blank_text_is_nothing(text: str) -> None:
    assert gathered(text) == References()


def test_text_with_blanks_around_is_unknown_and_used() -> None:
    """Kubernetes may refuse it or trim it; both are protected."""
    found = gathered(" registry.test/a/b:1 ")
    assert [one.text for one in found.unknown] == [" registry.test/a/b:1 "]
    assert ("a/b", "1") in found.tags


@pytest.mark.parametrize("text", ["ns/name", "name:tag", ":", "ns/name@x:y"])
def test_a_malformed_stream_tag_is_unknown(text: str) -> None:
    assert gathered(text, Form.STREAM_TAG).unknown


def test_a_shortened_stream_image_keeps_its_stream() -> None:
    found = gathered("ns/name@sha256:abc", Form.STREAM_IMAGE)
    assert [one.text for one in found.unknown] == ["ns/name"]


def test_every_mirror_of_a_name_is_used() -> None:
    """Two mirrors of one source, and one of a longer source: any of them may serve the image."""
    pairs = [("q.io/team", f"{REGISTRY}/a/x"), ("q.io/team", f"{REGISTRY}/b/y")]
    pairs += [("q.io/team", "elsewhere.test/z"), ("q.io/team/app", f"{REGISTRY}/c")]
    known = mirrors.registry_names([REGISTRY], pairs)
    found = names.gather([Mention("q.io/team/app:1", "Pod a/b")], known)
    assert found.tags.keys() == {("a/x/app", "1"), ("b/y/app", "1"), ("c", "1")}
    assert found.of_this_registry == 1


def test_hosts_are_counted() -> None:
    mentions = [Mention(text, "x") for text in ("nginx", "quay.io/a/b", "quay.io/a/c")]
    assert names.gather(mentions, NAMES).hosts == {"docker.io": 1, "quay.io": 2}


def test_mirror_objects_and_files_give_pairs() -> None:
    policy = {"spec": {"imageDigestMirrors": [{"source": "q.io/a", "mirrors": ["m.io/a", 3]}, "x"]}}
    assert [*mirrors.pairs_of(policy, "ImageDigestMirrorSet")] == [("q.io/a", "m.io/a")]
    assert [*mirrors.pairs_of({"spec": None}, "ImageTagMirrorSet")] == []
    by_tag = {"spec": {"imageTagMirrors": [{"source": "q.io/b", "mirrors": ["m.io/b"]}]}}
    assert [*mirrors.pairs_of(by_tag, "ImageTagMirrorSet")] == [("q.io/b", "m.io/b")]
    old = {"spec": {"repositoryDigestMirrors": [{"source": "q.io/c", "mirrors": ["m.io/c"]}]}}
    assert [*mirrors.pairs_of(old, "ImageContentSourcePolicy")] == [("q.io/c", "m.io/c")]
    conf = {
        "registry": [{"prefix": "q.io", "location": "m.io/q", "mirror": [{"location": "n.io"}]}]
    }
    assert [*mirrors.pairs_of_registries_conf(conf)] == [("q.io", "n.io"), ("q.io", "m.io/q")]
    wildcard = {"registry": [{"prefix": "*.q.io", "location": "m.io"}]}
    assert [*mirrors.pairs_of_registries_conf(wildcard)] == [("q.io", "m.io")]
    hosts: dict[str, Any] = {"host": {"https://m.io/v2": {}, "http://n.io:5000": {}}}
    assert [*mirrors.pairs_of_hosts_toml("q.io", hosts)] == [
        ("q.io", "m.io"),
        ("q.io", "n.io:5000"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{workflow.parameters.image}}", {"team/app", "other/db"}),
        ("registry.test/team/{{inputs.parameters.name}}:v1", {"team/app"}),
        ("registry.test/${PROJECT}/db@{{digest}}", {"other/db"}),
        ("$(params.registry)/team/app:$(params.tag)", {"team/app"}),
        ("registry.test/{{x}}:{{y}}", {"team/app", "other/db"}),
        ("registry.test/third/$(NAME)", set()),
        ("not a reference", set()),
    ],
)
def test_a_text_that_cannot_be_resolved_may_name_every_repository_that_fits(
    text: str, expected: set[str]
) -> None:
    every = ("team/app", "other/db")
    assert {one for one in every if names.may_name(text, one)} == expected
