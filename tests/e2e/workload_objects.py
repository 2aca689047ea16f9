"""DaemonSets, Jobs and CronJobs as the features make them, with defaults."""

from typing import Any

from lading.embedded.workloads.kinds import Document

GATE = "lading.dev/prepull-wave"
HOLDER_LABELS = {"lading.dev/component": "prepull-holder"}


def holder_template(
    own_image: str, images: dict[str, str], *, gated: bool = False, **spec: Any
) -> Document:
    """A pod that holds images, by the names of its containers."""
    mounts = [{"name": "hold", "mountPath": "/lading-hold"}]
    return {
        "metadata": {"labels": HOLDER_LABELS},
        "spec": {
            "initContainers": [
                {
                    "name": "copy-hold",
                    "image": own_image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["cp", "/hold", "/lading-hold/hold"],
                    "volumeMounts": mounts,
                }
            ],
            "containers": [
                {
                    "name": name,
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["/lading-hold/hold"],
                    "volumeMounts": mounts,
                }
                for name, image in images.items()
            ],
            "volumes": [{"name": "hold", "emptyDir": {}}],
            **({"schedulingGates": [{"name": GATE}]} if gated else {}),
            **spec,
        },
    }


def daemon_set(template: Document, *, name: str = "prepull") -> Document:
    """Old pods stay until their successors are ready."""
    rolling = {"maxSurge": "100%", "maxUnavailable": 0}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": HOLDER_LABELS},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
            "template": template,
        },
    }


def job(own_image: str, *args: str, name: str = "job", **spec: Any) -> Document:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": job_spec(own_image, *args, **spec),
    }


def job_spec(own_image: str, *args: str, **spec: Any) -> Document:
    container = {
        "name": "lading",
        "image": own_image,
        "imagePullPolicy": "IfNotPresent",
        "args": list(args),
    }
    return {
        "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        **spec,
    }


def cron_job(own_image: str, *args: str, name: str = "cron", **spec: Any) -> Document:
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "schedule": "@every 1s",
            "concurrencyPolicy": "Forbid",
            "jobTemplate": {"spec": job_spec(own_image, *args)},
            **spec,
        },
    }
