"""What becomes of each machine set, as tables; and what is written, in which order."""

import base64
import copy
import json
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.api.machine import MachineSet
from lading.api.machineconfiguration.boot_image_history import (
    MachineSetBootImageHistory,
    SetBy,
)
from lading.api.openshift_config import ClusterVersion
from lading.boot_images import history, machine_specs, plan, stubs
from lading.boot_images.platforms.types import Api
from lading.boot_images.types import (
    PAUSE_ANNOTATION,
    BootImageSettings,
    CloneTemplate,
    DeleteHistory,
    FailedWrite,
    ObservedMachineSets,
    PatchMachineSet,
    ReportMachineSet,
    SaveHistory,
    StampGolden,
    UnreadSecret,
    WriteStub,
)
from lading.boot_images.verdicts import MachineSetState, NotUpdated, Why
from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.kernel.values import replace
from tests.boot_images.histories import written
from tests.boot_images.ignition.stubs import MARKER, certificate, data_url, spec_2, spec_3
from tests.boot_images.streams import (
    AMI,
    GCP_IMAGE,
    GCP_IMAGE_ARM,
    GCP_IMAGE_OLD,
    RELEASE,
    VERSION,
    marketplace,
    stream,
)
from tests.boot_images.worlds import (
    CLUSTER_NAMESPACE,
    INFRA,
    MACHINE_NAMESPACE,
    NAMESPACE,
    NOW,
    by_key,
    cluster_machine_set,
    cluster_version,
    configuration,
    gcp_spec,
    golden,
    infrastructure,
    machine_set,
    node,
    observed,
    secret,
    template,
    templates,
)

SOURCE = Key(MACHINE_NAMESPACE, "worker-user-data")
COPY = "worker-user-data-spec-3-managed"
PROOF = "lading.dev/boot-images-proven"
OF_LADING: dict[str, Any] = {
    "labels": {"app.kubernetes.io/managed-by": "lading"},
    "annotations": {"lading.dev/copy-of": "worker-user-data"},
}
GCP_IMAGE_ARM_OLD = GCP_IMAGE_ARM.replace("9-8", "9-7")


def planned(world: ObservedMachineSets, **settings: Any) -> Plan:
    return plan.plan(world, BootImageSettings(**settings), NOW, namespace=NAMESPACE)


def actions(world: ObservedMachineSets, kind: type[Any], **settings: Any) -> list[Any]:
    return [one for one in planned(world, **settings).actions if isinstance(one, kind)]


def verdicts(world: ObservedMachineSets, **settings: Any) -> dict[str, tuple[str, str]]:
    """State and reason by machine set."""
    return {
        one.key.name.rpartition(".")[2]: (one.status.state, one.status.reason)
        for one in actions(world, ReportMachineSet, **settings)
    }


def patched(one: MachineSet, patch: PatchMachineSet) -> dict[str, Any]:
    """The machine set's spec after the patch. The guard comes first."""
    assert patch.operations[0] == machine_specs.guard(one)
    whole: Any = copy.deepcopy({"spec": one.spec})
    for operation in patch.operations[1:]:
        *parents, last = operation["path"].strip("/").split("/")
        found = whole
        for step in parents:
            found = found[int(step)] if isinstance(found, list) else found[step]
        found[last] = operation["value"]
    return dict(whole["spec"])


def saved(world: ObservedMachineSets) -> tuple[MachineSetBootImageHistory, ...]:
    """The histories after everything that was planned was written."""
    for action in planned(world).actions:
        world = written(world, action)
    return world.histories


def owner(kind: str, name: str, group: str = "cluster.x-k8s.io") -> dict[str, Any]:
    reference = {"apiVersion": f"{group}/v1beta1", "kind": kind, "name": name, "uid": "u"}
    return {"ownerReferences": [reference]}


def annotated(**annotations: str) -> MachineSet:
    return machine_set(metadata={"annotations": annotations})


ARCH = "capacity.cluster-autoscaler.kubernetes.io/labels"
ARM = {ARCH: "kubernetes.io/arch=arm64"}
SELECT: dict[str, Any] = {
    "managedBootImageConfig": {
        "mode": "MatchSelector",
        "matchSelector": {"matchLabels": {"a": "b"}},
    }
}
MANAGER: dict[str, Any] = {
    "resource": "machinesets",
    "apiGroup": "machine.openshift.io",
    "selection": {"mode": "All"},
}
MANAGERS: dict[str, Any] = {"managedBootImages": {"machineManagers": [MANAGER]}}
EMPTY: dict[str, Any] = {"managedBootImageConfig": {"mode": "MatchSelector", "matchSelector": {}}}


def partial(selector: dict[str, Any]) -> dict[str, Any]:
    """The shipped form for the machine sets of a selector."""
    selection = {"mode": "Partial", "partial": {"machineResourceSelector": selector}}
    return {"managedBootImages": {"machineManagers": [{**MANAGER, "selection": selection}]}}


OPERATOR = replace(
    configuration("cluster"),
    status=msgspec.convert(
        {"managedBootImagesStatus": {"machineManagers": [{}]}},
        type(configuration().status),
    ),
)
OTHER = replace(configuration("other"), status=OPERATOR.status)
SKIP, FAIL = MachineSetState.SKIPPED, MachineSetState.FAILED


def labelled(labels: Any) -> MachineSet:
    """With these labels of its machines."""
    machine = {"providerSpec": {"value": gcp_spec()}}
    return machine_set(spec={"template": {"metadata": {"labels": labels}, "spec": machine}})


