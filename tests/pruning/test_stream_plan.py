"""The cases of `oc adm prune images`, by their names; where ours keeps more, the case says so."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from lading.pruning.engine.decisions import plan as planning
from lading.pruning.engine.types import (
    Inventory,
    PruneReason,
    References,
    Settings,
    TrashState,
    What,
)
from tests.pruning import builders
from tests.pruning.builders import (
    NOW,
    OLD,
    REGISTRY,
    YOUNG,
    build,
    digest,
    gone,
    image,
    pod,
    stream,
    streams_world,
    tag,
    templated,
)

K0 = Settings(keep_tag_revisions=0)
LAYERS = "l1 l2 l3 l4 l5"
BAR = f"{REGISTRY}/foo/bar"
BAR_ID = f"{BAR}@{digest('id')}"
ALL_OF_ID = {
    "tagItem foo/bar:latest id",
    *(f"layerLink foo/bar {one}" for one in LAYERS.split()),
    "manifestLink foo/bar id",
    *(f"blob {one}" for one in LAYERS.split()),
    "blob id",
    "image id",
}
WITHOUT_REGISTRY = {"tagItem foo/bar:latest id", "image id"}


def one_image(*, minutes: float = OLD) -> Inventory:
    """One image in foo/bar:latest."""
    return streams_world(
        [stream("foo/bar", tag("latest", "id"))], [image("id", LAYERS, minutes=minutes)]
    )


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    world: Inventory = field(default_factory=one_image)
    objects: tuple[Mapping[str, Any], ...] = ()
    settings: Settings = K0
    gone: set[str] = field(default_factory=set)


PODS = (
    Case(name="P01 a pending pod keeps", objects=(pod(BAR_ID, phase="Pending"),)),
    Case(
        name="P02 the last of three pods is pending",
        objects=(
            pod(BAR_ID, phase="Succeeded"),
            pod(BAR_ID, phase="Failed"),
            pod(BAR_ID, phase="Pending"),
        ),
    ),
    Case(name="P03 a running pod keeps", objects=(pod(BAR_ID),)),
    Case(
        name="P04 the last of three pods is running",
        objects=(pod(BAR_ID, phase="Succeeded"), pod(BAR_ID, phase="Failed"), pod(BAR_ID)),
    ),
    Case(
        name="P05 a succeeded pod does not keep",
        objects=(pod(BAR_ID, phase="Succeeded"),),
        gone=ALL_OF_ID,
    ),
    Case(
        name="P06 without the registry only objects go",
        objects=(pod(BAR_ID, phase="Succeeded"),),
        settings=Settings(keep_tag_revisions=0, prune_registry=False),
        gone=WITHOUT_REGISTRY,
    ),
    Case(
        name="P07 a young succeeded pod keeps",
        objects=(pod(BAR_ID, phase="Succeeded", minutes=YOUNG),),
    ),
    Case(
        name="P08 of a young image only history and links go",
        world=one_image(minutes=YOUNG),
        objects=(pod(BAR_ID, phase="Succeeded"),),
        gone={one for one in ALL_OF_ID if one.startswith(("tagItem", "layerLink", "manifestLink"))},
    ),
    Case(
        name="P09 a failed pod does not keep",
        objects=(pod(BAR_ID, phase="Failed"),),
        gone=ALL_OF_ID,
    ),
    Case(
        name="P10 a pod of unknown phase keeps: ours keeps more",
        objects=(pod(BAR_ID, phase="Unknown"),),
    ),
    Case(
        name="P11 a reference with many path parts that ends in ours keeps: ours keeps more",
        objects=(pod(f"{REGISTRY}/more/foo/bar:latest"),),
    ),
    Case(
        name="P11b the same under another host is possibly used: ours keeps more",
        objects=(pod("mirror.test/more/foo/bar:latest"),),
    ),
    Case(name="P12 a reference by tag keeps", objects=(pod(f"{BAR}:latest"),)),
    Case(
        name="P13 a reference to an unknown digest keeps nothing else",
        objects=(pod(f"{BAR}@{digest('other')}"),),
        gone=ALL_OF_ID,
    ),
)
WORKLOADS = tuple(
    Case(name=f"{number} a {kind} keeps", objects=(templated(kind, BAR_ID),))
    for number, kind in (
        ("P14", "ReplicationController"),
        ("P15", "DeploymentConfig"),
        ("P16", "DaemonSet"),
        ("P17", "ReplicaSet"),
        ("P18", "Deployment"),
        ("P32", "Job"),
        ("P33", "CronJob"),
    )
)
BUILDS = tuple(
    Case(
        name=f"P{number} a {kind} keeps by its {strategy} strategy from a {from_kind}",
        objects=(build(kind, strategy, from_kind, name),),
    )
    for number, (kind, strategy, (from_kind, name)) in enumerate(
        (
            (kind, strategy, source)
            for kind in ("BuildConfig", "Build")
            for strategy in ("source", "docker", "custom")
            for source in (
                ("ImageStreamImage", f"bar@{digest('id')}"),
                ("DockerImage", BAR_ID),
            )
        ),
        start=19,
    )
)


def three() -> Inventory:
    return streams_world(
        [stream("foo/bar", *(tag(name, name) for name in "abc"))],
        [image(name, f"layer-{name}") for name in "abc"],
    )


HISTORY = (
    Case(
        name="P31 StatefulSets keep the first and the third",
        world=three(),
        objects=(
            templated("StatefulSet", f"{BAR}@{digest('a')}"),
            templated("StatefulSet", f"{BAR}@{digest('c')}"),
        ),
        gone={
            "tagItem foo/bar:b b",
            "layerLink foo/bar layer-b",
            "manifestLink foo/bar b",
            "blob layer-b",
            "blob b",
            "image b",
        },
    ),
    Case(
        name="H01 the three newest of four items stay",
        world=streams_world(
            [stream("foo/bar", tag("latest", "4", "3", "2", "1"))],
            [image(name) for name in "1234"],
        ),
        settings=Settings(),
        gone={"tagItem foo/bar:latest 1", "manifestLink foo/bar 1", "blob 1", "image 1"},
    ),
    Case(
        name="H02 a digest that is twice in the history stays",
        world=streams_world(
            [stream("foo/bar", tag("latest", "4", "3", "1", "1"))],
            [image(name) for name in "134"],
        ),
        settings=Settings(),
        gone={"tagItem foo/bar:latest 1"},
    ),
    Case(
        name="H03 a young stream is not touched",
        world=streams_world([stream("foo/bar", tag("latest", "id"), minutes=YOUNG)], [image("id")]),
    ),
    Case(
        name="H04 an item without its image goes although it is recent",
        world=streams_world([stream("foo/bar", tag("latest", "id", "absent"))], [image("id")]),
        settings=Settings(),
        gone={"tagItem foo/bar:latest absent", "manifestLink foo/bar absent"},
    ),
    Case(
        name="H05 all items are without their image",
        world=streams_world(
            [stream("foo/bar", tag("latest", "x"), tag("other", "y"))], [image("alone")]
        ),
        settings=Settings(),
        gone={
            "tagItem foo/bar:latest x",
            "tagItem foo/bar:other y",
            "manifestLink foo/bar x",
            "manifestLink foo/bar y",
            "blob alone",
            "image alone",
        },
    ),
    Case(
        name="H06 a young item without its image stays",
        world=streams_world([stream("foo/bar", tag("latest", f"absent={YOUNG}"))], []),
    ),
    Case(
        name="H07 a used tag keeps its current item only, under any host, in its own stream only",
        world=streams_world(
            [
                stream("foo/bar", tag("latest", "2", "1")),
                stream("foo/baz", tag("latest", "2")),
                stream("foo/one", tag("latest", "3")),
            ],
            [image(name) for name in "123"],
        ),
        objects=(
            templated("Deployment", "other.host/foo/bar:latest"),
            templated("DaemonSet", f"{REGISTRY}/foo/two:latest"),
        ),
        gone={
            "tagItem foo/bar:latest 1",
            "manifestLink foo/bar 1",
            "tagItem foo/baz:latest 2",
            "manifestLink foo/baz 2",
            "tagItem foo/one:latest 3",
            "manifestLink foo/one 3",
            "blob 1",
            "image 1",
            "blob 3",
            "image 3",
        },
    ),
    Case(
        name="H07 a tag that is used by its name in this registry keeps its current item only",
        world=streams_world(
            [stream("foo/bar", tag("latest", "2", "1"))], [image(name) for name in "12"]
        ),
        objects=(templated("Deployment", f"{BAR}:latest"),),
        gone={"tagItem foo/bar:latest 1", "manifestLink foo/bar 1", "blob 1", "image 1"},
    ),
    Case(
        name="H08 referrers of several kinds keep",
        objects=(pod(BAR_ID), templated("Job", BAR_ID), templated("ReplicaSet", f"{BAR}:latest")),
    ),
    Case(
        name="H09 an old revision goes and its image stays in another tag",
        world=streams_world(
            [stream("foo/bar", tag("latest", "2", "1"), tag("strong", "1"))],
            [image("1"), image("2")],
        ),
        settings=Settings(keep_tag_revisions=1),
        gone={"tagItem foo/bar:latest 1"},
    ),
)
IMAGES = (
    *(
        Case(
            name=f"A0{number} an image that is not managed, all={all_images}",
            world=streams_world([], [image("id", managed=False)]),
            settings=Settings(all_images=all_images),
            gone=set() if not all_images else {"blob id", "image id"},
        )
        for number, all_images in ((1, True), (2, False))
    ),
    Case(
        name="A03 a managed image goes with all=False",
        world=streams_world([], [image("id")]),
        settings=Settings(all_images=False),
        gone={"blob id", "image id"},
    ),
    Case(
        name="an Image without a time stays",
        world=streams_world([], [image("id", minutes=None)]),
    ),
    Case(
        name="B01 shared layers stay and others go",
        world=streams_world(
            [stream("foo/bar", tag("latest", "new", "old"))],
            [image("new", "shared"), image("old", "shared own")],
        ),
        settings=Settings(keep_tag_revisions=1),
        gone={
            "tagItem foo/bar:latest old",
            "layerLink foo/bar own",
            "manifestLink foo/bar old",
            "blob own",
            "blob old",
            "image old",
        },
    ),
    Case(
        name="B02 a layer of several images goes once",
        world=streams_world([], [image("a", "l l", config="c"), image("b", "l", config="c")]),
        gone={"blob l", "blob c", "blob a", "blob b", "image a", "image b"},
    ),
    Case(
        name="B03 a layer that a young image has stays",
        world=streams_world([], [image("old", "l own"), image("young", "l", minutes=YOUNG)]),
        gone={"blob own", "blob old", "image old"},
    ),
    Case(
        name="B04 a configuration that is a layer elsewhere stays",
        world=streams_world(
            [stream("foo/bar", tag("latest", "kept"))],
            [image("kept", "twin"), image("old", config="twin")],
        ),
        settings=Settings(),
        gone={"blob old", "image old"},
    ),
    Case(
        name="B05 the same without the registry",
        world=streams_world(
            [stream("foo/bar", tag("latest", "kept"))],
            [image("kept", "twin"), image("old", config="twin")],
        ),
        settings=Settings(prune_registry=False),
        gone={"image old"},
    ),
    Case(
        name="B06 B07 a configuration goes with its image",
        world=streams_world([], [image("old", "l", config="c")]),
        gone={"blob l", "blob c", "blob old", "image old"},
    ),
    Case(
        name="B08 blobs that a Docker schema 2 image shares with an OCI image stay",
        world=streams_world(
            [stream("foo/bar", tag("latest", "oci"))],
            [image("oci", "l", config="c"), image("schema2", "l own", config="c")],
        ),
        settings=Settings(),
        gone={"blob own", "blob schema2", "image schema2"},
    ),
    Case(
        name="B09 blobs go when the streams are gone already",
        world=streams_world([], [image("id", LAYERS)]),
        gone={*(f"blob {one}" for one in LAYERS.split()), "blob id", "image id"},
    ),
    Case(
        name="I01 I02 an index keeps its manifests and an unrelated image goes",
        world=streams_world(
            [stream("foo/bar", tag("latest", "index"))],
            [image("index", children="arm amd"), image("arm", "a"), image("amd"), image("rest")],
        ),
        settings=Settings(),
        gone={"blob rest", "image rest"},
    ),
    Case(
        name="I03 an index without a stream goes with its manifests",
        world=streams_world([], [image("index", children="arm"), image("arm", "a")]),
        gone={"blob index", "image index", "blob a", "blob arm", "image arm"},
    ),
    Case(
        name="1.10f an index of an index keeps all",
        world=streams_world(
            [stream("foo/bar", tag("latest", "outer"))],
            [image("outer", children="inner"), image("inner", children="arm"), image("arm", "a")],
        ),
        settings=Settings(),
    ),
    Case(
        name="1.10g a layer shared with a manifest inside a kept index keeps its link",
        world=streams_world(
            [stream("foo/bar", tag("latest", "index", "plain"))],
            [image("index", children="arm"), image("arm", "l"), image("plain", "l")],
        ),
        settings=Settings(keep_tag_revisions=1),
        gone={
            "tagItem foo/bar:latest plain",
            "manifestLink foo/bar plain",
            "blob plain",
            "image plain",
        },
    ),
    Case(
        name="1.10c a digest that left the history of its stream is kept for the pod that runs it",
        world=streams_world([stream("foo/bar", tag("latest", "new"))], [image("new"), image("id")]),
        objects=(pod(BAR_ID),),
        settings=Settings(),
    ),
    Case(
        name="1.10c an index that no stream names keeps its images for the pod that runs it",
        world=streams_world([], [image("id", children="arm"), image("arm", "l", config="c")]),
        objects=(pod(BAR_ID),),
    ),
    Case(
        name="1.10d an index that no stream names is kept for the pod that reports a configuration",
        world=streams_world([], [image("id", children="arm"), image("arm", "l", config="c")]),
        objects=(pod("elsewhere.test/x/y:1", image_id=digest("c")),),
    ),
    Case(
        name="1.10d the digest that a pod of a moved tag runs is kept",
        world=streams_world(
            [stream("foo/bar", tag("latest", "new", "id"))], [image("new"), image("id")]
        ),
        objects=(pod(f"{BAR}:latest", image_id=BAR_ID),),
    ),
    Case(
        name="1.10c a digest under a longer path of another host keeps the item of its stream",
        objects=(pod(f"mirror.test/more/foo/bar@{digest('id')}"),),
    ),
    Case(
        name="1.10e a namespaced run is protected by pods of other namespaces",
        world=streams_world([stream("foo/bar", tag("latest", "id"))], [image("id")]),
        objects=(pod(BAR_ID, namespace="elsewhere"),),
        settings=Settings(keep_tag_revisions=0, namespace="foo"),
    ),
)


def over_limit(*streams: tuple[str, str, int | None], minutes: float = OLD) -> Inventory:
    return streams_world(
        [stream(name, tag("latest", one), limit=limit) for name, one, limit in streams],
        [image(one, size=int(one), minutes=minutes) for _, one, _ in streams],
    )


BY_SIZE = Settings(prune_over_size_limit=True)
LIMITS = (
    Case(
        name="L01 the smaller of two limits rules",
        world=over_limit(("foo/bar", "150", 100)),
        settings=BY_SIZE,
        gone={"tagItem foo/bar:latest 150", "manifestLink foo/bar 150", "blob 150", "image 150"},
    ),
    Case(
        name="L02 1.10k a young item over the limit stays: ours keeps more",
        world=streams_world(
            [stream("foo/bar", tag("latest", f"150={YOUNG}"), limit=100)],
            [image("150", size=150, minutes=YOUNG)],
        ),
        settings=BY_SIZE,
    ),
    Case(
        name="L02b of an old item its young image over the limit stays: ours keeps more",
        world=over_limit(("foo/bar", "150", 100), minutes=YOUNG),
        settings=BY_SIZE,
        gone={"tagItem foo/bar:latest 150", "manifestLink foo/bar 150"},
    ),
    Case(
        name="L03 each namespace has its own limit",
        world=over_limit(("foo/bar", "150", 100), ("big/bar", "151", 200)),
        settings=BY_SIZE,
        gone={"tagItem foo/bar:latest 150", "manifestLink foo/bar 150", "blob 150", "image 150"},
    ),
    Case(
        name="L04 within the limit stays",
        world=over_limit(("foo/bar", "100", 100), ("free/bar", "999", None)),
        settings=BY_SIZE,
    ),
    Case(
        name="L05 R15 with a namespace only its history and links go",
        world=over_limit(("foo/bar", "150", 100), ("other/bar", "151", 100)),
        settings=Settings(prune_over_size_limit=True, namespace="foo"),
        gone={"tagItem foo/bar:latest 150", "manifestLink foo/bar 150"},
    ),
)
CASES: tuple[Case, ...] = (*PODS, *WORKLOADS, *BUILDS, *HISTORY, *IMAGES, *LIMITS)


SIGNATURE = digest("id").replace(":", "-") + ".sig"
SIGNED = streams_world(
    [stream("foo/bar", tag("latest", "id"), tag(SIGNATURE, "sig"))], [image("id"), image("sig")]
)
ATTACHED = (
    Case(
        name="a signature stays with its image, however few revisions stay",
        world=SIGNED,
        objects=(pod(BAR_ID),),
    ),
    Case(
        name="a signature goes with its image, however many revisions stay",
        world=streams_world(
            [stream("foo/bar", tag("latest", "new", "id"), tag(SIGNATURE, "sig"))],
            [image("new"), image("id"), image("sig")],
        ),
        settings=Settings(keep_tag_revisions=1),
        gone={
            "tagItem foo/bar:latest id",
            f"tagItem foo/bar:{SIGNATURE} sig",
            *(
                f"{what} {one}"
                for what in ("manifestLink foo/bar", "blob", "image")
                for one in ("id", "sig")
            ),
        },
    ),
    Case(
        name="a young signature of an image that goes stays",
        world=streams_world(
            [stream("foo/bar", tag("latest", "new", "id"), tag(SIGNATURE, f"sig={YOUNG}"))],
            [image("new"), image("id"), image("sig")],
        ),
        settings=Settings(keep_tag_revisions=1),
        gone={"tagItem foo/bar:latest id", "manifestLink foo/bar id", "blob id", "image id"},
    ),
    Case(
        name="a signature of an image that is not here stays by its revisions",
        world=streams_world([stream("foo/bar", tag(SIGNATURE, "sig"))], [image("sig")]),
        settings=Settings(),
    ),
)
CASES = (*CASES, *ATTACHED)


def trash_world(*tags: str) -> Inventory:
    return streams_world(
        [stream("foo/lading-trash", *(tag(name, name) for name in tags))],
        [image(name) for name in tags],
    )


def test_the_stream_of_the_trash_loses_what_is_over_and_keeps_its_ledger() -> None:
    hexadecimal = "a" * 64
    over, held = f"20261025T115959Z-{hexadecimal}", f"20261025T120001Z-{hexadecimal}"
    record = "record-20261025T115959Z-" + "b" * 12
    state = TrashState(is_filled=True, repositories=frozenset({"foo/lading-trash"}))
    found = planning.plan(
        trash_world(over, held, record, "ledger"), References(), Settings(), NOW, trash=state
    )
    items = [line for line in found.deletions if line.what is What.TAG_ITEM]
    assert {line.tag for line in items} == {over, record}
    assert {line.reason for line in items} == {PruneReason.TRASH_PERIOD_OVER}


def test_what_the_trash_holds_keeps_its_image_and_blobs() -> None:
    world = streams_world([], [image("index", children="arm"), image("arm", "l"), image("rest")])
    state = TrashState(is_filled=True, digests=frozenset({digest("index")}))
    found = planning.plan(world, References(), Settings(), NOW, trash=state)
    assert gone(found) == {"blob rest", "image rest"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case) -> None:
    found = builders.plan(case.world, *case.objects, settings=case.settings)
    assert gone(found) == case.gone


def test_every_decision_has_a_reason_that_names_who_keeps() -> None:
    found = builders.plan(one_image(), pod(BAR_ID, name="web"), settings=K0)
    verdict = found.tag_verdicts["foo/bar", "latest"]
    assert (verdict.reason, verdict.message) == (
        PruneReason.USED_DIGEST,
        "image is used by Pod foo/web",
    )


@pytest.mark.parametrize(
    "text",
    [f" {BAR}:latest", f"{BAR}:latest ", "registry.test/foo/bar::latest", "!! foo/bar"],
)
def test_unreadable_text_keeps_the_repositories_that_it_contains(text: str) -> None:
    """E07 E09 E10: one bad reference stops nothing, and takes no protection away."""
    world = streams_world(
        [stream("foo/bar", tag("latest", "id")), stream("foo/rest", tag("latest", "x"))],
        [image("id"), image("x")],
    )
    found = builders.plan(world, pod(text), settings=K0)
    assert gone(found) == {
        "tagItem foo/rest:latest x",
        "manifestLink foo/rest x",
        "blob x",
        "image x",
    }


def test_a_malformed_stream_tag_is_unknown_and_keeps_its_repository() -> None:
    """E08."""
    found = builders.plan(
        one_image(), build("Build", "source", "ImageStreamTag", "bar"), settings=K0
    )
    assert gone(found) == set()
