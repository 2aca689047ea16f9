"""The architecture of a machine set, and which stream it chooses, by the cases of its origin."""

from typing import Any

import pytest

from lading.boot_images import rules
from lading.boot_images.rules import ARCHITECTURE_ANNOTATION
from lading.boot_images.verdicts import NotUpdated, Why
from tests.boot_images.worlds import machine_set, node, observed


def annotated(text: str | None) -> Any:
    annotations = {} if text is None else {ARCHITECTURE_ANNOTATION: text}
    return machine_set(metadata={"annotations": annotations})


@pytest.mark.parametrize(
    ("annotation", "of_cluster", "expected"),
    [
        pytest.param("kubernetes.io/arch=amd64", "arm64", "x86_64", id="alone"),
        pytest.param("kubernetes.io/arch=arm64,a=b", "amd64", "aarch64", id="first"),
        pytest.param("a=b,kubernetes.io/arch=arm64,c=d", "amd64", "aarch64", id="in the middle"),
        pytest.param("a=b,c=d,kubernetes.io/arch=arm64", "amd64", "aarch64", id="last"),
        pytest.param(" a=b , kubernetes.io/arch=arm64 ", "amd64", "aarch64", id="spaces"),
        pytest.param("kubernetes.io/arch=ppc64le", "amd64", "ppc64le", id="ppc64le"),
        pytest.param("kubernetes.io/arch=s390x", "amd64", "s390x", id="s390x"),
        pytest.param(None, "amd64", "x86_64", id="none, one architecture"),
        pytest.param(None, "arm64", "aarch64", id="none, ARM"),
        pytest.param(None, "", None, id="none, several architectures"),
        pytest.param("kubernetes.io/arch=x86_64", "amd64", None, id="RPM's name"),
        pytest.param("kubernetes.io/arch=", "amd64", None, id="empty"),
        pytest.param("a=b", "amd64", None, id="no architecture among the labels"),
        pytest.param("", "amd64", None, id="an empty annotation"),
        pytest.param("x-kubernetes.io/arch=arm64", "amd64", None, id="a key that ends so"),
    ],
)
def test_the_architecture(annotation: str | None, of_cluster: str, expected: str | None) -> None:
    found = rules.architecture(annotated(annotation), of_cluster)
    if isinstance(found, NotUpdated):
        assert (found.why, expected) == (Why.ARCHITECTURE_UNKNOWN, None)
    else:
        assert found == expected


def test_a_template_that_reports_its_architecture_comes_before_the_cluster() -> None:
    status = {"nodeInfo": {"architecture": "arm64"}}
    assert rules.architecture(annotated(None), "amd64", status) == "aarch64"
    assert rules.architecture(annotated("kubernetes.io/arch=amd64"), "amd64", status) == "x86_64"


@pytest.mark.parametrize(
    ("label", "in_role"),
    [("node-role.kubernetes.io/master", True), ("node-role.kubernetes.io/worker", False)],
)
def test_the_control_plane_decides_where_nodes_differ(label: str, in_role: bool) -> None:
    nodes = (node("a", labels={label: ""}), node("b", architecture="arm64"))
    assert rules.cluster_architecture(observed(nodes=nodes)) == ("amd64" if in_role else "")


PATH = ("spec", "image")


def wrote(manager: str, field: str = "image", **fields: str) -> dict[str, Any]:
    owned: Any = {"f:spec": {f"f:{field}": {}}}
    return {"manager": manager, "operation": "Update", "fieldsV1": owned, **fields}


OURS = wrote("lading-boot-images")


@pytest.mark.parametrize(
    ("entries", "manager"),
    [
        pytest.param([wrote("flux"), wrote("argocd")], "argocd", id="the last of two"),
        pytest.param([wrote("argocd"), OURS], "argocd", id="not we"),
        pytest.param(
            [wrote("argocd"), wrote("autoscaler", "replicas")], "argocd", id="not of another field"
        ),
        pytest.param(
            [wrote("argocd"), wrote("flux", subresource="status")], "argocd", id="not of the status"
        ),
        pytest.param([OURS, wrote("autoscaler", "replicas")], "another writer", id="none is known"),
    ],
)
def test_the_owner_of_the_image_field_is_named(entries: list[Any], manager: str) -> None:
    assert rules.other_owner(machine_set(metadata={"managedFields": entries}), PATH) == manager