OS_LABEL = "machine.openshift.io/os-id"
OURS: dict[str, Any] = {"labels": {"app.kubernetes.io/managed-by": "lading"}}
COPY_OF_SOURCE: dict[str, Any] = {"annotations": {stubs.SOURCE_ANNOTATION: SOURCE.name}}
COPY_OF_ANOTHER: dict[str, Any] = {"annotations": {stubs.SOURCE_ANNOTATION: "another"}}
WORLDS: tuple[tuple[str, ObservedMachineSets, MachineSetState, Why], ...] = (
    (
        "an old image of ours is updated",
        observed(machine_set()),
        MachineSetState.UPDATING,
        Why.UPDATING,
    ),
    (
        "the image of the release is current",
        observed(machine_set(value=gcp_spec(GCP_IMAGE))),
        MachineSetState.CURRENT,
        Why.AS_EXPECTED,
    ),
    (
        "a custom image is left alone",
        observed(machine_set(value=gcp_spec("projects/p/global/images/x"))),
        SKIP,
        Why.NOT_OURS,
    ),
    ("a set with an owner", observed(machine_set(metadata=owner("Machine", "x"))), SKIP, Why.OWNED),
    (
        "a set of OpenShift that a Cluster owns",
        observed(machine_set(metadata=owner("Cluster", INFRA))),
        SKIP,
        Why.OWNED,
    ),
    (
        "a set that is deleted",
        observed(machine_set(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})),
        SKIP,
        Why.DELETING,
    ),
    ("a paused set", observed(annotated(**{PAUSE_ANNOTATION: "paused"})), SKIP, Why.PAUSED),
    ("a pause of true", observed(annotated(**{PAUSE_ANNOTATION: "true"})), SKIP, Why.PAUSED),
    ("a pause in capitals", observed(annotated(**{PAUSE_ANNOTATION: "Paused"})), SKIP, Why.PAUSED),
    ("disabled updates", observed(annotated(**{PAUSE_ANNOTATION: "disabled"})), SKIP, Why.PAUSED),
    ("an empty pause", observed(annotated(**{PAUSE_ANNOTATION: ""})), SKIP, Why.PAUSED),
    (
        "active updates",
        observed(annotated(**{PAUSE_ANNOTATION: "active"})),
        MachineSetState.UPDATING,
        Why.UPDATING,
    ),
    (
        "a set of a paused Cluster",
        observed(
            cluster_machine_set(),
            api=Api.CLUSTER,
            cluster_pause=NotUpdated(Why.PAUSED, "Cluster a/b is paused"),
        ),
        SKIP,
        Why.PAUSED,
    ),
    (
        "a set with a stub of another owner that is named like a copy",
        observed(
            machine_set(value=gcp_spec(userDataSecret={"name": COPY})),
            secrets=by_key(secret(name=COPY)),
        ),
        MachineSetState.UPDATING,
        Why.UPDATING,
    ),
    (
        "a set with a copy, of which the source was deleted",
        observed(
            machine_set(value=gcp_spec(GCP_IMAGE, userDataSecret={"name": COPY})),
            secrets=by_key(secret(name=COPY, **OF_LADING)),
        ),
        MachineSetState.CURRENT,
        Why.AS_EXPECTED,
    ),
    (
        "a mirror",
        observed(machine_set(status={"authoritativeAPI": "ClusterAPI"})),
        SKIP,
        Why.MIRROR,
    ),
    (
        "a set that migrates",
        observed(machine_set(status={"authoritativeAPI": "Migrating"})),
        SKIP,
        Why.MIRROR,
    ),
    (
        "the authority itself",
        observed(machine_set(status={"authoritativeAPI": "MachineAPI"})),
        MachineSetState.UPDATING,
        Why.UPDATING,
    ),
    (
        "Windows",
        observed(labelled({OS_LABEL: "Windows"})),
        SKIP,
        Why.WINDOWS,
    ),
    (
        "another operating system",
        observed(labelled({OS_LABEL: "RHCOS"})),
        MachineSetState.UPDATING,
        Why.UPDATING,
    ),
    (
        "labels that are a text",
        observed(labelled("text")),
        MachineSetState.UPDATING,
        Why.UPDATING,
    ),
    (
        "no opt-in",
        observed(machine_set(), configurations=()),
        MachineSetState.NOT_ENROLLED,
        Why.NOT_ENROLLED,
    ),
    (
        "an opt-out",
        observed(
            machine_set(),
            configurations=(configuration(managedBootImageConfig={"mode": "Disabled"}),),
        ),
        MachineSetState.NOT_ENROLLED,
        Why.NOT_ENROLLED,
    ),
    (
        "a selector that does not match",
        observed(machine_set(), configurations=(configuration(**SELECT),)),
        MachineSetState.NOT_ENROLLED,
        Why.NOT_ENROLLED,
    ),
    (
        "a selector that matches",
        observed(
            machine_set(metadata={"labels": {"a": "b"}}), configurations=(configuration(**SELECT),)
        ),
        MachineSetState.UPDATING,
        Why.UPDATING,
    ),
    (
        "the form that OpenShift ships",
        observed(machine_set(), configurations=(configuration("cluster", **MANAGERS),)),
        MachineSetState.UPDATING,
        Why.UPDATING,
    ),
    (
        "the shipped form for the control plane enrols no machine set",
        observed(
            machine_set(),
            configurations=(
                configuration(
                    managedBootImages={
                        "machineManagers": [{**MANAGER, "resource": "controlplanemachinesets"}]
                    }
                ),
            ),
        ),
        MachineSetState.NOT_ENROLLED,
        Why.NOT_ENROLLED,
    ),
    (
        "the shipped form without managers is an opt-out",
        observed(
            machine_set(),
            configurations=(configuration(managedBootImages={"machineManagers": []}),),
        ),
        MachineSetState.NOT_ENROLLED,
        Why.NOT_ENROLLED,
    ),
    (
        "two opt-ins in one object",
        observed(machine_set(), configurations=(configuration(**SELECT, **MANAGERS),)),
        SKIP,
        Why.OPT_IN_AMBIGUOUS,
    ),
    (
        "two opt-ins in two objects",
        observed(machine_set(), configurations=(configuration(), configuration("cluster"))),
        SKIP,
        Why.OPT_IN_AMBIGUOUS,
    ),
    (
        "an opt-in beside an opt-out",
        observed(
            machine_set(),
            configurations=(
                configuration(),
                configuration("cluster", managedBootImageConfig={"mode": "Disabled"}),
            ),
        ),
        SKIP,
        Why.OPT_IN_AMBIGUOUS,
    ),
    (
        "an opt-in beside one that cannot be used",
        observed(
            machine_set(),
            configurations=(configuration(), configuration("cluster", **EMPTY)),
        ),
        SKIP,
        Why.OPT_IN_AMBIGUOUS,
    ),
    (
        "a configuration of another name",
        observed(machine_set(), configurations=(configuration("other"),)),
        MachineSetState.NOT_ENROLLED,
        Why.NOT_ENROLLED,
    ),
    (
        "an empty selector",
        observed(machine_set(), configurations=(configuration(**EMPTY),)),
        MachineSetState.NOT_ENROLLED,
        Why.NOT_ENROLLED,
    ),
    (
        "an empty selector in the shipped form",
        observed(machine_set(), configurations=(configuration(**partial({})),)),
        MachineSetState.NOT_ENROLLED,
        Why.NOT_ENROLLED,
    ),
    (
        "a selector in the shipped form that does not match",
        observed(
            machine_set(), configurations=(configuration(**partial({"matchLabels": {"a": "b"}})),)
        ),
        MachineSetState.NOT_ENROLLED,
        Why.NOT_ENROLLED,
    ),
    (
        "OpenShift's operator manages boot images",
        observed(machine_set(), configurations=(OPERATOR,)),
        SKIP,
        Why.OTHER_OPERATOR,
    ),
    (
        "the status of a configuration of another name",
        observed(machine_set(), configurations=(configuration(), OTHER)),
        MachineSetState.UPDATING,
        Why.UPDATING,
    ),
    (
        "a provider spec that is null",
        observed(machine_set(spec={"template": None})),
        SKIP,
        Why.PROVIDER_SPEC,
    ),
    ("a spec that is a text", observed(machine_set(spec="text")), SKIP, Why.PROVIDER_SPEC),
    (
        "a provider spec that is a text",
        observed(machine_set(value="text")),
        SKIP,
        Why.PROVIDER_SPEC,
    ),
    (
        "a provider spec that is a list",
        observed(machine_set(value=[gcp_spec()])),
        SKIP,
        Why.PROVIDER_SPEC,
    ),
    (
        "a provider spec of an unknown kind",
        observed(machine_set(value={"kind": "Other"})),
        SKIP,
        Why.PLATFORM_UNKNOWN,
    ),
    (
        "a provider spec with a kind that is no text",
        observed(machine_set(value={"kind": [], "disks": []})),
        SKIP,
        Why.PLATFORM_UNKNOWN,
    ),
    (
        "vSphere",
        observed(machine_set(value={"kind": "VSphereMachineProviderSpec", "template": "t"})),
        MachineSetState.MANUAL,
        Why.PLATFORM_MANUAL,
    ),
    ("no golden ConfigMap", observed(machine_set(), golden=None), SKIP, Why.GOLDEN_MISSING),
    (
        "a broken golden ConfigMap",
        observed(machine_set(), golden=golden(stream="{")),
        SKIP,
        Why.GOLDEN_BROKEN,
    ),
    (
        "an update that is under way",
        observed(machine_set(), cluster_version=cluster_version("Partial")),
        MachineSetState.WAITING,
        Why.NOT_PROVEN,
    ),
    (
        "an update of an unknown state",
        observed(machine_set(), cluster_version=cluster_version("")),
        MachineSetState.WAITING,
        Why.NOT_PROVEN,
    ),
    (
        "an update to another version",
        observed(machine_set(), cluster_version=cluster_version(version="4.20.1")),
        MachineSetState.WAITING,
        Why.NOT_PROVEN,
    ),
    (
        "an operator of another version",
        observed(machine_set(), golden=golden(MCOReleaseImageVersion="4.20.1")),
        MachineSetState.WAITING,
        Why.NOT_PROVEN,
    ),
    (
        "an operator of the same version",
        observed(machine_set(), golden=golden(MCOReleaseImageVersion="4.21.3")),
        MachineSetState.UPDATING,
        Why.UPDATING,
    ),
    (
        "no node runs the release",
        observed(machine_set(), cluster_version=None),
        MachineSetState.WAITING,
        Why.NOT_PROVEN,
    ),
    (
        "a stream that does not exist",
        observed(
            machine_set(
                metadata={"labels": {"machineconfiguration.openshift.io/osstream": "rhel-11"}}
            )
        ),
        SKIP,
        Why.STREAM_UNKNOWN,
    ),
    (
        "the default stream by name",
        observed(
            machine_set(
                metadata={"labels": {"machineconfiguration.openshift.io/osstream": "rhel-9"}}
            )
        ),
        MachineSetState.UPDATING,
        Why.UPDATING,
    ),
    (
        "another architecture in the annotation",
        observed(annotated(**ARM)),
        SKIP,
        Why.ARCHITECTURE_DIFFERS,
    ),
    (
        "the architecture among other labels",
        observed(annotated(**{ARCH: "a=b, kubernetes.io/arch=amd64 ,c=d"})),
        MachineSetState.UPDATING,
        Why.UPDATING,
    ),
    (
        "an unknown architecture",
        observed(annotated(**{ARCH: "kubernetes.io/arch=mips"})),
        SKIP,
        Why.ARCHITECTURE_UNKNOWN,
    ),
    (
        "an annotation without an architecture",
        observed(annotated(**{ARCH: "a=b"})),
        SKIP,
        Why.ARCHITECTURE_UNKNOWN,
    ),
    (
        "a cluster of several architectures",
        observed(machine_set(), cluster_version=cluster_version(architecture="Multi")),
        SKIP,
        Why.ARCHITECTURE_UNKNOWN,
    ),
    (
        "nodes of several architectures",
        observed(machine_set(), nodes=(node(), node("b", architecture="arm64"))),
        SKIP,
        Why.ARCHITECTURE_UNKNOWN,
    ),
    (
        "a control plane of one architecture",
        observed(
            machine_set(),
            nodes=(
                node(labels={"node-role.kubernetes.io/master": ""}),
                node("b", architecture="arm64"),
            ),
        ),
        MachineSetState.UPDATING,
        Why.UPDATING,
    ),
    ("no nodes", observed(machine_set(), nodes=()), SKIP, Why.ARCHITECTURE_UNKNOWN),
    (
        "no stub Secret is named",
        observed(machine_set(value=gcp_spec(userDataSecret=None))),
        FAIL,
        Why.STUB_MISSING,
    ),
    (
        "the stub Secret does not exist",
        observed(machine_set(), secrets={SOURCE: UnreadSecret(message="", is_missing=True)}),
        FAIL,
        Why.STUB_MISSING,
    ),
    (
        "the stub Secret may not be read",
        observed(machine_set(), secrets={SOURCE: UnreadSecret(message="forbidden")}),
        SKIP,
        Why.FORBIDDEN,
    ),
    (
        "the stub is not JSON",
        observed(machine_set(), secrets=by_key(secret(b"#!/bin/sh"))),
        FAIL,
        Why.STUB_UNREADABLE,
    ),
    (
        "the stub is of specification 1",
        observed(machine_set(), secrets=by_key(secret({"ignition": {"version": "1.2.0"}}))),
        FAIL,
        Why.STUB_UNREADABLE,
    ),
    (
        "the stub Secret has no user data",
        observed(machine_set(), secrets=by_key(secret(key="other"))),
        FAIL,
        Why.STUB_UNREADABLE,
    ),
    (
        "the stub cannot be read although the image is current",
        observed(machine_set(value=gcp_spec(GCP_IMAGE)), secrets=by_key(secret(b"no"))),
        FAIL,
        Why.STUB_UNREADABLE,
    ),
    (
        "the stub is broken but the image is not ours",
        observed(machine_set(value=gcp_spec("fake-image")), secrets=by_key(secret(b"no"))),
        SKIP,
        Why.NOT_OURS,
    ),
    (
        "the name of the copy is taken",
        observed(machine_set(), secrets=by_key(secret(spec_2()), secret(name=COPY))),
        SKIP,
        Why.STUB_NAME_TAKEN,
    ),
    (
        "our label alone makes no copy",
        observed(machine_set(), secrets=by_key(secret(spec_2()), secret(name=COPY, **OURS))),
        SKIP,
        Why.STUB_NAME_TAKEN,
    ),
    (
        "our annotation alone makes no copy",
        observed(
            machine_set(), secrets=by_key(secret(spec_2()), secret(name=COPY, **COPY_OF_SOURCE))
        ),
        SKIP,
        Why.STUB_NAME_TAKEN,
    ),
    (
        "a copy of another Secret",
        observed(
            machine_set(),
            secrets=by_key(secret(spec_2()), secret(name=COPY, **OURS, **COPY_OF_ANOTHER)),
        ),
        SKIP,
        Why.STUB_NAME_TAKEN,
    ),
)


