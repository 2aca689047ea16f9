"""How an embedded node treats a container: hold its images, run a process, or neither. Pure."""

import posixpath
import re
from enum import StrEnum

from lading.embedded.workloads.kinds import Container, Pod

HOLD_PROGRAM = "/usr/local/bin/lading-hold"
"""A program in Lading's own image. A container that runs it holds the images of its volumes."""
_COPIED_PROGRAM = re.compile(r"/lading-hold(-[0-9a-f]{32})?/hold")
"""The program of a container that holds its own image."""
COMMAND = "lading"


class Role(StrEnum):
    HOLDER = "holder"
    """It is not executed. It is ready while the images that it holds are on the node."""
    HOLD_COPIER = "hold-copier"
    """An init container beside holders. It copies nothing and succeeds."""
    PROCESS = "process"
    """A `lading` command of Lading's own image."""
    NOT_RUN = "not-run"


def role_of(pod: Pod, container: Container, *, is_own_image: bool) -> Role:
    if _is_copied(container):
        return Role.HOLDER
    if not is_own_image:
        return Role.NOT_RUN
    if is_holder(container):
        return Role.HOLDER
    if arguments(container) is not None:
        return Role.PROCESS
    is_init = container in pod.spec.init_containers
    copies = is_init and any(is_holder(one) for one in pod.spec.containers)
    return Role.HOLD_COPIER if copies else Role.NOT_RUN


def is_holder(container: Container) -> bool:
    return container.command == (HOLD_PROGRAM,) or _is_copied(container)


def _is_copied(container: Container) -> bool:
    return bool(container.command and _COPIED_PROGRAM.fullmatch(container.command[0]))


def image_volumes(pod: Pod, container: Container) -> tuple[str, ...]:
    """The images that the container mounts."""
    mounted = {one.name for one in container.volume_mounts}
    return tuple(
        one.image.reference for one in pod.spec.volumes if one.image and one.name in mounted
    )


def arguments(container: Container) -> tuple[str, ...] | None:
    """The arguments of `lading`, the entry point of the image; None for another command."""
    if not container.command:
        return container.args
    program, *rest = container.command
    return (*rest, *container.args) if posixpath.basename(program) == COMMAND else None
