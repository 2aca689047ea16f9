"""What a container is to a standalone node: held, run as a process, or not run at all. Pure."""

import posixpath
import re
from enum import StrEnum

from lading.standalone.workloads.kinds import Container, Pod

HOLD_PROGRAM = "/usr/local/bin/lading-hold"
"""In Lading's own image: a container that runs it holds the images that it mounts as volumes."""
_COPIED_PROGRAM = re.compile(r"/lading-hold(-[0-9a-f]{32})?/hold")
"""The first word of a command that holds the image of its container on the node."""
COMMAND = "lading"


class Role(StrEnum):
    HOLDER = "holder"
    """Not executed: it is ready while the images that it holds are present."""
    HOLD_COPIER = "hold-copier"
    """An init container beside holders. Nothing is copied: it succeeds."""
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
    """Those of `lading`, which the image starts by itself; None for any other command."""
    if not container.command:
        return container.args
    program, *rest = container.command
    return (*rest, *container.args) if posixpath.basename(program) == COMMAND else None