@pytest.mark.parametrize(
    ("world", "state", "why"), [row[1:] for row in WORLDS], ids=[row[0] for row in WORLDS]
)
def test_the_verdict_of_a_machine_set(
    world: ObservedMachineSets, state: MachineSetState, why: Why
) -> None:
    assert verdicts(world) == {"worker-a": (state, why)}
    patches = actions(world, PatchMachineSet)
    assert bool(patches) == (state is MachineSetState.UPDATING)


def of_cluster_api(**parts: Any) -> MachineSet:
    """With these parts of its machines' template instead."""
    one = cluster_machine_set()
    spec = {**one.spec["template"], **parts}
    return replace(one, spec={**one.spec, "template": spec})


def templates_of(spec: Any) -> Any:
    return templates(replace(template(), spec=spec))


CLUSTER_WORLDS: tuple[tuple[str, ObservedMachineSets, tuple[MachineSetState, Why] | None], ...] = (
    (
        "an old image of ours is updated",
        observed(cluster_machine_set(), api=Api.CLUSTER),
        (MachineSetState.UPDATING, Why.UPDATING),
    ),
    (
        "the Cluster owns every set",
        observed(
            cluster_machine_set(metadata=owner("Cluster", "mycluster-x7k2p")), api=Api.CLUSTER
        ),
        (MachineSetState.UPDATING, Why.UPDATING),
    ),
    (
        "another owner",
        observed(cluster_machine_set(metadata=owner("MachinePool", "x")), api=Api.CLUSTER),
        (SKIP, Why.OWNED),
    ),
    (
        "another Cluster owns it",
        observed(cluster_machine_set(metadata=owner("Cluster", "x")), api=Api.CLUSTER),
        (SKIP, Why.OWNED),
    ),
    (
        "another owner of the name of the Cluster",
        observed(cluster_machine_set(metadata=owner("MachinePool", INFRA)), api=Api.CLUSTER),
        (SKIP, Why.OWNED),
    ),
    (
        "a Cluster of another group owns it",
        observed(
            cluster_machine_set(metadata=owner("Cluster", INFRA, "example.com")), api=Api.CLUSTER
        ),
        (SKIP, Why.OWNED),
    ),
    (
        "a set of a MachineDeployment",
        observed(
            cluster_machine_set(metadata={"labels": {"cluster.x-k8s.io/deployment-name": "d"}}),
            api=Api.CLUSTER,
        ),
        (SKIP, Why.DEPLOYMENT),
    ),
    (
        "a paused set",
        observed(
            cluster_machine_set(metadata={"annotations": {"cluster.x-k8s.io/paused": ""}}),
            api=Api.CLUSTER,
        ),
        (SKIP, Why.PAUSED),
    ),
    (
        "a mirror",
        observed(
            cluster_machine_set(), api=Api.CLUSTER, other_machine_sets={"worker-a": "MachineAPI"}
        ),
        (SKIP, Why.MIRROR),
    ),
    (
        "the authority itself",
        observed(
            cluster_machine_set(), api=Api.CLUSTER, other_machine_sets={"worker-a": "ClusterAPI"}
        ),
        (MachineSetState.UPDATING, Why.UPDATING),
    ),
    (
        "a set of another cluster",
        observed(cluster_machine_set(cluster="hosted"), api=Api.CLUSTER),
        None,
    ),
    (
        "a cluster of no known name",
        observed(
            cluster_machine_set(cluster=""), api=Api.CLUSTER, infrastructure=infrastructure("")
        ),
        None,
    ),
    (
        "a set in another namespace",
        observed(cluster_machine_set(metadata={"namespace": "hosted"}), api=Api.CLUSTER),
        None,
    ),
    (
        "a template that does not exist",
        observed(cluster_machine_set(template="gone"), api=Api.CLUSTER),
        (SKIP, Why.TEMPLATE_MISSING),
    ),
    (
        "a template with a spec that is null",
        observed(cluster_machine_set(), api=Api.CLUSTER, templates=templates_of(None)),
        (SKIP, Why.PROVIDER_SPEC),
    ),
    (
        "a template with machines that are a text",
        observed(
            cluster_machine_set(),
            api=Api.CLUSTER,
            templates=templates_of({"template": {"spec": "text"}}),
        ),
        (SKIP, Why.PROVIDER_SPEC),
    ),
    (
        "a reference that is a text",
        observed(of_cluster_api(spec={"infrastructureRef": "template-a"}), api=Api.CLUSTER),
        (SKIP, Why.PLATFORM_UNKNOWN),
    ),
    (
        "Windows",
        observed(of_cluster_api(metadata={"labels": {OS_LABEL: "Windows"}}), api=Api.CLUSTER),
        (SKIP, Why.WINDOWS),
    ),
    (
        "a name of the stub that is no text",
        observed(cluster_machine_set(bootstrap={"dataSecretName": ["a"]}), api=Api.CLUSTER),
        (MachineSetState.UPDATING, Why.UPDATING),
    ),
    (
        "a bootstrap provider makes the stub",
        observed(cluster_machine_set(bootstrap={"configRef": {}}), api=Api.CLUSTER, secrets={}),
        (MachineSetState.UPDATING, Why.UPDATING),
    ),
)


