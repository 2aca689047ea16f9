"""Real runtimes pull from the embedded registry when it asks who they are."""

import pathlib

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.embedded import sample_images
from lading.embedded.registry import server
from lading.embedded.registry.access import AccessGuard, Passwords, TokenGuard
from lading.kernel import references
from tests.real import crictl
from tests.real.bed import runtime

PASSWORDS = Passwords({"carol": "right"})


@pytest.mark.components("containerd", "registry")
@pytest.mark.parametrize("fixture", ["containerd_2_3", "containerd_1_7", "containerd_1_6"])
@pytest.mark.parametrize(
    "guard", [PASSWORDS, TokenGuard(passwords=PASSWORDS)], ids=["basic", "token"]
)
async def test_the_right_password_opens_and_a_wrong_one_does_not(
    guard: AccessGuard, fixture: str, tmp_path: pathlib.Path, request: pytest.FixtureRequest
) -> None:
    running: runtime.Runtime = request.getfixturevalue(fixture)
    image = sample_images.image([{"name": str(tmp_path).encode()}])
    async with server.serve(tmp_path) as url, registry_client.connect(SystemClock()) as client:
        name = references.parse(f"{url.removeprefix('http://')}/team/app:v1")
        await sample_images.push(client, name, image)
    async with server.serve(tmp_path, guard=guard) as url:
        app = f"{url.removeprefix('http://')}/team/app:v1"
        complaint = await crictl.refused(running.endpoint, "pull", "--creds=carol:wrong", app)
        output = await crictl.run(running.endpoint, "pull", "--creds=carol:right", app)
    assert "401" in complaint
    assert str(image.blobs[0][0].digest) in output
