"""Image references: what is read is what is written, and nonsense is refused with a reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.kernel import references
from lading.kernel.digests import Digest
from lading.kernel.errors import Malformed
from lading.kernel.references import Reference

HEX = "a" * 64

hosts = st.one_of(
    st.from_regex(r"[a-z0-9]{1,8}(\.[a-zA-Z0-9]{1,8}){1,3}(:[1-9][0-9]{1,3})?", fullmatch=True),
    st.from_regex(r"localhost(:[1-9][0-9]{1,3})?", fullmatch=True),
    st.from_regex(r"\[(::1|fe80::[0-9a-f]{1,4})\](:[1-9][0-9]{1,3})?", fullmatch=True),
    st.from_regex(r"[a-z]{1,8}:[1-9][0-9]{1,3}", fullmatch=True),
)
components = st.from_regex(r"[a-z0-9]{1,6}((\.|_|__|-{1,3})[a-z0-9]{1,6}){0,2}", fullmatch=True)
digests = st.one_of(
    st.builds(Digest, st.just("sha256"), st.from_regex(r"[0-9a-f]{64}", fullmatch=True)),
    st.builds(Digest, st.just("sha512"), st.from_regex(r"[0-9a-f]{128}", fullmatch=True)),
)
well_formed = st.builds(
    Reference,
    registry=hosts,
    repository=st.lists(components, min_size=1, max_size=5).map("/".join),
    tag=st.none() | st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,20}", fullmatch=True),
    digest=st.none() | digests,
)


@given(well_formed)
def test_what_is_written_is_read_back_the_same(reference: Reference) -> None:
    assert references.parse(str(reference)) == reference


@given(st.text(max_size=200))
def test_any_text_is_either_read_or_refused_with_a_reason(text: str) -> None:
    try:
        parsed = references.parse(text)
    except Malformed as error:
        assert error.reason
    else:
        assert references.parse(str(parsed)) == parsed


@pytest.mark.parametrize(
    ("text", "registry", "repository", "tag"),
    [
        ("nginx", None, "nginx", None),
        ("library/nginx:1.27", None, "library/nginx", "1.27"),
        ("localhost/app", "localhost", "app", None),
        ("localhost:5000/app:v1", "localhost:5000", "app", "v1"),
        ("registry:5000/a/b/c/d", "registry:5000", "a/b/c/d", None),
        ("[::1]:5000/app:v1", "[::1]:5000", "app", "v1"),
        ("[fe80::1]/app", "[fe80::1]", "app", None),
        ("Registry/app", "Registry", "app", None),
        ("quay.io/a__b/c-d.e_f:T_a.g-1", "quay.io", "a__b/c-d.e_f", "T_a.g-1"),
    ],
)
def test_the_parts_are_found(text: str, registry: str, repository: str, tag: str) -> None:
    parsed = references.parse(text)
    assert (parsed.registry, parsed.repository, parsed.tag) == (registry, repository, tag)


def test_tag_and_digest_may_stand_together() -> None:
    parsed = references.parse(f"quay.io/app:v1@sha256:{HEX}")
    assert parsed.tag == "v1"
    assert str(parsed.digest) == f"sha256:{HEX}"


def test_a_default_registry_is_only_used_when_asked_for() -> None:
    assert references.parse("library/nginx").registry is None
    assert references.qualified("library/nginx").registry == "docker.io"
    assert references.qualified("quay.io/nginx").registry == "quay.io"


@pytest.mark.parametrize(
    "text",
    ["busybox", "docker.io/busybox", "index.docker.io/library/busybox:latest", "library/busybox"],
)
def test_all_spellings_of_a_name_on_docker_hub_are_one(text: str) -> None:
    assert str(references.qualified(text)) == "docker.io/library/busybox:latest"


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("docker.io/nginx", "docker.io/library/nginx"),
        ("index.docker.io/team/app", "docker.io/team/app"),
        ("registry-1.docker.io/nginx", "registry-1.docker.io/nginx"),
        ("quay.io/nginx", "quay.io/nginx"),
        ("NO NAME", "NO NAME"),
    ],
)
def test_runtimes_list_images_of_docker_hub_under_one_name(text: str, listed: str) -> None:
    assert references.name_in_runtimes(text) == listed


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("quay.io/", "empty"),
        ("quay.io//app", "path component ''"),
        ("quay.io/App", "path component 'App'"),
        ("quay.io:5000", "a registry is not enough"),
        ("quay.io/app:", "tag must be"),
        ("quay.io/app:-x", "tag must be"),
        ("quay.io/app:" + "t" * 129, "tag must be"),
        ("quay.io:99999/app", "port"),
        ("quay.io/app@", "digest after '@' is wrong"),
        ("quay.io/app@sha256:abc", "64 lower-case"),
        (f"quay.io/app@sha256:{HEX.upper()}", "64 lower-case"),
        (f"quay.io/app@md5:{HEX}", "algorithm"),
        (f"quay.io/app@sha256:{HEX}@sha256:{HEX}", "digest after '@' is wrong"),
        ("-quay.io/app", "registry host"),
        ("https://quay.io/app", "registry host"),
        ("quay.io/a b", "path component 'a b'"),
        ("quay.io/app\n", "path component"),
        ("q" * 5000, "longer than"),
        ("quay.io/" + "a" * 300, "longer than"),
    ],
)
def test_a_malformed_reference_says_why(text: str, reason: str) -> None:
    with pytest.raises(Malformed, match=reason):
        references.parse(text)