@pytest.mark.parametrize(
    ("world", "expected"),
    [row[1:] for row in CLUSTER_WORLDS],
    ids=[row[0] for row in CLUSTER_WORLDS],
)
def test_the_verdict_of_a_cluster_api_set(
    world: ObservedMachineSets, expected: tuple[MachineSetState, Why] | None
) -> None:
    assert verdicts(world) == ({} if expected is None else {"worker-a": expected})


def test_a_set_is_saved_then_patched_then_saved_in_one_lane() -> None:
    lanes = planned(observed(machine_set())).lanes()
    ((_, lane),) = lanes.items()
    kinds = (SaveHistory, ReportMachineSet, PatchMachineSet, SaveHistory)
    assert tuple(map(type, lane)) == kinds
    before, after = lane[0], lane[-1]
    assert isinstance(before, SaveHistory)
    assert isinstance(after, SaveHistory)
    assert [one.boot_image_ref for one in before.spec.details] == [GCP_IMAGE_OLD]
    assert before.spec.intended is not None
    assert [(one.index, one.boot_image_ref, one.set_by) for one in after.spec.details] == [
        (0, GCP_IMAGE_OLD, SetBy.OTHER),
        (1, GCP_IMAGE, SetBy.LADING),
    ]
    assert after.spec.intended is None


def test_a_patch_changes_the_image_and_nothing_else() -> None:
    one = machine_set()
    (patch,) = actions(observed(one), PatchMachineSet)
    assert patched(one, patch) == machine_set(value=gcp_spec(GCP_IMAGE)).spec


def test_a_downgrade_is_followed() -> None:
    """Versions are compared for equality only."""
    newer = "projects/rhcos-cloud/global/images/rhcos-10-9-20990101-0-gcp-x86-64"
    one = machine_set(value=gcp_spec(newer))
    (patch,) = actions(observed(one), PatchMachineSet)
    assert patched(one, patch) == machine_set(value=gcp_spec(GCP_IMAGE)).spec


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(min_size=1, max_size=5), JSON, max_size=4), st.booleans())
def test_any_provider_spec_keeps_everything_but_image_and_secret(
    extra: dict[str, Any], is_spec_2: bool
) -> None:
    value = {**gcp_spec(), **{f"x{key}": one for key, one in extra.items()}}
    one = machine_set(value=value)
    found = [secret(spec_2())] if is_spec_2 else [secret()]
    world = observed(one, secrets=by_key(*found, *copies(*found)))
    for patch in actions(world, PatchMachineSet):
        after = patched(one, patch)
        machine = after["template"]["spec"]["providerSpec"]["value"]
        assert machine["disks"][0].pop("image") == GCP_IMAGE
        expected = copy.deepcopy(value)
        del expected["disks"][0]["image"]
        if is_spec_2:
            assert machine.pop("userDataSecret") == {"name": COPY}
            del expected["userDataSecret"]
        assert machine == expected


def copies(*found: Any) -> list[Any]:
    """The managed copies as they are after they were written."""
    world = observed(machine_set(), secrets=by_key(*found))
    return [
        secret(
            base64.b64decode(one.data["userData"]),
            name=one.key.name,
            labels={"app.kubernetes.io/managed-by": "lading"},
            annotations={stubs.SOURCE_ANNOTATION: one.source.name},
        )
        for one in actions(world, WriteStub)
    ]


def test_a_stub_of_specification_2_gets_a_copy_before_the_set_is_patched() -> None:
    source = secret(spec_2(), labels={"a": "b"}, annotations={"last-applied": MARKER})
    world = observed(machine_set(), secrets=by_key(source))
    (write,) = actions(world, WriteStub)
    assert (write.key.name, write.type, write.resource_version) == (COPY, "Opaque", "")
    assert write.data["disableTemplating"] == "dHJ1ZQo="
    config = json.loads(base64.b64decode(write.data["userData"]))
    assert config["ignition"]["version"] == "3.0.0"
    assert actions(world, PatchMachineSet) == []
    assert planned(world).recheck_at == NOW + timedelta(seconds=1)


def test_a_copy_has_the_type_of_its_source() -> None:
    source = replace(secret(spec_2()), type="cluster.x-k8s.io/secret")
    (write,) = actions(observed(machine_set(), secrets=by_key(source)), WriteStub)
    assert write.type == "cluster.x-k8s.io/secret"


def test_with_its_copy_the_set_gets_image_and_secret_in_one_patch() -> None:
    one, source = machine_set(), secret(spec_2())
    world = observed(one, secrets=by_key(source, *copies(source)))
    (patch,) = actions(world, PatchMachineSet)
    value = gcp_spec(GCP_IMAGE, userDataSecret={"name": COPY})
    assert patched(one, patch) == machine_set(value=value).spec
    assert patch.because == (
        f"the boot image changes from {GCP_IMAGE_OLD} to {GCP_IMAGE}; "
        f"the stub changes to Secret {COPY}"
    )
    assert actions(world, WriteStub) == []


