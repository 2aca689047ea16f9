"""What a write stores, and what it refuses to store or to show."""

import json
from collections.abc import AsyncIterator

import pytest

from lading.adapters.kube.client import KubeClient
from lading.api.core import CONFIG_MAPS, SECRETS
from lading.api.machine import MACHINE_SETS
from lading.api.machineconfiguration.boot_image_history import (
    MACHINE_SET_BOOT_IMAGE_HISTORIES,
    MachineSetBootImageHistory,
)
from lading.boot_images import apply, history, machine_specs
from lading.boot_images.platforms.types import Api
from lading.boot_images.types import (
    DeleteHistory,
    DeleteTemplate,
    MarkTemplate,
    PatchMachineSet,
    SaveHistory,
    StampGolden,
    TemplateVersion,
    WriteStub,
)
from lading.kernel.objects import Key
from lading.kernel.values import replace
from lading.ports import kube
from lading.ports.http import Request, Response
from tests.boot_images import cluster_api
from tests.boot_images.clusters import GOLDEN_NAMESPACE, BootCluster, opened
from tests.boot_images.ignition.stubs import MARKER
from tests.boot_images.worlds import CLUSTER_NAMESPACE, MACHINE_NAMESPACE, NAMESPACE

COPY = Key(MACHINE_NAMESPACE, "worker-user-data-spec-3-managed")


@pytest.fixture
async def cluster() -> AsyncIterator[BootCluster]:
    async with opened() as one:
        yield one


def write(data: str = "YQ==", resource_version: str = "") -> WriteStub:
    return WriteStub(
        key=COPY,
        source=Key(MACHINE_NAMESPACE, "worker-user-data"),
        data={"userData": data},
        type="example.com/stub",
        resource_version=resource_version,
        because="test",
    )


async def test_a_copy_is_created_with_these_fields_and_no_others() -> None:
    """Neither `immutable`, which would stop its updates, nor finalizers."""
    bodies = []

    async def answer(request: Request) -> Response:
        bodies.append(json.loads(request.body))
        return Response(status=201, body=request.body)

    await apply.apply(write(), KubeClient(answer))
    metadata = {
        "name": COPY.name,
        "namespace": COPY.namespace,
        "labels": {"app.kubernetes.io/managed-by": "lading"},
        "annotations": {"lading.dev/copy-of": "worker-user-data"},
    }
    head = {"apiVersion": "v1", "kind": "Secret", "type": "example.com/stub"}
    assert bodies == [{**head, "metadata": metadata, "data": {"userData": "YQ=="}}]


async def test_a_key_that_the_source_lost_is_removed_from_its_copy(cluster: BootCluster) -> None:
    await apply.apply(write(), cluster.kube)
    more = {"data": {"lost": "Yg=="}}
    found = await cluster.kube.patch(SECRETS, COPY.name, more, namespace=COPY.namespace)
    await apply.apply(write("Yw==", found.metadata.resource_version), cluster.kube)
    after = await cluster.kube.get(SECRETS, COPY.name, namespace=COPY.namespace)
    assert after.data == {"userData": "Yw=="}


async def test_a_machine_set_that_was_written_since_is_not_patched(cluster: BootCluster) -> None:
    await cluster.make_set()
    observed = await cluster.get_set()
    operations = (
        machine_specs.guard(observed),
        machine_specs.operation(("metadata", "annotations"), {"patched": "by us"}),
    )
    patch = PatchMachineSet(key=observed.key, operations=operations, lane="x", because="test")
    label = {"metadata": {"labels": {"a": "b"}}}
    await cluster.kube.patch(MACHINE_SETS, "worker-a", label, namespace=MACHINE_NAMESPACE)
    with pytest.raises(kube.Conflict):
        await apply.apply(patch, cluster.kube)
    assert (await cluster.get_set()).metadata.annotations == {}


async def test_a_golden_config_map_that_was_edited_since_is_not_stamped(
    cluster: BootCluster,
) -> None:
    await cluster.make_golden()
    name, namespace = "coreos-bootimages", GOLDEN_NAMESPACE
    observed = await cluster.kube.get(CONFIG_MAPS, name, namespace=namespace)
    edit = {"data": {"stream": "{}"}}
    await cluster.kube.patch(CONFIG_MAPS, name, edit, namespace=namespace)
    version = observed.metadata.resource_version
    stamp = StampGolden(key=observed.key, resource_version=version, proof="{}", because="test")
    with pytest.raises(kube.Conflict):
        await apply.apply(stamp, cluster.kube)
    after = await cluster.kube.get(CONFIG_MAPS, name, namespace=namespace)
    assert after.metadata.annotations == {}


