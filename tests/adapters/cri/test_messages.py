"""What the requests to a runtime hold, and what is read of its answers."""

import pytest

from lading.adapters.cri import messages
from lading.ports.cri import ImageSpec
from lading.wire import cri_pb2

MANIFEST = "r.io/a@sha256:" + 64 * "0"


@pytest.mark.parametrize(
    ("spec", "specified"),
    [
        (ImageSpec(image="r.io/a:1"), "r.io/a:1"),
        (ImageSpec(image=MANIFEST, user_specified_image="r.io/a:1"), "r.io/a:1"),
    ],
    ids=["the name that is pulled", "a name for which we chose the manifest"],
)
def test_a_pull_names_the_image_as_a_person_wrote_it(spec: ImageSpec, specified: str) -> None:
    request = messages.pull_request(spec, None)
    assert request.image.image == spec.image
    assert request.image.user_specified_image == specified


@pytest.mark.parametrize(
    ("config", "image"),
    [
        ('{"sandboxImage": "r.io/pause:1", "other": {"a": [1]}}', "r.io/pause:1"),
        ("{}", ""),
        ('{"sandboxImage": 5}', ""),
        ("[]", ""),
        ("", ""),
        ("sandboxImage = 'r.io/pause:1'", ""),
        ('{"a": ' + "[" * 100_000, ""),
    ],
    ids=["JSON", "no image", "a number", "a list", "nothing", "TOML", "nested too deeply"],
)
def test_the_sandbox_image_is_that_of_the_configuration_if_there_is_one(
    config: str, image: str
) -> None:
    answer = cri_pb2.StatusResponse(info={"config": config})
    assert messages.status_data(answer).sandbox_image == image