def test_a_stub_is_translated_although_the_image_is_current() -> None:
    one, source = machine_set(value=gcp_spec(GCP_IMAGE)), secret(spec_2())
    world = observed(one, secrets=by_key(source, *copies(source)))
    (patch,) = actions(world, PatchMachineSet)
    assert len(patch.operations) == 2
    assert patch.because == f"the stub changes to Secret {COPY}"


def test_a_copy_follows_its_source() -> None:
    value = gcp_spec(GCP_IMAGE, userDataSecret={"name": COPY})
    source = secret(spec_2())
    (copied,) = copies(source)
    world = observed(machine_set(value=value), secrets=by_key(source, copied))
    assert verdicts(world) == {"worker-a": (MachineSetState.CURRENT, Why.AS_EXPECTED)}
    assert actions(world, WriteStub) == []
    changed = replace(world, secrets=by_key(secret(spec_3("3.1.0")), copied))
    (write,) = actions(changed, WriteStub)
    assert write.resource_version == "3"
    assert json.loads(base64.b64decode(write.data["userData"])) == spec_3("3.1.0")


def test_the_servers_new_authority_gets_into_a_copy() -> None:
    bundle = certificate("new")
    authority = replace(golden(), data={"ca-bundle.crt": bundle.decode()})
    source = secret(spec_3(ca=data_url(certificate("old"))))
    world = observed(machine_set(), secrets=by_key(source), authority=authority)
    (write,) = actions(world, WriteStub)
    assert data_url(bundle) in base64.b64decode(write.data["userData"]).decode()


def test_a_copy_that_the_platform_would_not_take_is_not_made() -> None:
    spec = {
        "kind": "AWSMachineProviderConfig",
        "ami": {"id": "ami-009e48dde0d8a95d9"},
        "placement": {"region": "us-east-1"},
        "userDataSecret": {"name": SOURCE.name},
    }
    contents = {"source": "data:," + "a" * 20_000}
    big = spec_2(
        storage={"files": [{"filesystem": "root", "path": "/a", "mode": 0, "contents": contents}]}
    )
    world = observed(machine_set(value=spec), secrets=by_key(secret(big)))
    assert verdicts(world) == {"worker-a": (FAIL, Why.STUB_TOO_LARGE)}


def padded(stub: dict[str, Any], size_bytes: int) -> bytes:
    """The same stub with spaces after it."""
    return json.dumps(stub).encode().ljust(size_bytes)


USER_DATA_SECRET = {"name": SOURCE.name}
AWS_SPEC = {
    "kind": "AWSMachineProviderConfig",
    "ami": {"id": AMI},
    "placement": {"region": "us-east-1"},
    "userDataSecret": USER_DATA_SECRET,
}
AZURE_SPEC = {
    "kind": "AzureMachineProviderSpec",
    "image": marketplace("azureopenshift", "aro4", "aro_419", "1"),
    "userDataSecret": USER_DATA_SECRET,
}


@pytest.mark.parametrize(
    ("value", "accepted_bytes", "refused_bytes"),
    [
        pytest.param(AWS_SPEC, 16_384, 16_385, id="AWS"),
        pytest.param(gcp_spec(), 262_144, 262_145, id="GCP"),
        pytest.param(AZURE_SPEC, 65_535, 65_536, id="Azure"),
    ],
)
def test_a_stub_may_be_as_large_as_the_platform_accepts(
    value: dict[str, Any], accepted_bytes: int, refused_bytes: int
) -> None:
    states = (MachineSetState.CURRENT, MachineSetState.UPDATING)
    world = observed(machine_set(value=value))
    fits = replace(world, secrets=by_key(secret(padded(spec_3(), accepted_bytes))))
    assert verdicts(fits)["worker-a"][0] in states
    larger = replace(world, secrets=by_key(secret(padded(spec_3(), refused_bytes))))
    assert verdicts(larger) == {"worker-a": (FAIL, Why.STUB_TOO_LARGE)}


def test_the_size_of_the_copy_counts_where_a_stub_is_translated() -> None:
    world = observed(machine_set(value=AWS_SPEC), secrets=by_key(secret(padded(spec_2(), 20_000))))
    (write,) = actions(world, WriteStub)
    assert len(base64.b64decode(write.data["userData"])) < 16_384


def test_providers_of_cluster_api_have_no_such_limit() -> None:
    large = secret(padded(spec_3(), 300_000), namespace=CLUSTER_NAMESPACE, key="value")
    world = observed(cluster_machine_set(), api=Api.CLUSTER, secrets=by_key(large))
    assert verdicts(world) == {"worker-a": (MachineSetState.UPDATING, Why.UPDATING)}


def test_a_stub_of_1_mib_fails_its_own_set_and_no_other() -> None:
    big = json.dumps(spec_3()).encode()
    big += b" " * (1_048_576 - len(big))
    other = machine_set("worker-b", value=gcp_spec(userDataSecret={"name": "other"}))
    world = observed(machine_set(), other, secrets=by_key(secret(big), secret(name="other")))
    assert verdicts(world) == {
        "worker-a": (FAIL, Why.STUB_TOO_LARGE),
        "worker-b": (MachineSetState.UPDATING, Why.UPDATING),
    }


def test_two_sets_that_fail_differently_are_both_named() -> None:
    other = machine_set("worker-b", value=gcp_spec(userDataSecret={"name": "other"}))
    world = observed(
        machine_set(),
        other,
        machine_set("worker-c", value=gcp_spec(userDataSecret={"name": "good"})),
    )
    world = replace(world, secrets=by_key(secret(b"no"), secret(name="good")))
    assert verdicts(world) == {
        "worker-a": (FAIL, Why.STUB_UNREADABLE),
        "worker-b": (FAIL, Why.STUB_MISSING),
        "worker-c": (MachineSetState.UPDATING, Why.UPDATING),
    }


@pytest.mark.parametrize("provider", [None, {"value": None}, {"value": "text"}, "text", []])
def test_a_provider_spec_that_is_no_object_skips_its_own_set_and_no_other(provider: Any) -> None:
    broken = machine_set(spec={"template": {"spec": {"providerSpec": provider}}})
    world = observed(broken, machine_set("worker-b"))
    assert verdicts(world) == {
        "worker-a": (SKIP, Why.PROVIDER_SPEC),
        "worker-b": (MachineSetState.UPDATING, Why.UPDATING),
    }
    assert [one.key.name for one in actions(world, PatchMachineSet)] == ["worker-b"]


GITOPS_LABELS = {
    "argocd.argoproj.io/instance": "x",
    "app.kubernetes.io/instance": "x",
    "kustomize.toolkit.fluxcd.io/name": "x",
    "helm.toolkit.fluxcd.io/name": "x",
    "app.kubernetes.io/managed-by": "Helm",
}


def test_a_template_is_cloned_before_the_set_is_repointed() -> None:
    source = template(
        labels={"cluster.x-k8s.io/cluster-name": "c", **GITOPS_LABELS},
        annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}"},
    )
    one = cluster_machine_set()
    world = observed(one, api=Api.CLUSTER, templates=templates(source))
    (clone,) = actions(world, CloneTemplate)
    (patch,) = actions(world, PatchMachineSet)
    assert clone.body["spec"]["template"]["spec"] == {
        "image": GCP_IMAGE,
        "instanceType": "n1-standard-4",
    }
    metadata = clone.body["metadata"]
    assert metadata["labels"] == {
        "cluster.x-k8s.io/cluster-name": "c",
        "app.kubernetes.io/managed-by": "lading",
    }
    assert list(metadata["annotations"]) == ["lading.dev/copy-of"]
    reference = patched(one, patch)["template"]["spec"]["infrastructureRef"]
    assert reference == {"kind": "GCPMachineTemplate", "name": metadata["name"]}
    assert actions(world, CloneTemplate) == [clone]
    assert source.spec["template"]["spec"]["image"] == GCP_IMAGE_OLD


