"""The policies on a real API server: they hold a controller that was taken over.

The same tables as in `tests/deploy/test_escapes.py`, with the rights and the policies of `deploy/`.
"""

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
import pytest_asyncio
import yaml

from lading.adapters.clock import SystemClock
from lading.adapters.kube import connect
from lading.adapters.kube.client import KubeClient
from lading.api.core import CRON_JOBS, DAEMON_SETS, PODS
from lading.api.imageregistry import IMAGE_PRUNERS
from lading.api.rbac import SERVICE_ACCOUNTS
from lading.ports import kube
from lading.pruning.operator import objects
from lading.pruning.operator.types import OBJECT_NAME
from tests.deploy import escapes
from tests.deploy.escapes import Attacker, Escape, OwnWrite
from tests.deploy.manifests import DEPLOY, NAMESPACE, SHARED, Document
from tests.e2e import waiting
from tests.real import installed
from tests.real.bed import api_server, control_plane, sandbox
from tests.real.bed.api_server import ApiServer

pytestmark = [pytest.mark.components("kube"), pytest.mark.asyncio(loop_scope="module")]

HOST = "127.0.0.1:1"  # nothing is pulled where no kubelet runs
OWN_IMAGE = f"{HOST}/absent/lading:0.1.0"
IN_FORCE_SECONDS_MAX = 30
CONTROLLERS = ",".join(
    (
        "serviceaccount-controller",
        "validatingadmissionpolicy-status-controller",
        "clusterrole-aggregation-controller",
    )
)


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with sandbox.sandbox() as place:
        running = api_server.start(place)
        control_plane.start_controllers(place, running, only=CONTROLLERS)
        installed.apply(running, registry_host=HOST)
        running.kubectl("apply", "--server-side", "-k", str(SHARED / "boot-images-policy"))
        more_rights(running)
        yield running


def more_rights(server: ApiServer) -> None:
    """What the controller may not do at all, so that the policies answer instead of RBAC."""
    made = (
        ("role", "more", "--verb=get,create,patch", "--resource=pods,secrets"),
        ("rolebinding", "more", "--role=more", f"--serviceaccount={NAMESPACE}:lading-controller"),
    )
    for namespace in (NAMESPACE, escapes.MACHINES):
        for words in made:
            server.kubectl("create", *words, f"--namespace={namespace}")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def admin(server: ApiServer) -> AsyncIterator[KubeClient]:
    async with connect.connect(
        connect.find({}, file=server.kubeconfig_path), SystemClock()
    ) as client:
        yield client


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def attacker(
    server: ApiServer, admin: KubeClient, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Attacker]:
    folder = tmp_path_factory.mktemp("attacker")
    kubeconfig = installed.identity(server, folder, "controller")
    await waiting.until(lambda: _has_default_account(admin), "the namespace has its account")
    await waiting.until(lambda: _knows_its_parameter(admin), "the policy knows that it has none")
    await escapes.prepare(admin, OWN_IMAGE)
    async with connect.connect(connect.find({}, file=kubeconfig), SystemClock()) as controller:
        found = Attacker(controller=controller, own_image=OWN_IMAGE)
        # A policy is in force some time after it was stored, and knows its parameter later still.
        with contextlib.suppress(waiting.NeverCameTrue):  # the tests tell which
            await waiting.until(
                lambda: _are_in_force(found), "all are refused", seconds_max=IN_FORCE_SECONDS_MAX
            )
        yield found


async def _are_in_force(attacker: Attacker) -> bool:
    for one in escapes.ESCAPES:
        for write in one.writes:
            if one.words not in await escapes.refusal(write, attacker):
                return False
    return True


async def _knows_its_parameter(admin: KubeClient) -> bool:
    """Before the API server has read the ImagePruners, it refuses the CronJob of everyone."""
    stranger = Attacker(controller=admin, own_image=OWN_IMAGE)
    return "no params found" in await escapes.refusal(
        lambda one: one.create(CRON_JOBS, one.cron_job()), stranger
    )


async def _has_default_account(admin: KubeClient) -> bool:
    try:
        await admin.get(SERVICE_ACCOUNTS, "default", namespace=NAMESPACE)
    except kube.NotFound:
        return False
    return True


@pytest.mark.parametrize("escape", escapes.ESCAPES, ids=lambda one: one.sentence)
async def test_a_controller_that_was_taken_over_is_refused_by_the_policies(
    attacker: Attacker, escape: Escape
) -> None:
    for write in escape.writes:
        answer = await escapes.refusal(write, attacker)
        assert "ValidatingAdmissionPolicy 'lading-controller-" in answer
        assert escape.words in answer


@pytest.mark.parametrize("own", escapes.OWN_WRITES, ids=lambda one: one.sentence)
async def test_what_lading_itself_writes_is_accepted(attacker: Attacker, own: OwnWrite) -> None:
    assert await escapes.refusal(own.write, attacker) == ""


