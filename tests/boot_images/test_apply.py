"""What a write stores, and what it refuses to store or to show."""

from collections.abc import AsyncIterator

import msgspec
import pytest

from lading.adapters.kube.client import KubeClient
from lading.api.core import SECRETS
from lading.api.machineconfiguration.boot_image_history import MachineSetBootImageHistory
from lading.boot_images import apply, history
from lading.boot_images.platforms.types import Api
from lading.boot_images.types import (
    DeleteTemplate,
    MarkTemplate,
    SaveHistory,
    TemplateVersion,
    WriteStub,
)
from lading.kernel.objects import Key
from lading.ports import kube
from lading.ports.http import Request, Response
from tests.boot_images import cluster_api
from tests.boot_images.clusters import BootCluster, opened
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


async def test_a_copy_has_the_type_of_its_source_and_marks_of_ours_alone(
    cluster: BootCluster,
) -> None:
    await apply.apply(write(), cluster.kube)
    found = await cluster.kube.get(SECRETS, COPY.name, namespace=COPY.namespace)
    assert found.type == "example.com/stub"
    assert found.metadata.labels == {"app.kubernetes.io/managed-by": "lading"}
    assert found.metadata.annotations == {"lading.dev/copy-of": "worker-user-data"}
    assert found.metadata.owner_references == ()


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
    resumed = msgspec.structs.replace(spec, resumed_after_index=7)
    action = SaveHistory(key=key, spec=resumed, lane="x", because="test")
    found = await apply.apply(action, cluster.kube)
    assert isinstance(found, MachineSetBootImageHistory)
    assert found.spec == spec