def test_after_everything_was_written_nothing_more_is() -> None:
    one = machine_set()
    world = observed(one)
    after = replace(
        world, machine_sets=(machine_set(value=gcp_spec(GCP_IMAGE)),), histories=saved(world)
    )
    settled = replace(after, histories=saved(after))
    assert planned(settled).actions == ()
    assert planned(settled).recheck_at == NOW + timedelta(minutes=1)


@pytest.mark.parametrize("done", range(5))
def test_a_crash_after_any_write_loses_no_image(done: int) -> None:
    """The lane is cut off after so many of its writes; then everything is planned again."""
    one = machine_set()
    world = observed(one)
    for action in planned(world).actions[:done]:
        world = applied(world, action)
    for _ in range(5):
        for action in planned(world).actions:
            world = applied(world, action)
    (found,) = world.histories
    refs = [detail.boot_image_ref for detail in found.spec.details]
    assert refs == [GCP_IMAGE_OLD, GCP_IMAGE]
    assert found.spec.details[-1].set_by is SetBy.LADING
    assert found.spec.intended is None
    assert found.status.state == MachineSetState.CURRENT
    assert planned(world).actions == ()


def applied(world: ObservedMachineSets, action: Any) -> ObservedMachineSets:
    """The world after one write of the only machine set."""
    world = written(world, action)
    if isinstance(action, PatchMachineSet):
        (one,) = world.machine_sets
        world = replace(world, machine_sets=(replace(one, spec=patched(one, action)),))
    return world


def put_back(world: ObservedMachineSets, times: int) -> ObservedMachineSets:
    """We patch, and another writer puts its value back, so many times."""
    for _ in range(times):
        for action in planned(world).actions:
            world = applied(world, action)
        world = replace(world, machine_sets=(machine_set(),))
    return world


ARGO_CD = {
    "manager": "argocd-controller",
    "operation": "Update",
    "fieldsV1": {
        "f:spec": {"f:template": {"f:spec": {"f:providerSpec": {"f:value": {"f:disks": {}}}}}}
    },
}
AUTOSCALER = {
    "manager": "autoscaler",
    "operation": "Update",
    "fieldsV1": {"f:spec": {"f:replicas": {}}},
}


def test_many_changes_of_another_writer_do_not_hide_our_patches() -> None:
    world = put_back(observed(machine_set()), 2)
    for number in range(30):
        foreign = machine_set(value=gcp_spec(f"projects/mine/global/images/x{number}"))
        world = replace(world, machine_sets=(foreign,))
        for action in planned(world).actions:
            world = applied(world, action)
    stopped = replace(world, machine_sets=(machine_set(),))
    assert verdicts(stopped)["worker-a"][1] == Why.COMPETING_WRITER


def test_a_kill_after_the_patch_is_counted_and_one_before_it_is_not() -> None:
    """Each time only the history before the patch is written, and then the process ends."""
    world = observed(machine_set(metadata={"generation": 1}))
    for generation, reasons in ((1, Why.UPDATING), (3, Why.UPDATING), (5, Why.COMPETING_WRITER)):
        one = machine_set(metadata={"generation": generation})
        for _ in range(3):
            world = replace(world, machine_sets=(one,))
            (report,) = actions(replace(world, histories=unreported(world)), ReportMachineSet)
            assert report.status.reason == reasons
            for action in planned(world).actions:
                if isinstance(action, PatchMachineSet):
                    break
                world = applied(world, action)


def unreported(world: ObservedMachineSets) -> tuple[MachineSetBootImageHistory, ...]:
    return tuple(replace(one, status=type(one.status)()) for one in world.histories)


def test_after_two_reversals_we_stop_and_name_the_writer() -> None:
    world = observed(machine_set())
    assert actions(put_back(world, 1), PatchMachineSet)
    stopped = put_back(world, 2)
    fought = machine_set(metadata={"managedFields": [ARGO_CD, AUTOSCALER]})
    stopped = replace(stopped, machine_sets=(fought,))
    assert actions(stopped, PatchMachineSet) == []
    (report,) = actions(stopped, ReportMachineSet)
    assert report.status.reason == Why.COMPETING_WRITER
    assert "argocd-controller" in report.status.message


def test_resume_lets_us_try_again() -> None:
    world = put_back(observed(machine_set()), 2)
    (found,) = world.histories
    spec = replace(found.spec, resumed_time="2026-11-16T00:00:00.000000Z")
    resumed = replace(world, histories=(replace(found, spec=spec),))
    assert actions(resumed, PatchMachineSet)


def test_a_new_target_is_tried_again() -> None:
    world = put_back(observed(machine_set()), 2)
    newer = golden(stream=streams_of("rhcos-newer-gcp-x86-64"))
    assert actions(replace(world, golden=newer), PatchMachineSet)


def streams_of(name: str) -> str:
    gcp = {"project": "rhcos-cloud", "name": name}
    return json.dumps({"architectures": {"x86_64": {"images": {"gcp": gcp}}}})