@pytest.mark.parametrize(
    "made",
    [escapes.daemon_set, escapes.with_image_volumes],
    ids=["containers of the images", "image volumes"],
)
async def test_the_restricted_namespace_accepts_the_pods_of_holders(
    attacker: Attacker, admin: KubeClient, made: Callable[[str], Document]
) -> None:
    template = made(attacker.own_image)["spec"]["template"]
    template["spec"].pop("priorityClassName", None)  # none of them is installed here
    await _create_pod(admin, template)


async def test_the_restricted_namespace_accepts_the_pods_of_the_pruner(
    attacker: Attacker, admin: KubeClient
) -> None:
    body = objects.account(escapes.PRUNER, NAMESPACE)
    await admin.create(SERVICE_ACCOUNTS, body, namespace=NAMESPACE)
    made = escapes.cron_job(attacker.own_image)
    await _create_pod(admin, made["spec"]["jobTemplate"]["spec"]["template"])


async def test_the_restricted_namespace_accepts_the_controller_and_no_agent(
    attacker: Attacker, admin: KubeClient, server: ApiServer
) -> None:
    documents = list(yaml.safe_load_all(server.kubectl("kustomize", str(DEPLOY))))
    templates = {
        one["kind"]: one["spec"]["template"]
        for one in documents
        if one["kind"] in ("Deployment", "DaemonSet")
    }
    await _create_pod(admin, templates["Deployment"])
    del templates["DaemonSet"]["spec"]["serviceAccountName"]  # it is in another namespace
    with pytest.raises(kube.KubeError, match='violates PodSecurity "restricted:latest"'):
        await _create_pod(admin, templates["DaemonSet"])


async def _create_pod(admin: KubeClient, template: Document) -> None:
    metadata = {**template["metadata"], "name": "made-of-a-template"}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
    await admin.create(PODS, body, namespace=NAMESPACE, dry_run=True)


async def test_the_types_of_all_expressions_are_right(server: ApiServer) -> None:
    """The API server itself checks them, against the schemas of the kinds."""

    def found() -> list[Document]:
        listed = server.kubectl("get", "validatingadmissionpolicies", "--output=json")
        return list(json.loads(listed)["items"])

    async def is_checked() -> bool:
        return all("observedGeneration" in one.get("status", {}) for one in found())

    await waiting.until(is_checked, "the policies are checked")
    warnings = {
        one["metadata"]["name"]: one["status"].get("typeChecking", {}).get("expressionWarnings")
        for one in found()
    }
    assert {name: each for name, each in warnings.items() if each} == {}


async def test_without_an_image_pruner_the_cron_jobs_of_others_are_accepted(
    attacker: Attacker, admin: KubeClient
) -> None:
    """The API server looks for a parameter before it looks at the account that writes."""
    await admin.delete(IMAGE_PRUNERS, "cluster")
    changes = {"/metadata/name": "other", "/metadata/labels": {}}
    other = escapes.changed(attacker.cron_job(), changes)

    async def is_missed() -> bool:
        return "no params found" in await escapes.refusal(
            lambda one: one.create(CRON_JOBS, one.cron_job()), attacker
        )

    try:
        await waiting.until(is_missed, "the policy misses its parameter")
        await admin.create(CRON_JOBS, other, namespace=NAMESPACE, dry_run=True)
        await admin.delete(CRON_JOBS, OBJECT_NAME, namespace=NAMESPACE, dry_run=True)
    finally:
        await admin.create(IMAGE_PRUNERS, escapes.image_pruner(escapes.PRUNER_SPEC))
        await waiting.until(lambda: _are_in_force(attacker), "the policy knows its parameter")


async def test_after_an_uninstall_the_policies_go_by_the_pods_of_the_next_installation(
    attacker: Attacker, admin: KubeClient, server: ApiServer
) -> None:
    """kube-apiserver stops to watch some kinds for good with the last policy that needs them."""
    policies = str(SHARED / "base" / "controller-policy.yaml")
    server.kubectl("delete", "-f", policies)

    async def is_removed() -> bool:
        return await _is_accepted(attacker, escapes.OTHER_IMAGE)

    await waiting.until(is_removed, "no policy is in force")
    await admin.delete(PODS, escapes.CONTROLLER_POD, namespace=NAMESPACE, grace_seconds=0)
    await admin.create(PODS, escapes.controller_pod("next/lading:2"), namespace=NAMESPACE)
    server.kubectl("apply", "--server-side", "-f", policies)

    async def is_in_force() -> bool:
        return await _is_accepted(attacker, "next/lading:2") and not await _is_accepted(
            attacker, OWN_IMAGE
        )

    try:
        await waiting.until(is_in_force, "only the image of the next installation is accepted")
    finally:
        await admin.delete(PODS, escapes.CONTROLLER_POD, namespace=NAMESPACE, grace_seconds=0)
        await admin.create(PODS, escapes.controller_pod(OWN_IMAGE), namespace=NAMESPACE)
        await waiting.until(lambda: _are_in_force(attacker), "the first image is Lading's again")


async def _is_accepted(attacker: Attacker, image: str) -> bool:
    answer = await escapes.refusal(
        lambda one: one.create(DAEMON_SETS, escapes.daemon_set(image)), attacker
    )
    return not answer
