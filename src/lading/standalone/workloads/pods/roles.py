"""What a container is to a standalone node: held, run as a process, or not run at all. Pure."""

import posixpath
from enum import StrEnum

from lading.standalone.workloads.kinds import Container, Pod

HOLD = "/lading-hold/hold"
"""The first word of a command that only holds its image on the node."""
COMMAND = "lading"


class Role(StrEnum):
    HOLDER = "holder"
    """Not executed: it is ready while its image is present."""
    HOLD_COPIER = "hold-copier"
    """An init container beside holders. Nothing is copied: it succeeds."""
    PROCESS = "process"
    """A `lading` command of Lading's own image."""
    NOT_RUN = "not-run"


def role_of(pod: Pod, container: Container, *, is_own_image: bool) -> Role:
    if is_holder(container):
        return Role.HOLDER
    if not is_own_image:
        return Role.NOT_RUN
    if arguments(container) is not None:
        return Role.PROCESS
    is_init = container in pod.spec.init_containers
    copies = is_init and any(is_holder(one) for one in pod.spec.containers)
    return Role.HOLD_COPIER if copies else Role.NOT_RUN


def is_holder(container: Container) -> bool:
    return container.command[:1] == (HOLD,)


def arguments(container: Container) -> tuple[str, ...] | None:
    """Those of `lading`, which the image starts by itself; None for any other command."""
    if not container.command:
        return container.args
    program, *rest = container.command
    return (*rest, *container.args) if posixpath.basename(program) == COMMAND else None
