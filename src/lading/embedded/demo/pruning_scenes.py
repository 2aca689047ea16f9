"""The scenes about pruning: a plan with reasons, a restored image, and freed storage."""

from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path

from lading.api.core import PODS
from lading.embedded import sample_images
from lading.embedded.demo.stage import Stage
from lading.embedded.sample_images import SampleImage
from lading.kernel import quantities, references
from lading.kernel.values import replace
from lading.pruning.engine import registry_url
from lading.pruning.engine.decisions import policy, why
from lading.pruning.engine.decisions.guards import Limits
from lading.pruning.engine.inventory.observe_storage import data_path
from lading.pruning.engine.references.custom_paths import READY_MADE
from lading.pruning.engine.references.observe import Reading
from lading.pruning.engine.types import PruneReason, Settings, Source, What
from lading.pruning.sweep.types import SweepSettings
from lading.wiring import clusters, prune, sweep
from lading.wiring.prune import PruneOptions, PruneSession

REPOSITORY = "shop/web"
TAGS = ("v1", "v2", "v3")
PAGE_BYTES = 100_000
POLICY = policy.parse(
    {"policies": [{"repositories": [REPOSITORY], "keepTags": [{"patterns": ["v3"]}]}]}
)
AT_ONCE = SweepSettings(grace=timedelta(0), second_look_after=timedelta(0))


async def a_plan_gives_its_reasons(stage: Stage) -> None:
    stage.output.scene(f"The registry is pruned: a policy keeps {REPOSITORY}:v3, and a pod uses v1")
    for tag in TAGS:
        await _push(stage, tag, _image(tag))
    await _use(stage, "v1")
    async with _opened(stage) as opened:
        observed = await opened.pruner.observe()
    plan = opened.pruner.plan(observed)
    goes = [line.tag for line in plan.deletions if line.what is What.TAG]
    stage.output.check("the plan deletes v2 and no other tag", goes == ["v2"])
    for tag, reason in (("v1", PruneReason.USED), ("v2", PruneReason.NOT_RETAINED)):
        answer = why.why(f"{REPOSITORY}:{tag}", observed.inventory, observed.references, plan)
        ((_, verdict),) = answer.verdicts
        stage.output.tell(f"why {tag}: {verdict.decision} ({verdict.message})")
        stage.output.check(f"the reason for {tag} is {reason}", verdict.reason is reason)


async def what_was_deleted_comes_back(stage: Stage) -> None:
    stage.output.scene("The plan is applied, and v2 is restored from the trash")
    async with _opened(stage) as opened:
        await opened.pruner.apply()
        stage.output.check("v2 is deleted, v1 and v3 are kept", await _tags(stage) == ["v1", "v3"])
        ((place, record),) = await opened.pruner.records()
        stage.output.tell(f"{place} has {record.repository}:v2 until {record.expires_at:%Y-%m-%d}")
        await opened.pruner.restore(place, record)
    stage.output.check("v2 is restored from the trash", await _tags(stage) == list(TAGS))


async def its_storage_is_freed(stage: Stage) -> None:
    stage.output.scene("v3 is pushed again: its first image is pruned, and its storage is freed")
    first = _image("v3")
    await _push(stage, "v3", _image("v3 again"))
    async with _opened(stage, trash=False) as opened:
        await opened.pruner.apply()
    is_left = _has_data(stage, first) and await _head(stage, f"@{first.digest}") is None
    stage.output.check("the first image of v3 is deleted, and its data is still there", is_left)
    freed = await _swept_until_gone(stage, first)
    shown = quantities.format_bytes(freed)
    stage.output.tell(f"one run condemned its blobs, a later run deleted them: {shown} freed")
    stage.output.check("the data is gone from the storage", freed >= PAGE_BYTES)
    is_whole = _has_data(stage, _image("v2")) and await _tags(stage) == ["v1", "v3"]
    stage.output.check("the data of v1, v3 and of v2 in the trash is still there", is_whole)


async def _swept_until_gone(stage: Stage, image: SampleImage) -> int:
    """Each run is like one of `lading prune blobs`, without a grace period."""
    url = registry_url.parse(stage.cluster.registry_url)
    options = sweep.after_images(_options(stage), urls=(url,), grace=AT_ONCE.grace)
    freed = 0

    async def is_gone() -> bool:
        nonlocal freed
        async with sweep.open_sweeper(replace(options, settings=AT_ONCE)) as sweeper:
            freed += (await sweeper.run()).counts.freed_bytes
        return not _has_data(stage, image)

    await stage.until("its data is freed", is_gone)
    return freed


def _opened(stage: Stage, *, trash: bool = True) -> AbstractAsyncContextManager[PruneSession]:
    return prune.open_pruner(replace(_options(stage), trash=trash))


def _options(stage: Stage) -> PruneOptions:
    """The options of `lading prune images`, without a minimum age."""
    settings = Settings(keep_younger_than=timedelta(0), keep_tag_revisions=0)
    return PruneOptions(
        connections=(clusters.find({}, file=stage.cluster.api.kubeconfig),),
        source=Source.STORAGE,
        url=registry_url.parse(stage.cluster.registry_url),
        storage_url=f"file://{_registry_folder(stage)}",
        repositories=(REPOSITORY,),
        reading=Reading(settings=settings, custom=READY_MADE),
        policy=POLICY,
        limits=Limits(share_percent_max=100),
    )


def _registry_folder(stage: Stage) -> Path:
    return stage.cluster.api.kubeconfig.parent / "registry"


def _image(content: str) -> SampleImage:
    return sample_images.image([{"page": sample_images.noise(content, PAGE_BYTES)}])


def _has_data(stage: Stage, image: SampleImage) -> bool:
    """Whether the layer of the image is in the storage of the registry."""
    (_, (layer, _)) = image.blobs
    return (_registry_folder(stage) / data_path(str(layer.digest))).exists()


async def _push(stage: Stage, tag: str, image: SampleImage) -> None:
    place = references.parse(f"{stage.cluster.registry_host}/{REPOSITORY}:{tag}")
    await sample_images.push(stage.cluster.registries.client, place, image)


async def _head(stage: Stage, suffix: str) -> object:
    place = references.parse(f"{stage.cluster.registry_host}/{REPOSITORY}{suffix}")
    return await stage.cluster.registries.client.head(place)


async def _tags(stage: Stage) -> list[str]:
    """The tags of the demo that the registry still has."""
    return [tag for tag in TAGS if await _head(stage, f":{tag}") is not None]


async def _use(stage: Stage, tag: str) -> None:
    """Creates a pod that uses the image and never starts, so that nothing is pulled."""
    image = f"{stage.cluster.registry_host}/{REPOSITORY}:{tag}"
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "shop"},
        "spec": {
            "schedulingGates": [{"name": "lading.dev/demo"}],
            "containers": [{"name": "web", "image": image}],
        },
    }
    await stage.cluster.kube.create(PODS, body, namespace="default")
