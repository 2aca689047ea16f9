"""What goes from a plain registry: policies, indexes, signatures, age."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from lading.kernel.values import replace
from lading.pruning.engine.decisions import policy
from lading.pruning.engine.decisions.policy import Policy
from lading.pruning.engine.inventory import documents
from lading.pruning.engine.inventory.manifest_table import InventoryManifest
from lading.pruning.engine.references import mirrors
from lading.pruning.engine.references.names import RegistryNames
from lading.pruning.engine.types import AgeFrom, Decision, Inventory, PruneReason, Settings
from tests.pruning import builders
from tests.pruning.builders import (
    NOW,
    REGISTRY,
    YOUNG,
    digest,
    gone,
    image,
    pod,
    registry_world,
    tag,
)
from tests.pruning.registry_worlds import APP, CHAIN, GO, SIGNED, keep, sha_tag, versions


def aged(**minutes: float | None) -> Inventory:
    return registry_world(
        [image(name) for name in minutes],
        team__app=[tag(name, name, minutes=age) for name, age in minutes.items()],
    )


def documents_image(name: str, *needs: str) -> InventoryManifest:
    """JSON that no specification describes: every digest in it is needed."""
    content = json.dumps({"mediaType": "x/y", "parts": {one: digest(one) for one in needs}})
    found, _ = documents.read(digest(name), content.encode())
    assert set(found.blobs) == set(map(digest, needs))
    return found


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    world: Inventory
    policy: Policy = GO
    objects: tuple[Mapping[str, Any], ...] = ()
    settings: Settings = field(default_factory=Settings)
    names: RegistryNames = builders.NAMES
    gone: set[str] = field(default_factory=set)


V1_GONE = {"tag team/app:v1 v1", "manifest team/app v1"}
CHAIN_GONE = {
    "tag team/app:v1 outer",
    *(f"manifest team/app {one}" for one in ("outer", "inner", "arm", "sig")),
}

CASES = (
    Case(name="without a policy no tag goes", world=versions("v1"), policy=policy.NO_POLICY),
    Case(
        name="a tag that nothing keeps goes with its manifest", world=versions("v1"), gone=V1_GONE
    ),
    Case(name="a used tag stays", world=versions("v1"), objects=(pod(f"{APP}:v1"),)),
    Case(
        name="a used digest keeps the tag, under any host and name",
        world=versions("v1"),
        objects=(pod(f"else.test/x@{digest('v1')}"),),
    ),
    Case(
        name="a tag under an unknown host with the same path is possibly used",
        world=versions("v1"),
        objects=(pod("cache.test/team/app:v1"),),
    ),
    Case(
        name="a short name may come through a pull-through cache",
        world=registry_world([image("n")], hub__library__nginx=[tag("latest", "n")]),
        objects=(pod("nginx"),),
    ),
    Case(
        name="another tag under an unknown host keeps nothing",
        world=versions("v1"),
        objects=(pod("cache.test/team/app:v2"),),
        gone=V1_GONE,
    ),
    Case(
        name="a use of the source is a use of its mirror",
        world=versions("v1"),
        objects=(pod("quay.io/upstream/app:v1"),),
        names=mirrors.registry_names([REGISTRY], [("quay.io/upstream", f"{REGISTRY}/team")]),
    ),
    Case(
        name="the digest of a configuration, as docker reports it, keeps its image",
        world=CHAIN,
        objects=(pod("x.test/other:1", image_id=f"docker://{digest('c')}"),),
    ),
    Case(name="an index goes with all that it holds", world=CHAIN, gone=CHAIN_GONE),
    Case(
        name="a used manifest keeps the index around it and what is attached",
        world=CHAIN,
        objects=(pod(f"{APP}@{digest('arm')}"),),
    ),
    Case(
        name="a manifest that a kept index holds as well stays",
        world=registry_world(
            [image("a", children="x y"), image("b", children="y"), image("x"), image("y")],
            team__app=[tag("a", "a"), tag("b", "b")],
        ),
        policy=keep(patterns=["b"]),
        gone={"tag team/app:a a", "manifest team/app a", "manifest team/app x"},
    ),
    Case(
        name="a tag that shares its digest with a kept one goes alone",
        world=registry_world([image("v1")], team__app=[tag("v1", "v1"), tag("keep", "v1")]),
        policy=keep(patterns=["keep"]),
        gone={"tag team/app:v1 v1"},
    ),
    Case(
        name="Z13 what only an index in an index names stays with its layers",
        world=registry_world(
            [
                image("outer", children="inner"),
                image("inner", children="arm"),
                image("arm", "shared"),
                image("v1", "shared"),
            ],
            team__app=[tag("keep", "outer"), tag("v1", "v1")],
        ),
        policy=keep(patterns=["keep"]),
        gone=V1_GONE,
    ),
    Case(
        name="Z15 a document of an unknown type goes, what it shares with an image stays",
        world=registry_world(
            [documents_image("unknown", "shared", "own"), image("kept", "l", config="shared")],
            team__app=[tag("v1", "unknown"), tag("keep", "kept")],
        ),
        policy=keep(patterns=["keep"]),
        gone={"tag team/app:v1 unknown", "manifest team/app unknown"},
    ),
    Case(
        name="Z03 signatures by tag, of signatures too and in another repository, go with it",
        world=SIGNED,
        gone={
            *V1_GONE,
            f"tag team/app:{sha_tag('v1', '.sig')} sig",
            f"tag team/app:{sha_tag('v1', '.att')} att",
            f"tag team/app:{sha_tag('sig', '.sig')} sig2",
            f"tag signatures:{sha_tag('v1', '.sbom')} sbom",
            *(f"manifest team/app {one}" for one in ("sig", "att", "sig2")),
            "manifest signatures sbom",
        },
    ),
    Case(name="signatures stay with their subject", world=SIGNED, objects=(pod(f"{APP}:v1"),)),
    Case(
        name="a tag in the form of a signature that is used stays without its subject",
        world=SIGNED,
        objects=(
            pod(f"{APP}:{sha_tag('v1', '.att')}"),
            pod(f"mirror.test/signatures:{sha_tag('v1', '.sbom')}"),
        ),
        gone={
            *V1_GONE,
            f"tag team/app:{sha_tag('v1', '.sig')} sig",
            f"tag team/app:{sha_tag('sig', '.sig')} sig2",
            *(f"manifest team/app {one}" for one in ("sig", "sig2")),
        },
    ),
    Case(
        name="a signature in another namespace stays without its subject",
        world=SIGNED,
        settings=Settings(namespace="team"),
        gone={
            *V1_GONE,
            f"tag team/app:{sha_tag('v1', '.sig')} sig",
            f"tag team/app:{sha_tag('v1', '.att')} att",
            f"tag team/app:{sha_tag('sig', '.sig')} sig2",
            *(f"manifest team/app {one}" for one in ("sig", "att", "sig2")),
        },
    ),
    Case(
        name="a referrer that stays with its subject keeps its tag, to be found without a list",
        world=registry_world(
            [image("v1"), image("sbom", subject="v1"), image("v2"), image("sbom2", subject="v2")],
            team__app=[
                tag("keep", "v1"),
                tag("sbom", "sbom"),
                tag("v2", "v2"),
                tag("sbom2", "sbom2"),
            ],
        ),
        policy=keep(patterns=["keep"]),
        gone={
            *("tag team/app:v2 v2", "tag team/app:sbom2 sbom2"),
            *("manifest team/app v2", "manifest team/app sbom2"),
        },
    ),
    Case(
        name="a signature of an image that is not here stays, and what signs the signature",
        world=registry_world(
            [image("sig"), image("sig2")],
            team__app=[
                tag(sha_tag("elsewhere", ".sig"), "sig"),
                tag(sha_tag("sig", ".sig"), "sig2"),
            ],
        ),
    ),
    Case(
        name="signatures do not count as tags",
        world=registry_world(
            [image("1"), image("2"), image("sig")],
            team__app=[
                tag("1", "1", minutes=300),
                tag("2", "2", minutes=200),
                tag(sha_tag("2"), "sig"),
            ],
        ),
        policy=keep(newest=1),
        gone={"tag team/app:1 1", "manifest team/app 1"},
    ),
    Case(
        name="a tag of a manifest with a subject takes no place of other tags",
        world=registry_world(
            [image("1"), image("2"), image("sig", subject="2")],
            team__app=[
                tag("1", "1", minutes=300),
                tag("2", "2", minutes=200),
                tag("signed", "sig", minutes=100),
            ],
        ),
        policy=keep(newest=1),
        gone={"tag team/app:1 1", "manifest team/app 1"},
    ),
    Case(
        name="a Helm chart stays when no policy names its type",
        world=registry_world([image("c", artifact_type="helm")], charts__c=[tag("1.0.0", "c")]),
    ),
    Case(
        name="a Helm chart goes by a policy that names its type",
        world=registry_world([image("c", artifact_type="helm")], charts__c=[tag("1.0.0", "c")]),
        policy=policy.parse(
            {
                "policies": [
                    {"repositories": ["charts/*"], "keepTags": [], "artifactTypes": ["helm"]}
                ]
            }
        ),
        gone={"tag charts/c:1.0.0 c", "manifest charts/c c"},
    ),
    Case(
        name="an unreadable manifest keeps its repository and no other",
        world=registry_world(
            [image("odd", opaque=True), image("v1"), image("w")],
            team__app=[tag("odd", "odd"), tag("v1", "v1")],
            team__web=[tag("w", "w")],
        ),
        gone={"tag team/web:w w", "manifest team/web w"},
    ),
    Case(
        name="unreadable text keeps the repository that it contains, its signatures too",
        world=SIGNED,
        objects=(pod("registry.test/team/app:${VERSION}"), pod("x/signatures:$Y")),
    ),
    Case(
        name="a template that cannot be read names its host's repository",
        world=versions("v1"),
        objects=(pod(f"{APP}:{{{{ .Values.tag }}}}"),),
    ),
    Case(name="a young tag stays", world=versions("v1", minutes=YOUNG)),
    Case(
        name="a tag of exactly the minimum age goes", world=versions("v1", minutes=60), gone=V1_GONE
    ),
    Case(name="a push time in the future means young", world=versions("v1", minutes=-60)),
    Case(name="Z10 a tag without a push time stays", world=versions("v1", minutes=None)),
    Case(
        name="without a minimum age the push time does not matter",
        world=versions("v1", minutes=None),
        settings=Settings(keep_younger_than=timedelta(0)),
        gone=V1_GONE,
    ),
    Case(
        name="pushed a minute ago with `created` 1970 stays",
        world=registry_world(
            [image("v1", created=60 * 24 * 365 * 50)], team__app=[tag("v1", "v1", minutes=1)]
        ),
    ),
    Case(
        name="`created` counts only when it is asked for",
        world=registry_world(
            [image("v1", created=60 * 24 * 365 * 50)], team__app=[tag("v1", "v1", minutes=1)]
        ),
        settings=Settings(age_from=AgeFrom.CREATED),
        gone=V1_GONE,
    ),
    Case(
        name="Z05 the newest three by push time stay",
        world=aged(a=100, b=200, c=300, d=400),
        policy=keep(newest=3),
        gone={"tag team/app:d d", "manifest team/app d"},
    ),
    Case(
        name="tags that one run saw first have no order: all stay, whatever their names",
        world=aged(**{f"v{number}": 100 for number in range(1, 13)}),
        policy=keep(newest=3),
    ),
    Case(
        name="tags of the same time stay whole, and older ones go",
        world=aged(a=100, b=200, c=200, d=200, e=300),
        policy=keep(newest=2),
        gone={"tag team/app:e e", "manifest team/app e"},
    ),
    Case(
        name="a tag without a push time stays beside the newest",
        world=aged(a=100, b=None, c=300),
        policy=keep(newest=1),
        settings=Settings(keep_younger_than=timedelta(minutes=1)),
        gone={"tag team/app:c c", "manifest team/app c"},
    ),
    Case(
        name="the newest by version are not the newest by name",
        world=versions("v1.9.0", "v1.10.0", "v1.10.0-rc.1", "latest"),
        policy=keep(newest=1, by="semver"),
        gone={
            *(f"tag team/app:{one} {one}" for one in ("v1.9.0", "v1.10.0-rc.1")),
            *(f"manifest team/app {one}" for one in ("v1.9.0", "v1.10.0-rc.1")),
        },
    ),
    Case(
        name="Z07 conditions are joined by or",
        world=aged(a=100, b=200, c=300),
        policy=keep(newest=1, youngerThan="250m"),
        gone={"tag team/app:c c", "manifest team/app c"},
    ),
    Case(
        name="conditions are joined by and when asked: 3 newest, but none older than 250m",
        world=aged(a=100, b=200, c=300),
        policy=keep(newest=3, youngerThan="250m", match="all"),
        gone={"tag team/app:c c", "manifest team/app c"},
    ),
    Case(
        name="Z08 the first policy that matches decides",
        world=versions("v1"),
        policy=policy.parse(
            {"policies": [{"repositories": ["team/*"]}, {"repositories": ["**"], "keepTags": []}]}
        ),
    ),
    Case(
        name="Z09 a repository that no policy matches stays",
        world=versions("v1"),
        policy=policy.parse({"policies": [{"repositories": ["*"], "keepTags": []}]}),
    ),
    Case(
        name="a namespace narrows what goes",
        world=versions("v1"),
        settings=Settings(namespace="other"),
    ),
    Case(
        name="a digest that is kept in one repository goes from another",
        world=registry_world([image("v1")], a=[tag("keep", "v1")], b=[tag("go", "v1")]),
        policy=keep(patterns=["keep"]),
        gone={"tag b:go v1", "manifest b v1"},
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case) -> None:
    found = builders.plan(
        case.world,
        *case.objects,
        settings=case.settings,
        policy=case.policy,
        registry_names=case.names,
    )
    assert gone(found) == case.gone


def test_an_artifact_that_no_policy_names_is_kept_as_such() -> None:
    world = registry_world([image("c", artifact_type="helm")], charts__c=[tag("1.0.0", "c")])
    (verdict,) = builders.plan(world, policy=GO).tag_verdicts.values()
    assert (verdict.decision, verdict.reason) == (Decision.KEEP, PruneReason.ARTIFACT)
    assert "helm" in verdict.message


def test_what_is_attached_by_its_subject_is_of_the_group_of_its_subject() -> None:
    world = registry_world([image("a"), image("sig", subject="a")], r=[tag("1", "a")])
    found = builders.plan(world, policy=GO)
    assert len(found.deletions) == 3
    assert len({line.lane for line in found.deletions}) == 1


def test_bytes_of_shared_layers_count_once_and_of_kept_layers_never() -> None:
    world = registry_world(
        [image("a", "shared l1 kept"), image("b", "shared l2"), image("k", "kept")],
        team__app=[tag("a", "a"), tag("b", "b")],
        team__web=[tag("k", "k")],
    )
    found = builders.plan(world, pod(f"{REGISTRY}/team/web:k"), policy=GO)
    assert found.header.size_bytes == 300  # shared, l1, l2
    assert [(one.name, one.size_bytes) for one in found.header.by_repository] == [("team/app", 300)]


def test_images_that_share_a_manifest_go_as_one_group() -> None:
    world = registry_world(
        [image("a", children="x"), image("b", children="x"), image("x"), image("lone")],
        team__app=[tag("a", "a"), tag("b", "b"), tag("lone", "lone")],
    )
    found = builders.plan(world, policy=GO)
    groups: dict[str, set[str]] = {}
    for line in found.deletions:
        groups.setdefault(line.group, set()).add(builders.name_of(line.digest))
    assert sorted(map(sorted, groups.values())) == [["a", "b", "x"], ["lone"]]
    order = [builders.name_of(one.digest) for one in found.deletions if not one.tag]
    assert order.index("x") > max(order.index("a"), order.index("b"))


def test_an_unknown_push_time_is_counted() -> None:
    found = builders.plan(versions("v1", "v2", minutes=None), policy=GO)
    assert found.header.kept_for_unknown_push_time == 2
    assert found.tag_verdicts["team/app", "v1"].reason is PruneReason.UNKNOWN_PUSH_TIME


@pytest.mark.parametrize(
    ("opaque", "text", "goes"),
    [
        pytest.param("", "", True, id="it goes from a repository that is read"),
        pytest.param("garbage", "", False, id="it stays beside a manifest that cannot be read"),
        pytest.param("", f"{APP}:$TAG", False, id="it stays where an unreadable text may mean it"),
    ],
)
def test_a_manifest_that_no_tag_names(opaque: str, text: str, goes: bool) -> None:
    world = registry_world([image("v1"), image("untagged")], team__app=[tag("v1", "v1")])
    repository = replace(
        world.repositories["team/app"],
        manifests=(digest("v1"), digest("untagged")),
        opaque_digests=(digest(opaque),) if opaque else (),
    )
    world = replace(world, repositories={"team/app": repository})
    found = builders.plan(world, *([pod(text)] if text else ()), policy=GO)
    assert ("manifest team/app untagged" in gone(found)) is goes
    assert bool(found.deletions) is goes


def test_a_verdict_says_that_tags_have_no_order() -> None:
    plan = aged(a=100, b=100, c=100)
    entry = policy.parse(
        {"policies": [{"repositories": ["**"], "keepTags": [{"newest": 1}]}]}
    ).policies[0]
    times = {tag.name: tag.pushed_at for tag in plan.repositories["team/app"].tags}
    found = policy.verdicts(entry, times, NOW)
    assert set(found.values()) == {
        (True, "keepTags[0]: the newest 1 by pushed; 3 tags have no order by pushed: all are kept")
    }
