"""What a container is to a standalone node: held, run as a process, or not run at all. Pure."""

import posixpath
from enum import StrEnum

from lading.standalone.workloads.kinds import Container, Document, EnvironmentVariable, Pod

HOLD = "/lading-hold/hold"
"""The first word of a command that only holds its image on the node."""
COMMAND = "lading"
REFUSED_VARIABLES = ("PYTHON", "LD_")
"""Beginnings of names that would make the interpreter or the loader run something else."""


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
    is_init = container in pod.spec.init_containers
    if is_init and all(is_holder(one) for one in pod.spec.containers):
        return Role.HOLD_COPIER
    return Role.NOT_RUN if arguments(container) is None else Role.PROCESS


def is_holder(container: Container) -> bool:
    return container.command[:1] == (HOLD,)


def arguments(container: Container) -> tuple[str, ...] | None:
    """Those of `lading`, which the image starts by itself; None for any other command."""
    if not container.command:
        return container.args
    program, *rest = container.command
    return (*rest, *container.args) if posixpath.basename(program) == COMMAND else None


def environment(pod: Pod, container: Container) -> dict[str, str]:
    """The variables that the container gives a value, and those that name a field of the pod.

    Those that change how a program starts are left out.
    """
    found = ((one.name, _value(pod, one)) for one in container.env)
    return {
        name: value
        for name, value in found
        if value is not None and not name.startswith(REFUSED_VARIABLES)
    }


def missing_variables(pod: Pod, container: Container) -> tuple[str, ...]:
    """The variables that a node of `lading up` has no value for, such as those of Secrets."""
    return tuple(
        one.name
        for one in container.env
        if _value(pod, one) is None and not _is_optional(one.value_from or {})
    )


def _value(pod: Pod, variable: EnvironmentVariable) -> str | None:
    if variable.value_from is None:
        return variable.value
    fields = {
        "metadata.name": pod.metadata.name,
        "metadata.namespace": pod.metadata.namespace,
        "metadata.uid": pod.metadata.uid,
        "spec.nodeName": pod.spec.node_name,
    }
    return fields.get((variable.value_from.get("fieldRef") or {}).get("fieldPath", ""))


def _is_optional(source: Document) -> bool:
    keys = ("secretKeyRef", "configMapKeyRef")
    return any((source.get(key) or {}).get("optional") is True for key in keys)