async def test_a_history_that_was_written_since_is_neither_saved_nor_deleted_by_another_uid(
    cluster: BootCluster,
) -> None:
    key = Key(NAMESPACE, "machine.a.b")
    save = SaveHistory(
        key=key, spec=history.empty(Api.MACHINE, Key("a", "b")), lane="x", because="test"
    )
    found = await apply.apply(save, cluster.kube)
    assert found is not None
    version = found.metadata.resource_version
    resumed = {"spec": {"resumedTime": "now"}}
    await cluster.kube.patch(
        MACHINE_SET_BOOT_IMAGE_HISTORIES, key.name, resumed, namespace=NAMESPACE
    )
    removed = replace(save.spec, removed_time="2026-01-01T00:00:00Z")
    with pytest.raises(kube.Conflict):
        await apply.apply(replace(save, spec=removed), cluster.kube, resource_version=version)
    with pytest.raises(kube.Conflict):
        await apply.apply(DeleteHistory(key=key, uid="another", because="test"), cluster.kube)
    after = await cluster.kube.get(MACHINE_SET_BOOT_IMAGE_HISTORIES, key.name, namespace=NAMESPACE)
    assert (after.spec.removed_time, after.spec.resumed_time) == ("", "now")


async def test_a_copy_that_was_written_since_is_not_overwritten(cluster: BootCluster) -> None:
    await apply.apply(write(), cluster.kube)
    found = await cluster.kube.get(SECRETS, COPY.name, namespace=COPY.namespace)
    version = found.metadata.resource_version
    await cluster.kube.patch(SECRETS, COPY.name, {"data": {"x": "Yg=="}}, namespace=COPY.namespace)
    with pytest.raises(kube.Conflict):
        await apply.apply(write("Yw==", version), cluster.kube)
    with pytest.raises(kube.Conflict, match="exists already"):
        await apply.apply(write("Yw=="), cluster.kube)


async def test_a_refusal_that_quotes_the_stub_is_not_passed_on() -> None:
    async def refuse(request: Request) -> Response:
        raise kube.Invalid(f"data: Invalid value: {request.body!r}", code=422)

    with pytest.raises(kube.Invalid) as caught:
        await apply.apply(write(MARKER), KubeClient(refuse))
    assert MARKER not in str(caught.value)
    assert caught.value.__suppress_context__
    assert MARKER not in repr(write(MARKER))


async def test_a_template_that_was_written_since_is_neither_marked_nor_deleted(
    cluster: BootCluster,
) -> None:
    await cluster_api.usual(cluster)
    (observed,) = (await cluster_api.templates(cluster)).values()
    version = TemplateVersion(
        api_version=cluster_api.TEMPLATES.api_version,
        kind=cluster_api.TEMPLATES.kind,
        key=observed.key,
        uid=observed.metadata.uid,
        resource_version=observed.metadata.resource_version,
    )
    another = DeleteTemplate(template=replace(version, uid="another"), because="test")
    with pytest.raises(kube.Conflict):
        await apply.apply(another, cluster.kube)
    label = {"metadata": {"labels": {"a": "b"}}}
    await cluster.kube.patch(
        cluster_api.TEMPLATES, observed.metadata.name, label, namespace=CLUSTER_NAMESPACE
    )
    for action in (
        MarkTemplate(template=version, unused_since="2026-01-01T00:00:00Z", because="test"),
        DeleteTemplate(template=version, because="test"),
    ):
        with pytest.raises(kube.Conflict):
            await apply.apply(action, cluster.kube)
    assert set(await cluster_api.templates(cluster)) == {"template-a"}


async def test_what_a_person_resumed_is_not_ours_to_write(cluster: BootCluster) -> None:
    key = Key(NAMESPACE, "machine.a.b")
    spec = history.empty(Api.MACHINE, Key("a", "b"))
    resumed = replace(spec, resumed_time="now")
    action = SaveHistory(key=key, spec=resumed, lane="x", because="test")
    found = await apply.apply(action, cluster.kube)
    assert isinstance(found, MachineSetBootImageHistory)
    assert found.spec == spec
