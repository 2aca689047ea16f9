"""The fields of custom resources that name images, as JSONPath, with ready-made ones. Pure.

A string at a path is a reference. An object with `repository` is a reference in parts, as in Helm
charts. Any other value counts as free text: its digests and names of this registry protect.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import jsonpath
import msgspec

from lading.kernel.errors import Malformed
from lading.pruning.engine.types import Form, Mention


class CustomPath(msgspec.Struct, frozen=True, kw_only=True):
    group: str
    kind: str
    path: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}={self.path}"

    @property
    def plural(self) -> str:
        """The plural name, for RBAC rules; all ready-made kinds follow this rule."""
        name = self.kind.lower()
        return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"

    def mentions(self, document: Mapping[str, Any], where: str) -> Iterator[Mention]:
        try:
            every = jsonpath.findall(self.path, document)
        except jsonpath.JSONPathError:  # the object is nested too deeply
            every = [*texts(document)]
        for found in every:
            yield _mention(found, where)


def parse(text: str) -> CustomPath:
    """`KIND.GROUP=JSONPATH`, such as `Service.serving.knative.dev=$.spec..image`."""
    name, equals, path = text.partition("=")
    kind, dot, group = name.partition(".")
    if not (equals and kind and dot and group):
        reason = "expected KIND.GROUP=JSONPATH, such as Rollout.argoproj.io=$.spec..image"
        raise Malformed(what="custom resource path", text=text, reason=reason)
    try:
        jsonpath.compile(path)
    except jsonpath.JSONPathError as error:
        raise Malformed(what="custom resource path", text=text, reason=str(error)) from error
    return CustomPath(group=group, kind=kind, path=path)


def _mention(found: object, where: str) -> Mention:
    if isinstance(found, str):
        return Mention(found, where)
    if isinstance(found, Mapping) and isinstance(found.get("repository"), str):
        return Mention(_joined(found), where)
    return Mention(json.dumps(found, default=str), where, Form.POSSIBLE)


def texts(document: Mapping[str, Any]) -> Iterator[str]:
    """All strings of an object: any may be an image."""
    pending: list[Any] = [document]
    while pending:
        match pending.pop():
            case str() as text:
                yield text
            case dict() as fields:
                pending += fields.values()
            case list() as items:
                pending += items


def _joined(parts: Mapping[str, Any]) -> str:
    registry, tag, digest = (parts.get(key) for key in ("registry", "tag", "digest"))
    name = f"{registry}/{parts['repository']}" if registry else parts["repository"]
    return f"{name}{f':{tag}' if tag else ''}{f'@{digest}' if digest else ''}"


def _all(group: str, kinds: str, *paths: str) -> tuple[CustomPath, ...]:
    return tuple(
        CustomPath(group=group, kind=kind, path=path) for kind in kinds.split() for path in paths
    )


READY_MADE: tuple[CustomPath, ...] = (
    *_all("serving.knative.dev", "Service Configuration Revision", "$.spec..image"),
    *_all("serving.knative.dev", "Revision", "$.status.containerStatuses[*].imageDigest"),
    *_all(
        "argoproj.io",
        "Workflow WorkflowTemplate ClusterWorkflowTemplate CronWorkflow Rollout AnalysisTemplate",
        "$.spec..image",
    ),
    *_all("argoproj.io", "Workflow", "$.status.storedTemplates..image"),
    *_all("tekton.dev", "Task ClusterTask TaskRun Pipeline PipelineRun", "$.spec..image"),
    *_all("tekton.dev", "TaskRun PipelineRun", "$.status..imageID", "$.status..image"),
    *_all(
        "kubevirt.io",
        "VirtualMachine VirtualMachineInstance VirtualMachineInstanceReplicaSet",
        "$.spec..containerDisk.image",
        "$.spec..kernelBoot.container.image",
    ),
    *_all("cdi.kubevirt.io", "DataVolume DataImportCron", "$.spec..registry.url"),
    *_all("source.toolkit.fluxcd.io", "OCIRepository", "$.spec.url", "$.status.artifact.revision"),
    *_all("image.toolkit.fluxcd.io", "ImagePolicy", "$.status.latestImage", "$.status.latestRef"),
    *_all("helm.toolkit.fluxcd.io", "HelmRelease", "$.spec.values..image"),
    *_all("kustomize.toolkit.fluxcd.io", "Kustomization", "$.spec.images[*]"),
    *_all(
        "operators.coreos.com",
        "ClusterServiceVersion",
        "$.spec.relatedImages[*].image",
        "$.spec.install..image",
    ),
    *_all("operators.coreos.com", "CatalogSource", "$.spec.image"),
)
