"""machine.openshift.io: machine sets as OpenShift has them. The kinds belong to OpenShift.

The spec of a machine set differs by platform, and a patch must keep unknown fields. So the spec is
read as plain JSON.
"""

from typing import Any

from lading.kernel.objects import Object, OwnedMeta, Resource

GROUP = "machine.openshift.io"


class MachineSet(Object, frozen=True, kw_only=True):
    """A machine set of either API: its spec and status may be anything."""

    metadata: OwnedMeta = OwnedMeta()
    spec: Any = None
    status: Any = None


class Machine(Object, frozen=True, kw_only=True):
    spec: Any = None
    status: Any = None


MACHINE_SETS: Resource[MachineSet] = Resource(
    group=GROUP,
    version="v1beta1",
    kind="MachineSet",
    plural="machinesets",
    namespaced=True,
    type=MachineSet,
)
MACHINES: Resource[Machine] = Resource(
    group=GROUP,
    version="v1beta1",
    kind="Machine",
    plural="machines",
    namespaced=True,
    type=Machine,
)
CONTROL_PLANE_MACHINE_SETS: Resource[MachineSet] = Resource(
    group=GROUP,
    version="v1",
    kind="ControlPlaneMachineSet",
    plural="controlplanemachinesets",
    namespaced=True,
    type=MachineSet,
)
