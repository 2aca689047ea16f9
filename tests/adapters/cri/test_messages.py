"""What the requests to a runtime hold."""

import pytest

from lading.adapters.cri import messages
from lading.ports.cri import ImageSpec

MANIFEST = "r.io/a@sha256:" + 64 * "0"


@pytest.mark.parametrize(
    ("spec", "specified"),
    [
        (ImageSpec(image="r.io/a:1"), "r.io/a:1"),
        (ImageSpec(image=MANIFEST, user_specified_image="r.io/a:1"), "r.io/a:1"),
    ],
    ids=["the name that is pulled", "a name for which we chose the manifest"],
)
def test_issue_17_22_a_pull_names_the_image_as_a_person_wrote_it(
    spec: ImageSpec, specified: str
) -> None:
    request = messages.pull_request(spec, None)
    assert request.image.image == spec.image
    assert request.image.user_specified_image == specified
