"""Kinds by the names that people type; conformance/ has what servers answer."""

import pytest

from lading.adapters.kube.discovery import Catalogue, Served
from lading.kernel.objects import Resource
from lading.ports import kube

NODES = Served(
    resource=Resource(
        group="", version="v1", kind="Node", plural="nodes", namespaced=False, type=dict
    ),
    singular="node",
    short_names=("no",),
    categories=(),
)


@pytest.mark.parametrize(
    ("typed", "next_step"),
    [
        ("nodez", "did you mean node?"),
        ("nodes-", "did you mean nodes?"),
        ("gizmos", "check the name, or install its CustomResourceDefinition"),
    ],
)
def test_a_name_that_is_not_known_leads_to_the_next_step(typed: str, next_step: str) -> None:
    with pytest.raises(kube.NotFound) as caught:
        Catalogue([NODES]).named(typed)
    assert str(caught.value) == f'the server doesn\'t have a resource type "{typed}": {next_step}'
