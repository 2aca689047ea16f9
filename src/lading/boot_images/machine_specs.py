"""Where a machine set keeps its image and its stub, and how both are patched. Pure."""

from collections.abc import Mapping
from typing import Any

import msgspec

from lading.api.cluster_api import MachineTemplate, TemplateKey
from lading.api.machine import MachineSet
from lading.boot_images import platforms
from lading.boot_images.platforms.types import Api, CloudPlatform, Path, object_at, text_at
from lading.boot_images.verdicts import Skipped, Why

PROVIDER_SPEC: Path = ("spec", "template", "spec", "providerSpec", "value")
USER_DATA: Path = (*PROVIDER_SPEC, "userDataSecret", "name")
INFRASTRUCTURE: Path = ("spec", "template", "spec", "infrastructureRef")
BOOTSTRAP: Path = ("spec", "template", "spec", "bootstrap", "dataSecretName")


class MachineSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What new machines of a set are made from."""

    platform: CloudPlatform
    value: Mapping[str, Any]
    secret: str
    """The Secret of the stub; empty where the bootstrap provider makes one per machine."""
    user_data_key: str
    secret_path: Path
    image_root: Path
    """Where in the machine set the image is, for an API that keeps it there."""


def value_at(root: Any, path: Path) -> Any:
    """What is there; None at the first step that does not exist."""
    for step in path:
        if isinstance(root, dict):
            root = root.get(step)
        elif isinstance(root, list) and isinstance(step, int) and step < len(root):
            root = root[step]
        else:
            return None
    return root


def whole(machine_set: MachineSet) -> dict[str, Any]:
    return {"spec": machine_set.spec, "status": machine_set.status}


def template_reference(machine_set: MachineSet) -> TemplateKey:
    """The infrastructure template of a machine set or a deployment."""
    reference = value_at(whole(machine_set), INFRASTRUCTURE)
    found = reference if isinstance(reference, dict) else {}
    return text_at(found, "kind"), machine_set.metadata.namespace, text_at(found, "name")


def machine_spec(
    api: Api,
    machine_set: MachineSet,
    templates: Mapping[TemplateKey, MachineTemplate],
) -> MachineSpec:
    """Raises Skipped where it cannot be read."""
    if api is Api.MACHINE:
        return _of_provider_spec(value_at(whole(machine_set), PROVIDER_SPEC))
    return _of_template(machine_set, templates)


def _of_provider_spec(value: Any) -> MachineSpec:
    if not isinstance(value, dict):
        raise Skipped(Why.PROVIDER_SPEC, "providerSpec.value is not an object")
    return MachineSpec(
        platform=_platform(platforms.BY_PROVIDER_SPEC, value.get("kind")),
        value=value,
        secret=text_at(object_at(value, "userDataSecret"), "name"),
        user_data_key="userData",
        secret_path=USER_DATA,
        image_root=PROVIDER_SPEC,
    )


def _of_template(
    machine_set: MachineSet, templates: Mapping[TemplateKey, MachineTemplate]
) -> MachineSpec:
    reference = template_reference(machine_set)
    platform = _platform(platforms.BY_TEMPLATE, reference[0])
    template = templates.get(reference)
    if template is None:
        message = f"{reference[0]} {reference[2]} does not exist or cannot be read"
        raise Skipped(Why.TEMPLATE_MISSING, message)
    value = value_at({"spec": template.spec}, ("spec", "template", "spec"))
    if not isinstance(value, dict):
        raise Skipped(Why.PROVIDER_SPEC, f"spec.template.spec of {reference[2]} is not an object")
    secret = value_at(whole(machine_set), BOOTSTRAP)
    return MachineSpec(
        platform=platform,
        value=value,
        secret=secret if isinstance(secret, str) else "",
        user_data_key="value",
        secret_path=BOOTSTRAP,
        image_root=INFRASTRUCTURE,
    )


def _platform(known: Mapping[str, CloudPlatform], kind: Any) -> CloudPlatform:
    found = known.get(kind) if isinstance(kind, str) else None
    if found is None:
        raise Skipped(Why.PLATFORM_UNKNOWN, "the kind of the machine spec names no known platform")
    return found


def pointer(path: Path) -> str:
    """A path as JSON Pointer writes it."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)


def operation(path: Path, value: Any) -> dict[str, Any]:
    """`add` sets a member of an object, whether it is there or not."""
    return {"op": "add", "path": pointer(path), "value": value}


def guard(machine_set: MachineSet) -> dict[str, Any]:
    """The API server refuses the patch with a conflict when the set was written since."""
    version = machine_set.metadata.resource_version
    return {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
