"""From a plan file with contents `why` answers as from the registry itself."""

import pytest

from lading.kernel.errors import Malformed
from lading.pruning.engine.decisions import plan_contents, plan_file, why
from lading.pruning.engine.decisions.plan_contents import PlanContents
from lading.pruning.engine.types import Inventory
from tests.pruning import builders
from tests.pruning.builders import digest, image, pod, stream, streams_world, tag
from tests.pruning.registry_worlds import APP, CHAIN, GO, SIGNED

STREAMS = streams_world([stream("foo/app", tag("v1", "a", "b"))], [image("a"), image("b")])


def saved(world: Inventory, *objects: dict[str, object]) -> tuple[list[bytes], PlanContents]:
    plan = builders.plan(world, *objects, policy=GO)
    lines = [
        *plan_file.lines(plan),
        *plan_contents.lines(plan, world, builders.used(objects)),
    ]
    found = plan_contents.read(plan.header, lines[1:])
    assert found is not None
    return lines, found


@pytest.mark.parametrize("world", [CHAIN, SIGNED, STREAMS], ids=["chain", "signed", "streams"])
@pytest.mark.parametrize("objects", [(), (pod(f"{APP}:v1"),), (pod(f"{APP}@{digest('arm')}"),)])
def test_why_answers_from_the_file_as_from_the_registry(
    world: Inventory, objects: tuple[dict[str, object], ...]
) -> None:
    _, found = saved(world, *objects)
    plan, references = builders.plan(world, *objects, policy=GO), builders.used(objects)
    asked = {*world.manifests, *world.manifests.blobs(), *map(digest, ("l", "c", "s", "nothing"))}
    asked |= {f"{name}:{tag.name}" for name, one in world.repositories.items() for tag in one.tags}
    for text in sorted(asked):
        ours = why.why(text, found.inventory, found.references, found.plan)
        theirs = why.why(text, world, references, plan)
        assert sorted(ours.verdicts) == sorted(theirs.verdicts), text
        assert sorted(ours.chains) == sorted(theirs.chains), text


def test_apply_passes_over_the_contents() -> None:
    lines, _ = saved(SIGNED)
    plan = builders.plan(SIGNED, policy=GO)
    header, deletions = plan_file.read(lines)
    assert (header, tuple(deletions)) == (plan.header, plan.deletions)


def test_what_stays_is_counted_by_reason() -> None:
    _, found = saved(CHAIN, pod(f"{APP}:v1"))
    assert found.kept_by_reason() == {"Reachable": 4, "Used": 1}


def test_a_plan_without_contents_has_none() -> None:
    plan = builders.plan(CHAIN, policy=GO)
    assert plan_contents.read(plan.header, list(plan_file.lines(plan))[1:]) is None


def test_a_broken_line_is_named() -> None:
    plan = builders.plan(CHAIN, policy=GO)
    with pytest.raises(Malformed, match="line 2 is not what"):
        plan_contents.read(plan.header, [b'{"contents":"other"}\n'])


@pytest.mark.parametrize("size", [-1, 2**63, 10**30])
def test_a_size_that_no_blob_has_is_read_as_a_bounded_one(size: int) -> None:
    plan = builders.plan(CHAIN, policy=GO)
    content = [
        f'{{"contents":"{kind}","digest":"{digest(kind)}","sizeBytes":{size}}}\n'.encode()
        for kind in ("manifest", "blob")
    ]
    found = plan_contents.read(plan.header, content)
    assert found is not None
    known = found.inventory.manifests
    sizes = {known[digest("manifest")].size_bytes, known.blob_size_bytes(digest("blob"))}
    assert sizes == ({0} if size < 0 else {1 << 44})


@pytest.mark.parametrize(
    ("text", "name"),
    [("team/app:v1", "outer"), (digest("l"), "l"), ("team/app:none", ""), ("other:v1", "")],
)
def test_the_digest_that_a_text_names(text: str, name: str) -> None:
    assert why.digest_of(text, CHAIN) == (digest(name) if name else "")
