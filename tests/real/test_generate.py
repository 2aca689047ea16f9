"""What `make generate` writes of the built-in kinds is what is committed."""

import pytest

from lading.servers.kube.builtins import generate as structures
from lading.servers.kube.protobuf import generate as messages
from tests.real import generate
from tests.real.bed.api_server import ApiServer


def test_the_structures_are_those_of_the_pinned_kube_apiserver(api_server: ApiServer) -> None:
    assert generate.structures_text(api_server) == structures.STRUCTURES.read_text()


@pytest.mark.components("kube")
def test_the_messages_are_those_of_the_pinned_modules() -> None:
    assert generate.messages_text() == messages.MESSAGES.read_text()
