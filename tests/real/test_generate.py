"""What `make generate` writes of the built-in kinds is what is committed."""

import pytest

from tests.real import generate, generate_messages, generate_structures
from tests.real.bed.api_server import ApiServer


def test_the_structures_are_those_of_the_pinned_kube_apiserver(api_server: ApiServer) -> None:
    assert generate.structures_text(api_server) == generate_structures.STRUCTURES.read_text()


@pytest.mark.components("kube")
def test_the_messages_are_those_of_the_pinned_modules() -> None:
    assert generate.messages_text() == generate_messages.MESSAGES.read_text()
