"""What a container is to a standalone node."""

import pytest

from lading.embedded.workloads.kinds import Container
from lading.embedded.workloads.pods import roles
from lading.embedded.workloads.pods.roles import Role
from tests.embedded.workloads.builders import command, holder, pod, volume_holder


@pytest.mark.parametrize(
    ("container", "is_own", "role"),
    [
        pytest.param(holder(), False, Role.HOLDER, id="a holder of any image"),
        pytest.param(
            Container(name="c", command=(f"/lading-hold-{'0a' * 16}/hold",)),
            False,
            Role.HOLDER,
            id="a holder with a folder of the installation",
        ),
        pytest.param(volume_holder(), True, Role.HOLDER, id="a holder of image volumes"),
        pytest.param(volume_holder(), False, Role.NOT_RUN, id="the same in another image"),
        pytest.param(command("prune"), True, Role.PROCESS, id="the image's own entry point"),
        pytest.param(
            Container(name="c", command=("/usr/bin/lading", "get")), True, Role.PROCESS, id="path"
        ),
        pytest.param(Container(name="c", command=("sh",)), True, Role.NOT_RUN, id="a shell"),
        pytest.param(command("prune"), False, Role.NOT_RUN, id="the same words in another image"),
    ],
)
def test_the_role_of_a_container(container: Container, is_own: bool, role: Role) -> None:
    assert roles.role_of(pod(containers=(container,)), container, is_own_image=is_own) is role


def test_an_init_container_beside_holders_copies_the_holder() -> None:
    copier = Container(name="copy-hold", image="lading", command=("cp", "a", "b"))
    holding = pod(init_containers=(copier,), containers=(holder(),))
    assert roles.role_of(holding, copier, is_own_image=True) is Role.HOLD_COPIER
    assert roles.role_of(holding, copier, is_own_image=False) is Role.NOT_RUN
    with_sidecar = pod(init_containers=(copier,), containers=(holder(), Container(name="other")))
    assert roles.role_of(with_sidecar, copier, is_own_image=True) is Role.HOLD_COPIER
    without = pod(init_containers=(copier,), containers=(Container(name="other"),))
    assert roles.role_of(without, copier, is_own_image=True) is Role.NOT_RUN


def test_a_lading_command_beside_holders_runs() -> None:
    first = command("version")
    holding = pod(init_containers=(first,), containers=(holder(),))
    assert roles.role_of(holding, first, is_own_image=True) is Role.PROCESS


def test_arguments_follow_the_command() -> None:
    container = Container(name="c", command=("lading", "prune"), args=("images", "--all"))
    assert roles.arguments(container) == ("prune", "images", "--all")