@pytest.mark.parametrize("owned", [{"f:disks": {}}, {}], ids=["the list", "the whole value"])
def test_a_field_that_another_manager_applies_is_left_alone(owned: dict[str, Any]) -> None:
    path = owned
    for step in ("f:value", "f:providerSpec", "f:spec", "f:template", "f:spec"):
        path = {step: path}
    entry = {"manager": "flux", "operation": "Apply", "fieldsV1": path}
    world = observed(machine_set(metadata={"managedFields": [entry]}))
    assert verdicts(world) == {"worker-a": (SKIP, Why.MANAGED_BY_OTHER)}
    elsewhere = {**entry, "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    assert actions(observed(machine_set(metadata={"managedFields": [elsewhere]})), PatchMachineSet)


LANE = ("set", Api.MACHINE, Key(MACHINE_NAMESPACE, "worker-a"), GCP_IMAGE, "worker-user-data")


@pytest.mark.parametrize(
    ("failure", "state", "is_retried"),
    [
        (
            FailedWrite(message="m", refused=False, attempts=1, failed_at=NOW),
            MachineSetState.UPDATING,
            False,
        ),
        (
            FailedWrite(
                message="m", refused=False, attempts=1, failed_at=NOW - timedelta(minutes=1)
            ),
            MachineSetState.UPDATING,
            True,
        ),
        (
            FailedWrite(message="m", refused=False, attempts=2, failed_at=NOW),
            MachineSetState.UPDATING,
            False,
        ),
        (
            FailedWrite(message="m", refused=False, attempts=3, failed_at=NOW),
            MachineSetState.FAILED,
            False,
        ),
        (
            FailedWrite(message="m", refused=True, attempts=1, failed_at=NOW),
            MachineSetState.FAILED,
            False,
        ),
        (
            FailedWrite(
                message="m", refused=True, attempts=1, failed_at=NOW - timedelta(minutes=5)
            ),
            MachineSetState.FAILED,
            True,
        ),
    ],
    ids=[
        *("an outage", "an outage later", "an outage at the second try", "an outage that lasts"),
        *("a refusal", "a refusal later"),
    ],
)
def test_a_failed_patch_is_a_fact(
    failure: FailedWrite, state: MachineSetState, is_retried: bool
) -> None:
    world = observed(machine_set(), failures={LANE: failure})
    assert verdicts(world)["worker-a"][0] == state
    assert bool(actions(world, PatchMachineSet)) == is_retried
    if not is_retried:
        due = planned(world).recheck_at
        assert due is not None
        assert NOW < due <= NOW + timedelta(minutes=5)


def test_a_refused_copy_of_a_stub_is_a_fact_too() -> None:
    world = observed(machine_set(), secrets=by_key(secret(spec_2())))
    (write,) = actions(world, WriteStub)
    refused = FailedWrite(message="denied", refused=True, attempts=1, failed_at=NOW)
    failing = replace(world, failures={write.lane: refused})
    assert verdicts(failing) == {"worker-a": (MachineSetState.FAILED, Why.PATCH_FAILED)}
    assert actions(failing, WriteStub) == []
    later = NOW + timedelta(minutes=5)
    again = plan.plan(failing, BootImageSettings(), later, namespace=NAMESPACE).actions
    assert any(isinstance(one, WriteStub) for one in again)


def test_the_failure_of_one_release_is_not_that_of_the_next() -> None:
    refused = FailedWrite(message="denied", refused=True, attempts=1, failed_at=NOW)
    world = observed(machine_set(), failures={LANE: refused})
    newer = replace(world, golden=golden(stream=streams_of("rhcos-newer-gcp-x86-64")))
    assert verdicts(newer) == {"worker-a": (MachineSetState.UPDATING, Why.UPDATING)}
    assert actions(newer, PatchMachineSet)


def test_a_node_proves_the_release_and_the_proof_is_kept() -> None:
    for one in (
        node(os_image="Red Hat Enterprise Linux CoreOS 9.8.20260428-0 (Plow)"),
        node(labels={"lading.dev/os-release": "4.21.3"}),
    ):
        world = observed(machine_set(), cluster_version=None, nodes=(one,))
        (stamp,) = actions(world, StampGolden)
        assert stamp.resource_version == "9"
        assert actions(world, PatchMachineSet)
        kept = replace(
            world, nodes=(node(),), golden=golden({"lading.dev/boot-images-proven": stamp.proof})
        )
        assert actions(kept, PatchMachineSet)
        assert actions(kept, StampGolden) == []
        edited = golden({"lading.dev/boot-images-proven": stamp.proof}, stream='{"stream": "x"}')
        assert verdicts(replace(kept, golden=edited))["worker-a"][1] == Why.NOT_PROVEN


def test_a_node_proves_the_release_by_the_image_that_its_machine_was_made_from() -> None:
    for image, is_proof in ((GCP_IMAGE, True), (AMI, True), (GCP_IMAGE_OLD, False)):
        facts: dict[str, Any] = {"cluster_version": None, "machine_images": {"node-a": image}}
        assert bool(actions(observed(machine_set(), **facts), StampGolden)) == is_proof
        away = observed(machine_set(), nodes=(node(ready="Unknown"),), **facts)
        assert actions(away, StampGolden) == []


STREAM_LABEL = "machineconfiguration.openshift.io/osstream"


def test_a_node_proves_only_its_own_architecture_of_the_release() -> None:
    """The release changed aarch64 only: nodes of x86_64 run what they ran before."""
    changed = stream()
    changed["architectures"]["aarch64"]["images"]["gcp"]["release"] = "9.9.20260701-0"
    arm = machine_set("arm", gcp_spec(GCP_IMAGE_ARM_OLD), metadata={"annotations": ARM})
    old = node(os_image=f"CoreOS {RELEASE}")
    x86 = machine_set("x86", metadata={"annotations": {ARCH: "kubernetes.io/arch=amd64"}})
    world = observed(
        x86,
        arm,
        cluster_version=None,
        nodes=(old,),
        golden=golden(stream=json.dumps(changed)),
    )
    found = verdicts(world)
    assert (found["x86"][1], found["arm"][1]) == (Why.UPDATING, Why.NOT_PROVEN)
    assert [one.key.name for one in actions(world, PatchMachineSet)] == ["x86"]
    (stamp,) = actions(world, StampGolden)
    proven = golden({PROOF: stamp.proof}, stream=json.dumps(changed))
    kept = replace(world, golden=proven, nodes=(node(),))
    assert [one.key.name for one in actions(kept, PatchMachineSet)] == ["x86"]
    new = node(os_image="CoreOS 9.9.20260701-0", architecture="arm64")
    both = replace(kept, nodes=(new,))
    assert {one.key.name for one in actions(both, PatchMachineSet)} == {"x86", "arm"}
    assert set(json.loads(stamp.proof)["provenBy"]) < set(
        json.loads(actions(both, StampGolden)[0].proof)["provenBy"]
    )


def test_a_node_proves_only_its_own_stream_of_the_release() -> None:
    other = stream()
    other["architectures"]["x86_64"]["images"]["gcp"]["name"] = "rhcos-10-1-20260701-0-gcp-x86-64"
    named = json.dumps({"rhel-9": stream(), "rhel-10": other})
    sets = [
        machine_set(name, metadata={"labels": {STREAM_LABEL: name}})
        for name in ("rhel-9", "rhel-10")
    ]
    for labels, proven in (
        ({"lading.dev/os-release": VERSION}, ["rhel-9"]),
        ({"lading.dev/os-release": VERSION, STREAM_LABEL: "rhel-10"}, ["rhel-10"]),
    ):
        world = observed(
            *sets, cluster_version=None, nodes=(node(labels=labels),), golden=golden(streams=named)
        )
        assert [one.key.name for one in actions(world, PatchMachineSet)] == proven


def test_a_broken_or_older_proof_proves_nothing() -> None:
    for proof in ("", "[]", '{"releaseVersion": "4.21.3", "provenBy": "x"}', '{"provenBy": {}}'):
        world = observed(machine_set(), cluster_version=None, golden=golden({PROOF: proof}))
        assert verdicts(world)["worker-a"][1] == Why.NOT_PROVEN


@pytest.mark.parametrize(
    "one",
    [
        node(os_image="CoreOS 9.8.20260428-0", ready="False"),
        node(os_image="CoreOS 19.8.20260428-01"),
        node(labels={"lading.dev/os-release": "4.21"}),
    ],
)
def test_what_is_no_proof(one: Any) -> None:
    world = observed(machine_set(), cluster_version=None, nodes=(one,))
    assert actions(world, StampGolden) == []
    assert verdicts(world)["worker-a"][1] == Why.NOT_PROVEN


def version_with(**status: Any) -> ClusterVersion:
    return msgspec.convert({"metadata": {"name": "version"}, **status}, ClusterVersion)


def entry(state: str, version: str = VERSION) -> dict[str, str]:
    return {"state": state, "version": version}


@pytest.mark.parametrize(
    ("history_", "is_proven"),
    [
        pytest.param([entry("Completed"), entry("Partial", "4.20.1")], True, id="the newest"),
        pytest.param([entry("Partial", "4.22.0"), entry("Completed")], False, id="one before it"),
        pytest.param([entry("Partial"), entry("Completed")], False, id="of the same version"),
        pytest.param([entry("Completed", "4.22.0"), entry("Completed")], False, id="left since"),
        pytest.param([], False, id="an empty history"),
        pytest.param(None, False, id="no history"),
    ],
)
def test_the_newest_entry_of_the_cluster_versions_history_decides(
    history_: list[dict[str, str]] | None, is_proven: bool
) -> None:
    """The newest comes first. A node that runs the release changes nothing."""
    nodes = (node(labels={"lading.dev/os-release": VERSION}),)
    found = version_with(status={"history": history_})
    world = observed(machine_set(), cluster_version=found, nodes=nodes)
    assert bool(actions(world, PatchMachineSet)) == is_proven
    assert (verdicts(world)["worker-a"][1] == Why.NOT_PROVEN) != is_proven


def test_a_cluster_version_without_a_status_proves_nothing() -> None:
    nodes = (node(labels={"lading.dev/os-release": VERSION}),)
    world = observed(machine_set(), cluster_version=version_with(), nodes=nodes)
    assert verdicts(world) == {"worker-a": (MachineSetState.WAITING, Why.NOT_PROVEN)}
    assert actions(world, PatchMachineSet) == actions(world, StampGolden) == []


@pytest.mark.parametrize("state", ["Partial", ""])
def test_beside_a_cluster_version_nothing_else_is_a_proof(state: str) -> None:
    """Neither a node, nor a machine, nor what was proven or approved before."""
    proof = actions(
        observed(
            machine_set(),
            cluster_version=None,
            nodes=(node(labels={"lading.dev/os-release": VERSION}),),
        ),
        StampGolden,
    )[0].proof
    world = observed(
        machine_set(),
        cluster_version=cluster_version(state),
        nodes=(node(labels={"lading.dev/os-release": VERSION}),),
        machine_images={"node-a": GCP_IMAGE},
        golden=golden({"lading.dev/boot-images-proven": proof}),
    )
    assert verdicts(world) == {"worker-a": (MachineSetState.WAITING, Why.NOT_PROVEN)}
    assert actions(world, PatchMachineSet) == actions(world, StampGolden) == []


def test_a_stub_of_specification_2_that_is_named_like_a_copy_gets_a_copy_of_its_own() -> None:
    one = machine_set(value=gcp_spec(userDataSecret={"name": COPY}))
    world = observed(one, secrets=by_key(secret(spec_2(), name=COPY)))
    (write,) = actions(world, WriteStub)
    assert (write.source.name, write.key.name) == (COPY, f"{COPY}-spec-3-managed")


def test_an_unknown_value_of_the_pause_is_named() -> None:
    (report,) = actions(observed(annotated(**{PAUSE_ANNOTATION: "true"})), ReportMachineSet)
    assert "any value of lading.dev/boot-image-updates but active pauses" in report.status.message


def test_a_set_of_a_deployment_names_the_template_to_change() -> None:
    labels = {"cluster.x-k8s.io/deployment-name": "deployed"}
    world = observed(
        cluster_machine_set(template="template-x", metadata={"labels": labels}), api=Api.CLUSTER
    )
    (report,) = actions(world, ReportMachineSet)
    assert "MachineDeployment deployed" in report.status.message
    assert "template template-x" in report.status.message


def test_beside_a_cluster_version_nothing_is_stamped() -> None:
    assert (
        actions(
            observed(machine_set(), nodes=(node(labels={"lading.dev/os-release": "4.21.3"}),)),
            StampGolden,
        )
        == []
    )


def test_a_history_outlives_its_set_by_30_days() -> None:
    world = observed(machine_set())
    gone = replace(world, machine_sets=(), histories=saved(world))
    (mark,) = planned(gone).actions
    assert isinstance(mark, SaveHistory)
    assert mark.spec.removed_time == "2026-11-16T00:00:00Z"
    (found,) = gone.histories
    metadata = replace(found.metadata, uid="uid-of-history")
    whole = replace(found, spec=mark.spec, metadata=metadata)
    marked = replace(gone, histories=(whole,))
    assert planned(marked).actions == ()
    later = NOW + timedelta(days=30)
    assert planned(marked).recheck_at == later
    before = later - timedelta(seconds=1)
    assert plan.plan(marked, BootImageSettings(), before, namespace=NAMESPACE).actions == ()
    (delete,) = plan.plan(marked, BootImageSettings(), later, namespace=NAMESPACE).actions
    assert isinstance(delete, DeleteHistory)
    assert (delete.key, delete.uid) == (found.key, "uid-of-history")
    of_the_other_api = plan.plan(
        replace(marked, api=Api.CLUSTER), BootImageSettings(), later, namespace=NAMESPACE
    )
    assert of_the_other_api.actions == ()
    assert of_the_other_api.recheck_at is None
    back = replace(marked, machine_sets=(machine_set(),))
    assert any(
        isinstance(one, SaveHistory) and not one.spec.removed_time for one in planned(back).actions
    )


def test_a_set_of_the_same_name_in_another_namespace_keeps_no_history() -> None:
    namespaces = (MACHINE_NAMESPACE, "other")
    world = observed(machine_set())
    elsewhere = machine_set(metadata={"namespace": "other"})
    moved = replace(world, machine_sets=(elsewhere,), histories=saved(world))
    marked = {
        one.spec.machine_set_namespace: bool(one.spec.removed_time)
        for one in actions(moved, SaveHistory, machine_namespaces=namespaces)
    }
    assert marked[MACHINE_NAMESPACE]
    assert not marked.get("other")


@pytest.mark.parametrize("edited", ["long ago", "2020-01-01T00:00:00", "2020"])
def test_a_time_of_removal_that_cannot_be_read_keeps_the_history(edited: str) -> None:
    (found,) = saved(observed(machine_set()))
    spec = replace(found.spec, removed_time=edited)
    world = observed(histories=(replace(found, spec=spec),))
    assert planned(world).actions == ()


def test_names_of_histories_are_unique_and_not_too_long() -> None:
    names = {
        history.name_of(api, Key(namespace, name))
        for api in Api
        for namespace in ("a", "b")
        for name in ("x", "a.x", "y" * 253, "y" * 252 + "z")
    }
    assert len(names) == 16
    assert max(map(len, names)) <= 253


def test_only_the_first_and_the_last_20_images_are_kept_and_no_index_twice() -> None:
    world = observed(machine_set(), configurations=())
    for number in range(50):
        one = machine_set(value=gcp_spec(f"projects/rhcos-cloud/global/images/i-{number}"))
        world = replace(world, machine_sets=(one,))
        world = replace(world, histories=saved(world))
    (found,) = world.histories
    assert [one.index for one in found.spec.details] == [0, *range(30, 50)]


def test_an_ami_that_was_once_of_the_stream_is_replaced_at_the_next_release() -> None:
    """Also where it was observed first while its machine set was not enrolled."""
    spec = {
        "kind": "AWSMachineProviderConfig",
        "ami": {"id": AMI},
        "placement": {"region": "us-east-1"},
        "userDataSecret": {"name": SOURCE.name},
    }
    world = observed(machine_set(value=spec), configurations=())
    world = replace(world, histories=saved(world), configurations=(configuration(),))
    world = replace(world, histories=saved(world))
    assert planned(world).actions == ()
    regions = {"us-east-1": {"image": "ami-0ffffffffffffffff"}}
    newer = {"architectures": {"x86_64": {"images": {"aws": {"regions": regions}}}}}
    after = replace(world, golden=golden(stream=json.dumps(newer)))
    assert verdicts(after) == {"worker-a": (MachineSetState.UPDATING, Why.UPDATING)}


def test_a_marker_in_user_data_appears_in_no_plan() -> None:
    for stub in (
        MARKER.encode(),
        {"ignition": {"version": MARKER}},
        spec_2(passwd={"users": [{"name": "core", "passwordHash": MARKER, MARKER: MARKER}]}),
        spec_2(storage={"files": [{"path": MARKER, "filesystem": MARKER, "mode": MARKER}]}),
    ):
        found = planned(observed(machine_set(), secrets=by_key(secret(stub))))
        shown = [one for one in found.actions if not isinstance(one, WriteStub)]
        assert MARKER not in repr(found.actions)
        assert MARKER not in repr(shown)
        assert MARKER not in "".join(one.because for one in found.actions)
